"""Each call of the program is one event: not missed, not doubled, no call that an MPI makes to itself."""
from collections import Counter
from pathlib import Path
import re
import subprocess

import pytest

from harness import ROOT
from verdicts import assert_fault, assert_healthy


def counts_by_program(prefix, rank):
    lines = (prefix.parent / ("%s.%d" % (prefix.name, rank))).read_text().splitlines()
    return {name: int(count) for name, count in (line.split() for line in lines)}


def known_calls():
    rows = re.findall(r"^DDBG_MPI(_C)?\((\w+),", (ROOT / "proto/calls_mpi.def").read_text(), re.M)
    names = {name for _, name in rows} | {name + "_c" for large, name in rows if large}
    return {"MPI_" + name for name in names}


def exported_calls(mpi):
    """The names that the MPI library defines."""
    library = next(path for path in Path("/usr/lib").rglob(mpi.shared_library) if path.is_file())
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in symbols.splitlines()}


# Program, arguments, and what it needs: a version of MPI, or Open MPI, since MPICH 4.0's UCX device spawns nothing and has no
# ports.
PROGRAMS = {
    "Init": ("exactly_once.c", [], 3),
    "Init_thread": ("exactly_once.c", ["--thread"], 3),
    "windows": ("rma_mix.c", [], 3),
    "files": ("file_mix.c", [], 3),
    "persistent": ("persistent_mix.c", [], 3),
    "large_counts": ("large_counts.c", ["--elements", 3000000000], 4),
    "sessions": ("sessions.c", [], 4),
    "sessions_and_world": ("sessions.c", ["--world"], 4),
    "ports": ("ports.c", ["--publish"], "openmpi"),
}
MPI_VERSION = {"openmpi": 3, "mpich": 4}


def command_of(bench, build, mpi, name, *more):
    source, arguments, needs = PROGRAMS[name]
    if needs != str(mpi) and (isinstance(needs, str) or MPI_VERSION[str(mpi)] < needs):
        pytest.skip("not in this MPI")
    place = ["--file", bench.folder / "data"] if name == "files" else ["--socket", bench.short / "join"] if name == "ports" else []
    return [build(mpi, source), *arguments, *place, *more]


# Open MPI 4.1's default for collective writes crashes with four ranks and little data.
ENVIRONMENT = {"OMPI_MCA_fcoll": "individual"}


@pytest.mark.quick
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_call_is_recorded_once(bench, build, mpi, program):
    counts = bench.folder / "counts"
    job = bench.mpirun(mpi, 4, command_of(bench, build, mpi, program, "--counts", counts), **ENVIRONMENT)
    assert job.wait() == 0, job.stderr
    events = bench.calls()
    for rank in range(4):
        recorded = Counter()
        for event in events:
            if event["rank"] == rank:
                recorded[event["call"]] += event.get("polls") or 1  # polls in a row that found nothing are one event
        assert dict(recorded) == counts_by_program(counts, rank), "rank %d" % rank
    assert_healthy(bench.diagnose())


def test_programs_cover_the_table(bench, build, mpi):
    called = set()
    for name, (_, _, needs) in PROGRAMS.items():
        if needs != str(mpi) and (isinstance(needs, str) or MPI_VERSION[str(mpi)] < needs):
            continue
        counts = bench.folder / ("counts-" + name)
        job = bench.mpirun(mpi, 2, command_of(bench, build, mpi, name, "--counts", counts), preload=False, **ENVIRONMENT)
        assert job.wait() == 0, job.stderr
        called |= set(counts_by_program(counts, 0)) | set(counts_by_program(counts, 1))
    missing = (known_calls() & exported_calls(mpi)) - called
    elsewhere = {"MPI_Abort"}  # which ends the job: test_kill.py
    if str(mpi) == "mpich":
        elsewhere |= {"MPI_" + name for name in (
            "Open_port", "Close_port", "Publish_name", "Lookup_name", "Unpublish_name", "Comm_accept", "Comm_connect",
            "Comm_join", "Comm_spawn", "Comm_spawn_multiple", "Comm_get_parent")}
    else:
        elsewhere |= {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_get_parent"}  # test_spawn.py
    assert missing == elsewhere


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


def test_large_counts_have_64_bits(bench, build, mpich):
    job = bench.mpirun(mpich, 2, command_of(bench, build, mpich, "large_counts"))
    assert job.wait() == 0, job.stderr
    events = [event for event in bench.events() if event.get("count") == 3000000000]
    assert sorted((event["rank"], event["call"]) for event in events if "call" in event) == [
        (rank, call) for rank in range(2) for call in ("MPI_Irecv_c", "MPI_Send_c", "MPI_Wait")]
    assert {event["bytes"] for event in events} == {0}


def test_windows_files_and_locks_are_told(bench, build, mpi):
    job = bench.mpirun(mpi, 2, command_of(bench, build, mpi, "windows"), **ENVIRONMENT)
    assert job.wait() == 0, job.stderr
    events = [event for event in bench.events() if event["rank"] == 0 and "call" in event]
    created = next(event for event in events if event["call"] == "MPI_Win_create")
    assert (created["comm"], created["seq"], created["bytes"], created["new_comm"]) == ("MPI_COMM_WORLD", 0, 32, "halo")
    fences = [event for event in events if event["call"] == "MPI_Win_fence"]
    assert [(event["comm"], event["seq"]) for event in fences] == [("halo", n) for n in range(7)]
    put = next(event for event in events if event["call"] == "MPI_Put")
    assert (put["comm"], put["peer"], put["count"], put["dtype"], put["offset"]) == ("halo", 1, 1, "MPI_INT", 0)
    assert next(event for event in events if event["call"] == "MPI_Win_lock")["lock"] == "exclusive"
    assert next(event for event in events if event["call"] == "MPI_Win_lock_all")["lock"] == "shared"
    rput = next(event for event in events if event["call"] == "MPI_Rput")
    waited = any(event["call"] == "MPI_Wait" and event.get("operation") == rput["operation"] for event in events)
    assert waited or mpi.suffix == "mpich", rput  # which has one request for all that are done at once


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


# Where it is instead: nowhere, in another collective, past the end.
MISSING = ("missing_collective", "collective_mismatch", "early_exit")


@pytest.mark.parametrize("program, option, call", [
    ("windows", "--skip-fence", "MPI_Win_fence"), ("files", "--skip-write", "MPI_File_write_at_all"),
    ("persistent", "--skip-start", "MPI_Start"), ("sessions", "--skip", "MPI_Barrier")])
def test_missing_rank_of_a_later_collective_is_named(bench, build, mpi, program, option, call):
    """Its healthy twin is the same program above."""
    if program == "persistent" and MPI_VERSION[str(mpi)] < 4:
        pytest.skip("not in this MPI")
    bench.mpirun(mpi, 3, command_of(bench, build, mpi, program, option, 1), **ENVIRONMENT)
    verdict = bench.diagnose_until(MISSING)
    assert_fault(verdict, MISSING, "control_flow_divergence")
    assert verdict["culprit_ranks"] == [1], verdict
    assert call in verdict["summary"], verdict["summary"]
