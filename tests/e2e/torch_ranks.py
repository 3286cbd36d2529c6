"""Ranks of unmodified PyTorch on CPUs, over gloo, in a Debian directory."""
import signal

from debian import ENTER, Debian
from harness import ROOT, start_collector
from launchers import PROGRAMS


class TorchRanks:
    """Ranks of one program in a Debian directory, as a launcher would have started them. The collector runs outside."""

    def __init__(self, bench, suite):
        self.bench = bench
        self.directory = Debian(suite, "python3-torch", "libunwind8")
        self.collector = start_collector(bench, idle_seconds=600)

    def start(self, ranks, program, *arguments, preload=True, of_rank=lambda rank: {}, enter=lambda rank: [], **variables):
        """`of_rank(rank)`: variables that differ, those of the launcher among them (None: not set); `enter(rank)`: the beginning of
        a command line that runs on the rank's host."""
        places = " ".join(map(str, (self.bench.prefix, self.bench.folder, self.bench.short, ROOT / "tests/programs")))
        jobs = []
        for rank in range(ranks):
            inner = dict(RANK=rank, WORLD_SIZE=ranks, LOCAL_RANK=rank, OMP_NUM_THREADS=1, DDBG_RUN_ID="torch-" + self.bench.token[:8],
                         DDBG_DIR=self.bench.runs, DDBG_SOCKET=self.bench.short / "s", GLOO_SOCKET_IFNAME="lo")
            inner.update(variables, **of_rank(rank))
            if preload:
                inner["LD_PRELOAD"] = self.bench.library
            line = ["env", *("%s=%s" % item for item in inner.items() if item[1] is not None), "python3", PROGRAMS / program, *arguments]
            jobs.append(self.bench.start([*enter(rank), "unshare", "--mount", "sh", "-c", ENTER, "enter", self.directory.root, *line],
                                         PLACES=places))
        return jobs

    def run(self, *arguments, **more):
        jobs = self.start(*arguments, **more)
        return [job.wait(120) for job in jobs], jobs

    def stop(self, jobs):
        for process in self.bench.processes():
            if "DDBG_RUN_ID" in process.environment and process.exe().startswith("python"):
                process.signal(signal.SIGKILL)
        for job in jobs:
            job.wait(30)

    def close(self):
        self.collector.terminate()
        self.collector.wait()
