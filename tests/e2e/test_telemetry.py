"""Faults of the node are facts: what the collector samples says why a rank died or came late.

Real cgroups, signals, disks. What is not permitted here is skipped with a sentence."""
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from harness import start_collector, wait_until
from verdicts import assert_fault, assert_healthy, shown

pytestmark = pytest.mark.alone

INFRASTRUCTURE, TIMING = "infrastructure_discontinuity", "timing_divergence"


class Cgroup:
    """A cgroup of its own in one hierarchy of version 1."""

    def __init__(self, controller):
        root = Path("/sys/fs/cgroup", controller)
        if not (root / "cgroup.procs").exists():
            pytest.skip("there is no cgroup v1 hierarchy of %s" % controller)
        self.path = root / ("ddbg-test-" + uuid.uuid4().hex[:8])
        try:
            self.path.mkdir()
        except OSError as error:
            pytest.skip("cannot make a cgroup: %s" % error)

    def set(self, name, value):
        try:
            (self.path / name).write_text(str(value))
        except OSError as error:
            self.remove()
            pytest.skip("cannot set %s: %s" % (name, error))

    def remove(self):
        def gone():
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return True
            except OSError:
                return False
            return True
        wait_until(gone, "the cgroup %s is not empty" % self.path)


@pytest.fixture
def cgroup(bench):
    made = []
    def make(controller, **values):
        group = Cgroup(controller)
        made.append(group)
        for name, value in values.items():
            group.set(name, value)
        return group.path
    yield make
    bench.close()  # its processes first
    for group in made:
        group.remove()


def started(bench, ranks):
    path = bench.folder / "started"
    return path, lambda: wait_until(lambda: path.exists() and path.stat().st_size == ranks, "the ranks did not start")


def node(bench):
    """What `ddbg info` tells of the one host."""
    one, = bench.info()["nodes"]
    return one


# Out of memory

def test_oom_kill_of_a_rank_whose_peers_wait(bench, build, openmpi, cgroup):
    """B31: rank 1 grows to its cgroup's limit; the others are left waiting."""
    group = cgroup("memory", **{"memory.limit_in_bytes": 100 << 20})
    bench.mpirun(openmpi, 3, [build(openmpi, "node_faults.c"), "--rank", 1, "--cgroup", group, "--grow-mb", 20,
                              "--work-ms", 100, "--steps", 1000], OMPI_MCA_orte_enable_recovery="1")
    verdict = bench.diagnose_until("oom_kill")
    assert_fault(verdict, "oom_kill", INFRASTRUCTURE, rank=1)
    assert verdict["culprit_ranks"] == [1]
    assert "limit 100 MiB" in verdict["summary"], shown(verdict)
    assert any("anonymous memory went from" in line for line in verdict["evidence"]), shown(verdict)


def test_kill_by_hand_of_a_rank_with_much_memory_is_no_oom_kill(bench, build, openmpi, cgroup):
    group = cgroup("memory", **{"memory.limit_in_bytes": 400 << 20})
    flag, wait = started(bench, 3)
    job = bench.mpirun(openmpi, 3, [build(openmpi, "node_faults.c"), "--rank", 1, "--cgroup", group, "--grow-mb", 1,
                                    "--work-ms", 20, "--steps", 100000, "--started", flag],
                       OMPI_MCA_orte_enable_recovery="1")
    wait()
    job.rank(openmpi, 1).signal(signal.SIGKILL)
    verdict = bench.diagnose_until("process_killed")
    assert_fault(verdict, "process_killed", INFRASTRUCTURE, rank=1)


# Stopped

