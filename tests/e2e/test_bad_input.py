"""Bad input: one clear sentence with a way out on stderr, the documented exit code, no crash; and the job runs on."""
import json
import random
import shutil
import signal
import socket
import struct
import subprocess

import pytest

from harness import wait_until
from verdicts import assert_healthy, shown

USAGE, UNKNOWN = 2, 3
COMMANDS = ("info", "events", "diagnose")


@pytest.fixture
def finished(bench, build, openmpi):
    """A healthy run of two ranks, with its files at rest."""
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")])
    assert job.wait() == 0, job.stderr
    assert_healthy(bench.diagnose())
    bench.stop_collectors()
    return bench


def assert_refused(done, *words):
    """Exit code 3 and a sentence that has all of `words`."""
    assert done.returncode == UNKNOWN, (done.returncode, done.stdout[-500:], done.stderr)
    assert done.stderr.strip(), "nothing on stderr"
    assert len(done.stderr.strip().splitlines()) <= 2, done.stderr
    for word in words:
        assert str(word) in done.stderr, done.stderr


def assert_sane(done):
    """Not a crash: a documented exit code, and a sentence if something was not readable."""
    assert done.returncode in (0, 1, UNKNOWN), (done.returncode, done.stderr)
    if done.returncode == UNKNOWN:
        assert (done.stdout + done.stderr).strip()


# Trace files

@pytest.mark.quick
@pytest.mark.parametrize("command", COMMANDS)
def test_no_such_run(bench, command):
    assert_refused(bench.ddbg(command, "no-such-run"), "no-such-run")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_run_at_all(bench, command):
    assert_refused(bench.ddbg(command, "latest"))


@pytest.mark.parametrize("command", COMMANDS)
def test_directory_without_a_run(bench, command):
    empty = bench.folder / "empty"
    empty.mkdir()
    assert_refused(bench.ddbg(command, empty), empty)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("content", [b"", b"DDBG", b"hello, this is no trace\n" * 100, bytes(4096)],
                         ids=["empty", "cut magic", "text", "zeros"])
def test_file_that_is_no_trace(bench, command, content):
    file = bench.folder / "rank-00000.ddbg"
    file.write_bytes(content)
    assert_refused(bench.ddbg(command, file), file)


def test_file_of_a_later_version(finished):
    file = finished.folder / "rank-00000.ddbg"
    content = bytearray(finished.rank_files()[0].read_bytes())
    content[8:12] = struct.pack("<I", 99)
    file.write_bytes(content)
    assert_refused(finished.ddbg("diagnose", file), file, "99")


