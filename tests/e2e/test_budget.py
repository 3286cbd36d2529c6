"""A job that runs for long keeps within DDBG_BUDGET: its newest detail, and of the rest what matters for good."""
import pytest

from verdicts import assert_fault, assert_healthy, shown

RANKS = 2
BUDGET = 64 << 10  # parts of 16 KiB


def run_long(bench, build, mpi, *arguments, **more):
    # A pause that lets the rings keep up on a busy machine.
    job = bench.mpirun(mpi, RANKS, [build(mpi, "long_run.c"), "--step-us", 1, *arguments], DDBG_BUDGET=str(BUDGET), **more)
    return job


def size_of(bench, rank):
    return sum(path.stat().st_size for path in (bench.runs / "latest").glob("a0/rank-%05d.*ddbg" % rank))


def check_sums(bench, rank_info, steps):
    """Each call is there once: in detail, or in a sum."""
    detail = {}
    for event in bench.calls():
        if event["rank"] == rank_info["rank"]:
            detail[event["call"]] = detail.get(event["call"], 0) + 1
    sums = {}
    for one in rank_info["dropped"]["sums"]:
        sums[one["call"]] = sums.get(one["call"], 0) + one["calls"]
    assert rank_info["dropped"]["calls"] == sum(sums.values()) > 0
    for call in ("MPI_Allreduce", "MPI_Isend", "MPI_Irecv", "MPI_Sendrecv", "MPI_Bcast"):
        assert detail.get(call, 0) + sums.get(call, 0) == steps, (call, detail, sums)
        assert detail.get(call, 0) < steps, call
    for call, times in (("MPI_Init", 1), ("MPI_Comm_dup", 1), ("MPI_Finalize", 1)):
        assert detail[call] == times and call not in sums, (call, detail, sums)


# The busier the machine, the more is being written at once.
@pytest.mark.alone
def test_budget_is_kept_and_no_call_is_forgotten(bench, build, mpi):
    steps = 8000
    job = run_long(bench, build, mpi, "--steps", steps)
    assert job.wait(120) == 0, job.stderr
    bench.stop_collectors()
    info = bench.info()
    assert info["loss_line"].startswith("nothing lost; "), info["loss_line"]
    for rank in info["ranks"]:
        assert size_of(bench, rank["rank"]) <= BUDGET * 1.25, "what is being written comes on top until it is a part"
        assert not rank["damage"]
        check_sums(bench, rank, steps)
    verdict = bench.diagnose()
    assert_healthy(verdict)
    assert any("older calls are known in sums only" in caveat for caveat in verdict["caveats"]), shown(verdict)


def test_first_bad_event_after_detail_was_dropped(bench, build, mpi):
    """Collectives and messages are counted from the beginning of the run, not from where its detail begins."""
    job = run_long(bench, build, mpi, "--steps", 8000, "--hang")
    verdict = bench.diagnose_until("callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", "control_flow_divergence", call="MPI_Barrier")
    assert verdict["culprit_ranks"] == [0, 1], shown(verdict)  # two ranks: nobody can say which
    assert verdict["first_bad_event"]["rank"] == 0
    assert any(rank["dropped"]["calls"] for rank in bench.info()["ranks"])
    job.interrupt()
    job.wait()


@pytest.mark.parametrize("lost", [False, True], ids=["all received", "one not received"])
def test_messages_are_counted_through_what_was_dropped(bench, build, mpi, lost):
    job = run_long(bench, build, mpi, "--steps", 8000, *(["--lost-message"] if lost else []))
    assert job.wait(120) == 0, job.stderr
    bench.stop_collectors()
    verdict = bench.diagnose()
    if not lost:
        return assert_healthy(verdict)
    assert_fault(verdict, "p2p_unmatched", "control_flow_divergence")
    assert "1 message from rank 0 to rank 1 with tag 99 was never received" in verdict["summary"], shown(verdict)


def test_no_budget_drops_nothing(bench, build, mpi):
    job = bench.mpirun(mpi, RANKS, [build(mpi, "long_run.c"), "--steps", 8000], DDBG_BUDGET="0")
    assert job.wait(120) == 0, job.stderr
    bench.stop_collectors()
    for rank in bench.info()["ranks"]:
        assert "dropped" not in rank and "files" not in rank
        assert rank["calls"] > 5 * 8000


def test_wrong_budget_is_said_and_ignored(bench, build, openmpi):
    job = bench.mpirun(openmpi, 1, [build(openmpi, "long_run.c"), "--steps", 10], DDBG_BUDGET="12 parsecs")
    assert job.wait(60) == 0
    assert "DDBG_BUDGET=12 parsecs is not a number of bytes" in job.stderr