def test_a_stopped_rank_is_frozen_while_it_stands_and_after_it_went_on(bench, build, mpi):
    flag, wait = started(bench, 3)
    job = bench.mpirun(mpi, 3, [build(mpi, "node_faults.c"), "--work-ms", 5, "--steps", 150, "--started", flag])
    wait()
    rank = job.rank(mpi, 1)
    rank.signal(signal.SIGSTOP)
    stands = bench.diagnose_until("frozen")
    assert_fault(stands, "frozen", INFRASTRUCTURE, rank=1)
    assert stands["culprit_ranks"] == [1]
    rank.signal(signal.SIGCONT)
    assert job.wait() == 0
    over = bench.diagnose()
    assert_fault(over, "frozen", INFRASTRUCTURE, rank=1)
    assert "went on" in over["summary"], shown(over)


def test_a_rank_stopped_for_a_moment_is_healthy(bench, build, openmpi):
    flag, wait = started(bench, 2)
    job = bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--work-ms", 5, "--steps", 100, "--started", flag])
    wait()
    rank = job.rank(openmpi, 1)
    rank.signal(signal.SIGSTOP)
    wait_until(lambda: rank.state() == "T", "it does not stop")
    rank.signal(signal.SIGCONT)
    assert job.wait() == 0
    assert_healthy(bench.diagnose())


def test_a_rank_in_a_frozen_cgroup(bench, build, openmpi, cgroup):
    group = cgroup("freezer")
    flag, wait = started(bench, 3)
    job = bench.mpirun(openmpi, 3, [build(openmpi, "node_faults.c"), "--rank", 2, "--cgroup", group, "--work-ms", 10,
                                    "--steps", 100000, "--started", flag])
    wait()
    (group / "freezer.state").write_text("FROZEN")
    try:
        verdict = bench.diagnose_until("frozen")
    finally:
        (group / "freezer.state").write_text("THAWED")
    assert_fault(verdict, "frozen", INFRASTRUCTURE, rank=2)
    job.interrupt()
    job.wait()


# CPU

def test_a_rank_under_a_cpu_quota_is_throttled(bench, build, openmpi, cgroup):
    group = cgroup("cpu", **{"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 10000})
    job = bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--rank", 1, "--cgroup", group, "--work-ms", 100,
                                    "--steps", 20])
    assert job.wait() == 0
    verdict = bench.diagnose()
    assert_fault(verdict, "throttled", INFRASTRUCTURE, rank=1)
    assert verdict["culprit_ranks"] == [1]


