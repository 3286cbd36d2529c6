"""`import torch` with the library preloaded: it ends, prints the same and has no thread more. PyTorch of Debian 12 and sid, and
of Debian 13 its CUDA build."""
import pytest

from debian import Debian

PROGRAM = """import os, torch
print(torch.__version__, sorted(open("/proc/self/task/%s/comm" % task).read() for task in os.listdir("/proc/self/task")))
print(torch.ones(3).sum().item(), torch.backends.openmp.is_available())"""


@pytest.mark.parametrize("suite", ["bookworm", "sid"])
def test_import_is_as_without(bench, as_root, suite):
    directory = Debian(suite, "python3-torch", "libunwind8")
    command = ["timeout", "100", "python3", "-c", PROGRAM]
    without = directory.run(bench, command)
    with_us = directory.run(bench, command, LD_PRELOAD=bench.library)
    assert without.returncode == 0, without.stderr
    assert (with_us.returncode, with_us.stdout, with_us.stderr) == (0, without.stdout, without.stderr)
    assert not bench.runs.exists()


def test_import_of_the_cuda_build_is_as_without(bench, torch_job):
    program = bench.folder / "program.py"
    program.write_text(PROGRAM + "\nprint(torch.ones(2, device='cuda').device, torch.cuda.nccl.version())\n")
    jobs = [torch_job.run(0, program, preload=preload) for preload in (False, True)]
    assert [job.popen.returncode for job in jobs] == [0, 0], jobs[1].stderr
    assert jobs[0].stdout == jobs[1].stdout
