"""What ddbg adds to a training step of PyTorch's DistributedDataParallel over gloo, with everything on: preload, hooks in PyTorch, stacks,
collector with telemetry.

    tests/bench/ddp_overhead.py [PREFIX] [--suite sid] [--ranks 2] [--pairs 100] [--block-seconds 0.5]

Two jobs that do the same, one with the library, take turns block by block (A B, B A, A B …); while one runs, the other is stopped (SIGSTOP), and
with the bare one the collector, too. Reports the ratio of the median step times, of their 10th percentiles, of the means, and of the CPU time
of the ranks (on a busy machine the steadiest), each with an interval from a bootstrap over pairs of blocks, and what ddbg's own threads and
the collector took. On a machine that is never quiet try --width 16 --batch 4: what is added to a step is about the same, of fewer µs. PyTorch is that of a Debian directory
(scripts/debian_directory.sh), as root, or with --suite here that of this machine's python3.
"""
import argparse
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
PROGRAM = ROOT / "tests/programs/torch_blocks.py"
GOAL_PERCENT = 0.4
WARM_UP_STEPS = 30
COLD_STEPS = 2  # of each block


def command_in(suite, folders):
    """What a command is put behind to run with PyTorch."""
    if suite == "here":
        return []
    from debian import ENTER  # beside the tests
    made = subprocess.run([ROOT / "scripts/debian_directory.sh", suite, "python3-torch", "libunwind8"], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(made.returncode)
    os.environ["PLACES"] = " ".join(map(str, folders))
    return ["unshare", "--mount", "sh", "-c", ENTER, "enter", made.stdout.strip()]


def cpu_ns(pid, is_meant=lambda name: True):
    """Of the threads of a process whose name is meant."""
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in pathlib.Path("/proc/%d/task" % pid).iterdir()
               if is_meant((thread / "comm").read_text()))


class Job:
    """The ranks of one job, stopped but for the blocks that it is asked for."""

    def __init__(self, enter, ranks, arguments, variables):
        self.processes = []
        for rank in range(ranks):
            inner = dict(RANK=rank, WORLD_SIZE=ranks, LOCAL_RANK=rank, OMP_NUM_THREADS=1, GLOO_SOCKET_IFNAME="lo", **variables)
            line = [*enter, "env", *("%s=%s" % item for item in inner.items()), "python3", str(PROGRAM), *map(str, arguments)]
            self.processes.append(subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                                   text=True, cwd="/"))
        self.companions = []

    def signal(self, number):
        for pid in [process.pid for process in self.processes] + self.companions:
            os.kill(pid, number)

    def block(self, steps):
        """Its step times in ns, of all ranks, and the CPU time of the ranks a step."""
        before = self.cpu_ns()
        self.signal(signal.SIGCONT)
        for process in self.processes:
            process.stdin.write("%d\n" % (COLD_STEPS + steps))
            process.stdin.flush()
        times = [int(word) for process in self.processes for word in process.stdout.readline().split()[COLD_STEPS:]]
        self.signal(signal.SIGSTOP)
        if len(times) != steps * len(self.processes):
            sys.exit("ddp_overhead.py: a rank has ended")
        return times, [(self.cpu_ns() - before) / (COLD_STEPS + steps)]

    def cpu_ns(self, is_meant=lambda name: True):
        return sum(cpu_ns(process.pid, is_meant) for process in self.processes)

    def own_cpu_ns(self):
        return self.cpu_ns(lambda name: name.startswith("ddbg")), sum(cpu_ns(pid) for pid in self.companions)

    def close(self):
        self.signal(signal.SIGCONT)
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            process.wait()
        for pid in self.companions:
            os.kill(pid, signal.SIGTERM)


def interval(pairs, statistic, rounds=2000):
    """By how much per cent B's statistic is more than A's, with the middle 95 % of what it is for pairs drawn with replacement, and A's."""
    base = statistic([t for a, _ in pairs for t in a])

    def added(chosen):
        return 100 * (statistic([t for _, b in chosen for t in b]) / statistic([t for a, _ in chosen for t in a]) - 1)
    drawn = sorted(added(random.choices(pairs, k=len(pairs))) for _ in range(rounds))
    return added(pairs), drawn[int(0.025 * rounds)], drawn[int(0.975 * rounds)], base


