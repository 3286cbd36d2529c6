#!/usr/bin/env python3
"""Which of MPI's functions libddbg.so wraps, and why not the others.

    mpi_coverage.py [--all] [LIBRARY ...]

Compares proto/calls_mpi.def with scripts/mpi_functions.txt, the functions of the standard, and with what each MPI library
given (libmpi.so, libmpich.so) exports. --all also lists what is wrapped. Ends with 1 if a function has neither a wrapper nor
a reason, or both. Needs nothing but Python."""
import re
import struct
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def wrapped():
    rows = re.findall(r"^DDBG_MPI(_C)?\((\w+),", (ROOT / "proto/calls_mpi.def").read_text(), re.M)
    return {name for _, name in rows} | {name + "_c" for large, name in rows if large}


def reasons():
    """By function: why it is not wrapped, "" if it is."""
    lines = (ROOT / "scripts/mpi_functions.txt").read_text().splitlines()
    return {name: reason for name, _, reason in (line.partition(" ") for line in lines if line and line[0] != "#")}


def functions_of(library):
    """Names of the functions that a 64-bit ELF file defines for others."""
    data = Path(library).read_bytes()
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("%s: no 64-bit ELF file" % library)
    order = "<" if data[5] == 1 else ">"
    start, = struct.unpack_from(order + "Q", data, 40)
    size, count = struct.unpack_from(order + "HH", data, 58)
    sections = [struct.unpack_from(order + "IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    names = set()
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, info, _, section = struct.unpack_from(order + "IBBH", data, at)
            if info & 15 in (2, 10) and section:  # STT_FUNC, STT_GNU_IFUNC; SHN_UNDEF
                names.add(data[strings + name:data.index(b"\0", strings + name)].decode(errors="replace"))
    return names


def mpi_functions_of(library):
    """Without MPI_ or PMPI_. MPIX_ functions are extensions of the library's own."""
    return {match[1] for match in (re.fullmatch(r"P?MPI_([A-Z]\w*)", name) for name in functions_of(library)) if match}


def report(title, names, rows, why, show_all):
    print("%s: %d functions, %d wrapped" % (title, len(names), len(names & rows)))
    for reason, number in sorted(Counter(why[name] for name in names - rows if why.get(name)).items()):
        these = sorted(name for name in names - rows if why.get(name) == reason)
        print("  %-15s %3d  %s" % (reason, number, " ".join(these)))
    if show_all:
        print("  %-15s %3d  %s" % ("wrapped", len(names & rows), " ".join(sorted(names & rows))))


def main(arguments):
    show_all = "--all" in arguments
    libraries = [argument for argument in arguments if argument != "--all"]
    rows, why = wrapped(), reasons()
    report("MPI 4.1 and before", set(why) | rows, rows, why, show_all)
    faults = ["MPI_%s is wrapped, but not in mpi_functions.txt" % name for name in sorted(rows - set(why))]
    faults += ["MPI_%s is wrapped, and mpi_functions.txt says why not" % name for name in sorted(rows) if why.get(name)]
    faults += ["MPI_%s has neither a row in calls_mpi.def nor a reason" % name
               for name in sorted(set(why) - rows) if not why[name]]
    for library in libraries:
        names = mpi_functions_of(library)
        report(library, names, rows, why, show_all)
        faults += ["MPI_%s of %s is in neither list" % (name, library) for name in sorted(names - rows - set(why))]
    for fault in faults:
        print("mpi_coverage.py: " + fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
