"""ddbg run: the command's output and exit code pass through untouched; a verdict only when something is wrong."""
import signal

import pytest

from verdicts import assert_healthy


def run(bench, command, *options, **environment):
    return bench.start([bench.prefix / "bin/ddbg", "run", *options, "--", *command], **environment)


@pytest.mark.quick
def test_healthy_job_prints_nothing_of_ours(bench, build, mpi):
    job = run(bench, mpi.command(3, [build(mpi, "hello.c")]))
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["rank %d of 3, sum 3" % rank for rank in range(3)]
    assert job.stderr == ""
    assert_healthy(bench.diagnose())
    assert len(bench.rank_files()) == 3


@pytest.mark.parametrize("code", [0, 3, 255])
def test_exit_code_of_any_command(bench, code):
    job = run(bench, ["sh", "-c", "echo out; echo err >&2; exit %d" % code])
    assert job.wait() == code
    assert job.stdout == "out\n"
    assert "err\n" in job.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], ids=lambda n: n.name)
def test_end_by_signal_is_passed_on_as_the_shell_does(bench, number):
    job = run(bench, ["sh", "-c", "kill -%d $$" % number])
    assert job.wait() in (128 + number, -number)


def test_standard_input_reaches_the_command(bench):
    import subprocess
    done = subprocess.run([bench.prefix / "bin/ddbg", "run", "--", "cat"], input="through\n", text=True,
                          capture_output=True, timeout=60, env=bench.environment(), cwd=bench.work)
    assert (done.returncode, done.stdout) == (0, "through\n")


def test_exit_code_of_an_mpi_job(bench, build, mpi):
    job = run(bench, mpi.command(2, [build(mpi, "hello.c"), "--code", 3]))
    assert job.wait() == 3


def test_directory_option(bench, build, openmpi):
    other = bench.folder / "elsewhere"
    job = run(bench, openmpi.command(2, [build(openmpi, "hello.c")]), "--dir", other)
    assert job.wait() == 0, job.stderr
    assert len(list((other / "latest").glob("a*/rank-*.ddbg"))) == 2
    assert not bench.runs.exists()


def test_two_runs_are_two_directories_and_latest_is_the_second(bench, build, openmpi):
    program = build(openmpi, "hello.c")
    for _ in range(2):
        assert run(bench, openmpi.command(2, [program])).wait() == 0
    runs = [path for path in bench.runs.iterdir() if path.is_dir() and not path.is_symlink()]
    assert len(runs) == 2
    newest = max(runs, key=lambda path: path.stat().st_mtime_ns)
    assert (bench.runs / "latest").resolve() == newest.resolve()


def test_given_run_id_is_used(bench, build, openmpi):
    job = run(bench, openmpi.command(2, [build(openmpi, "hello.c")]), DDBG_RUN_ID="nightly-7")
    assert job.wait() == 0, job.stderr
    assert len(list((bench.runs / "nightly-7").glob("a*/rank-*.ddbg"))) == 2
    assert bench.info("nightly-7")["run_id"] == "nightly-7"


def test_unknown_command(bench):
    job = run(bench, ["no-such-command-anywhere"])
    assert job.wait() == 127
    assert "no-such-command-anywhere" in job.stderr
    assert len(job.stderr.splitlines()) == 1, job.stderr


def test_command_that_may_not_be_executed(bench):
    script = bench.folder / "plain.txt"
    script.write_text("hello\n")
    job = run(bench, [script])
    assert job.wait() == 126
    assert "plain.txt" in job.stderr


@pytest.mark.parametrize("arguments", [["run"], ["run", "--no-such-option", "--", "true"], ["no-such-command"],
                                       ["diagnose", "--no-such-option"], ["events", "latest", "--rank", "x"]])
def test_usage_errors(bench, arguments):
    done = bench.ddbg(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip()
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["diagnose", "--help"], ["--version"]])
def test_help_and_version(bench, arguments):
    done = bench.ddbg(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
