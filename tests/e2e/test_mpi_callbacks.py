"""Calls within calls: those of the program's functions that MPI calls are kept, MPI's own are not."""
import pytest


@pytest.mark.quick
def test_calls_from_callbacks_are_nested(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "callbacks.c")])
    assert job.wait() == 0, job.stderr
    events = [event for event in bench.calls() if event["rank"] == 0]
    nested = [event["call"] for event in events if event.get("nested")]
    assert set(nested) == {"MPI_Iprobe", "MPI_Comm_free"} and nested.count("MPI_Comm_free") == 1
    outside = [event["call"] for event in events if not event.get("nested")]
    # The send that the error handler left by longjmp has no end and no record; what follows it is there.
    assert [call for call in outside if call != "MPI_Send"] == [
        "MPI_Init", "MPI_Op_create", "MPI_Allreduce", "MPI_Comm_dup", "MPI_Comm_dup", "MPI_Comm_free", "MPI_Barrier",
        "MPI_Op_free", "MPI_Finalize"]
    failed = [event for event in events if event["call"] == "MPI_Send" and event["tag"] == 2]
    assert len(failed) == 1 and failed[0]["result"] != 0 and failed[0]["comm"] == "MPI_COMM_SELF"
    inner = next(event for event in events if event.get("nested") and event["call"] == "MPI_Comm_free")
    outer = next(event for event in events if not event.get("nested") and event["call"] == "MPI_Comm_free")
    assert outer["t_ns"] <= inner["t_ns"] and inner["t_ns"] + inner["dur_ns"] <= outer["t_ns"] + outer["dur_ns"]
