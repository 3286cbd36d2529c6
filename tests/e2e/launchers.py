"""The MPIs of this machine: how a program is compiled with each and how it is started."""
import os
import shutil
import subprocess
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
# gcc takes MPI_STATUSES_IGNORE and MPI_UNWEIGHTED for buffers that are too small.
FLAGS = ["-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Wno-stringop-overflow", "-Wno-stringop-overread"]


class Mpi:
    """One MPI. Subclasses know its commands; `suffix` is Debian's name for it, `shared_library` what to dlopen."""

    suffix = ""
    shared_library = ""
    rank_variable = ""

    def available(self):
        return all(shutil.which(tool) for tool in (self.launcher, "mpicc." + self.suffix, "mpicxx." + self.suffix))

    def compile(self, source, folder, extra=()):
        """Compiles tests/programs/`source` once and returns the program's path."""
        source = PROGRAMS / source
        program = folder / ("%s.%s%s" % (source.stem, self.suffix, "".join(extra).replace("/", "_")))
        if not program.exists():
            compiler = ("mpicxx." if source.suffix == ".cc" else "mpicc.") + self.suffix
            part = program.with_suffix(".part")
            subprocess.run([compiler, *FLAGS, *extra, "-o", part, source, "-lpthread"], check=True)
            part.rename(program)
        return program

    def __str__(self):
        return self.suffix


class OpenMpi(Mpi):
    suffix = "openmpi"
    shared_library = "libmpi.so.40"
    launcher = "mpirun.openmpi"
    rank_variable = "OMPI_COMM_WORLD_RANK"

    def command(self, ranks, program, preload=None):
        """The command line for `ranks` processes, with `preload` in their LD_PRELOAD only."""
        line = [self.launcher, "--oversubscribe", "-n", str(ranks)]
        if os.geteuid() == 0:
            line.append("--allow-run-as-root")
        if preload:
            line += ["-x", "LD_PRELOAD=%s" % preload]
        return line + [str(word) for word in program]

    def command_over_hosts(self, hosts, ranks, program, preload, remote_shell):
        """With `ranks` processes on each host, over TCP; `remote_shell` is called as ssh is."""
        line = self.command(len(hosts) * ranks, [], preload)
        line += ["--host", ",".join("%s:%d" % (host, ranks) for host in hosts), "--mca", "plm", "rsh"]
        line += ["--mca", "plm_rsh_agent", str(remote_shell), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
        line += ["--mca", "mpi_yield_when_idle", "1"]
        line += ["--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24"]
        return line + [str(word) for word in program]


class Mpich(Mpi):
    suffix = "mpich"
    shared_library = "libmpich.so.12"
    launcher = "mpiexec.mpich"
    rank_variable = "PMI_RANK"

    def command(self, ranks, program, preload=None):
        line = [self.launcher, "-n", str(ranks)]
        if preload:
            line += ["-genv", "LD_PRELOAD", str(preload)]
        return line + [str(word) for word in program]

    def command_over_hosts(self, hosts, ranks, program, preload, remote_shell):
        line = self.command(len(hosts) * ranks, [], preload)
        line += ["-hosts", ",".join("%s:%d" % (host, ranks) for host in hosts), "-launcher", "rsh"]
        line += ["-launcher-exec", str(remote_shell), "-iface", "eth0", "-genv", "UCX_TLS", "tcp,self"]
        return line + [str(word) for word in program]


OPENMPI = OpenMpi()
MPICH = Mpich()
