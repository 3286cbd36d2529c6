"""What ddbg costs, measured against its goals and its peers on this machine, in one run. Called by scripts/bench.sh.

Prints Markdown. The modes of a part are interleaved, in another order each round, so that what else the machine does
hits them alike. What a mode adds is the median over the rounds of its difference from bare in the same round; the
interval holds the true median with at least 95 %.
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PREFIX = pathlib.Path(os.environ.get("DDBG_PREFIX", HERE.parents[1] / "build/install"))
LIBRARY = PREFIX / "lib/libddbg.so"
FRAMES_BELOW = 7  # _start, libc (2), main, measure, the innermost at_depth and the function that calls MPI
CALLS = ["MPI_Allreduce", "MPI_Barrier", "MPI_Sendrecv", "MPI_Iprobe"]


def interval(values):
    """A 95 % confidence interval of the median, by order statistics: no assumption on the distribution."""
    values, n = sorted(values), len(values)
    outside, k = 0.0, 0
    while k < n // 2 and outside + 2 * math.comb(n, k) / 2**n <= 0.05:
        outside += 2 * math.comb(n, k) / 2**n
        k += 1
    k = max(k - 1, 0)
    return values[k], values[n - 1 - k]


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


class Machine:
    """A place of its own for traces and sockets, with a collector; ends what it started."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ddbg-bench-"))
        self.socket = self.folder / "collector.sock"
        self.started = []
        self.environment = dict(os.environ, DDBG_DIR=str(self.folder / "runs"), DDBG_SOCKET=str(self.socket),
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                LTTNG_HOME=str(self.folder), EZTRACE_TRACE_DIR=str(self.folder / "eztrace"))
        self.collector = self.start([PREFIX / "bin/ddbg-collector", "--foreground", "--socket", self.socket,
                                     "--idle-seconds", "3600"])
        end = time.monotonic() + 60
        while not self.socket.exists():
            if time.monotonic() > end:
                self.close()
                sys.exit("bench: the collector does not listen at %s" % self.socket)
            time.sleep(0.01)

    def start(self, command):
        process = subprocess.Popen([str(word) for word in command], env=self.environment, cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        return process

    def run(self, command, check=True, **environment):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env=dict(self.environment, **environment))
        if check and done.returncode != 0:
            raise SystemExit("bench: %s failed:\n%s" % (" ".join(map(str, command)), done.stderr))
        return done.stdout

    def build(self, source, compiler="mpicc.openmpi", *more):
        output = self.folder / source.removesuffix(".c")
        if source == "lttng_mpi.c":
            output = output.with_suffix(".so")
        self.run([compiler, "-O2", "-g", "-I", HERE, "-o", output, HERE / source, *more])
        return output

    def close(self):
        for process in self.started:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Lttng:
    """A session of LTTng-UST with a daemon of its own, in the bench's folder."""

    def __init__(self, machine):
        self.machine = machine
        self.library = machine.build("lttng_mpi.c", "mpicc.openmpi", "-fPIC", "-shared", "-llttng-ust", "-ldl")
        self.daemon = machine.start(["lttng-sessiond", "--no-kernel"])
        for _ in range(100):
            if subprocess.run(["lttng", "create", "bench", "--output=" + str(machine.folder / "lttng")],
                              env=machine.environment, capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        machine.run(["lttng", "enable-event", "-u", "ddbg_bench:*"])
        machine.run(["lttng", "start"])

    def close(self):
        self.machine.run(["lttng", "destroy"], check=False)


def per_call_modes(machine, peers):
    """Name: (frames, what comes before the program, its environment)."""
    ddbg = {"LD_PRELOAD": str(LIBRARY)}
    modes = {"bare": (16, [], {}), "off": (16, [], dict(ddbg, DDBG="0")),
             "no stacks": (16, [], dict(ddbg, DDBG_STACKS="off"))}
    for frames in (8, 16, 32):
        modes["stacks of %d" % frames] = (frames, [], ddbg)
    modes["ring full"] = (16, [], ddbg)
    if "lttng" in peers:
        modes["LTTng-UST, no stacks"] = (16, [], {"LD_PRELOAD": str(peers["lttng"].library)})
    if "eztrace" in peers:
        modes["EZTrace, no stacks"] = (16, ["mpirun.openmpi", "-n", "1", "eztrace", "-t", "openmpi"], {})
    return modes


GOALS = {"off": 5, "no stacks": 25, "stacks of 16": 120}


def per_call(machine, rounds, peers):
    program = machine.build("call_cost.c")
    modes = per_call_modes(machine, peers)
    samples = {}
    for _ in range(rounds):
        for name in random.sample(sorted(modes), len(modes)):
            frames, before, environment = modes[name]
            if name == "ring full":
                machine.collector.send_signal(signal.SIGSTOP)
            output = machine.run(before + [program, frames - FRAMES_BELOW], **environment)
            machine.collector.send_signal(signal.SIGCONT)
            for call, ns in re.findall(r"^(MPI_\w+) ([\d.]+)$", output, re.MULTILINE):
                samples.setdefault((call, name), []).append(float(ns))
    print("### Per call\n\nns, medians of %d rounds; what each mode adds to bare, [95 %% interval].\n" % rounds)
    rows = []
    for name in modes:
        cells = []
        for call in CALLS:
            own, bare = samples[call, name], samples[call, "bare"]
            if name == "bare":
                cells.append("%.0f" % statistics.median(bare))
                continue
            added = [a - b for a, b in zip(own, bare)]
            low, high = interval(added)
            cells.append("%+.0f [%+.0f, %+.0f]" % (statistics.median(added), low, high))
        goal = GOALS.get(name)
        if goal:
            worst = max(statistics.median(a - b for a, b in zip(samples[call, name], samples[call, "bare"]))
                        for call in CALLS)
            cells.append("≤ %d: %s" % (goal, "met" if worst <= goal else "missed, by %.0f in the worst" % (worst - goal)))
        else:
            cells.append("")
        rows.append([name] + cells)
    table(["mode"] + CALLS + ["goal"], rows)


PYTHON_FRAMES = 8


def from_python(machine, rounds):
    """The same from mpi4py: what the stacks add whose Python frames are read."""
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], capture_output=True).returncode != 0:
        print("mpi4py is not installed.\n")
        return
    ddbg = {"LD_PRELOAD": str(LIBRARY)}
    modes = {"bare": {}, "no stacks": dict(ddbg, DDBG_STACKS="off"), "stacks": ddbg}
    samples = {}
    for _ in range(rounds):
        for name in random.sample(sorted(modes), len(modes)):
            output = machine.run(["/usr/bin/python3", HERE / "call_cost.py", PYTHON_FRAMES], **modes[name])
            for call, ns in re.findall(r"^(MPI_\w+) ([\d.]+)$", output, re.MULTILINE):
                samples.setdefault((call, name), []).append(float(ns))
    print("### From Python\n\nmpi4py, %d Python frames among the native ones; ns, the fastest of many rounds, medians of %d processes.\n" %
          (PYTHON_FRAMES, rounds))
    rows = []
    for call in sorted({call for call, _ in samples}):
        bare, plain, full = (samples[call, name] for name in ("bare", "no stacks", "stacks"))
        added = [a - b for a, b in zip(full, plain)]
        low, high = interval(added)
        worst = statistics.median(added)
        rows.append([call, "%.0f" % statistics.median(bare),
                     "%+.0f" % statistics.median(a - b for a, b in zip(plain, bare)), "%+.0f [%+.0f, %+.0f]" % (worst, low, high),
                     "≤ 150: " + ("met" if worst <= 150 else "missed")])
    table(["call", "bare", "no stacks add", "native and Python frames add", "goal (120 native + 30 Python)"], rows)


