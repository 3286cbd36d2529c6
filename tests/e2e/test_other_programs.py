"""Programs that cannot load libddbg.so, among those that can: they run as they would, and ddbg run says what is not recorded."""
import subprocess

import pytest

from test_process_life import live

PLAIN = "int puts(const char*); void exit(int);\nint main(void) { puts(\"%s\"); exit(%d); }\n"


def compiled(bench, name, code, *flags):
    source = bench.folder / (name + ".c")
    source.write_text(PLAIN % (name, code))
    program = bench.folder / name
    subprocess.run(["gcc", "-o", program, source, *flags], check=True)
    return program


@pytest.fixture
def static(bench):
    return compiled(bench, "static", 5, "-static")


@pytest.fixture
def narrow(bench):
    """A 32-bit program, made with what a 64-bit gcc and the 32-bit libc have."""
    source = bench.folder / "narrow.c"
    source.write_text(PLAIN.replace("main", "_start") % ("narrow", 4))
    program = bench.folder / "narrow"
    command = ["gcc", "-m32", "-nostdlib", "-fno-pic", "-no-pie", "-fno-stack-protector", "-mpreferred-stack-boundary=2", "-o",
               program, source, "-Wl,--dynamic-linker=/lib/ld-linux.so.2", "/lib32/libc.so.6"]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("no 32-bit program can be made here (Debian package libc6-i386)")
    return program


def needs_to_run(program):
    try:
        subprocess.run([program], capture_output=True, timeout=60)
    except OSError as error:
        pytest.skip("this kernel runs no 32-bit programs: %s" % error)


def test_32_bit_program(bench, narrow):
    """The dynamic linker says that it ignores the library, which is of the wrong class; that is all."""
    needs_to_run(narrow)
    code, output, errors = live(bench, [narrow], preload=False)
    traced_code, traced_output, traced_errors = live(bench, [narrow], preload=True)
    assert (traced_code, traced_output) == (code, output) == (4, "narrow\n"), traced_errors
    lines = traced_errors.splitlines()
    assert errors == "" and len(lines) == 1 and "wrong ELF class" in lines[0] and "ignored" in lines[0], lines


def test_ddbg_run_says_that_a_32_bit_program_is_not_recorded(bench, narrow):
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--", narrow])
    job.wait()
    said = [line for line in job.stderr.splitlines() if line.startswith("ddbg: ")]
    assert "is a 32-bit program" in said[0] and str(narrow) in said[0], job.stderr


def test_shell_with_children_of_all_sorts(bench, build, mpi, static):
    """fork and exec from one that has the library to those that cannot have it, and to an MPI program after them."""
    script = "%s; echo $?; %s & wait $!; echo $?; (%s); %s | cat; exec %s" % (static, static, static, static, build(mpi, "hello.c"))
    bare = live(bench, ["/bin/bash", "-c", script], preload=False)
    traced = live(bench, ["/bin/bash", "-c", script], preload=True)
    assert traced == bare
    assert bare[:2] == (0, "static\n5\nstatic\n5\nstatic\nstatic\nrank 0 of 1, sum 0\n")
    bench.stop_collectors()
    process, = bench.info()["ranks"]
    assert process["exe"].endswith("hello.%s" % mpi) and process["end"]["how"] == "exited"


def test_shell_with_a_32_bit_child(bench, build, openmpi, narrow):
    needs_to_run(narrow)
    script = "%s; echo $?; exec %s" % (narrow, build(openmpi, "hello.c"))
    bare = live(bench, ["/bin/bash", "-c", script], preload=False)
    traced = live(bench, ["/bin/bash", "-c", script], preload=True)
    assert traced[:2] == bare[:2]
    bench.stop_collectors()
    assert any(event["call"] == "MPI_Finalize" for event in bench.calls())


def test_mpi_program_that_runs_a_static_one(bench, build, openmpi, static):
    """What the launcher starts is dynamic, what that starts is not: ddbg run has nothing to warn of."""
    script = bench.folder / "ranks.sh"
    script.write_text("#!/bin/sh\n%s\nexec %s\n" % (static, build(openmpi, "hello.c")))
    script.chmod(0o755)
    job = bench.start([bench.prefix / "bin/ddbg", "run", "--"] + openmpi.command(2, [script]))
    assert job.wait() == 0, job.stderr
    assert job.lines() == ["rank 0 of 2, sum 1", "rank 1 of 2, sum 1", "static", "static"]
    assert "ddbg" not in job.stderr