def test_truncated_at_many_lengths(finished):
    """All around the header and the first frame, then evenly spread; the reader's unit test does every length."""
    whole = finished.rank_files()[1].read_bytes()
    folder = finished.folder / "cut"
    folder.mkdir()
    shutil.copy(finished.rank_files()[0], folder)
    file = folder / "rank-00001.ddbg"
    step = max(1, len(whole) // 60)
    for length in sorted({*range(0, 60, 3), *range(0, len(whole), step), len(whole) - 1}):
        file.write_bytes(whole[:length])
        for command in (["diagnose"], ["events", "--json"]):
            done = finished.ddbg(command[0], folder, *command[1:])
            assert_sane(done)
        done = finished.ddbg("diagnose", folder, "--json")
        assert done.returncode != 0 or "rank-00001.ddbg: truncated" in done.stdout, (
            "%d of %d bytes and no word of it: %s" % (length, len(whole), done.stdout))


def test_flipped_bits(finished):
    whole = finished.rank_files()[1].read_bytes()
    folder = finished.folder / "flipped"
    folder.mkdir()
    shutil.copy(finished.rank_files()[0], folder)
    chance = random.Random(20)
    for _ in range(60):
        content = bytearray(whole)
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (folder / "rank-00001.ddbg").write_bytes(content)
        done = finished.ddbg("diagnose", folder)
        assert_sane(done)


def test_rank_file_missing(finished):
    finished.rank_files()[1].unlink()
    verdict = finished.diagnose()
    assert verdict["verdict"] != "healthy", shown(verdict)
    assert verdict["exit_code"] in (1, UNKNOWN)
    assert "1" in verdict["summary"] + " ".join(verdict.get("caveats", [])), shown(verdict)


def assert_not_healthy(verdict):
    assert verdict["verdict"] != "healthy", shown(verdict)
    assert verdict["exit_code"] in (1, UNKNOWN)


def test_empty_file_among_others(finished):
    finished.rank_files()[1].write_bytes(b"")
    verdict = finished.diagnose()
    assert_not_healthy(verdict)
    assert "rank-00001.ddbg" in verdict["summary"] + " ".join(verdict["caveats"]), shown(verdict)


def test_directory_among_the_files(finished):
    folder = finished.rank_files()[0].parent
    (folder / "rank-00002.ddbg").mkdir()
    verdict = finished.diagnose()
    assert_not_healthy(verdict)
    assert "rank-00002.ddbg" in verdict["summary"] + " ".join(verdict["caveats"]), shown(verdict)


def test_one_file_of_a_later_version(finished):
    file = finished.rank_files()[1]
    content = bytearray(file.read_bytes())
    content[8:12] = struct.pack("<I", 99)
    file.write_bytes(content)
    verdict = finished.diagnose()
    assert_not_healthy(verdict)
    assert "99" in verdict["summary"] + " ".join(verdict["caveats"]), shown(verdict)


def test_copy_of_a_file_under_another_name(finished):
    file = finished.rank_files()[0]
    shutil.copy(file, file.with_name("rank-00009.ddbg"))
    verdict = finished.diagnose()
    assert_healthy(verdict)
    assert any("copy" in caveat for caveat in verdict["caveats"]), shown(verdict)


def test_files_of_two_runs_given_together(bench, build, openmpi):
    for run, program in (("first", "hello.c"), ("second", "hello.c")):
        job = bench.mpirun(openmpi, 2, [build(openmpi, program)], DDBG_RUN_ID=run)
        assert job.wait() == 0, job.stderr
    bench.stop_collectors()
    done = bench.ddbg("diagnose", bench.runs / "first", bench.runs / "second", "--json")
    verdict = json.loads(done.stdout)
    assert verdict["run_id"] == "second", shown(verdict)
    assert any("first" in caveat and "left out" in caveat for caveat in verdict["caveats"]), shown(verdict)


@pytest.mark.parametrize("option", ["--last=soon", "--last=-3", "--memory=lots"])
def test_lengths_and_sizes_that_are_none(finished, option):
    done = finished.ddbg("diagnose", "latest", option)
    assert done.returncode == USAGE, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_two_processes_that_claim_one_rank(bench, build, openmpi):
    """Started by hand as the environment of a broken script would: RANK 0 twice of 2."""
    program = build(openmpi, "hello.c")
    script = "for i in 1 2; do RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LD_PRELOAD=%s %s & done; wait" % (bench.library, program)
    job = bench.start(["/bin/sh", "-c", script], DDBG_RUN_ID="twice")
    assert job.wait() == 0, job.stderr
    bench.stop_collectors()
    files = sorted(path.name for path in (bench.runs / "twice").glob("a*/*.ddbg") if not path.name.startswith("node-"))
    assert len(files) == 2, files
    verdict = bench.diagnose("twice")
    assert verdict["verdict"] == "fault", shown(verdict)
    assert verdict["kind"] in ("duplicate_rank", "singleton_world"), shown(verdict)
    assert verdict["phase"] == "wont_start"


def test_output_pipe_closed_early(finished):
    """ddbg events | head"""
    command = "%s events latest --json | head -n 1" % (finished.prefix / "bin/ddbg")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60,
                          env=finished.environment(), cwd=finished.work)
    assert done.stdout.startswith("{")
    assert done.stderr == ""


# Run directories

def assert_job_runs_on(job):
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["rank 0 of 2, sum 1", "rank 1 of 2, sum 1"]


def said(job):
    return [line for line in job.stderr.splitlines() if "ddbg" in line]


