"""Real PyTorch on the doubles of CUDA and NCCL (tests/fakes): that the doubles are good enough for what ddbg is tested with."""
import re
import subprocess

import pytest

from harness import ROOT

pytestmark = pytest.mark.slow

PROGRAMS = ROOT / "tests/programs"


def run(ranks, program, *arguments, timeout=170, **variables):
    given = [word for item in variables.items() for word in ("-x", "%s=%s" % item)]
    done = subprocess.run([ROOT / "scripts/torch_run.sh", *given, str(ranks), PROGRAMS / program, *arguments], cwd="/",
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    return done


@pytest.fixture(scope="module", autouse=True)
def directory():
    """Made first, with a deadline of its own: it may have to be fetched, and the doubles built."""
    made = subprocess.run([ROOT / "scripts/torch_directory.sh"], capture_output=True, text=True, timeout=900)
    if made.returncode == 77:
        pytest.skip(made.stderr.strip().splitlines()[-1])
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("ranks,program,arguments,variables", [
    (2, "torch_collectives.py", [], {}),
    (4, "torch_collectives.py", [], {}),
    (2, "torch_split.py", [], {}),
    (2, "torch_split.py", [], {"ABORT": "1"}),
    (2, "torch_ddp.py", ["elementwise"], {}),
    (2, "torch_ddp.py", ["linear"], {}),
    (2, "torch_fsdp.py", [], {}),
])
def test_runs_to_its_end(ranks, program, arguments, variables):
    done = run(ranks, program, *arguments, **variables)
    assert done.returncode == 0, done.stderr
    # Ranks' lines may run into each other.
    assert sorted(re.findall(r"rank (\d+) ok", done.stdout)) == [str(rank) for rank in range(ranks)]


@pytest.mark.parametrize("fault", ["missing", "mismatch"])
def test_watchdog_ends_a_hang(fault):
    done = run(2, "torch_hang.py", fault)
    assert done.returncode != 0
    assert "Watchdog caught collective operation timeout" in done.stderr
    assert "rank 0 first [2.0, 2.0, 2.0, 2.0]" in done.stdout
    # Whether a rank says that it got through is chance: the watchdog's abort frees the stream before it ends the process.
