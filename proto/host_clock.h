// CLOCK_MONOTONIC as the host has it. A process in a time namespace (a container that was checkpointed and restored)
// has that clock shifted; all times that leave a process of ours have the shift taken off, so that an instant is one
// number for all processes of a host.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddbg {

// How far ahead of the host's the CLOCK_MONOTONIC of this process is, in ns; 0 if the system does not say. Reads /proc.
int64_t MonotonicOffsetNs() noexcept;

// Now, on the host's clock. The offset is looked up once; for processes that do not fork. ns.
int64_t HostMonotonicNs() noexcept;

// The monotonic clock's line in the text of /proc/PID/timens_offsets (time_namespaces(7)), in ns; 0: there is none.
int64_t ParseMonotonicOffset(std::string_view text) noexcept;

}  // namespace ddbg
