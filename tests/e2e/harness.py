"""Starts jobs and ddbg commands for the tests, and leaves nothing behind.

Every process of a test inherits DDBG_TEST_TOKEN, a random word, and is found by it in /proc/*/environ: ranks may outlive
their launcher (they spin when a peer has died), and the collector is a daemon of its own.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from launchers import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0  # for anything that should happen at once; generous, since it only bounds a failure


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Polls `condition` until it gives something true, and returns that."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("waited %g s in vain: %s" % (deadline_s, what))
        time.sleep(0.05)


def line_of(source, mark):
    """The number of the line of tests/programs/`source` that ends in the comment `mark: <mark>`."""
    for number, line in enumerate((PROGRAMS / source).read_text().splitlines(), 1):
        if re.search(r"mark: %s$" % re.escape(mark), line):
            return number
    raise AssertionError("%s has no 'mark: %s'" % (source, mark))


class Process:
    """A process found in /proc."""

    def __init__(self, pid, environment):
        self.pid = pid
        self.environment = environment

    def exe(self):
        try:
            return Path(os.readlink("/proc/%d/exe" % self.pid)).name
        except OSError:
            return ""

    def state(self):
        """One letter as in proc(5); "" when it has gone."""
        try:
            return Path("/proc/%d/stat" % self.pid).read_text().rpartition(")")[2].split()[0]
        except OSError:
            return ""

    def gone(self):
        return self.state() in ("", "Z", "X")

    def signal(self, number):
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass


class Job:
    """A started command with its output in files."""

    def __init__(self, bench, command, environment, cwd):
        self.bench = bench
        self.folder = Path(tempfile.mkdtemp(prefix="job-", dir=bench.folder))
        self.command = [str(word) for word in command]
        self.alone_since = None  # when ranks were last seen
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            self.popen = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                          env=environment, start_new_session=True)

    @property
    def stdout(self):
        return (self.folder / "out").read_text(errors="replace")

    @property
    def stderr(self):
        return (self.folder / "err").read_text(errors="replace")

    def lines(self):
        """What it printed, sorted: the order between ranks is not fixed."""
        return sorted(self.stdout.splitlines())

    def wait(self, deadline_s=DEADLINE_S):
        """Waits for the end and returns the exit code (negative: a signal)."""
        def ended():
            self.rescue_launcher()
            return not self.running()
        wait_until(ended, "%s ends\n%s%s" % (" ".join(self.command), self.stdout[-2000:], self.stderr[-2000:]), deadline_s)
        return self.popen.returncode

    def rescue_launcher(self):
        """Kills Open MPI's mpirun when it is left alone for 10 s by the ranks that it had.

        After an end by a signal mpirun 4.1 often waits for ever in PMIx_server_finalize, with and without ddbg.
        """
        processes = [process for process in self.bench.processes() if not process.gone()]
        launchers = [process for process in processes if process.exe() == "orterun"]
        if any("OMPI_COMM_WORLD_RANK" in process.environment and process.exe() != "ddbg-collector" for process in processes):
            self.alone_since = time.monotonic()
        elif launchers and self.alone_since and time.monotonic() - self.alone_since > 10:
            for process in launchers:
                process.signal(signal.SIGKILL)

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        """To the started command alone, as `kill PID` does."""
        self.popen.send_signal(number)

    def interrupt(self):
        """Ctrl-C at the terminal: SIGINT to the whole foreground process group."""
        os.killpg(self.popen.pid, signal.SIGINT)

    def rank(self, mpi, number):
        """The process of rank `number`, once it is there: the oldest of those that have the rank's environment."""
        def find():
            found = [process for process in self.bench.processes()
                     if process.environment.get(mpi.rank_variable) == str(number)
                     and process.exe() not in ("ddbg-collector", "") and not process.gone()]
            return min(found, key=lambda process: process.pid, default=None)
        return wait_until(find, "no process of rank %d" % number)


