// Which of MPI's later functions the program has, by weak references: a line for each.
#include <dlfcn.h>
#include <stdio.h>

#define NAMES(of)                                                                                                 \
  of(MPI_Init) of(PMPI_Init) of(MPI_Allreduce_c) of(PMPI_Allreduce_c) of(MPI_Allreduce_init) of(MPI_Session_init) \
      of(PMPI_Session_init) of(MPI_Psend_init) of(MPI_Isendrecv) of(MPI_Buffer_flush) of(MPI_Win_create_c)        \
          of(MPI_File_read_c) of(MPI_Request_get_status_all) of(MPI_Comm_split)

#define DECLARE(name) extern int name(void) __attribute__((weak));
NAMES(DECLARE)

int main(int argc, char** argv) {
#define PRINT(name) printf(#name " %d %d\n", name != NULL, dlsym(RTLD_DEFAULT, #name) != NULL);
  NAMES(PRINT)
  // A strong reference, so that the MPI is loaded with the program.
  extern int MPI_Initialized(int*);
  int flag = 1;
  return argc > 1 && argv[1] ? MPI_Initialized(&flag) : 0;
}
