"""Each call has the stack it was made from."""
import json
import subprocess

import pytest

from harness import line_of
from verdicts import assert_at, assert_fault

WITHOUT_LIBUNWIND = "frame pointers: libunwind.so.8 is missing"


@pytest.fixture
def no_libunwind(bench):
    """An LD_LIBRARY_PATH on which libunwind is there under all its names, and is no library."""
    folder = bench.folder / "no-libunwind"
    folder.mkdir()
    for name in ("libunwind.so.8", "libunwind.so.1", "libunwind.so"):
        (folder / name).write_text("")
    return folder


def barriers_of(bench, program, **environment):
    """Runs stacks.c: its MPI_Barriers in order, each with the names of the steps that it was called from as printed."""
    done = subprocess.run([str(program), "7"], cwd=bench.work, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=bench.environment(LD_PRELOAD=str(bench.library), DDBG_RUN_ID="stacks", **environment), timeout=120)
    assert done.returncode == 0, done.stderr
    bench.stop_collectors()
    listed = bench.ddbg("events", "stacks", "--json", "--call", "MPI_Barrier").stdout
    barriers = sorted(map(json.loads, listed.splitlines()), key=lambda event: event["t_ns"])
    paths = done.stdout.split()
    assert len(barriers) == len(paths) > 5000
    return list(zip(barriers, paths))


def assert_full_stack(event, path):
    functions = [frame["function"] for frame in reversed(event["stack"])]
    steps = "".join(name[len("step_"):] for name in functions if name.startswith("step_"))
    assert steps == path, (path, functions)
    return functions


def test_stacks_that_resemble_each_other(bench, build, openmpi):
    """Recognising a stack without unwinding it must never take one for another."""
    for extra in ([], ["-O2", "-fomit-frame-pointer"]):
        for event, path in barriers_of(bench, build(openmpi, "stacks.c", *extra)):
            assert_full_stack(event, path)
        assert bench.info("stacks")["ranks"][0]["stacks"] == "libunwind"
        (bench.runs / "stacks").rename(bench.runs / ("done-%d" % len(extra)))


# Without libunwind

def test_frame_pointers_give_the_whole_stack(bench, build, mpi, no_libunwind):
    for event, path in barriers_of(bench, build(mpi, "stacks.c"), LD_LIBRARY_PATH=no_libunwind):
        functions = assert_full_stack(event, path)
        assert "main" in functions and functions[-1] == "next"
        assert all(frame["line"] > 0 and frame["file"].endswith("stacks.c") for frame in event["stack"]
                   if frame["function"].startswith(("step_", "next", "main"))), event["stack"]
    assert bench.info("stacks")["ranks"][0]["stacks"] == WITHOUT_LIBUNWIND


def test_without_frame_pointers_there_is_the_immediate_caller(bench, build, mpi, no_libunwind):
    """The register that would be the frame pointer holds anything: nothing crashes and nothing is made up."""
    program = build(mpi, "stacks.c", "-O2", "-fomit-frame-pointer")
    for event, _ in barriers_of(bench, program, LD_LIBRARY_PATH=no_libunwind):
        assert event["stack"][0]["function"] == "next", event["stack"]
    assert bench.info("stacks")["ranks"][0]["stacks"] == WITHOUT_LIBUNWIND


def test_verdict_by_frame_pointers(bench, build, mpi, no_libunwind):
    """One collective more that met others of its kind is found by call sites alone."""
    job = bench.mpirun(mpi, 2, [build(mpi, "b01_extra_barrier.c")], LD_LIBRARY_PATH=no_libunwind)
    verdict = bench.diagnose_until("callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", "control_flow_divergence", rank=0, seq=3)
    assert_at(verdict, "save", "b01_extra_barrier.c", "save")
    assert len([line for line in job.stderr.splitlines() if "libunwind8" in line]) <= 2, job.stderr
    job.interrupt()
    job.wait()


def test_threads_by_frame_pointers(bench, build, mpi, no_libunwind):
    """Each on a stack of its own, whose end is looked up once."""
    program = build(mpi, "threads.c")
    job = bench.start([program], LD_PRELOAD=bench.library, LD_LIBRARY_PATH=no_libunwind)
    assert job.wait() == 0, job.stderr
    bench.stop_collectors()
    events = [json.loads(line) for line in bench.ddbg("events", "latest", "--json").stdout.splitlines()]
    assert len({event["tid"] for event in events if "call" in event}) > 1
    for event in events:
        assert "call" not in event or event["stack"], event