def test_run_directory_that_cannot_be_made(bench, build, mpi):
    blocked = bench.folder / "file"
    blocked.write_text("")
    job = bench.mpirun(mpi, 2, [build(mpi, "hello.c")], DDBG_DIR=blocked / "runs")
    assert_job_runs_on(job)
    assert 1 <= len(said(job)) <= 2, job.stderr
    assert "DDBG_DIR" in job.stderr


def test_ddbg_run_into_a_directory_that_cannot_be_made(bench, build, openmpi):
    blocked = bench.folder / "file"
    blocked.write_text("")
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--dir", blocked / "runs", "--"] +
                      openmpi.command(2, [build(openmpi, "hello.c")]))
    assert_job_runs_on(job)
    assert str(blocked) in job.stderr


def in_small_file_system(bench, options, script):
    """Runs `script` where $SMALL is a file system of its own; what lies in it at the end is copied to `kept`."""
    (bench.folder / "small").mkdir()
    (bench.folder / "kept").mkdir()
    outer = ("mount -t tmpfs -o %s ddbg-test $SMALL && { %s; code=$?; cp -a $SMALL/. $KEPT/; exit $code; }" % (options, script))
    return bench.start(["unshare", "-m", "/bin/sh", "-c", outer], SMALL=bench.folder / "small", KEPT=bench.folder / "kept",
                       DDBG_DIR=bench.folder / "small/runs")


def test_full_run_directory(bench, build, openmpi, as_root):
    """The job runs on, the loss is counted, and what was written before is readable."""
    command = openmpi.command(2, [build(openmpi, "b26_comm_leak.c"), "--iterations", 20000, "--healthy"], bench.library)
    ddbg = bench.prefix / "bin/ddbg"
    script = "%s; ended=$?; %s diagnose latest > $KEPT/said 2>&1; echo $? > $KEPT/code; (exit $ended)" % (
        " ".join(map(str, command)), ddbg)
    job = in_small_file_system(bench, "size=96k", script)
    assert job.wait(120) == 0, job.stderr
    assert job.lines() == ["rank 0 solved 40000", "rank 1 solved 40000"]
    text = (bench.folder / "kept/said").read_text()
    assert (bench.folder / "kept/code").read_text().strip() == str(UNKNOWN), text
    assert said(job) or "lost" in text or "full" in text, text


def test_read_only_run_directory(bench, build, openmpi, as_root):
    command = " ".join(map(str, openmpi.command(2, [build(openmpi, "hello.c")], bench.library)))
    job = in_small_file_system(bench, "size=1m,ro", command)
    assert_job_runs_on(job)
    assert 1 <= len(said(job)) <= 2, job.stderr


def test_directory_with_odd_characters(bench, build, openmpi):
    odd = bench.folder / "two words, a 'quote' and ünicode"
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")], DDBG_DIR=odd)
    assert_job_runs_on(job)
    done = bench.ddbg("diagnose", "latest", DDBG_DIR=odd)
    assert done.returncode == 0, done.stderr


