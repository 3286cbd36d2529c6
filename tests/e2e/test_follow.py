"""`ddbg diagnose --follow` beside a real job: silent while it is well, then one verdict."""
import json
import os
import signal
import time

import pytest

from harness import wait_until
from verdicts import assert_fault, shown


def follow(bench, *options):
    return bench.start([bench.prefix / "bin/ddbg", "diagnose", "--follow", "--json", "latest", *options])


def last_verdict(job):
    verdict = json.loads(job.stdout.splitlines()[-1])
    verdict["exit_code"] = job.popen.returncode
    return verdict


def is_traced(bench):
    return bench.runs.exists() and list((bench.runs / "latest").glob("a*/rank-*.ddbg"))


@pytest.mark.quick
def test_hang_is_told_after_it_has_stood_still(bench, build, openmpi):
    job = bench.mpirun(openmpi, 4, [build(openmpi, "b12_ring_send.c")])
    follower = follow(bench, "--still", "3")
    assert follower.wait() == 1, follower.stderr
    assert job.running()
    assert_fault(last_verdict(follower), "p2p_deadlock", "control_flow_divergence")


def test_death_is_told_at_once(bench, build, openmpi):
    started = bench.folder / "started"
    job = bench.mpirun(openmpi, 3, [build(openmpi, "steps.c"), "--steps", 100000, "--started", started])
    wait_until(lambda: started.exists() and started.stat().st_size == 3, "the ranks did not get to step 10")
    follower = follow(bench, "--still", "1000")
    wait_until(lambda: follower.stdout, "no word of a running job")
    assert json.loads(follower.stdout.splitlines()[0])["verdict"] != "fault"
    job.rank(openmpi, 1).signal(signal.SIGKILL)
    assert follower.wait() == 1, follower.stderr
    assert_fault(last_verdict(follower), "process_killed", "infrastructure_discontinuity", rank=1)
    job.wait()


def test_healthy_job_is_followed_to_its_end(bench, build, openmpi):
    follower = follow(bench)
    job = bench.mpirun(openmpi, 2, [build(openmpi, "steps.c"), "--steps", 200])
    assert job.wait() == 0
    assert follower.wait() == 0, follower.stderr
    verdict = last_verdict(follower)
    assert verdict["verdict"] == "healthy", shown(verdict)
    assert "running" not in verdict["summary"]


def test_ctrl_c_prints_the_present_state(bench, build, openmpi):
    bench.mpirun(openmpi, 2, [build(openmpi, "unmatched.c"), "--fault", "recv"])
    follower = follow(bench, "--still", "1000")
    wait_until(lambda: is_traced(bench), "nothing is traced")
    wait_until(lambda: follower.stdout, "no word of a running job")
    follower.signal(signal.SIGINT)
    assert follower.wait() in (0, 1, 3)
    assert last_verdict(follower)["schema"] == "ddbg.diagnosis/1"


def test_waiting_costs_little(bench, build, openmpi):
    started = bench.folder / "started"
    bench.mpirun(openmpi, 2, [build(openmpi, "steps.c"), "--steps", 100000, "--started", started])
    wait_until(lambda: started.exists() and started.stat().st_size == 2, "the ranks did not get to step 10")
    follower = follow(bench)
    wait_until(lambda: follower.stdout, "no word of a running job")

    def cpu_seconds():
        fields = open("/proc/%d/stat" % follower.popen.pid).read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    begin, used = time.monotonic(), cpu_seconds()
    wait_until(lambda: time.monotonic() - begin > 5, "time does not pass")
    assert cpu_seconds() - used < 0.25 * (time.monotonic() - begin)


def test_finished_run_is_told_at_once(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")])
    assert job.wait() == 0
    bench.stop_collectors()
    follower = follow(bench)
    assert follower.wait() == 0, follower.stderr
