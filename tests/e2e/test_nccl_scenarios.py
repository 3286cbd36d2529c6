"""Planted faults in a training loop over NCCL (tests/scenarios/training.cc): the verdict against the truth, and the
healthy twin of each."""
import json
import signal

import pytest

from gpu import FAKES, SCENARIOS
from harness import ROOT
from verdicts import assert_healthy, shown

CONTROL_FLOW, STATE, INFRASTRUCTURE, TIMING = (
    "control_flow_divergence", "state_corruption", "infrastructure_discontinuity", "timing_divergence")


class Scenario:
    """A fault: the kinds of verdict that are right, their class, and what else belongs to it."""

    def __init__(self, fault, kinds, classes, exact=True, **environment):
        self.fault = fault
        self.kinds = kinds
        self.classes = classes
        self.exact = exact  # communicator, sequence number and call are those of the truth
        self.environment = environment

    def __str__(self):
        return "-".join([self.fault, *map(str, self.environment.values())])


MISMATCH = ("collective_mismatch", "argument_mismatch", "callsite_mismatch", "missing_collective")
FINISH = dict(NULLNCCL_MISMATCH="finish")
SCENARIOS_OF_THE_LOOP = [
    Scenario("skip", ("missing_collective",), (CONTROL_FLOW,)),  # C1
    Scenario("extra", MISMATCH, (CONTROL_FLOW,)),  # C2
    Scenario("other_call", MISMATCH, (CONTROL_FLOW,)),  # C3
    Scenario("comm_order", ("order_inversion",), (CONTROL_FLOW,), exact=False),  # C5
    # While its peers wait on another communicator nobody knows whether the call is one too many or comes too early.
    Scenario("out_of_memory", (*MISMATCH, "order_inversion"), (CONTROL_FLOW,), exact=False),  # C7
    Scenario("skip_optimizer", MISMATCH, (CONTROL_FLOW, STATE)),  # C8
    Scenario("bucket_size", ("argument_mismatch",), (CONTROL_FLOW, STATE)),  # C10
    Scenario("bucket_size", ("argument_mismatch",), (CONTROL_FLOW, STATE), **FINISH),  # C11
    Scenario("zero_count", ("argument_mismatch",), (CONTROL_FLOW, STATE)),  # nccl#2-style: dropped by NCCL itself
    Scenario("operator", ("argument_mismatch",), (CONTROL_FLOW, STATE)),  # C13
    Scenario("operator", ("argument_mismatch",), (CONTROL_FLOW, STATE), **FINISH),
    Scenario("type", ("argument_mismatch",), (CONTROL_FLOW, STATE)),  # S4
    Scenario("type", ("argument_mismatch",), (CONTROL_FLOW, STATE), **FINISH),
    Scenario("root", ("argument_mismatch",), (CONTROL_FLOW, STATE)),
    Scenario("slow_preprocessing", ("stall",), (TIMING,), exact=False),  # B16
    Scenario("world_size", ("world_size_mismatch",), (INFRASTRUCTURE,), exact=False),  # W7
    Scenario("same_rank", ("duplicate_rank",), (INFRASTRUCTURE,), exact=False),  # W8
    Scenario("same_device", ("duplicate_device",), (INFRASTRUCTURE,), exact=False),  # S18
    Scenario("two_ids", ("group_creation_mismatch",), (INFRASTRUCTURE, CONTROL_FLOW), exact=False),
    Scenario("init_error", ("init_error",), (INFRASTRUCTURE,), exact=False, NULLNCCL_INIT_ERROR="1:1"),  # W6
    Scenario("late_init", ("stall", "missing_rank"), (TIMING, INFRASTRUCTURE), exact=False),
]


def start(bench, gpu, scenario, truth, *arguments):
    program = gpu.compile(SCENARIOS / "training.cc")
    return gpu.start(bench, [program, "--fault", scenario.fault, "--truth", truth, *arguments], **scenario.environment)


@pytest.mark.parametrize("scenario", SCENARIOS_OF_THE_LOOP, ids=str)
def test_the_first_bad_event_is_the_planted_one(bench, gpu, scenario):
    truth = bench.folder / "truth.json"
    job = start(bench, gpu, scenario, truth, "--ranks", 4, "--bad-rank", 1)
    verdict = bench.diagnose_until(scenario.kinds)
    job.signal(signal.SIGKILL)
    job.wait()
    told = json.loads(truth.read_text())
    assert verdict["verdict"] == "fault", shown(verdict)
    assert verdict["kind"] in scenario.kinds, shown(verdict)
    assert verdict["class"] in scenario.classes, shown(verdict)
    assert told["rank"] in verdict["culprit_ranks"], shown(verdict)
    if scenario.exact:
        first = verdict["first_bad_event"]
        assert (first["rank"], first["comm"], first["seq"]) == (told["rank"], told["comm"], told["seq"]), shown(verdict)
        assert (first["step"], first["step_source"]) == (told["step"], "inferred"), shown(verdict)


@pytest.mark.parametrize("fault", sorted({scenario.fault for scenario in SCENARIOS_OF_THE_LOOP}))
def test_the_healthy_twin_is_healthy(bench, gpu, fault):
    program = gpu.compile(SCENARIOS / "training.cc")
    job = gpu.start(bench, [program, "--fault", fault, "--healthy", "--ranks", 4])
    assert job.wait() == 0, job.stderr
    assert_healthy(bench.diagnose())


def test_a_library_that_stops_by_itself_is_no_fault_of_the_program(bench, gpu):
    """I8: every rank made the same calls with the same arguments."""
    program = gpu.compile(SCENARIOS / "training.cc")
    gpu.start(bench, [program, "--ranks", 4], NULLNCCL_STALL="2:9")
    verdict = bench.diagnose_until("library_stall")
    assert verdict["kind"] == "library_stall", shown(verdict)
    assert verdict["class"] == INFRASTRUCTURE, shown(verdict)


def start_fabric(bench, gpu, odd, **environment):
    """Three ranks, each a process of its own environment: `odd` is in that of rank 1."""
    program = gpu.compile(ROOT / "tests/fakes/client/all_reduce.c", "-x", "c++", "-I", ROOT)
    ranks = 'test "$RANK" = 1 && export %s; exec env LD_PRELOAD=%s %s' % (odd, bench.library, program)
    return bench.start(["/usr/bin/python3", ROOT / "tests/fakes/run_ranks.py", "--fakes", FAKES, 3, "sh", "-c", ranks],
                       NCCL_IGNORE_NET_MISMATCH=1, **environment)


def test_a_rank_whose_fabric_is_another_is_named(bench, gpu):
    """W5, nccl#2428: init ends since the guard was silenced, and the first operation never does."""
    start_fabric(bench, gpu, "NCCL_IB_HCA=mlx5_0", NULLNCCL_CHANNELS="1:4")
    verdict = bench.diagnose_until("library_stall")
    assert (verdict["kind"], verdict["class"]) == ("library_stall", INFRASTRUCTURE), shown(verdict)
    assert verdict["culprit_ranks"] == [1] and "NCCL_IB_HCA" in verdict["summary"], shown(verdict)


def test_other_settings_alone_are_no_fault(bench, gpu):
    job = start_fabric(bench, gpu, "NCCL_IB_HCA=mlx5_0")
    assert job.wait() == 0, job.stderr
    assert_healthy(bench.diagnose())
