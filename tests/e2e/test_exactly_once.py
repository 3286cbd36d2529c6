"""Each call of the program is one event: not missed, not doubled, no call that an MPI makes to itself."""
from collections import Counter
import re

import pytest

from harness import ROOT
from verdicts import assert_healthy


def counts_by_program(prefix, rank):
    lines = (prefix.parent / ("%s.%d" % (prefix.name, rank))).read_text().splitlines()
    return {name: int(count) for name, count in (line.split() for line in lines)}


def known_calls():
    rows = re.findall(r"^DDBG_MPI\((\w+),", (ROOT / "proto/calls_mpi.def").read_text(), re.M)
    return {"MPI_" + name for name in rows if name != "name"}


@pytest.mark.quick
@pytest.mark.parametrize("variant", ["Init", "Init_thread"])
def test_every_call_is_recorded_once(bench, build, mpi, variant):
    counts = bench.folder / "counts"
    command = [build(mpi, "exactly_once.c"), "--counts", counts] + (["--thread"] if variant == "Init_thread" else [])
    job = bench.mpirun(mpi, 4, command)
    assert job.wait() == 0, job.stderr
    events = bench.calls()
    for rank in range(4):
        recorded = Counter()
        for event in events:
            if event["rank"] == rank:
                recorded[event["call"]] += event.get("polls") or 1  # polls in a row that found nothing are one event
        assert dict(recorded) == counts_by_program(counts, rank), "rank %d" % rank
    assert_healthy(bench.diagnose())


def test_program_covers_the_table(bench, build, openmpi):
    called = set()
    for variant in ([], ["--thread"]):
        counts = bench.folder / ("counts" + "".join(variant))
        job = bench.mpirun(openmpi, 2, [build(openmpi, "exactly_once.c"), "--counts", counts] + variant, preload=False)
        assert job.wait() == 0, job.stderr
        called |= set(counts_by_program(counts, 0))
    assert known_calls() - called == {"MPI_Abort"}  # which ends the job: test_kill.py


def test_arguments_are_recorded(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b12_ring_send.c"), "--count", 50, "--healthy"])
    assert job.wait() == 0, job.stderr
    events = [event for event in bench.events() if event.get("call") == "MPI_Sendrecv"]
    assert sorted((event["rank"], event["half"]) for event in events) == [
        (rank, half) for rank in range(4) for half in ("recv", "send")]
    for event in events:
        assert event["peer"] == (event["rank"] + (1 if event["half"] == "send" else 3)) % 4
        assert (event["tag"], event["count"], event["dtype"], event["bytes"]) == (7, 50, "MPI_INT", 200)
        assert event["result"] == 0
        assert event["dur_ns"] >= 0


def test_collectives_are_numbered_on_their_communicator(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "b26_comm_leak.c"), "--iterations", 5, "--healthy"])
    assert job.wait() == 0, job.stderr
    events = bench.calls()
    for rank in range(2):
        splits = [e for e in events if e["rank"] == rank and e["call"] == "MPI_Comm_split"]
        sums = [e for e in events if e["rank"] == rank and e["call"] == "MPI_Allreduce"]
        assert [e["seq"] for e in splits] == [0, 1, 2, 3, 4]
        assert {e["comm"] for e in splits} == {"MPI_COMM_WORLD"}
        assert [e["seq"] for e in sums] == [0, 0, 0, 0, 0]  # a new communicator each time
        assert len({e["comm"] for e in sums}) == 5
