"""Runs a job for MINUTES with a small budget and watches the memory of its ranks and of the collector, and the size of
the trace: they must not grow. Prints Markdown; ends with 1 if something grew, or a call is missing at the end."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PREFIX = pathlib.Path(os.environ.get("DDBG_PREFIX", HERE.parents[1] / "build/install"))
RANKS = 2
MOST_GROWTH = 1.1  # of the last quarter's median against the second quarter's


def resident_kib(pid):
    """Memory of its own, and what it has touched of the ring; not the files it shares with other processes."""
    try:
        status = pathlib.Path("/proc/%d/status" % pid).read_text()
    except OSError:
        return None
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith(("RssAnon:", "RssShmem:"))) or None


def children_with(name, token):
    """Processes of this soak by the end of their executable's path."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "exe").endswith(name) and token in (entry / "environ").read_text("utf-8", "replace"):
                    yield int(entry.name)
            except OSError:
                pass


def size_of(path):
    try:
        return path.stat().st_size
    except OSError:  # dropped meanwhile
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=20)
    parser.add_argument("--budget", type=int, default=512 << 10, help="bytes a rank")
    parser.add_argument("--step-us", type=int, default=200)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ddbg-soak-"))
    try:
        sys.exit(soak(options, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def soak(options, folder):
    program = folder / "long_run"
    subprocess.run(["mpicc.openmpi", "-O1", "-g", "-o", program, HERE.parent / "programs/long_run.c"], check=True)
    token = str(folder)
    environment = dict(os.environ, DDBG_DIR=str(folder / "runs"), DDBG_SOCKET=str(folder / "s"), DDBG_RUN_ID="soak",
                       DDBG_BUDGET=str(options.budget), OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    job = subprocess.Popen(["mpirun.openmpi", "--oversubscribe", "-n", str(RANKS), "-x",
                            "LD_PRELOAD=%s" % (PREFIX / "lib/libddbg.so"), program, "--seconds",
                            str(int(options.minutes * 60)), "--step-us", str(options.step_us)],
                           env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    samples = []
    try:
        while job.poll() is None:
            time.sleep(min(5, options.minutes * 60 / 40))
            ranks = [resident_kib(pid) for pid in children_with("long_run", token)]
            collector = [resident_kib(pid) for pid in children_with("ddbg-collector", token)]
            trace = sum(map(size_of, (folder / "runs/soak").glob("a0/rank-*")))
            if len(ranks) == RANKS and len(collector) == 1 and None not in ranks + collector:
                samples.append({"ranks": max(ranks), "collector": collector[0], "trace": trace // 1024})
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    for pid in children_with("ddbg-collector", token):
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + 60
    while list(children_with("ddbg-collector", token)) and time.monotonic() < end:
        time.sleep(0.1)
    return report(options, folder, environment, samples, job.returncode)


def report(options, folder, environment, samples, code):
    quarter = len(samples) // 4
    failed = code != 0 or quarter == 0
    print("%.1f minutes, %d ranks, a budget of %d KiB a rank; exit status %d\n" %
          (options.minutes, RANKS, options.budget // 1024, code))
    if quarter:
        print("| KiB | second quarter | last quarter | most | grows |")
        print("|---|---|---|---|---|")
    for name, text in (("ranks", "memory of the largest rank"), ("collector", "memory of the collector"),
                       ("trace", "trace files")) if quarter else ():
        values = [sample[name] for sample in samples]
        early = statistics.median(values[quarter:2 * quarter])
        late = statistics.median(values[-quarter:])
        grows = late > early * MOST_GROWTH
        failed = failed or grows
        print("| %s | %d | %d | %d | %s |" % (text, early, late, max(values), "YES" if grows else "no"))
    listed = subprocess.run([PREFIX / "bin/ddbg", "info", "soak", "--json"], env=environment, capture_output=True, text=True)
    info = json.loads(listed.stdout)
    print("\n%s\n" % info["loss_line"])
    for rank in info["ranks"]:
        print("rank %d: %d calls, %d of them in sums" % (rank["rank"], rank["calls"], rank["dropped"]["calls"]))
    calls = {rank["calls"] for rank in info["ranks"]}
    failed = failed or len(calls) != 1 or not info["loss_line"].startswith("nothing lost")
    verdict = subprocess.run([PREFIX / "bin/ddbg", "diagnose", "soak", "--json"], env=environment, capture_output=True, text=True)
    print("verdict: %s" % json.loads(verdict.stdout)["verdict"])
    return 1 if failed or verdict.returncode != 0 else 0


if __name__ == "__main__":
    main()
