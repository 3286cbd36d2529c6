"""Each call has the stack it was made from."""
import json
import subprocess


def test_stacks_that_resemble_each_other(bench, build, openmpi):
    """Recognising a stack without unwinding it must never take one for another."""
    for extra in ([], ["-O2", "-fomit-frame-pointer"]):
        program = build(openmpi, "stacks.c", *extra)
        done = subprocess.run([str(program), "7"], env=bench.environment(LD_PRELOAD=str(bench.library), DDBG_RUN_ID="stacks"),
                              cwd=bench.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        bench.stop_collectors()
        listed = bench.ddbg("events", "stacks", "--json", "--call", "MPI_Barrier").stdout
        barriers = sorted(map(json.loads, listed.splitlines()), key=lambda event: event["t_ns"])
        expected = done.stdout.split()
        assert len(barriers) == len(expected) > 5000
        for event, path in zip(barriers, expected):
            functions = [frame["function"] for frame in reversed(event["stack"])]
            steps = "".join(name[len("step_"):] for name in functions if name.startswith("step_"))
            assert steps == path, (path, functions)
        (bench.runs / "stacks").rename(bench.runs / ("done-%d" % len(extra)))
