"""Plays a case: starts its job, waits for its end or for a verdict that stays, and keeps verdict, truth and baselines."""
import json
import shutil
import threading
import time

import baselines
from catalog import NCCL
from harness import Bench
from score import is_right
from staging import Staging

DEADLINE_S = 150.0  # of a whole job; generous, since the machine may be busy
PATIENCE_S = 45.0  # from the fault on, for a verdict on a job that hangs
PAUSE_S = 1.0
stopped = threading.Event()  # the user wants no more


class Stage(Bench):
    """A bench outside of pytest."""

    def rank_files_exist(self):
        return any(self.runs.glob("*/a*/rank-*.ddbg"))

    def has_run(self):
        return (self.runs / "latest").exists()


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Play:
    """`keep`: a folder for the traces of verdicts that are wrong, or None."""

    def __init__(self, case, programs, prefix, folder, keep=None):
        self.case, self.folder, self.keep = case, folder, keep
        self.secret = folder / "truth"  # beside the run, never in it
        for part in (self.secret, folder / "bench"):
            part.mkdir(parents=True)
        self.bench = Stage(prefix, folder / "bench")
        self.staging = Staging(self.bench, case, programs, self.secret / "truth.json")
        self.started_ns = 0
        self.first_told_ns = None  # when the verdict that stayed was first seen, while the job ran
        self.problems = []

    def run(self):
        """Everything there is to say of the case, as one dictionary."""
        try:
            self.started_ns = now_ns()
            job = self.staging.start()
            self.wait(job)
            self.ended = not job.running()
            if self.ended:
                self.bench_settles()
            return self.record(job)
        finally:
            self.bench.close()
            self.staging.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def told_truth(self):
        file = self.secret / "truth.json"
        return json.loads(file.read_text()) if file.exists() else None

    def fault_ns(self):
        told = self.told_truth()
        if told:
            return told.get("t_ns", self.started_ns)
        return self.staging.told["t_ns"] if self.staging.told and not self.case.healthy else None

    def wait(self, job):
        """Until the job has ended, or two diagnoses of a hung one agree."""
        last = None
        end = time.monotonic() + DEADLINE_S
        while job.running() and time.monotonic() < end and not stopped.is_set():
            job.rescue_launcher()
            self.staging.during()
            time.sleep(PAUSE_S if not self.case.row.ends else 0.2)
            if self.case.healthy or self.case.row.ends or not self.bench.has_run():
                continue
            fault_ns = self.fault_ns()
            if fault_ns is None or now_ns() - fault_ns < 1e9:
                continue
            seen_ns, verdict = now_ns(), self.diagnose("latest")
            first = verdict.get("first_bad_event") or {}
            told = verdict.get("verdict") == "fault" and (verdict["kind"], first.get("rank"), first.get("seq"))
            if told and told == last:
                return
            if told != last:
                self.first_told_ns = seen_ns if told else None
            last = told
            if now_ns() - fault_ns > PATIENCE_S * 1e9:
                return
        if job.running():
            self.problems.append("not at its end after %g s" % DEADLINE_S)

    # The collector writes the ends of processes after the launcher's own.
    def bench_settles(self):
        time.sleep(0.5)

    def diagnose(self, run):
        done = self.bench.ddbg("diagnose", run, "--json", deadline_s=120)
        try:
            verdict = json.loads(done.stdout)
        except ValueError:
            return {"verdict": None, "exit_code": done.returncode, "stderr": done.stderr[-500:]}
        return verdict

    def record(self, job):
        traces = self.folder / "traces"
        verdict, events, seconds = {"verdict": None, "stderr": "no run was recorded"}, [], 0.0
        if self.bench.has_run():
            shutil.copytree((self.bench.runs / "latest").resolve(), traces)
            began = time.monotonic()
            verdict = self.diagnose(traces)
            seconds = time.monotonic() - began
            events = self.bench.events(traces)
        told_ns = self.first_told_ns or now_ns()
        truth = self.truth()
        recorded = dict(case=self.case.name, id=self.case.row.id, truth=truth, verdict=self.essence(verdict),
                        timeout_only=baselines.timeout_only(events, hung=not self.ended), counts_only=baselines.counts_only(events),
                        analyzer_s=seconds, exit_code=job.popen.poll(), problems=self.problems)
        if truth and truth.get("t_ns"):
            recorded["seconds_to_verdict"] = (told_ns - truth["t_ns"]) / 1e9
        if self.case.healthy and self.case.row.stage != "kill_collector" and job.popen.poll() != 0:
            self.problems.append("a healthy job ended with %s: %s" % (job.popen.poll(), job.stderr[-300:]))
        row = self.case.row
        if row.caveat and not any(row.caveat in caveat for caveat in verdict.get("caveats") or []):
            self.problems.append("no caveat says: %s" % row.caveat)
        if self.keep and not is_right(truth, verdict):
            self.keep_traces(traces, recorded)
        return recorded

    def keep_traces(self, traces, recorded):
        kept = self.keep / self.case.name
        shutil.rmtree(kept, ignore_errors=True)
        if traces.exists():
            shutil.copytree(traces, kept / "traces")
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "record.json").write_text(json.dumps(recorded, indent=1))

    def truth(self):
        if self.case.healthy:
            return None
        told = self.told_truth() or self.staging.told
        if not told:
            self.problems.append("the fault was never planted")
            return None
        row = self.case.row
        places = told.get("places", [{"comm": told.get("comm"), "seq": told.get("seq")}])
        return dict(id=row.id, classes=list(row.classes), kinds=list(self.case.kinds), exact=row.exact, rank=told["rank"],
                    peer=told.get("peer", -1), step=told.get("step"), by_marks=self.case.marks, ranks=self.case.ranks, places=places,
                    call=told.get("call", "") if self.case.backend != NCCL else "", t_ns=told.get("t_ns", self.started_ns))

    @staticmethod
    def essence(verdict):
        kept = {key: verdict.get(key) for key in ("verdict", "class", "kind", "culprit_ranks", "summary", "confidence", "stderr",
                                                  "caveats", "first_bad_event")}
        first = kept["first_bad_event"] or {}
        kept["first_bad_event"] = {key: first.get(key) for key in ("rank", "step", "comm", "seq", "call", "field", "t_ns")}
        return kept
