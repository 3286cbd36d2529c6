// Every function on files, and what it called: --counts PREFIX (counted.h). --file PATH: where. --skip-write RANK: that
// rank leaves out a collective write.
#include "counted.h"

static int rank, size;
static int data[4];

static void alone(MPI_File f) {
  MPI_Request r;
  MPI_Offset at = rank * (MPI_Offset)sizeof data;
  CALL(File_write_at, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_read_at, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_at, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_iread_at, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET), CALL(File_write, f, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET), CALL(File_read, f, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET), CALL(File_iwrite, f, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET), CALL(File_iread, f, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
}

static void together(MPI_File f, int skip) {
  MPI_Request r;
  MPI_Offset at = rank * (MPI_Offset)sizeof data;
  if (!skip) CALL(File_write_at_all, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_read_at_all, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_at_all, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_iread_at_all, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET), CALL(File_write_all, f, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET), CALL(File_read_all, f, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET);
  CALL(File_iwrite_all, f, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET);
  CALL(File_iread_all, f, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
}

static void in_two_parts(MPI_File f) {
  MPI_Offset at = rank * (MPI_Offset)sizeof data;
  CALL(File_write_at_all_begin, f, at, data, 4, MPI_INT), CALL(File_write_at_all_end, f, data, MPI_STATUS_IGNORE);
  CALL(File_read_at_all_begin, f, at, data, 4, MPI_INT), CALL(File_read_at_all_end, f, data, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET);
  CALL(File_write_all_begin, f, data, 4, MPI_INT), CALL(File_write_all_end, f, data, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET);
  CALL(File_read_all_begin, f, data, 4, MPI_INT), CALL(File_read_all_end, f, data, MPI_STATUS_IGNORE);
}

static void shared_pointer(MPI_File f) {
  MPI_Request r;
  CALL(File_seek_shared, f, 0, MPI_SEEK_SET);
  CALL(File_write_shared, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_shared, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Barrier, MPI_COMM_WORLD);
  CALL(File_seek_shared, f, 0, MPI_SEEK_SET);
  CALL(File_read_shared, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iread_shared, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Barrier, MPI_COMM_WORLD);
  CALL(File_write_ordered, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_read_ordered, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_write_ordered_begin, f, data, 1, MPI_INT), CALL(File_write_ordered_end, f, data, MPI_STATUS_IGNORE);
  CALL(File_read_ordered_begin, f, data, 1, MPI_INT), CALL(File_read_ordered_end, f, data, MPI_STATUS_IGNORE);
}

#if MPI_VERSION >= 4
static void large_counts(MPI_File f) {
  MPI_Request r;
  MPI_Offset at = rank * (MPI_Offset)sizeof data;
  CALL(File_write_at_c, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_read_at_c, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_at_c, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_iread_at_c, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_write_at_all_c, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_read_at_all_c, f, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_at_all_c, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_iread_at_all_c, f, at, data, 4, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_write_at_all_begin_c, f, at, data, 4, MPI_INT), CALL(File_write_at_all_end, f, data, MPI_STATUS_IGNORE);
  CALL(File_read_at_all_begin_c, f, at, data, 4, MPI_INT), CALL(File_read_at_all_end, f, data, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET);
  CALL(File_write_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_c, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_write_all_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_all_c, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_write_all_begin_c, f, data, 1, MPI_INT), CALL(File_write_all_end, f, data, MPI_STATUS_IGNORE);
  MPI_File_seek(f, at, MPI_SEEK_SET);
  CALL(File_read_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iread_c, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_read_all_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iread_all_c, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(File_read_all_begin_c, f, data, 1, MPI_INT), CALL(File_read_all_end, f, data, MPI_STATUS_IGNORE);
  CALL(File_write_shared_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iwrite_shared_c, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Barrier, MPI_COMM_WORLD);
  CALL(File_seek_shared, f, 0, MPI_SEEK_SET);
  CALL(File_read_shared_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_iread_shared_c, f, data, 1, MPI_INT, &r), CALL(Wait, &r, MPI_STATUS_IGNORE);
  CALL(Barrier, MPI_COMM_WORLD);
  CALL(File_write_ordered_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_read_ordered_c, f, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_write_ordered_begin_c, f, data, 1, MPI_INT), CALL(File_write_ordered_end, f, data, MPI_STATUS_IGNORE);
  CALL(File_read_ordered_begin_c, f, data, 1, MPI_INT), CALL(File_read_ordered_end, f, data, MPI_STATUS_IGNORE);
}
#endif

int main(int argc, char** argv) {
  const char* path = TextAfter(argc, argv, "--file", "file_mix.data");
  MPI_File f;
  CALL(Init, &argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CALL(File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
  CALL(File_set_view, f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  CALL(File_set_size, f, 4096), CALL(File_preallocate, f, 8192);
  CALL(File_set_atomicity, f, 1), CALL(File_set_atomicity, f, 0), CALL(File_sync, f);
  alone(f);
  together(f, rank == NumberAfter(argc, argv, "--skip-write", -1));
  in_two_parts(f);
  shared_pointer(f);
#if MPI_VERSION >= 4
  large_counts(f);
#endif
  CALL(File_close, &f);
  CALL(Barrier, MPI_COMM_WORLD);
  if (rank == 0) CALL(File_delete, path, MPI_INFO_NULL);
  CALL(Finalize);
  return write_counts(TextAfter(argc, argv, "--counts", "counts"), rank);
}
