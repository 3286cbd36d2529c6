"""Real PyTorch with ProcessGroupNCCL: every call once, compared with what PyTorch's own Flight Recorder says; and the
job ends as it would without us."""
import json
import math

import pytest

from verdicts import assert_healthy, shown

TYPES = {"Float": "ncclFloat32", "Double": "ncclFloat64", "Long": "ncclInt64", "Int": "ncclInt32", "BFloat16": "ncclBfloat16"}
COLLECTIVES = {"all_reduce": "ncclAllReduce", "all_reduce_barrier": "ncclAllReduce", "_all_gather_base": "ncclAllGather",
               "all_gather": "ncclAllGather", "_reduce_scatter_base": "ncclReduceScatter", "broadcast": "ncclBcast",
               "reduce": "ncclReduce"}


def numbers(sizes):
    return sum(math.prod(size) for size in sizes)


class FlightRecorder:
    """What a rank's entries say NCCL was called with: collectives by process group, messages as (call, peer, count)."""

    def __init__(self, path):
        self.collectives, self.messages, self.exchanged = {}, [], [0, 0]
        for entry in json.loads(path.read_text()):
            self.add(entry, entry["profiling_name"].split(":", 1)[1])

    def add(self, entry, name):
        dtype = TYPES.get((entry["input_dtypes"] or ["none"])[0])
        sizes = entry["output_sizes"] if name == "_reduce_scatter_base" else entry["input_sizes"]
        if name in COLLECTIVES:
            calls = self.collectives.setdefault(entry["process_group"][0], [])
            calls.append((COLLECTIVES[name], numbers(sizes), dtype))
        elif name.startswith("send "):
            self.messages.append(("ncclSend", int(name.split("->")[1]), numbers(entry["input_sizes"])))
        elif name.startswith("recv "):
            self.messages.append(("ncclRecv", int(name.split("<-")[1]), numbers(entry["output_sizes"])))
        elif name == "all_to_all":
            self.exchanged[0] += numbers(entry["input_sizes"])
            self.exchanged[1] += numbers(entry["output_sizes"])
        else:
            assert name == "coalesced", "the Flight Recorder names what this test does not know: %s" % name


def traced(events, rank):
    """The same of the trace. Which communicator is which process group follows from their order."""
    collectives, messages, numbered = {}, [], {}
    for event in events:
        if event["rank"] != rank:
            continue
        if event["kind"] in ("collective", "comm_create"):
            seq = numbered[event["comm_uid"]] = numbered.get(event["comm_uid"], -1) + 1
            assert event["seq"] == seq, "a sequence number is missing or twice there"
        if event["kind"] == "collective":
            calls = collectives.setdefault(event["comm_uid"], [])
            calls.append((event["call"], event["count"], event["dtype"]))
        elif event["kind"] in ("send", "recv"):
            messages.append((event["call"], event["peer"], event["count"]))
    return list(collectives.values()), messages


def assert_same(recorder, events, rank):
    collectives, messages = traced(events, rank)
    assert collectives == list(recorder.collectives.values())
    # PyTorch tells of an all-to-all only how much there was.
    for message in recorder.messages:
        messages.remove(message)
    assert sum(count for call, _, count in messages if call == "ncclSend") == recorder.exchanged[0]
    assert sum(count for call, _, count in messages if call == "ncclRecv") == recorder.exchanged[1]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("eager", ["", "1"], ids=["lazy", "eager"])
def test_every_call_is_in_the_trace_once_as_pytorch_has_it(bench, torch_job, ranks, eager):
    for name, preload in (("with", True), ("without", False)):
        folder = bench.folder / name
        folder.mkdir()
        job = torch_job.run(ranks, "torch_nccl.py", folder, preload=preload, TORCH_NCCL_TRACE_BUFFER_SIZE=4000, EAGER=eager)
        assert job.popen.returncode == 0, job.stderr
    events = bench.events()
    for rank in range(ranks):
        results = [json.loads((bench.folder / name / ("result-%d.json" % rank)).read_text()) for name in ("with", "without")]
        assert results[0] == results[1]
        assert_same(FlightRecorder(bench.folder / "with" / ("recorder-%d.json" % rank)), events, rank)
    assert_healthy(bench.diagnose())
    assert bench.ddbg("info", "latest").stdout.startswith("nothing lost")


def test_a_watchdogs_timeout_is_not_taken_for_the_fault(bench, torch_job):
    """Rank 1 leaves out an all-reduce; rank 0's watchdog aborts the communicator and the process."""
    codes = [torch_job.run(2, "torch_hang.py", "missing", 5, preload=preload).popen.returncode for preload in (True, False)]
    assert codes[0] == codes[1] != 0
    verdict = bench.diagnose()
    assert verdict["verdict"] == "fault", shown(verdict)
    assert verdict["culprit_ranks"] == [1], shown(verdict)
    assert verdict["kind"] in ("missing_collective", "stall", "early_exit"), shown(verdict)


def test_communicators_that_are_aborted_at_the_end_are_no_fault(bench, torch_job):
    folder = bench.folder / "out"
    folder.mkdir()
    job = torch_job.run(2, "torch_nccl.py", folder, ABORT=1)
    assert job.popen.returncode == 0, job.stderr
    assert any(event.get("call") == "ncclCommAbort" for event in bench.events())
    assert_healthy(bench.diagnose())