class Bench:
    """One test's corner: run directory, socket, token; the ddbg commands and the jobs started from here."""

    def __init__(self, prefix, folder):
        self.prefix = prefix
        self.folder = folder
        self.runs = folder / "runs"
        self.work = folder / "work"
        self.work.mkdir()
        self.token = uuid.uuid4().hex
        self.short = Path(tempfile.mkdtemp(prefix="dd"))  # socket paths end at 107 bytes; pytest's folders are longer
        self.library = prefix / "lib/libddbg.so"
        self.jobs = []

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("DDBG_", "OMPI_", "PMI_", "PMIX_", "MPIR_", "HYDRA_", "SLURM_"))}
        kept.pop("LD_PRELOAD", None)
        kept.update(DDBG_DIR=str(self.runs), DDBG_SOCKET=str(self.short / "s"), DDBG_TEST_TOKEN=self.token, LC_ALL="C",
                    OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for key, value in more.items():
            if value is None:
                kept.pop(key, None)
            else:
                kept[key] = str(value)
        return kept

    # Jobs

    def start(self, command, cwd=None, **environment):
        job = Job(self, command, self.environment(**environment), cwd or self.work)
        self.jobs.append(job)
        return job

    def mpirun(self, mpi, ranks, program, preload=True, cwd=None, **environment):
        """Starts `program` (a list) under the launcher of `mpi`, traced unless `preload` is False."""
        library = self.library if preload is True else preload
        return self.start(mpi.command(ranks, program, library), cwd, **environment)

    # ddbg commands

    def ddbg(self, *arguments, deadline_s=DEADLINE_S, cwd=None, **environment):
        return subprocess.run([self.prefix / "bin/ddbg", *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=deadline_s,
                              cwd=cwd or self.work, env=self.environment(**environment))

    def diagnose(self, run="latest"):
        """The verdict as a dictionary, with the exit code as `exit_code`."""
        done = self.ddbg("diagnose", run, "--json")
        try:
            verdict = json.loads(done.stdout)
        except ValueError:
            raise AssertionError("diagnose --json printed no JSON: exit code %d\n%s\n%s" % (
                done.returncode, done.stdout[-2000:], done.stderr[-2000:])) from None
        verdict["exit_code"] = done.returncode
        return verdict

    def diagnose_until(self, kind, run="latest", deadline_s=DEADLINE_S, holds=lambda verdict: True):
        """Diagnoses a running job again and again until the verdict is of `kind` (or of one of several) and `holds`; returns
        the last one in any case."""
        kinds = (kind,) if isinstance(kind, str) else kind
        end = time.monotonic() + deadline_s
        while True:
            done = self.ddbg("diagnose", run, "--json")
            verdict = json.loads(done.stdout) if done.stdout.strip() else {"verdict": None, "stderr": done.stderr}
            verdict["exit_code"] = done.returncode
            if (verdict.get("kind") in kinds and holds(verdict)) or time.monotonic() > end:
                return verdict
            time.sleep(0.2)

    def events(self, run="latest", *filters):
        done = self.ddbg("events", run, "--json", "--no-stacks", *filters)
        assert done.returncode == 0, "events: exit code %d: %s" % (done.returncode, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def events_with_stacks(self, run="latest"):
        done = self.ddbg("events", run, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def calls(self, run="latest"):
        """One event for each call of the program: no completions, and of an MPI_Sendrecv the send half."""
        return [event for event in self.events(run) if "call" in event and event.get("half") in (None, "send")]

    def info(self, run="latest"):
        done = self.ddbg("info", run, "--json")
        assert done.returncode == 0, "info: exit code %d: %s" % (done.returncode, done.stderr)
        return json.loads(done.stdout)

    def rank_files(self, run="latest"):
        """The rank files of a run, by rank."""
        return sorted((self.runs / run).glob("a*/rank-*.ddbg"))

    # Processes

    def processes(self):
        found = []
        word = b"DDBG_TEST_TOKEN=" + self.token.encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                content = Path("/proc", entry, "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if word in content:
                pairs = (item.decode(errors="replace").partition("=") for item in content)
                found.append(Process(int(entry), {key: value for key, _, value in pairs}))
        return found

    def collectors(self):
        return [process for process in self.processes() if process.exe() == "ddbg-collector" and not process.gone()]

    def collector(self):
        """The one running collector, once it is there."""
        wait_until(self.collectors, "no collector runs")
        running = self.collectors()
        assert len(running) == 1, "%d collectors run" % len(running)
        return running[0]

    def stop_collectors(self):
        """Asks the collectors to end (SIGTERM) and waits until they have."""
        for process in self.collectors():
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGTERM)
        wait_until(lambda: not self.collectors(), "a collector did not end on SIGTERM")

    def close(self):
        """Ends what still runs and says what would not end."""
        for job in self.jobs:
            if job.running():
                job.signal(signal.SIGKILL)
                job.popen.wait()
        for process in self.processes():
            if process.exe() != "ddbg-collector":
                process.signal(signal.SIGKILL)
        try:
            self.stop_collectors()
        finally:
            for process in self.processes():
                process.signal(signal.SIGKILL)
            wait_until(lambda: all(process.gone() for process in self.processes()), "a process survived SIGKILL")
            shutil.rmtree(self.short, ignore_errors=True)


def start_collector(bench, idle_seconds=10):
    """As a user or a service does. Returns once it serves its socket."""
    command = [bench.prefix / "bin/ddbg-collector", "--foreground", "--idle-seconds", str(idle_seconds)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               stdout=open(bench.folder / "collector.out", "ab"), stderr=subprocess.STDOUT,
                               env=bench.environment(), cwd=bench.work, start_new_session=True)
    wait_until(lambda: os.path.exists(bench.short / "s"), "the collector made no socket")
    return process
