#!/usr/bin/python3
"""Plays scenarios and says how good the verdicts are (README.md). Needs a build in build/release and its installation in
build/install, or DDBG_PREFIX."""
import argparse
import concurrent.futures
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import report  # noqa: E402
from catalog import ALL, cases  # noqa: E402
from harness import ROOT  # noqa: E402
from play import Play, stopped  # noqa: E402
from rows import chosen  # noqa: E402
from score import judge  # noqa: E402
from staging import Programs  # noqa: E402


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", default="", metavar="LETTERS", help="of W, C, T, I and N; all without")
    parser.add_argument("--id", action="append", default=[], help="one row; may be repeated")
    parser.add_argument("--seeds", default="1", help="a number (of seeds from 1 on) or a range as 3-7")
    parser.add_argument("--mpi", action="append", choices=ALL, help="back ends to use; all without")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once")
    parser.add_argument("--no-twins", action="store_true", help="without the healthy twins of the faults")
    parser.add_argument("--only-twins", action="store_true", help="only healthy runs")
    parser.add_argument("--json", metavar="FILE", help="everything that was seen, for programs")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the traces of verdicts that are wrong here")
    parser.add_argument("--list", action="store_true", help="only the names of the cases")
    return parser.parse_args()


def seeds_of(text):
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(1, int(first) + 1)


def play(case, programs, prefix, folder, keep):
    try:
        return Play(case, programs, prefix, folder / case.name, keep).run()
    except Exception as error:  # one case that cannot be played must not end the suite
        return dict(case=case.name, id=case.row.id, truth=None, verdict=Play.essence({}), timeout_only={}, counts_only={},
                    analyzer_s=None, problems=["could not be played: %s" % error, traceback.format_exc()])


def line_of(record):
    told = judge(record["truth"], record["verdict"])
    if record["problems"] and not record["truth"]:
        word = "PROBLEM " + record["problems"][0][:200]
    elif record["truth"]:
        word = "hit" if told["exact"] and told["kind_right"] else "class" if told["class_right"] else "MISS"
    else:
        word = "silent" if told["outcome"] == "healthy" else "FALSE" if told["false_verdict"] else told["outcome"]
    return "%-48s %-8s %s" % (record["case"], word, record["verdict"].get("kind") or "")


def run(selected, jobs, prefix, out=sys.stderr, keep=None):
    """The records of all cases, in their order."""
    programs = Programs()
    programs.prepare(selected)
    with tempfile.TemporaryDirectory(prefix="suite-") as folder:
        records = {}
        for alone in (False, True):
            part = [case for case in selected if case.row.alone == alone]
            with concurrent.futures.ThreadPoolExecutor(1 if alone else jobs) as pool:
                futures = {pool.submit(play, case, programs, prefix, Path(folder), keep): case for case in part}
                try:
                    for future in concurrent.futures.as_completed(futures):
                        records[futures[future]] = future.result()
                        print(line_of(future.result()), file=out, flush=True)
                except KeyboardInterrupt:  # the jobs that run are ended, and their processes reaped
                    stopped.set()
                    pool.shutdown(cancel_futures=True)
                    raise
        return [records[case] for case in selected]


def main():
    asked = options()
    selected = list(cases(chosen(asked.family, asked.id), seeds_of(asked.seeds), asked.mpi or ALL, not asked.no_twins))
    if asked.only_twins:
        selected = [case for case in selected if case.healthy]
    if asked.list:
        print("\n".join(case.name for case in selected))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    prefix = Path(os.environ.get("DDBG_PREFIX", ROOT / "build/install")).resolve()
    began = time.monotonic()
    records = run(selected, asked.jobs, prefix, keep=asked.keep)
    if asked.json:
        content = dict(schema="ddbg.scenarios/1", summary=report.summary(records), seconds=time.monotonic() - began,
                       records=records)
        Path(asked.json).write_text(json.dumps(content, indent=1))
    print(report.text(records))
    print("\n%d runs in %.0f s" % (len(records), time.monotonic() - began))
    return 1 if any(record["problems"] for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
