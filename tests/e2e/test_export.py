"""ddbg export: a run as a Perfetto trace, as CSV and as JSON lines."""
import csv
import io
import json
import shutil
import subprocess

import pytest

from harness import wait_until
from perfetto_reader import Trace


def exported(bench, *options):
    file = bench.folder / "run.pftrace"
    done = bench.ddbg("export", "latest", "-o", file, *options)
    assert done.returncode == 0, done.stderr
    return Trace(file.read_bytes())


def whole_run(bench, mpi, program, ranks=4, **environment):
    job = bench.mpirun(mpi, ranks, program, **environment)
    assert job.wait() == 0, job.stderr
    wait_until(lambda: all(rank["end"]["how"] == "exited" for rank in bench.info()["ranks"]), "the ends are written")
    return job


def test_perfetto_has_each_call_once_and_in_order(bench, build, mpi):
    whole_run(bench, mpi, [build(mpi, "request_mix.c")])
    calls = bench.calls()
    trace = exported(bench)
    ranks = [name for name in trace.processes() if name.startswith("rank ")]
    assert [name.split()[1] for name in ranks] == ["0", "1", "2", "3"]
    told = []
    for name in ranks:
        for thread in trace.threads(trace.processes()[name]):
            assert all(event.end is not None and event.end >= event.start for event in thread.slices)
            told += [(event.arguments["rank"], event.arguments["t_ns"], event.name) for event in thread.slices]
    assert sorted(told) == sorted((call["rank"], call["t_ns"], call["call"]) for call in calls)
    assert trace.clocks[6] == 0 and trace.clocks[1] > 0


def test_arguments_say_what_events_say(bench, build, mpi):
    whole_run(bench, mpi, [build(mpi, "request_mix.c")])
    by_place = {(event["rank"], event["t_ns"], event["call"]): event for event in bench.calls()}
    for thread in (track for track in exported(bench).tracks.values() if track.tid is not None):
        for event in thread.slices:
            told = by_place[event.arguments["rank"], event.arguments["t_ns"], event.name]
            for key, value in told.items():
                if not isinstance(value, list):
                    assert event.arguments.get(key) == value, (key, told, event)


def test_flows_join_members_of_collectives_and_sends_with_receives(bench, build, mpi):
    whole_run(bench, mpi, [build(mpi, "request_mix.c")])
    trace = exported(bench)
    collectives = [event for event in bench.calls() if event["kind"] == "collective" and event["comm"] == "MPI_COMM_WORLD"]
    by_seq = {}
    for event in collectives:
        by_seq.setdefault(event["seq"], []).append(event)
    messages = 0
    for ends in trace.flows().values():
        assert len(ends) > 1, "a flow with one end"
        slices = [event for _, track, event in ends if track.tid is not None and event.arguments["kind"] == "collective"]
        if slices:
            seqs = {(event.arguments["comm_uid"], event.arguments["seq"]) for event in slices}
            assert len(seqs) == 1
            (_, seq), = seqs
            on_track = [event for _, track, event in ends if track.tid is None]
            assert len(on_track) == 1 and on_track[0].arguments["seq"] == seq
            if slices[0].arguments["comm"] == "MPI_COMM_WORLD":
                assert sorted(event.arguments["rank"] for event in slices) == [0, 1, 2, 3]
                entries = [event["t_ns"] for event in by_seq[seq]]
                assert on_track[0].arguments["entry_skew_ns"] == max(entries) - min(entries)
                assert on_track[0].start == min(event.start for event in slices)
                assert on_track[0].end == max(event.end for event in slices)
        else:
            messages += 1
            (sent, _, send), (arrived, _, receive) = sorted(ends, key=lambda end: end[0])
            # A started persistent operation does not say its peer, and a Sendrecv has two.
            assert send.arguments.get("peer", receive.arguments["rank"]) == receive.arguments["rank"]
            source = receive.arguments.get("recv_peer", receive.arguments.get("peer"))
            tag = receive.arguments.get("recv_tag", receive.arguments.get("tag"))
            assert source in (None, send.arguments["rank"])
            assert tag is None or send.arguments.get("tag", tag) == tag
            assert sent <= arrived
    assert messages > 50