def cpu_seconds(pid):
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def collector(machine, processes, rate, seconds):
    """Events a second through one collector, what it takes of a core, and bytes per event."""
    program = machine.build("flood.c")
    before, start = cpu_seconds(machine.collector.pid), time.monotonic()
    jobs = [subprocess.Popen([str(program), str(rate), str(seconds)], cwd=machine.folder, stdout=subprocess.PIPE, text=True,
                             env=dict(machine.environment, LD_PRELOAD=str(LIBRARY), DDBG_RUN_ID="flood"))
            for _ in range(processes)]
    made = sum(int(job.communicate()[0]) for job in jobs)
    elapsed = time.monotonic() - start
    time.sleep(0.5)
    used = cpu_seconds(machine.collector.pid) - before
    info = json.loads(machine.run([PREFIX / "bin/ddbg", "info", "flood", "--json"], check=False))
    lost = sum(sum(rank["lost"].values()) for rank in info["ranks"])
    log = next((machine.folder / "runs/flood").glob("a*/collector-*.log")).read_text()
    sizes = [tuple(map(int, found)) for found in re.findall(r"(\d+) records, (\d+) bytes received, (\d+) written", log)]
    records, received, written = (sum(column) for column in zip(*sizes))
    print("### Collector\n\n%d processes, %.0f s.\n" % (processes, seconds))
    rows = [["events a second", "2,000,000", "{:,.0f}".format(made / elapsed)],
            ["lost", "0", "{:,}".format(lost)],
            ["cores the collector used", "≤ 0.5", "%.2f" % (used / elapsed)],
            ["bytes an event on the socket", "≤ 32", "%.1f" % (received / records)],
            ["bytes an event in the file", "≤ 10", "%.1f" % (written / records)]]
    table(["what", "goal", "measured"], rows)


