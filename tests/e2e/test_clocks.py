"""One axis over hosts whose clocks are wrong. The hosts are namespaces of one machine with names and boot ids of their
own, their clocks bent by a preloaded library, so that the truth is known to the nanosecond."""
import subprocess
import time
import uuid

import pytest

from harness import ROOT
from launchers import PROGRAMS
from test_two_nodes import NODE
from verdicts import assert_fault, assert_healthy, shown

pytestmark = pytest.mark.alone

OWN_BOOT = "mount --bind $BOOT_ID /proc/sys/kernel/random/boot_id && "
# The collector of a host reads that host's clock. Others are kept out by the socket in the host's own /tmp.
COLLECTOR = ('{ LD_PRELOAD=$SKEW DDBG_SOCKET= %s --foreground --idle-seconds 3 & } && '
             "until [ -e $PRIVATE/collector.sock ] || [ $((n = n + 1)) -gt 100 ]; do sleep 0.1; done && ")


class Hosts:
    """node1 and node2, each with a clock that is `ahead` ns, `rate` 1e-9 faster, and a wall clock that is `wall` ns ahead."""

    def __init__(self, bench, clocks):
        self.bench = bench
        self.clocks = clocks
        self.since = time.monotonic_ns()
        self.skew = bench.folder / "skewed_clock.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", self.skew, PROGRAMS / "skewed_clock.c", "-ldl"], check=True)

    def run(self, program, *arguments):
        hosts = self.bench.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n127.0.0.1 node1\n127.0.0.1 node2\n")
        (self.bench.folder / "launch").mkdir(exist_ok=True)
        collector = COLLECTOR % (self.bench.prefix / "bin/ddbg-collector")
        script = NODE.replace("two_nodes.sh 4", "two_nodes.sh 2").replace("exec ", OWN_BOOT + collector + "exec ") + "".join(" %s" % word for word in arguments)
        skews = " ".join("node%d:%d:%d:%d" % (number, *clock) for number, clock in self.clocks.items())
        jobs = []
        for number in self.clocks:
            boot_id = self.bench.folder / ("boot-%d" % number)
            boot_id.write_text("%s\n" % uuid.uuid4())
            jobs.append(self.bench.start(
                ["unshare", "--mount", "--uts", "/bin/sh", "-c", script], NODE=number, HOSTS=hosts, PROGRAM=program,
                PRIVATE="/tmp/ddbg-0", DDBG_SOCKET=None, BOOT_ID=boot_id, SKEW=self.skew, SKEWED_CLOCKS=skews,
                SKEWED_SINCE_NS=self.since, DDBG_LIBRARY="%s:%s" % (self.skew, self.bench.library),
                LAUNCH_DIR=self.bench.folder / "launch"))
        return jobs

    def real(self, host, own_ns):
        """The machine's clock when that host's showed `own_ns`."""
        ahead, rate, _ = self.clocks[int(host[-1])]
        # own = real + ahead + (real - since) * rate
        return self.since + (own_ns - ahead - self.since) / (1 + rate * 1e-9)


@pytest.fixture
def namespaces(as_root):
    command = "mount --bind /etc/hostname /proc/sys/kernel/random/boot_id"
    if subprocess.run(["unshare", "--mount", "--uts", "sh", "-c", command], capture_output=True).returncode != 0:
        pytest.skip("needs mount and UTS namespaces of its own, which this machine does not allow")


def assert_order_is_causal(events):
    """Nobody left a barrier or an allreduce before the last one had come."""
    steps = {}
    for event in events:
        if event.get("call") in ("MPI_Allreduce", "MPI_Barrier") and event["comm"] == "MPI_COMM_WORLD":
            steps.setdefault(event["seq"], []).append(event)
    assert steps
    for seq, calls in steps.items():
        if all(call["dur_ns"] is not None for call in calls):
            assert max(call["t_ns"] for call in calls) <= min(call["t_ns"] + call["dur_ns"] for call in calls), seq
    return len(steps)


def assert_clocks_are_true(hosts, info):
    """What each host's clock showed at the run's beginning and end is one instant of the real clock."""
    clocks = info["clocks"]
    assert len(clocks) == 2, shown(info)
    for place in ("start_ns", "end_ns"):
        reference, other = (hosts.real(clock["host"], clock[place]) for clock in clocks)
        error = abs(reference - other)
        assert error <= clocks[1]["error_ns"], (place, error, clocks)
        assert error <= 5_000_000, (place, error, clocks)  # ranks of this test wait for each other's turn on few cores


@pytest.mark.parametrize("ahead, rate", [(45_000_000_000, 0), (-3600_000_000_000, 80_000), (12_345, -50_000)])
def test_healthy_job_over_hosts_with_wrong_clocks(bench, build, mpich, namespaces, ahead, rate):
    hosts = Hosts(bench, {1: (0, 0, 0), 2: (max(ahead, -time.monotonic_ns() // 2), rate, 0)})
    for job in hosts.run(build(mpich, "steps.c"), "--steps", 100, "--pause-us", 2000):
        assert job.wait(120) == 0, job.stderr
    bench.stop_collectors()
    verdict = bench.diagnose()
    assert_healthy(verdict)
    info = bench.info()
    assert {clock["host"] for clock in info["clocks"]} == {"node1", "node2"}
    assert info["clocks"][1]["tied_by"] == "causality", info["clocks"]
    assert_clocks_are_true(hosts, info)
    assert assert_order_is_causal(bench.events()) >= 100


def test_hang_over_hosts_with_wrong_clocks(bench, build, mpich, namespaces):
    """The verdict is that of the same job with right clocks (test_two_nodes.py)."""
    hosts = Hosts(bench, {1: (0, 0, 0), 2: (45_000_000_000, 30_000, 0)})
    jobs = hosts.run(build(mpich, "b01_extra_barrier.c"))
    verdict = bench.diagnose_until("callsite_mismatch")
    assert_fault(verdict, "callsite_mismatch", "control_flow_divergence", rank=0, seq=3, host="node1")
    for process in bench.processes():
        if process.exe() in ("mpiexec.mpich", "mpiexec.hydra", "b01_extra_barrier.mpich", "hydra_pmi_proxy"):
            process.signal(15)
    for job in jobs:
        job.wait()


def test_wall_clock_ahead_is_said_and_harmless(bench, build, mpich, namespaces):
    """B34: a wall clock that is 45 s ahead."""
    hosts = Hosts(bench, {1: (0, 0, 0), 2: (0, 0, 45_000_000_000)})
    for job in hosts.run(build(mpich, "steps.c"), "--steps", 60, "--pause-us", 2000):
        assert job.wait(120) == 0, job.stderr
    bench.stop_collectors()
    verdict = bench.diagnose()
    assert_healthy(verdict)
    ahead = bench.info()["clocks"][1]["wall_ahead_ns"]
    assert abs(ahead - 45_000_000_000) < 10_000_000, ahead
    assert any("45.0 s ahead" in caveat for caveat in verdict["caveats"]), verdict["caveats"]