def test_open_calls_have_no_end_and_the_verdict_is_a_mark(bench, build, mpi):
    job = bench.mpirun(mpi, 4, [build(mpi, "b01_extra_barrier.c")])
    verdict = bench.diagnose_until("callsite_mismatch")
    assert job.running()
    def open_calls(trace):
        threads = [track for track in trace.tracks.values() if track.tid is not None]
        return [event for track in threads for event in track.slices if event.end is None]
    # A call is written while it is open once it has been so for a second.
    wait_until(lambda: len(open_calls(exported(bench))) == 4, "four open calls")
    trace = exported(bench)
    verdict = bench.diagnose()
    waiting = open_calls(trace)
    assert all(event.arguments["never_returned"] for event in waiting)
    marks = [(track, event) for track in trace.tracks.values() for event in track.instants if event.category == "verdict"]
    assert [event.name for _, event in marks] == ["FAULT: callsite_mismatch"]
    track, mark = marks[0]
    assert mark.arguments["summary"] == verdict["summary"]
    assert mark.arguments["rank"] == 0
    process, = (p for p in trace.processes().values() if p.pid == track.pid)
    assert process.name.startswith("rank 0 ")
    job.interrupt()
    job.wait()
    wait_until(lambda: all(rank["end"]["how"] != "running" for rank in bench.info()["ranks"]), "the ranks end")
    ended = exported(bench)
    cut = [event for track in ended.tracks.values() if track.tid is not None for event in track.slices
           if event.arguments.get("never_returned")]
    assert len(cut) == 4 and all(event.end is not None for event in cut)


def test_healthy_run_has_no_mark(bench, build, mpi):
    whole_run(bench, mpi, [build(mpi, "steps.c"), "--steps", "20"])
    trace = exported(bench)
    assert not [event for track in trace.tracks.values() for event in track.instants if event.category == "verdict"]
    assert not [event for event in trace.slices() if event.arguments.get("never_returned")]


def test_csv_and_json_lines_are_the_events(bench, build, mpi):
    whole_run(bench, mpi, [build(mpi, "request_mix.c")])
    lines = bench.ddbg("export", "latest", "--format", "jsonl")
    assert lines.stdout == bench.ddbg("events", "latest", "--json").stdout
    events = [json.loads(line) for line in lines.stdout.splitlines()]
    file = bench.folder / "run.csv"
    assert bench.ddbg("export", "latest", "-o", file).returncode == 0
    content = file.read_bytes()
    assert content.count(b"\r\n") == len(events) + 1
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True))
    assert len(rows) == len(events)
    for row, event in zip(rows, events):
        assert None not in row  # no cell too many
        for key, value in event.items():
            if key == "stack":
                assert not value or row["stack"]
            elif value is None:
                assert row[key] == ""
            elif value is True:
                assert row[key] == "true"
            elif not isinstance(value, list):
                assert row[key] == str(value), (key, row)
        assert all(not cell for key, cell in row.items() if key not in event)


def test_selection_leaves_out_what_events_leave_out(bench, build, mpi):
    whole_run(bench, mpi, [build(mpi, "request_mix.c")])
    trace = exported(bench, "--rank", "2", "--comm", "world")
    assert [name.split()[1] for name in trace.processes() if name.startswith("rank ")] == ["2"]
    shown = [event for track in trace.tracks.values() if track.tid is not None for event in track.slices]
    assert shown and all(event.arguments["comm"] == "MPI_COMM_WORLD" for event in shown)


def test_format_must_be_known(bench, build, openmpi):
    whole_run(bench, openmpi, [build(openmpi, "hello.c")], ranks=2)
    assert bench.ddbg("export", "latest", "-o", bench.folder / "run").returncode == 2
    assert bench.ddbg("export", "latest", "-o", "/nowhere/run.csv").returncode == 3
    done = bench.ddbg("export", "latest", "-o", "/dev/full", "--format", "csv")
    assert done.returncode == 3 and "not whole" in done.stderr


def test_perfetto_refuses_a_terminal(bench, build, openmpi):
    whole_run(bench, openmpi, [build(openmpi, "hello.c")], ranks=2)
    if not shutil.which("script"):
        pytest.skip("script(1) of util-linux is not installed: no terminal to write to")
    done = subprocess.run(["script", "-qec", "%s export latest --format perfetto" % (bench.prefix / "bin/ddbg"), "/dev/null"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=bench.environment(), timeout=60)
    assert done.returncode == 2 and "terminal" in done.stdout


def test_trace_processor_reads_it(bench, build, openmpi):
    processor = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if not processor:
        pytest.skip("trace_processor_shell is not installed (github.com/google/perfetto, a release): "
                    "the trace was read by the tests' own reader only")
    whole_run(bench, openmpi, [build(openmpi, "request_mix.c")])
    exported(bench)
    query = bench.folder / "query.sql"
    query.write_text("select name, value from stats where severity = 'error' and value > 0;\n"
                     "select count(*) as slices from slice;\nselect count(*) as flows from flow;\n")
    done = subprocess.run([processor, "-q", query, bench.folder / "run.pftrace"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    numbers = [int(line) for line in done.stdout.split() if line.isdigit()]
    assert numbers and all(number > 0 for number in numbers)
