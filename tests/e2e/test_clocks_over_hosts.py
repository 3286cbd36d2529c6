"""The axis against the truth, over hosts that are network, UTS, mount and time namespaces, with ranks that mpirun started by
a remote shell. The namespaces share one real clock, from which each host's is bent by a known offset and drift; the
program writes down what the real one showed around each call."""
import json
import subprocess
import time

import pytest

from harness import ROOT
from namespace_hosts import NamespaceHosts, need_namespaces
from verdicts import assert_at, assert_fault, shown

SECOND = 1_000_000_000


class Clock:
    """Of a host: `namespace` seconds ahead by a time namespace, of which ddbg does not know if `hidden`, and so counts
    with the rest; `ahead` ns by a preloaded library, `ppm` faster."""

    def __init__(self, namespace=0, hidden=False, ahead=0, ppm=0):
        self.namespace, self.hidden, self.ahead, self.ppm = namespace, hidden, ahead, ppm

    def word(self, host, since):
        """For axis_error: what it shows is real + AHEAD + RATE · (real − SINCE)."""
        shift = self.namespace * SECOND
        return "%s:%d:%.9g:%d" % (host, self.ahead + (shift if self.hidden else 0), self.ppm * 1e-6, since - shift)

    def real(self, own, since):
        shift = self.namespace * SECOND
        return since - shift + (own - self.ahead - (shift if self.hidden else 0) - since + shift) / (1 + self.ppm * 1e-6)


class BentHosts(NamespaceHosts):
    """node1 to node<n>, with a clock each."""

    def __init__(self, bench, clocks):
        self.clocks = dict(enumerate(clocks, 1))
        super().__init__(bench, len(clocks), {number: clock.namespace for number, clock in self.clocks.items()},
                         [number for number, clock in self.clocks.items() if clock.hidden])
        self.since = time.monotonic_ns()
        skews = " ".join("node%d:%d:%d:0" % (number, clock.ahead, clock.ppm * 1000) for number, clock in self.clocks.items())
        self.bent = dict(SKEWED_CLOCKS=skews, SKEWED_SINCE_NS=self.since)
        self.skew = self.library("skewed_clock")
        self.start_collectors(LD_PRELOAD=self.skew, **self.bent)

    def run(self, mpi, program, **environment):
        return self.mpirun(mpi, 1, program, [self.skew], **self.bent, **environment)

    def axis_errors(self, run, times):
        tool = ROOT / "build/release/tests/axis_error"
        if not tool.exists():
            pytest.skip("axis_error is not built (ninja -C build/release axis_error)")
        words = [clock.word("node%d" % number, self.since) for number, clock in self.clocks.items()]
        done = subprocess.run([tool, self.bench.runs / run, times, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        errors = json.loads(done.stdout)
        errors["pairs"] = [pair for pair in errors["pairs"] if pair["hosts"][0] != pair["hosts"][1]]
        return errors


@pytest.fixture
def bent_hosts(bench, as_root):
    need_namespaces()
    made = []

    def make(*clocks):
        made.append(BentHosts(bench, clocks))
        return made[-1]
    yield make
    for hosts in made:
        hosts.close()


def three_clocks():
    behind = min(3000 * SECOND, time.monotonic_ns() // 2)
    return Clock(), Clock(namespace=5000, hidden=True, ppm=40), Clock(namespace=90_000, ahead=-behind, ppm=-25)


def is_good(errors):
    """Within 20 us where fast messages came all the time, as the bound says that rests on them; else half of the events."""
    def error(pair):
        return pair["error_ns"]["p99" if pair["bound_ns"]["p99"] <= 150_000 else "p50"]
    return all(error(pair) <= 20_000 and pair["covered"] >= 0.99 for pair in errors["pairs"])


def ends(job):
    try:
        assert job.wait(100) == 0, job.stderr
    except AssertionError:
        return not job.running()
    return True


@pytest.mark.alone
def test_axis_is_within_20_microseconds_of_the_truth(bench, build, mpi, bent_hosts):
    """Of six pairs of hosts, of the times at which calls began."""
    hosts = bent_hosts(*three_clocks())
    # What bounds the clocks is fast messages, which a machine may keep from coming that is busy with other things.
    errors = {"pairs": []}
    for attempt in ("1", "2", "3"):
        times = bench.folder / ("times-" + attempt)
        times.mkdir()
        program = [build(mpi, "clock_truth.c"), "--rounds", 3000, "--pause-us", 1000, "--times", times]
        job = hosts.run(mpi, program, DDBG_RUN_ID="run-" + attempt)
        # MPICH over UCX's TCP does not always come out of MPI_Finalize, with and without ddbg.
        if not ends(job):
            hosts.end_ranks()
            continue
        time.sleep(1.5)  # until the files' ends are there
        errors = hosts.axis_errors("run-" + attempt, times)
        print(json.dumps(errors, indent=1))
        assert errors["contradictions"] == 0
        if is_good(errors):
            break
    assert len(errors["pairs"]) == 6 and is_good(errors), shown(errors)
    assert all(pair["events"] >= 10_000 for pair in errors["pairs"]), shown(errors)
    run = "run-" + attempt
    verdict = bench.diagnose(run)
    # A busy machine makes ranks late, of which a verdict may speak.
    assert verdict["verdict"] == "healthy" or verdict["class"] == "timing_divergence", shown(verdict)
    assert not any("OMPI" in caveat or "clock of" in caveat for caveat in verdict["caveats"]), verdict["caveats"]
    clocks = bench.info(run)["clocks"]
    assert [clock["host"] for clock in clocks] == ["node1", "node2", "node3"]
    for number, clock in enumerate(clocks[1:], 2):
        assert clock["tied_by"] == "causality", clock
        for place in ("start_ns", "end_ns"):
            here = hosts.clocks[number].real(clock[place], hosts.since)
            assert abs(here - hosts.clocks[1].real(clocks[0][place], hosts.since)) <= clock["error_ns"], (place, clock)
        assert abs(clock["drift_ppm"] - hosts.clocks[number].ppm) < 10, clock


def test_hang_over_hosts_with_bent_clocks(bench, build, mpi, bent_hosts):
    """The verdict is that of one host."""
    hosts = bent_hosts(*three_clocks()[:2])
    job = hosts.run(mpi, [build(mpi, "b01_extra_barrier.c")])
    verdict = bench.diagnose_until("callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", "control_flow_divergence", rank=0, seq=3, host="node1")
    assert_at(verdict, "save", "b01_extra_barrier.c", "save")
    job.interrupt()
    hosts.end_ranks()
