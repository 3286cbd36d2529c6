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


SILICON = """&control
  calculation = 'scf', prefix = 'si', pseudo_dir = '%s', outdir = '.'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12
/
&electrons
  conv_thr = 1d-8
/
ATOMIC_SPECIES
  Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
  Si 0.00 0.00 0.00
  Si 0.25 0.25 0.25
K_POINTS automatic
  2 2 2 1 1 1
"""
PSEUDO = Path("/usr/share/espresso/pseudo")


def test_quantum_espresso(bench, openmpi):
    """Fortran, ScaLAPACK: the energies of each iteration of silicon's self-consistent field, to the last digit."""
    if not shutil.which("pw.x") or not (PSEUDO / "Si.pz-vbc.UPF").exists():
        pytest.skip("Quantum ESPRESSO is not installed (scripts/install_deps.sh --test)")
    given = bench.folder / "si.in"
    given.write_text(SILICON % PSEUDO)
    energies = []
    for preload in (False, True):
        _, job = run_in_copy(bench, openmpi, [given], ["env", "OMP_NUM_THREADS=1", "pw.x", "-in", "si.in"], preload)
        energies.append([line for line in job.stdout.splitlines() if re.search(r"(total|one-electron|hartree|ewald) .*=", line)])
    assert len(energies[0]) > 6 and any(line.startswith("!") for line in energies[0]), energies[0]
    assert energies[1] == energies[0]
    assert_healthy(bench.diagnose())


def test_netpipe(bench, mpi):
    """Each message of each size with its content checked, there and back."""
    program = {"openmpi": "NPopenmpi", "mpich": "NPmpich2"}[mpi.suffix]
    if not shutil.which(program):
        pytest.skip("NetPIPE is not installed (scripts/install_deps.sh --test)")
    outputs = []
    for preload in (False, True):
        job = bench.mpirun(mpi, 2, [program, "-i", "-n", 20, "-u", 2048, "-o", bench.folder / "np.out"], preload=preload)
        assert job.wait() == 0, job.stderr
        outputs.append("".join(job.lines() + job.stderr.splitlines()))
    assert sorted(outputs[1]) == sorted(outputs[0])  # letter by letter, since two ranks write at once
    assert outputs[1].count("Integrity check passed") >= 10, outputs
    assert_healthy(bench.diagnose())


FUTURES = """from mpi4py.futures import MPICommExecutor
with MPICommExecutor() as executor:
    if executor:
        print("sums", list(executor.map(pow, range(9), range(9))), flush=True)
"""


@pytest.mark.parametrize("what", ["helloworld", "ringtest", "futures"])
def test_what_mpi4py_brings_along(bench, openmpi, what):
    """Its own benchmarks and pool of workers. Of what is timed the number is left out."""
    (bench.folder / "futures.py").write_text(FUTURES)
    command = ["/usr/bin/python3", *(["-m", "mpi4py", bench.folder / "futures.py"] if what == "futures" else ["-m", "mpi4py.bench", what])]
    outputs = []
    for preload in (False, True):
        job = bench.mpirun(openmpi, 2, command, preload=preload)
        assert job.wait() == 0, job.stderr
        outputs.append([re.sub(r"= [\d.e-]+ seconds", "", line) for line in job.lines()])
    assert outputs[1] == outputs[0] and outputs[0]
    assert_healthy(bench.diagnose())