def undisturbed(times):
    """What a step takes where nobody else wants the CPUs: the 10th percentile."""
    return sorted(times)[len(times) // 10]


def measure(bare, traced, pairs, block_seconds):
    for job in (bare, traced):
        job.block(WARM_UP_STEPS)
    step = statistics.median(bare.block(WARM_UP_STEPS)[0]) / 1e9
    traced.block(WARM_UP_STEPS)
    steps = max(2, round(block_seconds / step))
    before, measured, busy = traced.own_cpu_ns(), [], 0.0
    for turn in range(pairs):
        blocks = {}
        for job in (bare, traced) if turn % 2 == 0 else (traced, bare):
            start = time.monotonic()
            blocks[job] = job.block(steps)
            busy += time.monotonic() - start if job is traced else 0
        measured.append((blocks[bare], blocks[traced]))
    own = [after - first for after, first in zip(traced.own_cpu_ns(), before)]
    return measured, steps, busy, own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", nargs="?", type=pathlib.Path, default=ROOT / "build/install")
    parser.add_argument("--suite", default="sid")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--block-seconds", type=float, default=0.5)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=VALUE", help="for the traced job")
    options = parser.parse_args()
    prefix = options.prefix.resolve()
    with tempfile.TemporaryDirectory(prefix="dd") as folder:
        folder = pathlib.Path(folder)
        enter = command_in(options.suite, [prefix, folder, ROOT / "tests/programs"])
        socket = folder / "s"
        collector = subprocess.Popen([prefix / "bin/ddbg-collector", "--foreground", "--idle-seconds", "60"], cwd=folder,
                                     env=dict(os.environ, DDBG_SOCKET=str(socket), DDBG_DIR=str(folder / "runs")),
                                     stderr=subprocess.DEVNULL)
        variables = dict(LD_PRELOAD=prefix / "lib/libddbg.so", DDBG_SOCKET=socket, DDBG_DIR=folder / "runs", DDBG_RUN_ID="bench",
                         **dict(word.split("=", 1) for word in options.variable))
        jobs = [Job(enter, options.ranks, [folder / ("meet%d" % number), options.width, options.batch], chosen)
                for number, chosen in enumerate(({}, variables))]
        jobs[1].companions.append(collector.pid)
        try:
            measured, steps, busy, own = measure(*jobs, options.pairs, options.block_seconds)
        finally:
            for job in jobs:
                job.close()
            collector.wait()
    steps_of, cpu_of = ([(a[which], b[which]) for a, b in measured] for which in (0, 1))
    bare = [t for a, _ in steps_of for t in a]
    print("%d ranks on %d CPUs, PyTorch of %s; %d pairs of blocks of %d steps; bare step %.1f ms in the median\n"
          % (options.ranks, os.cpu_count(), options.suite, len(measured), steps, statistics.median(bare) / 1e6))
    print("| step time added | goal | measured | 95 % interval | µs |\n|---|---|---|---|---|")
    for name, values, statistic in (("median", steps_of, statistics.median), ("10th percentile", steps_of, undisturbed),
                                    ("mean", steps_of, statistics.fmean),
                                    ("CPU time of the ranks, median of blocks", cpu_of, statistics.median)):
        added, low, high, base = interval(values, statistic)
        print("| %s | ≤ %.1f %% | %+.2f %% | [%+.2f %%, %+.2f %%] | %+.0f [%+.0f, %+.0f] |"
              % (name, GOAL_PERCENT, added, low, high, *(percent * base / 1e5 for percent in (added, low, high))))
    print("\nddbg's own threads took %.2f %% of a CPU in a rank, the collector %.2f %%; load of the machine %.1f"
          % (own[0] / busy / options.ranks / 1e7, own[1] / busy / 1e7, os.getloadavg()[0]))


main()
