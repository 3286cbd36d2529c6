"""Starts the job of a case: the usual way, or with what the world around it is to do wrong."""
import signal
import socket
import subprocess
import time
from pathlib import Path

from catalog import NCCL, OPENMPI
from gpu import FAKES, Gpu
from harness import ROOT, start_collector, wait_until
from launchers import FLAGS, MPICH, OPENMPI as OPENMPI_LAUNCHER
from namespace_hosts import NamespaceHosts

HERE = Path(__file__).resolve().parent
LAUNCHERS = {str(mpi): mpi for mpi in (OPENMPI_LAUNCHER, MPICH)}
RUN_RANKS = ["/usr/bin/python3", ROOT / "tests/fakes/run_ranks.py", "--fakes", FAKES]


class Programs:
    """The programs of the suite, compiled when their sources have changed."""

    def __init__(self, folder=ROOT / "build/scenarios"):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.gpu = Gpu(folder)
        self.ready = set()  # compiled once, before the first case; sources may change while cases are played

    def mpi(self, mpi, *extra):
        folder = self.folder / "-".join(["job", *extra]) if extra else self.folder  # another build has the same name
        folder.mkdir(exist_ok=True)
        program = folder / ("job.%s" % mpi)
        if program in self.ready:
            return program
        self.ready.add(program)
        sources = sorted((HERE / "mpi").glob("*.cc"))
        self.forget_old(program, sources + sorted((HERE / "mpi").glob("*.h")))
        if not program.exists():
            part = program.with_suffix(".part")
            subprocess.run(["mpicxx.%s" % mpi, "-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *FLAGS, "-I",
                            ROOT / "shim", *extra, "-o", part, *sources, "-lpthread"], check=True)
            part.rename(program)
        return program

    def training(self):
        program = self.folder / "training.cuda12"
        if program not in self.ready:
            self.forget_old(program, [HERE / "training.cc", ROOT / "tests/programs/ranks.h"])
        self.ready.add(program)
        return self.gpu.compile(HERE / "training.cc")

    def all_pairs(self, mpi):
        return mpi.compile("all_pairs.c", self.folder)

    def shifted_clock(self):
        library = self.folder / "libshifted_clock.so"
        if library not in self.ready:
            self.ready.add(library)
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, ROOT / "tests/programs/shifted_clock.c"], check=True)
        return library

    def all_reduce(self):
        return self.gpu.compile(ROOT / "tests/fakes/client/all_reduce.c", "-x", "c++", "-I", ROOT)

    @staticmethod
    def forget_old(program, sources):
        if program.exists() and any(source.stat().st_mtime > program.stat().st_mtime for source in sources):
            program.unlink()

    def prepare(self, selected):
        """Compiles what these cases need, before any of them starts."""
        stages = {case.row.stage for case in selected}
        if "clock_step" in stages:
            self.shifted_clock()
        backends = set(LAUNCHERS) if "foreign_launcher" in stages else {case.backend for case in selected}
        for backend in sorted(backends):
            if backend == NCCL:
                self.training(), self.all_reduce()
                continue
            self.mpi(LAUNCHERS[backend])
            if "slow_line" in stages:
                self.all_pairs(LAUNCHERS[backend])
            if "odd_program" in stages:
                self.mpi(LAUNCHERS[backend], "-DOTHER_BUILD")


