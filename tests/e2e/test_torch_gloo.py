"""Unmodified PyTorch on CPUs over gloo, of Debian 12 (1.13) and sid: every collective once, with the Python line that asked
for it, and what goes wrong between ranks."""
import pytest

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
    verdict = bench.diagnose_until(("collective_mismatch", "missing_collective", "callsite_mismatch"))
    ranks.stop(jobs)
    assert_fault(verdict, "collective_mismatch", "control_flow_divergence", rank=0, call="gloo::allreduce")
    assert verdict["culprit_ranks"] == [0], shown(verdict)
    text = verdict["summary"] + str(verdict["evidence"])
    assert "gloo::allreduce" in text and "gloo::barrier" in text, shown(verdict)
    assert "train_one_step" in text and "end_of_epoch" in text, shown(verdict)
