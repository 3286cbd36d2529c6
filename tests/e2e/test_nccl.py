"""Every call of NCCL once, with its arguments, and the program as it would be without us."""
import json

import pytest

from launchers import PROGRAMS
from verdicts import assert_healthy

# Fields of an event that a log line may name.
COMPARED = ("count", "ranks", "dtype", "op", "root", "peer", "in_place", "grouped", "operations", "bytes", "color")


def logged(path, rank):
    return [json.loads(line) for line in open("%s.%d" % (path, rank))]


def said(event, entry):
    return {"call": event["call"], **{key: event.get(key) for key in entry if key in COMPARED},
            **({"comm": event["comm"]} if "comm" in entry else {})}


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_every_call_is_recorded_once_and_as_it_was(bench, gpu, ranks):
    program = gpu.compile(PROGRAMS / "nccl_calls.cc")
    log = bench.folder / "log"
    job = gpu.start(bench, [program, ranks, log])
    assert job.wait() == 0, job.stderr
    events = bench.events()
    for rank in range(ranks):
        # What is polled until it is ready is polled as often as it takes.
        own = [event for event in events if event["rank"] == rank and event.get("call", "").startswith("nccl")
               and event["kind"] != "async_error"]
        entries = logged(log, rank)
        assert [event["call"] for event in own] == [entry["call"] for entry in entries]
        for event, entry in zip(own, entries):
            assert said(event, entry) == entry
    assert_healthy(bench.diagnose())
    assert bench.ddbg("info", "latest").stdout.startswith("nothing lost")


def test_numbers_that_nccl_refuses_are_not_read_by(bench, gpu):
    """A list of 2^28 ids or ranks that is not there: NCCL gives an error, and so it must stay."""
    program = gpu.compile(PROGRAMS / "nccl_calls.cc")
    log = bench.folder / "log"
    job = gpu.start(bench, [program, 2, log], REFUSED=1)
    assert job.wait() == 0, job.stderr
    refused = [event["call"] for event in bench.events() if event["rank"] == 0 and event.get("result") == 4]
    assert refused == ["ncclCommInitRankScalable", "ncclCommShrink"]


def test_communicators_are_the_same_on_all_ranks_and_no_others(bench, gpu):
    job = gpu.start(bench, [gpu.compile(PROGRAMS / "nccl_calls.cc"), 4, bench.folder / "log"])
    assert job.wait() == 0, job.stderr
    members = {}
    for event in bench.events():
        if event.get("call") == "ncclAllReduce":
            members.setdefault((event["comm_uid"], event["seq"]), set()).add((event["rank"], event["count"]))
    by_count = {}
    for (_, _), calls in members.items():
        counts = {count for _, count in calls}
        assert len(counts) == 1, "one communicator and number, several calls: %s" % calls
        by_count.setdefault(counts.pop(), []).append({rank for rank, _ in calls})
    assert sorted(map(sorted, by_count[50])) == [[0, 2], [1, 3]]  # the two halves of the split
    assert by_count[51] == [{0, 1, 2}]  # what was shrunk
    assert by_count[100] == [{0, 1, 2, 3}]


def test_same_results_with_and_without(bench, gpu):
    program = gpu.compile(PROGRAMS / "nccl_calls.cc")
    with_us = gpu.start(bench, [program, 2, bench.folder / "log"])
    without = gpu.start(bench, [program, 2, bench.folder / "log-without"], preload=False)
    assert (with_us.wait(), without.wait()) == (0, 0)
    assert with_us.stdout == without.stdout and with_us.stderr == without.stderr
    for rank in range(2):
        assert logged(bench.folder / "log", rank) == logged(bench.folder / "log-without", rank)


def test_a_client_that_finds_nccl_by_dlsym_is_traced(bench, gpu):
    """ctypes asks dlsym with a handle, which a preloaded name alone does not answer."""
    job = gpu.start(bench, ["/usr/bin/python3", PROGRAMS / "pynccl.py", 2])
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["rank 0 True", "rank 1 True"]
    for rank in range(2):
        calls = [event["call"] for event in bench.events() if event["rank"] == rank and event["call"].startswith("nccl")]
        assert calls == ["ncclGetUniqueId"] * (rank == 0) + ["ncclCommInitRank", "ncclAllReduce", "ncclCommDestroy"]
    first = next(event for event in bench.events_with_stacks() if event["call"] == "ncclAllReduce")
    assert [frame["function"] for frame in first["stack"] if frame.get("language") == "python"] == ["work", "main", "<module>"]


LOOK_UP = """import ctypes
for scope in (None, %r):
    library = ctypes.CDLL(scope) if scope is None or scope else None
    print([hasattr(library, name) for name in ("ncclAllReduce", "ncclNoSuchCall", "cudaMalloc")] if library else "")"""


def test_what_no_library_has_does_not_seem_to_be_there(bench, gpu):
    """Programs ask whether a function exists before they use it; ours alone is no reason to say yes."""
    outputs = []
    for library in ("", "libnccl.so.2"):
        for preload in (True, False):
            job = gpu.start(bench, ["/usr/bin/python3", "-c", LOOK_UP % library], preload=preload)
            assert job.wait() == 0, job.stderr
            outputs.append(job.stdout)
    assert outputs[0] == outputs[1] == "[False, False, False]\n\n"
    assert outputs[2] == outputs[3] == "[False, False, False]\n[True, False, False]\n"