class Staging:
    """One case on its bench. start() gives the job; during() is called while it runs, close() after its end."""

    def __init__(self, bench, case, programs, truth):
        self.bench, self.case, self.programs, self.truth_file = bench, case, programs, truth
        self.mpi = LAUNCHERS.get(case.backend)
        self.told = {}  # of the truth, where no program of ours is the injector
        self.undo = []
        self.due_s = 0.0

    def start(self):
        way = getattr(self, "_" + self.case.row.stage) if self.case.row.stage else self._plain
        return way()

    def during(self):
        """Called again and again while the job runs: plants the faults that come from outside."""
        if self.told or not self.bench.rank_files_exist():
            return
        if self.case.row.stage == "kill_collector":
            self.tell()
            self.bench.collector().signal(signal.SIGKILL)
        elif self.case.row.stage == "clock_step" and self.is_due(2):
            (self.bench.folder / "shift").write_text("-45" if self.case.seed % 2 else "45")
            self.tell()
        elif self.case.row.stage == "dead_link" and time.monotonic() > self.due_s and not self.case.healthy:
            self.cut_link()

    def is_due(self, seconds):
        """Have so many passed since this was asked first?"""
        self.due_s = self.due_s or time.monotonic() + seconds
        return time.monotonic() > self.due_s

    def close(self):
        for each in reversed(self.undo):
            each()

    # The usual way

    def arguments(self):
        case, row = self.case, self.case.row
        line = ["--bad-rank", case.bad_rank, "--bad-step", case.bad_step, "--seed", case.seed, "--truth", self.truth_file]
        if row.fault:
            line += ["--fault", row.fault]
        if case.healthy:
            line.append("--healthy")
        if case.marks:
            line.append("--marks")
        if case.backend == NCCL:
            return line + ["--ranks", case.ranks]
        return line + ["--shape", case.shape, "--steps", row.steps, "--step-ms", row.step_ms]

    def program(self):
        return self.programs.training() if self.case.backend == NCCL else self.programs.mpi(self.mpi)

    def _plain(self, *options, **environment):
        environment = {**dict(self.case.row.environment), **environment}
        if self.case.backend == NCCL:
            return self.programs.gpu.start(self.bench, [self.program(), *self.arguments()], **environment)
        return self.launch([self.program(), *self.arguments()], *options, **environment)

    def launch(self, program, *options, **environment):
        line = self.mpi.command(self.case.ranks, program, self.bench.library)
        return self.bench.start(line[:1] + list(options) + line[1:], **environment)

    def by_rank(self, odd, program, otherwise=":"):
        """A shell's words: `odd` on the bad rank, then the program. The library is loaded into the program only."""
        words = " ".join(map(str, program))
        variable = self.mpi.rank_variable if self.mpi else "RANK"
        return ["sh", "-c", 'if [ "$%s" = %d ]; then %s; else %s; fi; exec env LD_PRELOAD=%s %s' % (
            variable, self.case.bad_rank, odd, otherwise, self.bench.library, words)]

    def odd_rank(self, odd, otherwise=":", **environment):
        command = self.mpi.command(self.case.ranks, self.by_rank(odd, [self.program(), *self.arguments()], otherwise))
        return self.bench.start(command, **environment)

    def on_doubles(self, odd, **environment):
        """Three and more processes over NCCL, each with an environment of its own."""
        words = self.by_rank(odd, [self.programs.all_reduce()])
        return self.bench.start([*RUN_RANKS, self.case.ranks, *words], NULLGPU_DEVICES=8, **environment)

    def tell(self, rank=None, peer=-1):
        self.told = dict(rank=self.case.bad_rank if rank is None else rank, peer=peer, places=[],
                         t_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC))

    # W

    def _foreign_launcher(self):
        other = LAUNCHERS["mpich" if self.case.backend == OPENMPI else "openmpi"]
        self.tell()
        program = [self.program(), *self.arguments()]
        return self.bench.start(other.command(self.case.ranks, program, self.bench.library))

    def _silenced(self, odd):
        self.tell()
        channels = {} if self.case.healthy else dict(NULLNCCL_CHANNELS="%d:4" % self.case.bad_rank)
        return self.on_doubles(odd, NCCL_IGNORE_NET_MISMATCH=1, **channels)

    def _odd_variable(self):
        return self._silenced("export NCCL_IB_DISABLE=1")

    def _odd_fabric(self):
        return self._silenced("export NCCL_IB_HCA=mlx5_0")

    def _odd_transport(self):
        self.tell()
        odd = "export OMPI_MCA_btl_base_verbose=0" if self.case.healthy else "export OMPI_MCA_btl=self"
        return self.odd_rank(odd)

    def _odd_program(self):
        self.tell()
        other = self.programs.mpi(self.mpi, "-DOTHER_BUILD")
        if self.case.healthy:
            return self._plain()
        words = " ".join(map(str, self.arguments()))
        return self.odd_rank("exec env LD_PRELOAD=%s %s %s" % (self.bench.library, other, words))

    def _init_error(self):
        failing = {} if self.case.healthy else dict(NULLNCCL_INIT_ERROR="%d:1" % self.case.bad_rank)
        return self._plain(**failing)

    def _no_transport(self):
        self.tell()
        odd = "OMPI_MCA_pml=none_such" if self.case.backend == OPENMPI else "UCX_TLS=none_such"
        return self.odd_rank(":" if self.case.healthy else "export " + odd)

    def _one_too_few(self):
        launched = self.case.ranks if self.case.healthy else self.case.ranks + 1
        self.tell(rank=self.case.ranks)
        words = ["sh", "-c", "export WORLD_SIZE=%d; exec env LD_PRELOAD=%s %s" % (
            launched, self.bench.library, self.programs.all_reduce())]
        return self.bench.start([*RUN_RANKS, self.case.ranks, *words], NULLGPU_DEVICES=8)

    def _wrong_port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        return self._plain(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)

    def _weights(self):
        (self.bench.folder / "weights").touch()
        return self._plain(SCENARIO_FOLDER=self.bench.folder)

    def _folder(self):
        return self._plain(SCENARIO_FOLDER=self.bench.folder)

    # MPICH believes what its launcher's variables say. Open MPI asks its daemon.

    def _odd_size(self):
        self.tell()
        return self.odd_rank(":" if self.case.healthy else "export PMI_SIZE=%d" % (self.case.ranks + 1))

    def _odd_rank_number(self):
        other = (self.case.bad_rank + 1) % self.case.ranks
        self.tell(self.case.bad_rank, other)
        return self.odd_rank(":" if self.case.healthy else "export PMI_RANK=%d" % other)

    # I

    def _clock_step(self):
        """The collector's wall clock alone: the machine's is everybody's."""
        shift = self.bench.folder / "shift"
        shift.write_text("0")
        environment = self.bench.environment
        self.bench.environment = lambda **more: environment(LD_PRELOAD=self.programs.shifted_clock(), SHIFT_FILE=shift, **more)
        collector = start_collector(self.bench)
        self.bench.environment = environment
        self.undo.append(lambda: (collector.terminate(), collector.wait()))
        return self._plain()

    def _restart(self):
        """The launcher of one rank starts it again, and it alone; in a healthy twin all begin anew."""
        program = "env LD_PRELOAD=%s %s" % (self.bench.library, self.programs.all_reduce())
        again = "export TORCHELASTIC_RESTART_COUNT=1 NCCL_ID_FILE=$NCCL_ID_FILE.1; exec %s 200" % program
        if self.case.healthy:
            script = "%s 200; %s" % (program, again)
        else:
            self.tell()
            script = 'if [ "$RANK" = %d ]; then timeout -s KILL 3 %s 100000000; %s; else exec %s 100000000; fi' % (
                self.case.bad_rank, program, again.replace("NCCL_ID_FILE=$NCCL_ID_FILE.1", ""), program)
        return self.bench.start([*RUN_RANKS, self.case.ranks, "sh", "-c", script], NULLGPU_DEVICES=8,
                                TORCHELASTIC_RESTART_COUNT=0, TORCHELASTIC_RUN_ID="restart" + self.bench.token[:8])

    def _recovery(self):
        return self._plain("--enable-recovery")

    def _small_disk(self):
        small, large = self.bench.folder / "small", self.bench.folder / "large"
        small.mkdir(), large.mkdir()
        size = "64m" if self.case.healthy else "256k"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "suite", small], check=True)
        self.undo.append(lambda: subprocess.run(["umount", "-l", small], check=True))
        return self.odd_rank("export SCENARIO_DISK=%s" % small, "export SCENARIO_DISK=%s" % large)

    def _cgroup(self):
        group = Path("/sys/fs/cgroup/cpu/ddbg-suite-" + self.bench.token)
        group.mkdir()
        self.undo.append(lambda: wait_until(lambda: self._removed(group), "the control group is empty"))
        if not self.case.healthy:
            (group / "cpu.cfs_quota_us").write_text("10000")
        return self._plain(SCENARIO_CGROUP=group)

    @staticmethod
    def _removed(group):
        try:
            group.rmdir()
        except OSError:
            return False
        return True

    def _library_stall(self):
        self.tell()
        return self._plain(NULLNCCL_STALL="%d:%d" % (self.case.bad_rank, 6 + self.case.seed))

    def _kill_collector(self):
        return self._plain()

    # Ranks as hosts of their own, on one bridge

    def space(self, rank):
        return "dd%s%d" % (self.bench.token[:8], rank)

    def _dead_link(self):
        bridge = "br" + self.bench.token[:8]
        self.command("ip link add %s type bridge" % bridge)
        self.undo.append(lambda: self.command("ip link del %s" % bridge))
        self.command("ip link set %s up" % bridge)
        for rank in range(self.case.ranks):
            space, wire = self.space(rank), "dv%s%d" % (self.bench.token[:8], rank)
            self.command("ip netns add %s" % space)
            self.undo.append(lambda space=space: self.command("ip netns del %s" % space))
            self.command("ip link add %s type veth peer name eth0 netns %s" % (wire, space))
            # A namespace that has lost its name may live on for a while, and would keep its wire.
            self.undo.append(lambda wire=wire: self.command("ip link del %s" % wire))
            self.command("ip link set %s master %s up" % (wire, bridge))
            for words in ("link set lo up", "addr add 10.77.0.%d/24 dev eth0" % (rank + 1), "link set eth0 up"):
                self.command("ip -n %s %s" % (space, words))
        words = " ".join(map(str, [self.program(), *self.arguments()]))
        script = "exec ip netns exec dd%s$%s env UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 LD_PRELOAD=%s %s" % (
            self.bench.token[:8], self.mpi.rank_variable, self.bench.library, words)
        self.due_s = time.monotonic() + 10
        return self.bench.start(self.mpi.command(self.case.ranks, ["sh", "-c", script]))

    def cut_link(self):
        """Frames of the two to each other go to an address that nobody has: they are lost, and nobody is told."""
        one, other = self.case.bad_rank, (self.case.bad_rank + 1) % self.case.ranks
        self.tell(one, other)
        for here, there in ((one, other), (other, one)):
            self.command("ip -n %s neigh replace 10.77.0.%d lladdr 02:00:00:00:00:99 dev eth0 nud permanent" % (
                self.space(here), there + 1))

    def _slow_line(self):
        """MPICH over UCX's TCP does not come out of MPI_Finalize where one line is slower than others: it is left running."""
        one, other = self.case.bad_rank, (self.case.bad_rank + 1) % self.case.ranks
        hosts = NamespaceHosts(self.bench, self.case.ranks)
        self.undo += [hosts.close, hosts.end_ranks]
        if not self.case.healthy:
            hosts.delay(one + 1, other + 1, 25)
            self.tell(one, other)
        hosts.start_collectors()
        rounds = 400 if self.case.healthy else 100_000
        return hosts.mpirun(self.mpi, 1, [self.programs.all_pairs(self.mpi), "--rounds", rounds, "--work-us", 2000])

    @staticmethod
    def command(line):
        subprocess.run(line.split(), check=True, capture_output=True)
