"""ddbg stacks: where the ranks are, as one tree."""
import json

import pytest

from harness import line_of, wait_until
from launchers import PROGRAMS


def tree(bench, *options):
    done = bench.ddbg("stacks", "latest", "--json", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["schema"] == "ddbg.stacks/1"
    return told


def ranks_of(node):
    return [rank for first, last in node["rank_ranges"] for rank in range(first, last + 1)]


def leaves(node, path=()):
    """(call node, the frames on the way) of all calls."""
    if "call" in node:
        yield node, path
    for child in node.get("children", ()):
        assert set(ranks_of(child)) <= set(ranks_of(node))
        yield from leaves(child, path + ((node,) if "function" in node else ()))


def test_a_hang_shows_who_is_elsewhere(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b01_extra_barrier.c")])
    bench.diagnose_until("callsite_mismatch")
    assert job.running()
    found = list(leaves(tree(bench, "--in-flight")["tree"]))
    assert sorted(rank for node, _ in found for rank in ranks_of(node)) == [0, 1, 2, 3]
    assert all(node["state"] == "in" for node, _ in found)
    line = line_of("b01_extra_barrier.c", "save")
    assert len(found) > 1
    odd = [node for node, path in found if any(frame.get("line") == line for frame in path)]
    assert odd == [] or [ranks_of(node) for node in odd] == [[0]]
    # The way there is one for all of them.
    assert all(path[0]["function"] == "main" for _, path in found)
    job.interrupt()
    job.wait()


def test_a_healthy_run_ends_in_one_place(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "steps.c"), "--steps", "20"])
    assert job.wait() == 0, job.stderr
    told = tree(bench)
    (leaf, path), = leaves(told["tree"])
    assert (leaf["call"], leaf["state"], ranks_of(leaf)) == ("MPI_Finalize", "after", [0, 1, 2, 3])
    assert path[-1]["function"] == "main"
    nothing = tree(bench, "--in-flight")
    assert list(leaves(nothing["tree"])) == [] and nothing["without_call"]["rank_count"] == 4


def test_at_a_moment_and_over_a_window_are_what_events_say(bench, build, mpi):
    job = bench.mpirun(mpi, 3, [build(mpi, "steps.c"), "--steps", "20"])
    assert job.wait() == 0, job.stderr
    events = [event for event in bench.events() if "call" in event and event.get("half") in (None, "send")]
    init = [event for event in events if event["call"] == "MPI_Init"]
    moment = max(event["t_ns"] for event in init) + 1000
    inside = [leaf for leaf, _ in leaves(tree(bench, "--at", "%.9f" % (moment / 1e9))["tree"]) if leaf["call"] == "MPI_Init"]
    covering = sorted(event["rank"] for event in init if event["t_ns"] <= moment < event["t_ns"] + event["dur_ns"])
    assert [ranks_of(leaf) for leaf in inside if leaf["state"] == "in"] == ([covering] if covering else [])
    all_calls = list(leaves(tree(bench, "--from", "0")["tree"]))
    assert sum(leaf["calls"] for leaf, _ in all_calls) == len(events)
    assert sum(leaf["total_ns"] for leaf, _ in all_calls) == sum(event["dur_ns"] for event in events)


def test_folded_lines_are_for_flame_graphs(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "steps.c"), "--steps", "5"])
    assert job.wait() == 0, job.stderr
    lines = bench.ddbg("stacks", "latest", "--folded").stdout.splitlines()
    assert len(lines) == 1 and lines[0].endswith("after MPI_Finalize 2") and lines[0].startswith("main() at steps.c:")
    for line in bench.ddbg("stacks", "latest", "--folded", "--last", "100").stdout.splitlines():
        assert line.rpartition(" ")[2].isdigit() and ";" in line


def test_frames_of_python_are_in_the_tree(bench, mpi):
    job = bench.mpirun(mpi, 2, ["/usr/bin/python3", PROGRAMS / "python_stacks.py", mpi.shared_library])
    assert job.wait() == 0, job.stderr
    frames = [frame for _, path in leaves(tree(bench, "--from", "0")["tree"]) for frame in path]
    assert any(frame.get("language") == "python" and frame["file"].endswith(".py") for frame in frames)


def test_one_moment_is_no_window(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")])
    assert job.wait() == 0
    assert bench.ddbg("stacks", "latest", "--at", "1", "--last", "1").returncode == 2


def test_ranks_of_nccl_are_in_the_tree(bench, gpu):
    job = gpu.start(bench, [gpu.compile(PROGRAMS / "nccl_calls.cc"), 4, bench.folder / "log"])
    assert job.wait() == 0, job.stderr
    calls = {leaf["call"]: ranks_of(leaf) for leaf, _ in leaves(tree(bench, "--from", "0")["tree"])}
    assert calls["ncclAllReduce"] == [0, 1, 2, 3]
