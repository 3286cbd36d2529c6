"""Whatever happens to the collector, the job's output and exit code stay as they are."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import start_collector, wait_until
from verdicts import assert_healthy, shown

RANKS, STEPS = 3, 150
EXPECTED = ["energy after %d steps: %d" % (STEPS, sum(range(RANKS)))]
CALLS_PER_RANK = {"MPI_Init": 1, "MPI_Sendrecv": STEPS, "MPI_Allreduce": STEPS, "MPI_Finalize": 1}


def start_steps(bench, build, mpi, **more):
    started = bench.folder / "started"
    job = bench.mpirun(mpi, RANKS, [build(mpi, "steps.c"), "--steps", STEPS, "--started", started], **more)
    wait_until(lambda: started.exists() and started.stat().st_size == RANKS, "no step 10: " + job.stderr)
    return job


def assert_job_unharmed(job):
    assert job.wait() == 0, job.stderr
    assert job.lines() == EXPECTED


def assert_trace_complete(bench):
    events = bench.calls()
    for rank in range(RANKS):
        for call, count in CALLS_PER_RANK.items():
            found = sum(1 for e in events if e["rank"] == rank and e["call"] == call)
            assert found == count, "rank %d: %d of %d %s" % (rank, found, count, call)
    assert_healthy(bench.diagnose())


@pytest.mark.quick
def test_first_rank_starts_it_and_it_holds_no_pipe_of_the_launcher(bench, build, mpi):
    """The output is read through a pipe, whose end comes when all its writers have closed it."""
    command = mpi.command(RANKS, [build(mpi, "steps.c"), "--steps", STEPS], bench.library)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env=bench.environment(), cwd=bench.work)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == EXPECTED
    assert_trace_complete(bench)


def test_it_is_in_no_process_group_or_session_of_the_job(bench, build, openmpi):
    job = start_steps(bench, build, openmpi)
    collector = bench.collector()
    sessions = {os.getsid(process.pid) for process in bench.processes() if process.exe() != "ddbg-collector"}
    assert os.getsid(collector.pid) not in sessions
    assert "LD_PRELOAD" not in collector.environment
    assert_job_unharmed(job)


def test_started_before_the_job(bench, build, mpi):
    own = start_collector(bench)
    assert_job_unharmed(start_steps(bench, build, mpi))
    assert [process.pid for process in bench.collectors()] == [own.pid]
    assert_trace_complete(bench)
    own.send_signal(signal.SIGTERM)
    assert own.wait(60) == 0


@pytest.mark.quick
def test_a_second_one_leaves_the_first_alone(bench):
    own = start_collector(bench)
    second = subprocess.run([bench.prefix / "bin/ddbg-collector"], capture_output=True, text=True, timeout=60,
                            env=bench.environment(), cwd=bench.work, stdin=subprocess.DEVNULL)
    assert second.returncode == 0, second.stderr
    assert [process.pid for process in bench.collectors()] == [own.pid]
    own.send_signal(signal.SIGTERM)
    own.wait(60)


def test_asked_to_stop_in_mid_job(bench, build, mpi):
    job = start_steps(bench, build, mpi)
    bench.collector().signal(signal.SIGTERM)
    assert_job_unharmed(job)
    verdict = bench.diagnose()
    assert verdict["verdict"] != "fault", shown(verdict)


def test_killed_in_mid_job_and_followed_by_another(bench, build, mpi):
    """What was not written yet is still in the ranks' memory: the next collector gets it all."""
    job = start_steps(bench, build, mpi)
    bench.collector().signal(signal.SIGKILL)
    wait_until(lambda: not bench.collectors() or len(bench.collectors()) == 1, "the collector survived SIGKILL")
    assert_job_unharmed(job)
    assert_trace_complete(bench)


def test_killed_again_and_again(bench, build, openmpi):
    job = start_steps(bench, build, openmpi)
    for _ in range(3):
        collectors = wait_until(lambda: bench.collectors() or not job.running(), "no collector came back")
        if collectors is True:
            break
        collectors[0].signal(signal.SIGKILL)
        wait_until(lambda: all(c.gone() for c in collectors), "the collector survived SIGKILL")
    assert_job_unharmed(job)
    assert_trace_complete(bench)


