"""MPICH's own test programs, compiled for any MPI without its configure script: what programs its lists name, and how each is built."""
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import ROOT

HERE = Path(__file__).resolve().parent
FAMILIES = ("attr", "coll", "comm", "datatype", "errhan", "group", "info", "init", "io", "mpi_t", "part", "pt2pt", "rma", "spawn", "topo",
            "threads/coll", "threads/comm", "threads/init", "threads/mpi_t", "threads/part", "threads/pt2pt", "threads/rma",
            "threads/spawn",
            "errors/attr", "errors/coll", "errors/comm", "errors/datatype", "errors/faults", "errors/group", "errors/io",
            "errors/pt2pt", "errors/rma", "errors/spawn", "errors/topo",
            "cxx/attr", "cxx/coll", "cxx/comm", "cxx/datatype", "cxx/errhan", "cxx/info", "cxx/init", "cxx/io", "cxx/pt2pt",
            "cxx/rma", "cxx/spawn", "cxx/topo",
            "f77/attr", "f77/coll", "f77/comm", "f77/datatype", "f77/ext", "f77/info", "f77/init", "f77/io", "f77/pt2pt",
            "f77/rma", "f77/spawn", "f77/topo",
            "f90/attr", "f90/coll", "f90/comm", "f90/datatype", "f90/ext", "f90/f90types", "f90/info", "f90/init", "f90/io",
            "f90/misc", "f90/pt2pt", "f90/rma", "f90/spawn", "f90/timer", "f90/topo",
            "f08/attr", "f08/coll", "f08/comm", "f08/datatype", "f08/ext", "f08/info", "f08/init", "f08/io", "f08/misc",
            "f08/pt2pt", "f08/rma", "f08/spawn", "f08/subarray", "f08/timer", "f08/topo")
C_UTILITIES = ("mtest.c", "mtest_common.c", "dtypes.c")
ENDINGS = (".c", ".cxx", ".f", ".f90")
FORTRAN_FLAGS = ["-fallow-argument-mismatch", "-fallow-invalid-boz", "-w"]


def cache():
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ddbg"


def source():
    """test/mpi of MPICH's source package."""
    made = subprocess.run([ROOT / "scripts/debian_source.sh", "bookworm", "mpich"], capture_output=True, text=True)
    if made.returncode == 77:
        pytest.skip(made.stderr.strip().splitlines()[-1])
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip()) / "test/mpi"


class CannotCompile(Exception):
    """A utility of the suite, as that of C++ without the functions that MPI 3 removed."""


class Test:
    """A line of a list: a program with its number of processes."""

    def __init__(self, family, line):
        words = line.split()
        self.family, self.name = family, words[0]
        self.ranks = int(words[1])
        options = [word.partition("=") for word in words[2:] if "=" in word]
        self.arguments = [value for key, _, value in options if key == "arg"]
        self.environment = dict(value.partition("=")[::2] for key, _, value in options if key == "env")
        self.options = {key: value for key, _, value in options if key not in ("arg", "env")}

    def __str__(self):
        return " ".join([self.family + "/" + self.name, str(self.ranks), *self.arguments, *("%s=%s" % item for item in self.environment.items())])


def tests_of(family, tree):
    folder = tree / family
    path = next(path for path in (folder / "testlist", folder / "testlist.in") if path.exists())
    found = []
    for line in path.read_text().splitlines():
        line = re.sub(r"^@\w+@", "", line.strip())
        if line and not line.startswith("#") and len(line.split()) > 1 and line.split()[1].isdigit():
            found.append(Test(family, line))
    return found


