"""One list of calls through every way a program can come to MPI: each call is recorded once, in order, with its arguments."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import ROOT, line_of
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


# What else a program may be


@pytest.mark.parametrize("mangling", ["-fno-underscoring", "-fsecond-underscore", "-funderscoring"])
def test_manglings_of_fortran_and_their_labels(bench, mpi, tmp_path, mangling):
    job = bench.mpirun(mpi, 2, [compile_fortran(mpi, "manglings.f90", tmp_path, mangling, "-std=legacy")])
    assert job.wait() == 0, job.stderr
    events = bench.events_with_stacks()
    for rank in range(2):
        own = [event for event in events if event.get("rank") == rank and "call" in event]
        assert [(event["call"], event.get("level"), event.get("name")) for event in own] == [
            ("MPI_Init", None, None), ("MPI_Barrier", None, None), ("MPI_Allreduce", None, None),
            ("MPI_Pcontrol", 1, "solve"), ("MPI_Barrier", None, None), ("MPI_Pcontrol", -1, "solve"), ("MPI_Pcontrol", 1, "padded"),
            ("MPI_Pcontrol", 1, None), ("MPI_Finalize", None, None)]
        barrier = own[1]["stack"][0]
        assert (barrier["file"].rpartition("/")[2], barrier["line"]) == (
            "manglings.f90", line_of("bindings/manglings.f90", "barrier")), barrier
    assert_healthy(bench.diagnose())


@pytest.fixture
def tool(mpi, tmp_path):
    library = tmp_path / "libtool.so"
    subprocess.run(["mpicc." + mpi.suffix, *FLAGS, "-shared", "-fPIC", "-o", library, BINDINGS / "tool.c"], check=True)
    return library


def test_another_tool_behind_us_is_not_seen(bench, mpi, build, tool):
    """What it calls by itself is no call of the program's."""
    job = bench.mpirun(mpi, RANKS, [build(mpi, "bindings/calls.c")], preload="%s:%s" % (bench.library, tool))
    assert job.wait() == 0, job.stderr
    assert job.stdout.count("counted 3\n") == RANKS
    events = bench.events()
    for rank in range(RANKS):
        assert recorded(events, rank) == expected(rank), rank
    assert_healthy(bench.diagnose())


def test_another_tool_before_us_is_recorded_with_what_it_calls(bench, mpi, build, tool):
    """It calls PMPI's names: the program's barrier is one of them, between two calls of the tool's own."""
    job = bench.mpirun(mpi, RANKS, [build(mpi, "bindings/calls.c")], preload="%s:%s" % (tool, bench.library))
    assert job.wait() == 0, job.stderr
    assert job.stdout.count("counted 3\n") == RANKS
    events = bench.events()
    for rank in range(RANKS):
        names = [row["call"] for row in recorded(events, rank)]
        program = [row["call"] for row in expected(rank)]
        with_tool = []
        for name in program:
            with_tool += ["MPI_Allreduce", name, "MPI_Allreduce"] if name == "MPI_Barrier" else [name]
        assert names == with_tool, rank
    verdict = bench.diagnose()
    assert_healthy(verdict)
    assert any("libtool.so" in caveat for caveat in verdict["caveats"]), verdict["caveats"]


def test_calls_inside_of_calls(bench, mpi, build):
    """Those that MPI makes to itself, as MPICH's file system does, are hidden; those of the program's callbacks are not."""
    files = [bench.folder / "data"] if "DDBG_MPI(File_open," in (ROOT / "proto/calls_mpi.def").read_text() else []
    job = bench.mpirun(mpi, RANKS, [build(mpi, "bindings/inner_calls.c"), *files])
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["rank %d of 3: sum 3" % rank for rank in range(RANKS)]
    events = bench.events_with_stacks()
    for rank in range(RANKS):
        own = [event for event in events if event.get("rank") == rank and event.get("half") in (None, "send") and "call" in event]
        calls = [event["call"] for event in own if not re.match("MPI_(File_|Op_|Comm_(create|free)_keyval|Comm_set_attr)", event["call"])]
        assert calls == ["MPI_Init", "MPI_Allreduce", "MPI_Comm_dup", "MPI_Comm_free", "MPI_Sendrecv", "MPI_Finalize"], calls
        inner = next(event for event in own if event["call"] == "MPI_Sendrecv")
        assert (inner["comm"], inner["peer"], inner["tag"], inner["dtype"]) == ("MPI_COMM_SELF", 0, 77, "MPI_INT"), inner
        assert inner["stack"][0]["line"] == line_of("bindings/inner_calls.c", "callback"), inner
    assert_healthy(bench.diagnose())


def test_an_mpi_that_is_linked_into_the_program_is_told(bench, mpich, tmp_path):
    """Its calls cannot be seen: `ddbg run` says so before the job begins, and its diagnosis is no clean bill of health."""
    archives = [path for path in Path("/usr/lib").glob("*/libmpich.a")]
    include = [word for word in subprocess.run(["mpicc.mpich", "-show"], check=True, capture_output=True, text=True).stdout.split()
               if word.startswith("-I")]
    program = tmp_path / "inside"
    built = archives and subprocess.run(["gcc", *FLAGS, *include, BINDINGS / "calls.c", "-o", program, archives[0], "-lpthread",
                                         "-lhwloc", "-lucp", "-lucs", "-lm"], capture_output=True, text=True)
    if not built or built.returncode != 0:
        pytest.skip("no libmpich.a that a program can be linked to")
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--", *mpich.command(RANKS, [program])])
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["rank %d of 3: 6 3" % rank for rank in range(RANKS)]
    assert "%s has its MPI linked into it" % program in job.stderr, job.stderr
    assert "nothing was traced" in job.stderr, job.stderr
    assert bench.ddbg("diagnose", "latest", "--json").returncode == 3
