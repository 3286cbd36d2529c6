"""MPI that comes and goes while a program runs, and threads that are there before the recorder."""
import re
import shutil
import subprocess

import pytest

from launchers import PROGRAMS
from test_process_life import assert_lives_the_same, live


@pytest.fixture
def load_unload(bench):
    """The program without an MPI of its own."""
    program = bench.folder / "load_unload"
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-o", program, PROGRAMS / "load_unload.c", "-ldl"], check=True)
    return program


def library_of(program):
    """The path of the MPI library that `program` is linked to."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.search(r"=> (\S*/libmpi(ch)?\.so\S*)", listed)[1]


def test_plugins_that_bring_mpi_along(bench, build, mpi, load_unload):
    """Loaded, run to MPI_Finalize and unloaded, three times: each time it lies elsewhere, and nothing of before is left."""
    plugin = build(mpi, "plugin.c", "-shared", "-fPIC")
    _, output = assert_lives_the_same(bench, [load_unload, "plugins", plugin, plugin, plugin])
    assert output.count("initialized before 0") == output.count("dlclose 0, MPI libraries left: 0") == 3
    bench.stop_collectors()
    calls = [event["call"] for event in sorted(bench.calls(), key=lambda event: event["t_ns"])]
    assert calls == 3 * ["MPI_Init", "MPI_Allreduce", "MPI_Comm_dup", *10 * ["MPI_Barrier"], "MPI_Comm_free", "MPI_Finalize"]
    worlds = {event["comm_uid"] for event in bench.calls() if event["call"] == "MPI_Allreduce"}
    assert len(worlds) == 3, "a collective of one world is taken for one of another"


def test_plugins_of_two_mpis(bench, build, openmpi, mpich, load_unload):
    plugins = [build(mpi, "plugin.c", "-shared", "-fPIC") for mpi in (openmpi, mpich, openmpi)]
    _, output = assert_lives_the_same(bench, [load_unload, "plugins", *plugins])
    assert output.count("initialized before 0") == 3
    bench.stop_collectors()
    calls = bench.calls()
    assert sum(1 for event in calls if event["call"] == "MPI_Barrier") == 30
    assert {event.get("comm") for event in calls if event["call"] == "MPI_Allreduce"} == {"MPI_COMM_WORLD"}


def test_library_used_through_its_handle(bench, build, mpi, load_unload):
    """What dlsym says of the handle leads to the wrappers: recorded as other calls are."""
    library = library_of(build(mpi, "hello.c"))
    _, output = assert_lives_the_same(bench, [load_unload, "handle", library])
    assert "init 0\nbarrier 0\nfinalize 0\ndlclose 0" in output
    bench.stop_collectors()
    assert [event["call"] for event in bench.calls()] == ["MPI_Init", "MPI_Barrier", "MPI_Finalize"]


def test_linked_library_after_a_copy_was_unloaded(bench, build, mpi):
    program = build(mpi, "load_unload.c", "-DLINKED")
    copy = bench.folder / "libmpi-copy.so"
    shutil.copy(library_of(program), copy)
    _, output = assert_lives_the_same(bench, [program, "handle", copy])
    assert output.endswith("linked: sum 7\n")
    bench.stop_collectors()
    assert [event["call"] for event in bench.calls()] == ["MPI_Init", "MPI_Allreduce", "MPI_Finalize"]


def test_first_calls_at_the_same_instant(bench, build, mpi):
    """One thread makes the recorder; the others' calls are recorded all the same."""
    program = build(mpi, "first_calls.c")
    for attempt in range(5):
        run = "first-%d" % attempt
        code, output, errors = live(bench, [program], preload=True, DDBG_RUN_ID=run)
        assert (code, output) == (0, "multiple 1, sum 120\n"), errors
    bench.stop_collectors()
    for attempt in range(5):
        tags = sorted(event["tag"] for event in bench.calls("first-%d" % attempt) if event["call"] == "MPI_Sendrecv")
        assert tags == list(range(16)), attempt
