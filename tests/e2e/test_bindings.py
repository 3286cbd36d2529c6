"""One list of calls through every way a program can come to MPI: each call is recorded once, in order, with its arguments."""
import shutil
import subprocess

import pytest

from harness import line_of
from launchers import FLAGS, PROGRAMS
from verdicts import assert_healthy

BINDINGS = PROGRAMS / "bindings"
RANKS = 3
FORTRAN_TYPES = {"MPI_INT": "MPI_INTEGER", "MPI_DOUBLE": "MPI_DOUBLE_PRECISION"}
MADE_LOCALLY = {"MPI_Type_contiguous"}  # talks to nobody and frees nothing
FIELDS = ("call", "comm", "seq", "count", "dtype", "op", "root", "peer", "tag", "result")


def expected(rank, init="MPI_Init", types=None):
    """The calls of bindings/calls.c on this rank, with all that the recording must say of them."""
    right, left = (rank + 1) % RANKS, (rank + RANKS - 1) % RANKS
    world, copy, half = "MPI_COMM_WORLD", "dup#0 of MPI_COMM_WORLD", "split#1 of MPI_COMM_WORLD"
    rows = [
        dict(call=init),
        dict(call="MPI_Barrier", comm=world, seq=0),
        dict(call="MPI_Bcast", comm=world, seq=1, count=3, dtype="MPI_INT", root=1),
        dict(call="MPI_Allreduce", comm=world, seq=2, count=2, dtype="MPI_DOUBLE", op="MPI_SUM"),
        dict(call="MPI_Irecv", comm=world, count=4, dtype="MPI_INT", peer=left, tag=11),
        dict(call="MPI_Isend", comm=world, count=4, dtype="MPI_INT", peer=right, tag=11),
        dict(call="MPI_Waitall"),
        dict(call="MPI_Comm_dup", comm=world, seq=3),
        dict(call="MPI_Comm_split", comm=world, seq=4),
        dict(call="MPI_Type_commit"),
        dict(call="MPI_Sendrecv", comm=copy, count=1, dtype="3 x MPI_INT", peer=right, tag=12),
        dict(call="MPI_Barrier", comm=half, seq=0),
        dict(call="MPI_Type_free"),
        dict(call="MPI_Comm_free", comm=half),
        dict(call="MPI_Comm_free", comm=copy),
        dict(call="MPI_Finalize"),
    ]
    for row in rows:
        row["result"] = 0
        for c, fortran in (types or {}).items():
            if "dtype" in row and row["dtype"].split()[-1] == c:
                row["dtype"] = row["dtype"].replace(c, fortran)
    return rows


def recorded(events, rank):
    calls = [event for event in events if event.get("rank") == rank and "call" in event and event.get("half") in (None, "send")]
    return [{field: event[field] for field in FIELDS if field in event} for event in calls if event["call"] not in MADE_LOCALLY]


def assert_list(bench, job, **how):
    """The job ended well, and the recorded list of each rank is the expected one. The events."""
    assert job.wait() == 0, job.stdout + job.stderr
    assert [line.replace("6.", "6") for line in job.lines()] == ["rank %d of 3: 6 3" % rank for rank in range(RANKS)]
    events = bench.events_with_stacks()
    for rank in range(RANKS):
        assert recorded(events, rank) == expected(rank, **how), "rank %d" % rank
    assert_healthy(bench.diagnose())
    return events


def assert_line(events, source, function=None):
    """The first barrier's call site is the line of the program's own source, on every rank."""
    line = line_of("bindings/" + source, "barrier")
    for rank in range(RANKS):
        barrier = next(event for event in events if event.get("rank") == rank and event.get("call") == "MPI_Barrier")
        frames = [(frame.get("file", "").rpartition("/")[2], frame.get("line")) for frame in barrier["stack"]]
        assert (source, line) in frames, barrier["stack"]
        top = frames.index((source, line))
        assert not any(name for name, _ in frames[:top] if name.endswith((".c", ".f90", ".F90", ".py"))), frames
        assert function in (None, barrier["stack"][top]["function"].split("(")[0]), barrier["stack"]