def test_stopped_for_a_while_in_mid_job(bench, build, mpi):
    job = start_steps(bench, build, mpi)
    collector = bench.collector()
    collector.signal(signal.SIGSTOP)
    assert_job_unharmed(job)  # it ends while nobody reads its socket
    collector.signal(signal.SIGCONT)
    wait_until(lambda: "running" not in str([p["end"]["how"] for p in bench.info()["ranks"]]),
               "the collector did not finish the files")
    assert_trace_complete(bench)


def test_a_stopped_process_is_read(bench, build, mpi):
    """What a process had not sent when it was stopped is there while it stands, and once when it goes on."""
    flag = bench.folder / "flag"
    job = bench.start([build(mpi, "stops_itself.c"), flag], LD_PRELOAD=bench.library)
    wait_until(lambda: any(bench.runs.glob("*/a*/[pr]*-*.ddbg")), "it does not connect")
    flag.touch()

    def calls():
        return [event["call"] for event in bench.calls() if event["call"] == "MPI_Barrier"] if (bench.runs / "latest").exists() else []
    wait_until(lambda: len(calls()) == 5, "a stopped process has kept its calls")
    process, = [each for each in bench.processes() if "stops_itself" in each.exe()]
    assert process.state() == "T"
    process.signal(signal.SIGCONT)
    assert job.wait() == 0, job.stderr
    bench.stop_collectors()
    assert len(calls()) == 10
    assert bench.info()["loss_line"] == "nothing lost"


def test_a_process_that_is_killed_before_it_is_answered(bench, build, mpi):
    """Its stacks are worth nothing without what was loaded where."""
    collector = start_collector(bench, idle_seconds=600)
    collector.send_signal(signal.SIGSTOP)
    flag = bench.folder / "flag"
    job = bench.start([build(mpi, "stops_itself.c"), flag, "wait"], LD_PRELOAD=bench.library)

    def waits_for_the_answer():
        process = [each for each in bench.processes() if each.exe().startswith("stops_itself")]
        connected = Path("/proc/net/unix").read_text().count(str(bench.short / "s")) > 1
        states = [Path(task, "stat").read_text().rpartition(")")[2].split()[0]
                  for each in process for task in Path("/proc/%d/task" % each.pid).iterdir()]
        return process if flag.exists() and connected and states and set(states) == {"S"} else None
    process, = wait_until(waits_for_the_answer, "it does not connect")
    process.signal(signal.SIGKILL)
    job.wait()
    collector.send_signal(signal.SIGCONT)
    wait_until(lambda: any(bench.runs.glob("*/a*/[pr]*-*.ddbg")), "it is not accepted")
    bench.stop_collectors()
    collector.wait(60)
    lines = {event["stack"][0]["function"] for event in bench.events_with_stacks() if event["call"] == "MPI_Barrier"}
    assert lines == {"SomeCalls"}, lines


def test_none_can_be_started(bench, build, mpi):
    """A library without its collector beside it: one sentence on stderr for the node, and the job runs on."""
    lonely = bench.folder / "lonely"
    lonely.mkdir()
    shutil.copy(bench.library, lonely)
    job = start_steps(bench, build, mpi, preload=lonely / "libddbg.so")
    assert_job_unharmed(job)
    said = [line for line in job.stderr.splitlines() if "ddbg" in line]
    assert 1 <= len(said) <= RANKS, job.stderr


def test_collector_that_dies_at_once(bench, build, mpi):
    job = start_steps(bench, build, mpi, DDBG_COLLECTOR="/bin/false")
    assert_job_unharmed(job)


def test_ends_when_idle(bench, build, openmpi):
    """It ends by itself some time after its last client; nobody has to stop it."""
    assert_job_unharmed(start_steps(bench, build, openmpi))
    wait_until(lambda: not bench.collectors(), "the collector is still there", deadline_s=120)
    assert not os.path.exists(bench.short / "s")
