/* The tracepoint that LTTng-UST is measured with: what a record of ddbg holds of a call, without the stack. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ddbg_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_mpi.h"

#if !defined(DDBG_LTTNG_MPI_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define DDBG_LTTNG_MPI_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    ddbg_bench, call,
    LTTNG_UST_TP_ARGS(int, call, unsigned long, comm, unsigned long, dtype, long, count, int, peer, int, tag,
                      unsigned long, start, unsigned long, duration),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, call, call) lttng_ust_field_integer(unsigned long, comm, comm)
                            lttng_ust_field_integer(unsigned long, dtype, dtype)
                                lttng_ust_field_integer(long, count, count) lttng_ust_field_integer(int, peer, peer)
                                    lttng_ust_field_integer(int, tag, tag)
                                        lttng_ust_field_integer(unsigned long, start, start)
                                            lttng_ust_field_integer(unsigned long, duration, duration)))
#endif
#include <lttng/tracepoint-event.h>