def compile_fortran(mpi, source, folder, *flags):
    compiler = shutil.which("mpifort." + mpi.suffix)
    if not compiler:
        pytest.skip("no Fortran compiler")
    program = folder / ("%s.%s" % (source, mpi.suffix))
    subprocess.run([compiler, "-g", "-O1", "-cpp", *flags, "-o", program, BINDINGS / source], check=True)
    return program


def plugin_command(mpi, folder, *how):
    plugin, host = folder / "plugin.so", folder / "host"
    subprocess.run(["mpicc." + mpi.suffix, *FLAGS, "-DPLUGIN", "-shared", "-fPIC", "-o", plugin, BINDINGS / "calls.c"], check=True)
    subprocess.run(["gcc", *FLAGS, "-o", host, BINDINGS / "host.c", "-ldl"], check=True)
    return [host, plugin, *how]


# From compiled languages


@pytest.mark.quick
def test_c(bench, mpi, build):
    assert_line(assert_list(bench, bench.mpirun(mpi, RANKS, [build(mpi, "bindings/calls.c")])), "calls.c", "make_calls")


def test_cxx_by_the_names_of_c(bench, mpi, tmp_path):
    program = tmp_path / "calls"
    subprocess.run(["mpicxx." + mpi.suffix, *FLAGS, "-x", "c++", BINDINGS / "calls.c", "-o", program], check=True)
    assert_line(assert_list(bench, bench.mpirun(mpi, RANKS, [program])), "calls.c", "make_calls")


def test_cxx_by_the_classes_of_mpi_2(bench, mpi, build):
    assert_line(assert_list(bench, bench.mpirun(mpi, RANKS, [build(mpi, "bindings/classes.cc")])), "classes.cc", "main")


@pytest.mark.parametrize("source, flags", [("calls.F90", []), ("calls.F90", ["-DUSE_MPI"]), ("calls_f08.f90", [])],
                         ids=["mpif.h", "mpi", "mpi_f08"])
def test_fortran(bench, mpi, tmp_path, source, flags):
    job = bench.mpirun(mpi, RANKS, [compile_fortran(mpi, source, tmp_path, *flags)])
    assert_line(assert_list(bench, job, types=FORTRAN_TYPES), source)


# Loaded at run time


def test_a_local_plugin(bench, mpi, tmp_path):
    assert_line(assert_list(bench, bench.mpirun(mpi, RANKS, plugin_command(mpi, tmp_path))), "calls.c", "make_calls")


def test_a_deeply_bound_plugin(bench, mpi, tmp_path):
    assert_line(assert_list(bench, bench.mpirun(mpi, RANKS, plugin_command(mpi, tmp_path, "deep"))), "calls.c", "make_calls")


def test_functions_by_dlsym(bench, mpi, tmp_path):
    program = tmp_path / "by_name"
    include = subprocess.run(["mpicc." + mpi.suffix, "-show"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["gcc", *FLAGS, *[word for word in include if word.startswith("-I")], "-DBY_NAME", "-o", program,
                    BINDINGS / "calls.c", "-ldl"], check=True)
    assert "libmpi" not in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    assert_line(assert_list(bench, bench.mpirun(mpi, RANKS, [program, mpi.shared_library])), "calls.c", "make_calls")


def test_ctypes(bench, mpi):
    job = bench.mpirun(mpi, RANKS, ["/usr/bin/python3", BINDINGS / "calls_ctypes.py", mpi.shared_library])
    assert_line(assert_list(bench, job), "calls_ctypes.py", "<module>")


def test_mpi4py(bench, openmpi):
    """Debian's mpi4py is built for one MPI."""
    job = bench.mpirun(openmpi, RANKS, ["/usr/bin/python3", BINDINGS / "calls.py"])
    assert_line(assert_list(bench, job, init="MPI_Init_thread"), "calls.py", "<module>")