def test_a_rank_beside_a_busy_process_on_its_core(bench, build, openmpi):
    """T9."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core: nothing can be pinned beside a rank")
    if os.getloadavg()[0] > 4:
        pytest.skip("the machine is busy: every rank waits for a core")
    burners = [subprocess.Popen(["taskset", "-c", "1", "sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        job = bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--rank", 1, "--cpu", 1, "--work-ms", 100,
                                        "--steps", 60])
        assert job.wait() == 0
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert_fault(bench.diagnose(), "cpu_contention", TIMING, rank=1)


def test_a_rank_that_sleeps_in_each_step_is_no_fault_of_the_node(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--rank", 1, "--sleep-ms", 200, "--work-ms", 5,
                                    "--steps", 60])
    assert job.wait() == 0
    verdict = bench.diagnose()
    assert verdict["kind"] not in ("throttled", "cpu_contention", "io_stall", "frozen") if verdict.get("kind") else True


# Disks

def run_or_skip(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("%s is not permitted: %s" % (command[0], done.stderr.strip()[-200:]))
    return done.stdout.strip()


@pytest.fixture
def loop_disk(bench):
    """A small ext4 on a loop device."""
    image, point = bench.folder / "image", bench.folder / "disk"
    point.mkdir()
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    run_or_skip("mkfs.ext4", "-q", "-F", str(image))
    run_or_skip("mount", "-o", "loop", str(image), str(point))
    yield point
    subprocess.run(["fsfreeze", "-u", str(point)], capture_output=True)
    bench.close()
    subprocess.run(["umount", str(point)], check=True)


def test_a_rank_that_waits_for_a_disk_which_does_not_answer(bench, build, openmpi, loop_disk):
    flag, wait = started(bench, 2)
    bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--rank", 1, "--write", loop_disk / "data", "--steps",
                              100000, "--started", flag])
    wait()
    run_or_skip("fsfreeze", "-f", str(loop_disk))
    verdict = bench.diagnose_until("io_stall")
    subprocess.run(["fsfreeze", "-u", str(loop_disk)], check=True)
    assert_fault(verdict, "io_stall", TIMING, rank=1)


def test_sigbus_on_a_full_tmpfs(bench, build, openmpi):
    """S11."""
    point = bench.folder / "small"
    point.mkdir()
    run_or_skip("mount", "-t", "tmpfs", "-o", "size=1m", "none", str(point))
    try:
        job = bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--rank", 1, "--map", point / "file"])
        job.wait()
        verdict = bench.diagnose()
    finally:
        bench.close()
        subprocess.run(["umount", str(point)], check=True)
    assert_fault(verdict, "process_killed", INFRASTRUCTURE, rank=1)
    assert "%s was full" % point in verdict["summary"], shown(verdict)


# Clocks

def test_a_step_of_the_wall_clock(bench, build, openmpi, program_folder):
    """The collector's wall clock alone, by a preload: the machine's is everybody's."""
    library, shift = program_folder / "libshifted.so", bench.folder / "shift"
    source = Path(__file__).parents[1] / "programs/shifted_clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    shift.write_text("0")
    environment = bench.environment
    bench.environment = lambda **more: environment(LD_PRELOAD=library, SHIFT_FILE=shift, **more)
    collector = start_collector(bench)
    bench.environment = environment
    flag, wait = started(bench, 2)
    job = bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--work-ms", 10, "--steps", 300, "--started", flag])
    wait()
    shift.write_text("45")
    assert job.wait() == 0
    verdict = bench.diagnose()
    collector.terminate()
    collector.wait()
    assert_healthy(verdict)
    said, = [caveat for caveat in verdict["caveats"] if "wall clock" in caveat]
    assert "was set ahead by 45." in said, said
    step, = node(bench)["clock_steps"]
    assert abs(step["step_ns"] - 45_000_000_000) < 1_000_000_000


# What it is and costs

def test_samples_are_small_and_can_be_switched_off(bench, build, openmpi):
    program = [build(openmpi, "node_faults.c"), "--work-ms", 1, "--sleep-ms", 1000, "--rank", 0, "--steps", 22]
    sizes = {}
    for telemetry in ("1", "0"):
        job = bench.mpirun(openmpi, 2, program, DDBG_TELEMETRY=telemetry, DDBG_RUN_ID="t" + telemetry)
        assert job.wait() == 0
        sizes[telemetry] = sum(path.stat().st_size for path in (bench.runs / ("t" + telemetry)).glob("a*/*.ddbg"))
    info = bench.info("t1")
    assert len(info["nodes"]) == 1
    assert info["nodes"][0]["system"]["metrics"]["cpu_user_ms"]["growth"] > 0
    for rank in info["ranks"]:
        assert rank["telemetry"]["samples"] >= 15, rank["telemetry"]
        assert rank["telemetry"]["metrics"]["resident_kb"]["max"] > 1000
    off = bench.info("t0")
    assert all("telemetry" not in rank for rank in off["ranks"])
    assert not off["nodes"] or off["nodes"][0]["system"]["samples"] == 0
    # Two ranks and the node, 22 s: at most 5 KiB a minute and rank.
    assert sizes["1"] - sizes["0"] < 2 * 5 * 1024, sizes


def test_the_collector_ends_when_nobody_is_there(bench, build, openmpi):
    collector = start_collector(bench, idle_seconds=1)
    job = bench.mpirun(openmpi, 2, [build(openmpi, "node_faults.c"), "--steps", 5])
    assert job.wait() == 0
    wait_until(lambda: collector.poll() is not None, "the collector does not end")
    assert collector.returncode == 0
