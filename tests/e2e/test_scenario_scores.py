"""How the suite of planted faults judges verdicts (tests/scenarios/score.py, baselines.py, catalog.py)."""
import sys

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests/scenarios"))

import baselines  # noqa: E402
import catalog  # noqa: E402
import rows  # noqa: E402
import score  # noqa: E402

pytestmark = pytest.mark.alone

CONTROL, STATE = catalog.CONTROL_FLOW, catalog.STATE
TRUTH = dict(classes=[CONTROL, STATE], kinds=["collective_mismatch"], exact="place", rank=2, peer=-1, step=3, call="",
             places=[dict(comm="data", seq=7)])


def verdict(kind="collective_mismatch", fault_class=CONTROL, **first):
    return {"verdict": "fault", "kind": kind, "class": fault_class,
            "first_bad_event": dict(dict(rank=2, comm="data", seq=7, call="MPI_Allreduce"), **first)}


@pytest.mark.parametrize("hits, trials, low, high", [
    (0, 150, 0.0, 0.02497),  # "0 of 150" is an upper bound of 2.5 %
    (5, 10, 0.23659, 0.76341),
    (95, 100, 0.88825, 0.97846),
    (10, 10, 0.72247, 1.0),
    (0, 0, 0.0, 1.0),
])
def test_wilson_interval(hits, trials, low, high):
    assert score.wilson(hits, trials) == pytest.approx((low, high), abs=1e-4)


def test_the_planted_event_is_a_hit():
    assert score.judge(TRUTH, verdict()) == dict(outcome=CONTROL, class_right=True, kind_right=True, exact=True)


@pytest.mark.parametrize("wrong", [dict(rank=1), dict(comm="tensor"), dict(seq=8)], ids=str)
def test_another_place_is_not_exact(wrong):
    told = score.judge(TRUTH, verdict(**wrong))
    assert told["class_right"] and not told["exact"]


def test_a_right_place_in_a_wrong_class_is_no_hit():
    assert not score.judge(TRUTH, verdict(fault_class=catalog.TIMING))["exact"]


def test_a_symptom_of_the_right_class_is_not_of_the_right_kind():
    assert not score.judge(TRUTH, verdict(kind="stall"))["kind_right"]


def test_the_call_counts_where_the_truth_has_one():
    truth = dict(TRUTH, call="MPI_Bcast")
    assert not score.judge(truth, verdict())["exact"]
    assert score.judge(truth, verdict(call="MPI_Bcast"))["exact"]


def test_either_end_of_a_pair_will_do():
    truth = dict(TRUTH, exact="pair", peer=0, places=[])
    assert score.judge(truth, verdict(rank=0))["exact"]
    assert not score.judge(truth, verdict(rank=1))["exact"]


@pytest.mark.parametrize("told, outcome", [({"verdict": "unknown"}, "unknown"), ({"verdict": "healthy"}, "healthy"),
                                           ({"verdict": None}, "tool failed"), ({}, "tool failed")], ids=str)
def test_no_verdict_is_a_miss_on_a_faulty_run(told, outcome):
    judged = score.judge(TRUTH, told)
    assert judged["outcome"] == outcome and not judged["class_right"] and not judged["exact"]


@pytest.mark.parametrize("told, false", [({"verdict": "healthy"}, False), ({"verdict": "unknown"}, False), (verdict(), True),
                                         ({}, True)], ids=str)
def test_on_a_healthy_run_only_unknown_and_healthy_are_no_false_verdicts(told, false):
    assert score.judge(None, told)["false_verdict"] == false


def test_the_matrix_counts_by_class():
    judged = [(truth, score.judge(truth, told)) for truth, told in (
        (TRUTH, verdict()), (TRUTH, verdict(fault_class=STATE)), (TRUTH, verdict(fault_class=catalog.TIMING)),
        (None, {"verdict": "healthy"}), (None, verdict()))]
    counts = score.matrix(judged)
    assert counts[CONTROL, CONTROL] == 2, "a second class of the truth is right by another name"
    assert counts[CONTROL, catalog.TIMING] == 1
    assert (counts["healthy", "healthy"], counts["healthy", CONTROL]) == (1, 1)
    assert score.rates(judged)["false_verdicts"] == (1, 2)
    assert score.rates(judged)["class"] == (2, 3)


def event(rank, seq, duration=5, comm="world", **more):
    return dict(dict(rank=rank, kind="collective", call="MPI_Barrier", comm=comm, comm_uid=comm, seq=seq, t_ns=100 * seq + rank,
                     dur_ns=duration), **more)


def test_the_watchdog_names_who_waits_longest():
    events = [event(0, 1, None), event(1, 1), event(1, 2, None), event(2, 0)]
    assert baselines.timeout_only(events, hung=True)["first_bad_event"]["rank"] == 0
    assert baselines.timeout_only(events, hung=False)["verdict"] == "healthy"


def test_counts_name_who_is_behind_and_see_nothing_in_equal_ones():
    behind = baselines.counts_only([event(0, 1), event(1, 1), event(2, 0)])
    assert behind["first_bad_event"] == dict(rank=2, comm="world", seq=1, call=None)
    assert baselines.counts_only([event(0, 1), event(1, 1, call="MPI_Bcast")])["verdict"] == "healthy"


def test_a_seed_draws_the_same_case_again():
    for row in rows.ROWS:
        assert catalog.draw(row, 3) == catalog.draw(row, 3)
    drawn = {catalog.draw(rows.chosen(ids=["C1"])[0], seed) for seed in range(1, 11)}
    assert len({(case.shape, case.backend) for case in drawn}) == 10, "shapes and MPIs come in turn"


def test_every_fault_has_its_classes_and_healthy_rows_have_none():
    for row in rows.ROWS:
        assert bool(row.kinds) == bool(row.classes), row.id
        assert set(row.classes) <= set(catalog.CLASSES), row.id
        assert row.healthy == (row.family == "N" or row.id in ("I4", "I11")), row.id
