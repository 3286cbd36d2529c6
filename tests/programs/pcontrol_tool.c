// A tool that stands between the program and MPI: MPI_Pcontrol with all kinds of arguments must reach it as they were. Of its
// program (pcontrol_arguments.c) only the first call has a label.
#include <stdarg.h>
#include <stdio.h>

int PMPI_Pcontrol(const int level, ...);

int MPI_Pcontrol(const int level, ...) {
  static int calls;
  if (calls++ > 0) return PMPI_Pcontrol(level);
  va_list arguments;
  va_start(arguments, level);
  const char* label = va_arg(arguments, const char*);
  long sum = 0;
  for (int i = 0; i < 8; ++i) sum = sum * 10 + va_arg(arguments, int);
  double real = va_arg(arguments, double);
  va_end(arguments);
  printf("tool: %d %s %ld %g\n", level, label, sum, real);
  return PMPI_Pcontrol(level, label) == 0 ? 42 : 1;
}
