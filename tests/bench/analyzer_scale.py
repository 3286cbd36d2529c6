"""How long ddbg takes to find a planted fault in a large run, and how much memory. A part of scripts/bench.sh; alone:

    /usr/bin/python3 tests/bench/analyzer_scale.py [--quick] [--generator build/release/tests/synthetic_run]

The runs are made by tests/synthetic in the real file format. Prints a Markdown table.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "synthetic"))
import made_run  # noqa: E402

ROOT = HERE.parents[1]
PREFIX = pathlib.Path(os.environ.get("DDBG_PREFIX", ROOT / "build/install"))
GENERATOR = ROOT / "build/release/tests/synthetic_run"
GOAL_S, GOAL_GIB = 60, 8

# ranks, seconds, calls a second and rank
RUNS = [(1024, 300, 100, ["--fault", "skip"]), (1024, 300, 100, ["--fault", "none"]),
        (1024, 300, 100, ["--fault", "skip", "--mpi"]), (16384, 10, 40, ["--fault", "skip"])]
QUICK = [(256, 10, 100, ["--fault", "skip"])]


def measure(command):
    """Seconds, processors used on average, peak resident GiB, and what was printed."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    return seconds, (usage.ru_utime + usage.ru_stime) / seconds, usage.ru_maxrss / 2**20, output


def report(ddbg, generator, runs):
    print("| run | events | command | seconds | CPU seconds | processors used | peak memory | verdict |")
    print("|---|---|---|---|---|---|---|---|")
    right = True
    for ranks, seconds, rate, options in runs:
        with tempfile.TemporaryDirectory(prefix="ddbg-scale-") as folder:
            steps = ["--bad-step", str(int(seconds * rate / 45))] if "none" not in options else []
            truth = made_run.make(generator, folder, ["--ranks", ranks, "--seconds", seconds, "--rate", rate,
                                                      *options, *steps])
            name = "%d ranks, %.0f s, %s, %s" % (ranks, truth["seconds"], truth["api"], truth["fault"])
            for command in (["diagnose"], ["diagnose", "--last", "60s"], ["info"]):
                took, used, memory, output = measure([ddbg, command[0], folder, "--json", *command[1:]])
                answer = ""
                if command[0] == "diagnose":
                    difference = made_run.wrong(truth, json.loads(output))
                    answer = difference or "right"
                    right = right and not difference
                print("| %s | %.1f M | %s | %.1f | %.1f | %.2f | %.2f GiB | %s |" % (
                    name, truth["records"] / 1e6, " ".join(command), took, took * used, used, memory, answer), flush=True)
    print("\nGoal: a verdict on 30.7 M events within %d s and %d GiB on 2 cores." % (GOAL_S, GOAL_GIB))
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run only")
    parser.add_argument("--ddbg", default=PREFIX / "bin/ddbg")
    parser.add_argument("--generator", default=GENERATOR)
    options = parser.parse_args()
    if not os.access(options.generator, os.X_OK):
        sys.exit("%s is not there: build the target synthetic_run" % options.generator)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, soft), hard))  # as it is on most systems
    sys.exit(0 if report(options.ddbg, options.generator, QUICK if options.quick else RUNS) else 1)


if __name__ == "__main__":
    main()