class Suite:
    """The programs of one MPI, in a folder that stays: each is compiled once."""

    def __init__(self, mpi):
        self.mpi = mpi
        self.tree = source()
        version = subprocess.run(["mpicc." + mpi.suffix, "-show"], capture_output=True, text=True).stdout
        version += os.path.realpath("/usr/lib/%s-linux-gnu/%s" % (os.uname().machine, mpi.shared_library))
        version += "".join(path.read_text() for path in (Path(__file__), HERE / "mpitestconf.h"))
        self.folder = cache() / ("mpich-tests-%s-%s" % (mpi.suffix, hashlib.sha256(version.encode()).hexdigest()[:12]))
        self.include = self.folder / "include"
        if not self.include.exists():
            part = self.folder / ("include.%d" % os.getpid())
            part.mkdir(parents=True)
            shutil.copy(HERE / "mpitestconf.h", part)
            (self.folder / "dtpoolsconf.h").write_text('#include "mpitestconf.h"\n#define HAVE_STDBOOL_H 1\n')
            for path in self.tree.glob("**/*.h.in"):
                if path.parts[-3] == "f77" or path.parts[-4:-2] == ("errors", "f77"):
                    text = re.sub(r"@F77_MPI_\w+@", "integer*8", path.read_text())
                    (part / path.name[:-3]).write_text(text)
            try:
                part.rename(self.include)
            except OSError:  # somebody else was first
                shutil.rmtree(part)

    def compile(self, compiler, output, *words):
        """Whether it succeeds; what the compiler says is kept beside the output."""
        part = output.with_name(output.name + ".%d" % os.getpid())
        part.parent.mkdir(parents=True, exist_ok=True)
        c = compiler in ("mpicc", "mpicxx")
        flags = ["-g", "-O1", "-w", "-pthread", "-I", self.tree / "dtpools/include"] if c else ["-g", "-O1", *FORTRAN_FLAGS]
        done = subprocess.run(["%s.%s" % (compiler, self.mpi.suffix), *flags, "-I", self.include, "-I", self.tree / "include",
                               *map(str, words), "-o", part, *(["-lm", "-ldl"] if "-c" not in words else [])], cwd=output.parent,
                              capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            output.with_name(output.name + ".failed").write_text(done.stderr)
            part.unlink(missing_ok=True)
            return False
        part.rename(output)
        return True

    def object(self, name, compiler="mpicc"):
        """An object file of the suite's own utilities."""
        output = self.folder / (name.replace("/", "_") + ".o")
        if not output.exists():
            if not self.compile(compiler, output, "-c", self.tree / name):
                raise CannotCompile(output.with_name(output.name + ".failed").read_text())
        return output

    def utilities(self, family, ending, paths=()):
        if ending == ".cxx":
            return [self.object("util/mtest_cxx.cxx", "mpicxx"), self.object("util/mtest_common.c")]
        if ending in (".f", ".f90"):
            kind = family.partition("/")[0].replace("errors", "f77")
            return [self.object("util/mtest_%s%s" % (kind, ".f" if kind == "f77" else ".f90"), "mpifort")]
        pools = []
        if any("mtest_dtp.h" in path.read_text(errors="replace") for path in paths):
            pools = ["dtpools/src/" + path.name for path in sorted((self.tree / "dtpools/src").glob("*.c"))]
        threads = "mtest_thread.c" if family.startswith("threads") else "mtest_single.c"
        return [self.object("util/" + name) for name in (threads, *C_UTILITIES)] + [self.object(name) for name in pools]

    def sources(self, family, name):
        """A program's source files and the words for the preprocessor, as its Makefile.am has them."""
        folder = self.tree / family
        rules = (folder / "Makefile.am").read_text().replace("\\\n", " ")
        flags = re.search(r"^%s_CPPFLAGS\s*=(.*)$" % re.escape(name), rules, re.M)
        flags = [word for word in flags[1].split() if word.startswith("-D")] if flags else []
        listed = re.search(r"^%s_SOURCES\s*=(.*)$" % re.escape(name), rules, re.M)
        if listed:
            paths = [folder / word for word in listed[1].split() if word.endswith(ENDINGS)]
        else:
            paths = [folder / (name + ending) for ending in ENDINGS if (folder / (name + ending)).exists()][:1]
        return paths, flags

    def program(self, test):
        """The compiled program, or None where this MPI cannot compile it."""
        try:
            return self.compiled(test)
        except CannotCompile:
            return None

    def compiled(self, test):
        output = self.folder / test.family / test.name
        if output.exists():
            return output
        if output.with_name(output.name + ".failed").exists():
            return None
        paths, flags = self.sources(test.family, test.name)
        if not paths or not all(path.exists() for path in paths):
            return None
        ending = next((e for e in (".f90", ".f", ".cxx") if any(path.suffix == e for path in paths)), ".c")
        if ending in (".f", ".f90") and len(paths) > 1:
            objects = []
            for path in paths:
                objects.append(output.with_name(output.name + "-" + path.name + ".o"))
                compiler = "mpicc" if path.suffix == ".c" else "mpifort"
                if not self.compile(compiler, objects[-1], *(flags if compiler == "mpicc" else []), "-c", path):
                    shutil.copy(objects[-1].with_name(objects[-1].name + ".failed"), output.with_name(output.name + ".failed"))
                    return None
            paths, flags = objects, []
            if any(path.name.endswith(".c.o") for path in objects):
                paths = paths + self.utilities("coll", ".c")
        compiler = {".c": "mpicc", ".cxx": "mpicxx"}.get(ending, "mpifort")
        return output if self.compile(compiler, output, *(flags if compiler != "mpifort" else []), *paths,
                                      *self.utilities(test.family, ending, paths)) else None
