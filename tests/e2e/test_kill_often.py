"""200 processes are killed, each at a random instant: what had returned is in the trace, all of it and once."""
import os
import random
import signal
import subprocess
import time

from harness import wait_until
from test_kill import LINE_BYTES, assert_nothing_lost

KILLS = 200
AT_ONCE = 4


def start(bench, program, number):
    """A job of one process. MPI_Sendrecv to itself and collectives alone: all its calls return."""
    log = bench.folder / ("log-%d" % number)
    environment = bench.environment(LD_PRELOAD=str(bench.library), DDBG_RUN_ID="kill-%d" % number,
                                    DDBG_TEST_NUMBER=str(number))
    process = subprocess.Popen([str(program), "--log", str(log), "--pause-us", "50"], env=environment, cwd=bench.work,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process, log.with_name(log.name + ".0")


def kill_at_random(process, log, dice):
    """At an instant from the first call on; half of them in the first milliseconds, where everything is new."""
    wait_until(lambda: log.exists() and log.stat().st_size >= LINE_BYTES, "the program made no call")
    time.sleep(dice.choice([0.004, 0.08]) * dice.random())
    process.send_signal(signal.SIGKILL)
    process.wait()


def ended(bench, number):
    info = bench.ddbg("info", "kill-%d" % number, "--json")
    return info.returncode == 0 and '"how": "signaled"' in info.stdout


def test_killed_200_times(bench, build, openmpi):
    program = build(openmpi, "stream_of_calls.c")
    seed = int(os.environ.get("DDBG_TEST_SEED", time.time_ns() % 1_000_000))
    dice = random.Random(seed)
    calls = 0
    for first in range(0, KILLS, AT_ONCE):
        batch = [start(bench, program, number) for number in range(first, first + AT_ONCE)]
        for process, log in batch:
            kill_at_random(process, log, dice)
        for number, (process, log) in enumerate(batch, first):
            wait_until(lambda: ended(bench, number), "run %d has no end in its trace (seed %d)" % (number, seed))
            events = bench.calls("kill-%d" % number)
            assert not any(rank["lost"] for rank in bench.info("kill-%d" % number)["ranks"]), "the ring was full"
            assert_nothing_lost(events, log, 0)
            calls += log.stat().st_size // LINE_BYTES
            log.unlink()
    print("%d of %d kills, %d calls that had returned, all in the traces, each once" % (KILLS, KILLS, calls))
