"""MPI libraries told at run time by what they say of themselves, on a double of each (tests/fakes/mpi)."""
import json
import subprocess

import pytest

from harness import ROOT
from launchers import PROGRAMS

FAKE = ROOT / "tests/fakes/mpi"


@pytest.fixture
def events_of(bench):
    """events_of("-DFAKE_ODD"): events and library of a process that is rank 1 of 2 over that double."""
    def run(*flags):
        library, program = bench.folder / "libmpi_abi.so.1", bench.folder / "fake_mpi"
        subprocess.run(["gcc", "-Wall", "-Wextra", "-shared", "-fPIC", *flags, FAKE / "mpi.c", "-o", library,
                        "-Wl,-soname,libmpi_abi.so.1"], check=True)
        subprocess.run(["gcc", "-g", *flags, "-I", FAKE, PROGRAMS / "fake_mpi.c", "-o", program, library,
                        "-Wl,-rpath,%s" % bench.folder], check=True)
        job = bench.start([program], LD_PRELOAD=bench.library, FAKE_RANK=1, FAKE_SIZE=2)
        assert job.wait() == 0, job.stderr
        bench.stop_collectors()
        info = json.loads(bench.ddbg("info", "latest", "--json").stdout)
        return bench.events_with_stacks(), info
    return run


CALLS = ["MPI_Init_thread", "MPI_Allreduce", "MPI_Allreduce", "MPI_Allreduce_c", "MPI_Comm_dup", "MPI_Comm_set_name",
         "MPI_Barrier", "MPI_Send", "MPI_Recv", "MPI_Irecv", "MPI_Type_commit", "MPI_Send", "MPI_Wait", "MPI_Send",
         "MPI_Type_free", "MPI_Comm_free", "MPI_Finalize"]


@pytest.mark.quick
@pytest.mark.parametrize("flags, version", [([], "MPICH Version:      5.0.0"), (["-DFAKE_OPEN_MPI"], "Open MPI v6.0.0")])
def test_handles_are_understood(events_of, flags, version):
    """The standard's interface by MPI_Abi_get_version, whoever made the library; Open MPI 6's own, which says -1 there."""
    events, info = events_of(*flags)
    assert [event["call"] for event in events] == CALLS
    assert {event["rank"] for event in events} == {1}
    assert version in json.dumps(info)
    by_sum = [(e["count"], e["dtype"], e["op"], e["comm"], e["seq"]) for e in events if e["call"].startswith("MPI_Allreduce")]
    assert by_sum == [(3, "MPI_DOUBLE", "MPI_SUM", "MPI_COMM_WORLD", 0), (2, "MPI_INTEGER", "MPI_MAX", "MPI_COMM_WORLD", 1),
                      (5000000000, "MPI_INT", "MPI_SUM", "MPI_COMM_WORLD", 2)]
    assert [event.get("in_place") for event in events[1:4]] == [None, True, None]
    assert events[4]["new_comm"] == "copy"
    sends = [(e["count"], e["dtype"], e["peer"], e["tag"], e["comm"]) for e in events if e["call"] == "MPI_Send"]
    assert sends == [(4, "MPI_INT", 1, 7, "copy"), (1, "2 x MPI_DOUBLE", 1, 8, "copy"), (1, "MPI_INT", "null", 9, "copy")]
    assert (events[8]["peer"], events[8]["tag"]) == (1, 7)  # received from anybody, any tag, status ignored
    assert events[9]["peer"] == "any"
    assert (events[12]["peer"], events[12]["operation"]) == (1, events[9]["operation"])


@pytest.mark.quick
def test_unknown_family_has_names_counts_and_stacks(events_of):
    events, info = events_of("-DFAKE_ODD")
    assert [event["call"] for event in events] == CALLS
    assert "Oddball MPI 1.0" in json.dumps(info)
    assert [event["count"] for event in events[1:4]] == [3, 2, 5000000000]
    assert [(e["count"], e.get("peer"), e["tag"]) for e in events if e["call"] == "MPI_Send"] == [
        (4, 1, 7), (1, 1, 8), (1, None, 9)]
    assert all("comm" not in event and "dtype" not in event for event in events)
    assert all(event["stack"][0]["function"] == "main" for event in events)
