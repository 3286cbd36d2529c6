"""Applications that nobody here wrote, from the distribution: same results, one file a rank, healthy."""
import re
import shutil
from pathlib import Path

import pytest

from verdicts import assert_healthy

EXAMPLES = Path("/usr/share/lammps/examples")
HPCC_INPUT = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


def need_files(*paths):
    for path in paths:
        if not path or not Path(path).exists():
            pytest.skip("LAMMPS or HPCC is not installed (scripts/install_deps.sh --test)")


def run_in_copy(bench, mpi, files, command, preload):
    folder = bench.folder / ("traced" if preload else "bare")
    folder.mkdir()
    for path in files:
        shutil.copy(path, folder)
    job = bench.mpirun(mpi, 4, command, preload=preload, cwd=folder)
    assert job.wait(300) == 0, job.stdout[-3000:] + job.stderr
    return folder, job


def thermo(log):
    """The lines of thermodynamic output of a LAMMPS log, without its timing."""
    table, lines = False, []
    for line in log.splitlines():
        if re.match(r"Step\s+Temp|-+ Step", line):
            table = True
        if line.startswith("Loop time"):
            table = False
        if table:
            lines.append(re.sub(r"CPU = *[0-9.]+", "CPU", line))
    return lines


@pytest.mark.parametrize("example", ["melt", "peptide"])
def test_lammps(bench, openmpi, example):
    need_files(shutil.which("lmp"), EXAMPLES / example)
    files = [path for path in (EXAMPLES / example).iterdir() if path.is_file()]
    command = ["lmp", "-in", "in." + example]
    bare, _ = run_in_copy(bench, openmpi, files, command, preload=False)
    traced, job = run_in_copy(bench, openmpi, files, command, preload=True)
    expected = thermo((bare / "log.lammps").read_text())
    assert len(expected) > 5
    assert thermo((traced / "log.lammps").read_text()) == expected
    assert job.stderr == ""
    assert [path.name for path in bench.rank_files()] == ["rank-%05d.ddbg" % rank for rank in range(4)]
    assert_healthy(bench.diagnose())
    calls = {event["call"] for event in bench.calls()}
    assert {"MPI_Init", "MPI_Allreduce", "MPI_Irecv", "MPI_Send", "MPI_Finalize"} <= calls


# Results of HPCC that do not depend on how fast it ran.
STABLE = re.compile(r"^(Success|CommWorldProcs|HPL_(RnormI|Anorm1|Xnorm1|N|NB|nprow|npcol)|DGEMM_N|PTRANS_\w*(n|nb|residual)|"
                    r"\w*RandomAccess\w*_(N|Errors)|FFT_N|MPIFFT_(N|Procs|maxErr))=")


def hpcc_results(folder):
    """Stable results, and how many checks passed. A row of PTRANS' CPU times is left out where the time is too short."""
    lines = [line for line in (folder / "hpccoutf.txt").read_text().splitlines() if not line.startswith("CPU ")]
    return ([line for line in lines if STABLE.match(line)], sum("PASSED" in line for line in lines),
            sum("FAILED" in line for line in lines))


def test_hpcc(bench, openmpi):
    need_files(shutil.which("hpcc"), HPCC_INPUT)
    small = bench.folder / "hpccinf.txt"
    small.write_text(HPCC_INPUT.read_text().replace("1000         Ns", "300          Ns"))
    assert "300          Ns" in small.read_text()
    bare, _ = run_in_copy(bench, openmpi, [small], ["hpcc"], preload=False)
    traced, job = run_in_copy(bench, openmpi, [small], ["hpcc"], preload=True)
    results, passed, failed = hpcc_results(bare)
    assert "Success=1" in results and passed > 0 and failed == 0
    assert hpcc_results(traced) == (results, passed, failed)
    assert job.stderr == ""
    assert len(bench.rank_files()) == 4
    assert_healthy(bench.diagnose())
