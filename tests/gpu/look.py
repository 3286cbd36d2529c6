"""Looks at a run for scripts/gpu_check.sh. look.py DDBG RUN CHECK [ARGUMENT...]; ends with 0 right, 1 wrong, 77 cannot be told.

What it finds is one line on stdout: the reason in the table.
"""
import collections
import json
import subprocess
import sys


class Run:
    def __init__(self, ddbg, folder):
        self.ddbg = ddbg
        self.folder = folder

    def ask(self, *arguments, none=1):
        """What ddbg prints. `none`: how to end where there is no such run."""
        done = subprocess.run([self.ddbg, *arguments], capture_output=True, text=True, errors="replace")
        if done.returncode not in (0, 1, 3) or not done.stdout.strip():
            if "there is no run" in done.stderr:
                give(none, "nothing was recorded")
            give(1, "ddbg %s: %s" % (arguments[0], (done.stderr.strip().splitlines() or ["says nothing"])[-1]))
        return done.stdout

    def events(self):
        return [json.loads(line) for line in self.ask("events", self.folder, "--json", "--no-stacks").splitlines()]

    def levels(self):
        """By name: (on, why). None: this ddbg does not tell."""
        found = {}
        def walk(value):
            if isinstance(value, dict):
                for level in value.get("levels", []):
                    found[level["name"]] = (level["on"], level.get("why", ""))
                value = list(value.values())
            for item in value if isinstance(value, list) else []:
                walk(item)
        walk(json.loads(self.ask("info", self.folder, "--json")))
        return found or None


def give(code, text):
    print(text)
    sys.exit(code)




def calls(run, *wanted):
    """calls NAME=N…: so many calls of each name (several joined by |), or at least (N+)."""
    found = collections.Counter(event.get("call") for event in run.events())
    wrong = []
    for word in wanted:
        names, _, number = word.partition("=")
        got, least = sum(found[name] for name in names.split("|")), number.endswith("+")
        number = int(number.rstrip("+"))
        if got < number or (got > number and not least):
            wrong.append("%s: %d, not %d" % (names, got, number))
    give(1 if wrong else 0, "; ".join(wrong) or "%d records" % sum(found.values()))


def level(run, name, on):
    levels = run.levels()
    if levels is None or name not in levels:
        give(77, "the run says nothing of the level %s" % name)
    is_on, why = levels[name]
    give(0 if is_on == (on == "on") else 1, "%s is %s: %s" % (name, "on" if is_on else "off", why))


def unseen(run, name):
    """unseen NAME: nothing was recorded, or the run says that the level is off."""
    run.ask("info", run.folder, "--json", none=0)
    level(run, name, "off")


def times(run, printed, share, slack_ns):
    """times FILE SHARE SLACK: the kernels' durations are those of the events that the program printed, as near as that."""
    expected = [float(line.split()[2]) for line in open(printed) if line.startswith("kernel ")]
    events = run.events()
    got = [event["dur_ns"] for event in events if event["kind"] == "completion" and event.get("dur_ns")]
    if not got:
        give(1, "no completion has a duration")
    off = []
    for want in expected:
        best = min(got, key=lambda have: abs(have - want))
        off.append(abs(best - want))
        if off[-1] > float(share) * want + float(slack_ns):
            give(1, "a kernel of %.0f ns by events is %.0f by ddbg" % (want, best))
    give(0, "%d kernels, at most %.0f us from the events" % (len(expected), max(off) / 1000))


def verdict(run, *_):
    report = json.loads(run.ask("diagnose", run.folder, "--json"))
    give(0 if report["verdict"] != "fault" else 1, "verdict %s%s" % (
        report["verdict"], ": " + report["summary"] if report.get("summary") else ""))


def main():
    ddbg, folder, check, *arguments = sys.argv[1:]
    {"calls": calls, "level": level, "unseen": unseen, "times": times, "verdict": verdict}[check](Run(ddbg, folder), *arguments)


main()