def lammps(machine, pairs):
    """Loop time of LAMMPS' melt with everything on against bare, once it is warm: pairs, in random order."""
    example = pathlib.Path("/usr/share/lammps/examples/melt/in.melt")
    if not shutil.which("lmp") or not example.exists():
        print("LAMMPS is not installed.\n")
        return
    text = re.sub(r"(?m)^run\s+\d+", "run 500\nrun 3000", example.read_text())
    (machine.folder / "in.melt").write_text(text)
    command = ["mpirun.openmpi", "-n", "2", "lmp", "-in", "in.melt"]
    ratios = []
    for _ in range(pairs):
        times = {}
        for traced in random.sample([False, True], 2):
            environment = {"LD_PRELOAD": str(LIBRARY)} if traced else {}
            output = machine.run(command, **environment)
            times[traced] = float(re.findall(r"Loop time of ([\d.]+)", output)[-1])
        ratios.append(100 * (times[True] / times[False] - 1))
    low, high = interval(ratios)
    print("### LAMMPS melt, 2 ranks, %d pairs of runs\n" % pairs)
    median = statistics.median(ratios)
    table(["what", "goal", "measured", "95 % interval"],
          [["step time added", "≤ 0.4 %", "%+.2f %%" % median, "[%+.2f %%, %+.2f %%]" % (low, high)]])


def analyzer():
    import analyzer_scale  # beside this file
    print("### Analyzer\n")
    if not analyzer_scale.GENERATOR.exists():
        return print("%s is missing: build the target synthetic_run\n" % analyzer_scale.GENERATOR)
    analyzer_scale.report(PREFIX / "bin/ddbg", analyzer_scale.GENERATOR, analyzer_scale.RUNS)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="rounds per mode (9)")
    parser.add_argument("--only", choices=["call", "python", "collector", "lammps", "analyzer"], help="one part")
    parser.add_argument("--no-peers", action="store_true", help="without LTTng-UST and EZTrace")
    options = parser.parse_args()
    if not LIBRARY.exists():
        sys.exit("bench.sh: %s is missing; run scripts/build.sh first" % LIBRARY)
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print("`scripts/bench.sh %s` on %s, %d cores\n" % (" ".join(sys.argv[1:]), cpu.group(1) if cpu else "", os.cpu_count()))
    machine, peers = Machine(), {}
    try:
        if options.only in (None, "call"):
            if not options.no_peers and shutil.which("lttng"):
                peers["lttng"] = Lttng(machine)
            if not options.no_peers and shutil.which("eztrace"):
                peers["eztrace"] = True
            per_call(machine, options.rounds, peers)
        if options.only in (None, "python"):
            from_python(machine, options.rounds)
        if options.only in (None, "collector"):
            collector(machine, processes=8, rate=250_000, seconds=10)
        if options.only in (None, "lammps"):
            lammps(machine, options.rounds)
        if options.only in (None, "analyzer"):
            analyzer()
    finally:
        if "lttng" in peers:
            peers["lttng"].close()
        machine.close()


if __name__ == "__main__":
    main()