def test_run_id_that_is_no_file_name(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")], DDBG_RUN_ID="../../outside/it")
    assert_job_runs_on(job)
    assert not (bench.folder.parent / "outside").exists()
    assert not (bench.folder / "outside").exists()
    assert len([p for p in bench.runs.rglob("rank-*.ddbg")]) == 2


# Socket

def test_socket_path_too_long(bench, build, mpi):
    job = bench.mpirun(mpi, 2, [build(mpi, "hello.c")], DDBG_SOCKET="/tmp/" + "x" * 150)
    assert_job_runs_on(job)
    assert 1 <= len(said(job)) <= 2, job.stderr
    assert "DDBG_SOCKET" in job.stderr


def test_collector_is_told_a_socket_path_that_is_too_long(bench):
    done = subprocess.run([bench.prefix / "bin/ddbg-collector"], capture_output=True, text=True, timeout=60,
                          env=bench.environment(DDBG_SOCKET="/tmp/" + "x" * 150), cwd=bench.work)
    assert done.returncode not in (0, -signal.SIGABRT, -signal.SIGSEGV)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_stale_socket_and_lock(bench, build, mpi):
    """Left behind by a collector that was killed: the next one takes over."""
    first = bench.mpirun(mpi, 2, [build(mpi, "hello.c")])
    assert_job_runs_on(first)
    collector = bench.collector()
    collector.signal(signal.SIGKILL)
    wait_until(collector.gone, "the collector survived SIGKILL")
    assert (bench.short / "s").exists()
    job = bench.mpirun(mpi, 2, [build(mpi, "hello.c")])
    assert_job_runs_on(job)
    assert said(job) == []
    assert_healthy(bench.diagnose())


def test_file_where_the_socket_should_be(bench, build, openmpi):
    """Not ours to remove: said once, and the job runs on."""
    (bench.short / "s").write_text("precious\n")
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")])
    assert_job_runs_on(job)
    assert (bench.short / "s").read_text() == "precious\n"
    assert 1 <= len(said(job)) <= 2, job.stderr


def connect(bench):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(60)
    client.connect(str(bench.short / "s"))
    return client


GARBAGE = {
    "text": b"GET / HTTP/1.0\r\n\r\n",
    "length of zero": struct.pack("<I", 0),
    "length too large": struct.pack("<I", 0xffffffff) + b"x" * 64,
    "no protobuf": struct.pack("<I", 64) + b"\xff" * 64,
    "process without a region": struct.pack("<I", 4) + b"\x0a\x02\x0a\x00",
}


def test_garbage_client_loses_its_session_only(bench, build, openmpi):
    started = bench.folder / "started"
    job = bench.mpirun(openmpi, 2, [build(openmpi, "steps.c"), "--steps", 200, "--started", started])
    wait_until(lambda: started.exists() and started.stat().st_size == 2, "no step 10")
    collector = bench.collector()
    for name, content in GARBAGE.items():
        with connect(bench) as client:
            try:
                client.sendall(content)
                while client.recv(64):  # until it hangs up
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
    with connect(bench), connect(bench) as half:  # one says nothing, one stops in the middle of a word
        half.sendall(b"\x10")
        assert job.wait() == 0, job.stderr
        assert [process.pid for process in bench.collectors()] == [collector.pid]
    assert_healthy(bench.diagnose())
    assert sum(1 for event in bench.calls() if event["call"] == "MPI_Allreduce") == 400


# Programs that cannot be preloaded

def test_static_binary(bench):
    source = bench.folder / "plain.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("static"); return 4; }\n')
    program = bench.folder / "plain"
    subprocess.run(["gcc", "-static", "-o", program, source], check=True)
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--", program])
    assert job.wait() == 4
    assert job.stdout == "static\n"
    assert "static" in job.stderr, "no word that it cannot be traced"


def test_static_program_under_a_launcher(bench, openmpi):
    """The launcher is dynamic, its ranks are not: no trace, and diagnose says which way out there is."""
    source = bench.folder / "plain.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("static"); return 0; }\n')
    program = bench.folder / "plain"
    subprocess.run(["gcc", "-static", "-o", program, source], check=True)
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--"] + openmpi.command(2, [program]))
    assert job.wait() == 0
    assert job.lines() == ["static", "static"]
    done = bench.ddbg("diagnose", "latest")
    assert done.returncode == UNKNOWN, done.stdout
    assert done.stderr.strip() or done.stdout.strip()


def test_program_of_another_architecture(bench):
    """A 32-bit program cannot load a 64-bit library (and may not even start here): its own error passes through."""
    program = bench.folder / "foreign"
    header = bytearray(64)
    header[:20] = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HH", 2, 40)  # 32-bit ARM executable
    program.write_bytes(header)
    program.chmod(0o755)
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--", program])
    assert job.wait() == 126
    assert "foreign" in job.stderr
    assert len(job.stderr.strip().splitlines()) <= 2, job.stderr


def test_wrong_value_of_a_switch_is_said_once_and_ignored(bench, build, openmpi):
    job = bench.mpirun(openmpi, 2, [build(openmpi, "hello.c")], DDBG_STACKS="sometimes")
    assert_job_runs_on(job)
    assert "DDBG_STACKS" in job.stderr
    assert_healthy(bench.diagnose())
