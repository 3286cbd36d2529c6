"""--rank, --comm, --step, --from, --to and --last mean the same to each command that shows a part of a run."""
import json

import pytest

STEPS = 20


@pytest.fixture
def run(bench, build, openmpi):
    job = bench.mpirun(openmpi, 3, [build(openmpi, "steps.c"), "--steps", str(STEPS)])
    assert job.wait() == 0, job.stderr
    return bench


def lines(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def events(run, *words):
    return lines(run.ddbg("events", "latest", "--json", *words))


def exported(run, *words):
    return lines(run.ddbg("export", "latest", "--format", "jsonl", *words))


def skew(run, *words):
    return json.loads(run.ddbg("skew", "latest", "--json", *words).stdout)


def steps(run, *words):
    return json.loads(run.ddbg("steps", "latest", "--json", *words).stdout)["steps"]


def stacks(run, *words):
    done = run.ddbg("stacks", "latest", "--json", "--from", "0", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tree"]


def calls_in(tree):
    return tree.get("calls", 0) + sum(calls_in(child) for child in tree.get("children", []))


def test_every_command_takes_the_same_part(run):
    all_events = events(run)
    numbers = sorted({event["step"] for event in all_events if event.get("step") is not None})
    assert numbers == list(range(len(numbers))) and len(numbers) >= STEPS - 1
    part = ["--step", "3-7", "--rank", "0,2"]
    wanted = [e for e in all_events if e["rank"] in (0, 2) and 3 <= e.get("step", -1) <= 7]
    assert wanted and events(run, *part) == wanted == exported(run, *part)
    assert {(of["rank"], one["step"]) for one in steps(run, *part) for of in one["ranks"]} == {(r, s) for r in (0, 2) for s in range(3, 8)}
    assert {one["step"] for one in skew(run, *part)["steps"]} == set(range(3, 8))
    assert {one["rank"] for one in skew(run, *part)["ranks"]} == {0, 2}
    halves = [e for e in wanted if e.get("half") in (None, "send")]
    assert calls_in(stacks(run, *part)) == len(halves)


def test_a_time_is_the_same_time_to_all(run):
    all_events = events(run)
    middle = sorted(event["t_ns"] for event in all_events if event.get("step") == STEPS // 2)[0] / 1e9
    late = events(run, "--from", "%.9f" % middle)
    assert 0 < len(late) < len(all_events) and exported(run, "--from", "%.9f" % middle) == late
    assert min(one["step"] for one in steps(run, "--from", "%.9f" % middle)) in (STEPS // 2 - 1, STEPS // 2)
    some = skew(run, "--from", "%.9f" % middle)["skew"]["count"]
    assert 0 < some < skew(run)["skew"]["count"]
    last = "%.6fms" % (run.info()["duration_ns"] / 1e6 - middle * 1e3)
    assert events(run, "--last", last) == late
    assert len(exported(run, "--last", "5m")) == len(all_events)


def test_a_communicator_is_the_same_to_all(run):
    of_world = [event for event in events(run) if event.get("comm") == "MPI_COMM_WORLD"]
    assert of_world and events(run, "--comm", "world") == of_world == exported(run, "--comm", "world")
    assert calls_in(stacks(run, "--comm", "world")) == len([e for e in of_world if e.get("half") != "recv"])
    assert skew(run, "--comm", "self")["skew"]["count"] == 0


@pytest.mark.parametrize("command", ["events", "export --format csv", "skew", "stacks", "steps"])
@pytest.mark.parametrize("wrong", [["--rank", "3-1"], ["--step", "x"], ["--last", "5x"], ["--from", "2", "--to", "1"]])
def test_what_makes_no_sense_is_said(bench, command, wrong):
    done = bench.ddbg(*command.split(), "latest", *wrong)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
