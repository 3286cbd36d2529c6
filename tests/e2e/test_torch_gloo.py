"""Unmodified PyTorch on CPUs over gloo, of Debian 12 (1.13) and sid: every collective once, with the Python line that asked
for it, and what goes wrong between ranks."""
import pytest

from harness import line_of, wait_until
from verdicts import assert_fault, assert_healthy, shown

SUITES = ["bookworm", "sid"]


@pytest.mark.parametrize("suite", SUITES)
def test_training_is_the_same_and_every_collective_is_there_once(bench, torch_ranks, suite):
    ranks = torch_ranks(suite)
    without, plain = ranks.run(2, "gloo_ddp.py", "--store", bench.folder / "store1", "--groups", preload=False)
    codes, jobs = ranks.run(2, "gloo_ddp.py", "--store", bench.folder / "store2", "--groups")
    assert codes == without == [0, 0], jobs[0].stderr
    assert [job.stdout for job in jobs] == [job.stdout for job in plain]
    ranks.close()
    events = bench.events()
    assert bench.info()["loss_line"] == "nothing lost"
    for rank in range(2):
        mine = [e for e in events if e["rank"] == rank and e.get("kind") == "collective"]
        reductions = [e for e in mine if e["call"] == "gloo::allreduce" and e["count"] == 10]
        assert len(reductions) == 6, [(e["call"], e.get("count")) for e in mine]
        assert [e["count"] for e in mine if e["call"] == "gloo::allreduce" and e["count"] == 5] == [5]
        for event in reductions:
            assert event["dtype"].startswith("4-byte"), event
    assert_healthy(bench.diagnose())


@pytest.mark.parametrize("suite", SUITES)
def test_calls_come_from_the_line_that_asked_for_them(bench, torch_ranks, suite):
    ranks = torch_ranks(suite)
    codes, jobs = ranks.run(2, "gloo_ddp.py", "--store", bench.folder / "store")
    assert codes == [0, 0], jobs[0].stderr
    ranks.close()
    done = bench.ddbg("events", "latest", "--json", "--rank", 0)
    assert done.returncode == 0
    lines = [line for line in done.stdout.splitlines() if "gloo::allreduce" in line and '"count":10' in line.replace(" ", "")]
    assert lines and all("train_one_step" in line and "gloo_ddp.py" in line for line in lines), lines[:1]


def test_uneven_batches_b05(bench, torch_ranks):
    """pytorch#33148: rank 0 has one batch more, so that its gradient allreduce meets the others' barrier."""
    ranks = torch_ranks("bookworm")
    jobs = ranks.start(3, "gloo_ddp.py", "--store", bench.folder / "store", "--bad-rank", 0)
    # Until the third rank is there, too, it is one against one.
    verdict = bench.diagnose_until(("collective_mismatch", "missing_collective", "callsite_mismatch"),
                                   holds=lambda verdict: len(verdict["culprit_ranks"]) == 1)
    ranks.stop(jobs)
    assert_fault(verdict, "collective_mismatch", "control_flow_divergence", rank=0, call="gloo::allreduce")
    assert verdict["culprit_ranks"] == [0], shown(verdict)
    text = verdict["summary"] + str(verdict["evidence"])
    assert "gloo::allreduce" in text and "gloo::barrier" in text, shown(verdict)
    assert "train_one_step" in text and "end_of_epoch" in text, shown(verdict)


@pytest.mark.parametrize("python", [1, 0])
def test_an_exception_on_one_rank_whose_process_lives_on(bench, torch_ranks, python):
    """The others give up after their time limit, and theirs are the tracebacks that people see first."""
    ranks = torch_ranks("bookworm")
    jobs = ranks.start(3, "gloo_ddp.py", "--store", bench.folder / "store", "--raise", 2, "--linger", "--timeout", 4, DDBG_PYTHON=python)
    wait_until(lambda: sum(not job.running() for job in jobs) == 2, "the others do not give up")
    ranks.stop(jobs)
    verdict = bench.diagnose()
    if python:
        assert_raised(verdict, rank=2, culprits=[2])
    else:  # that it did not come, and not those who waited
        assert verdict["kind"] == "stall" and verdict["culprit_ranks"] == [2], shown(verdict)


def assert_raised(verdict, rank, culprits):
    assert_fault(verdict, "uncaught_exception", "control_flow_divergence", rank=rank, field="exception", step=3)
    assert verdict["culprit_ranks"] == culprits, shown(verdict)
    assert "ValueError: sample 3 of rank %d has no label" % rank in verdict["summary"], shown(verdict)
    where, = [frame for frame in verdict["first_bad_event"]["stack"] if frame.get("source")]
    assert where["file"].endswith("gloo_ddp.py") and where["line"] == line_of("gloo_ddp.py", "raise"), shown(verdict)
    assert where["function"] == "load_sample", shown(verdict)


def test_an_exception_on_one_rank(bench, torch_ranks):
    ranks = torch_ranks("sid")
    codes, jobs = ranks.run(3, "gloo_ddp.py", "--store", bench.folder / "store", "--raise", 1)
    assert codes == [1, 1, 1], jobs[0].stderr
    ranks.close()
    assert_raised(bench.diagnose(), rank=1, culprits=[1])


def test_an_exception_on_all_ranks_is_nobodys_in_particular(bench, torch_ranks):
    ranks = torch_ranks("bookworm")
    codes, jobs = ranks.run(3, "gloo_ddp.py", "--store", bench.folder / "store", "--raise", "0,1,2")
    assert codes == [1, 1, 1], jobs[0].stderr
    ranks.close()
    verdict = bench.diagnose()
    assert verdict["kind"] == "uncaught_exception" and verdict["culprit_ranks"] == [0, 1, 2], shown(verdict)


def test_an_exception_that_is_caught_is_healthy(bench, torch_ranks):
    ranks = torch_ranks("bookworm")
    codes, jobs = ranks.run(3, "gloo_ddp.py", "--store", bench.folder / "store", "--raise", 1, "--catch")
    assert codes == [0, 0, 0], jobs[1].stderr
    ranks.close()
    assert_healthy(bench.diagnose())
