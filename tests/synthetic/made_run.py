"""Makes a run by synthetic_run, diagnoses it, and compares the verdict with what was planted.

As a test: made_run.py SYNTHETIC_RUN DDBG [options of synthetic_run …]
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def make(generator, out, options):
    """The truth that was planted."""
    subprocess.run([generator, out, *map(str, options)], check=True, stdout=subprocess.DEVNULL)
    return json.loads((pathlib.Path(out) / "truth.json").read_text())


def wrong(truth, verdict):
    """What differs, in words; "" if the verdict is right."""
    if verdict["verdict"] != truth["verdict"]:
        return "%s instead of %s: %s" % (verdict["verdict"], truth["verdict"], verdict["summary"])
    if truth["verdict"] != "fault":
        return ""
    first = verdict["first_bad_event"]
    if verdict["kind"] not in truth["kinds"]:
        return "kind %s instead of %s: %s" % (verdict["kind"], " or ".join(truth["kinds"]), verdict["summary"])
    if verdict["culprit_ranks"] != truth["culprit_ranks"]:
        return "culprits %s instead of %s" % (verdict["culprit_ranks"], truth["culprit_ranks"])
    for key in ("seq", "comm_uid"):
        if key in truth and first.get(key) != truth[key]:
            return "%s %s instead of %s" % (key, first.get(key), truth[key])
    return ""


def main():
    generator, ddbg, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="ddbg-synthetic-") as folder:
        truth = make(generator, folder, options)
        for more in ([], ["--last", "2s"]):
            done = subprocess.run([ddbg, "diagnose", folder, "--json", *more], stdout=subprocess.PIPE, check=False)
            verdict = json.loads(done.stdout)
            # The end of a run may not tell of a wrong number before it, and nothing else was wrong.
            if more and truth["verdict"] == "fault" and "argument_mismatch" in truth["kinds"]:
                if verdict["verdict"] == "healthy":
                    continue
            difference = wrong(truth, verdict)
            if difference:
                sys.exit("%s %s: %s" % (" ".join(options), " ".join(more), difference))


if __name__ == "__main__":
    main()
