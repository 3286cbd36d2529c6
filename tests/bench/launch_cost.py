"""What recording adds to a call of CUDA or NCCL, in ns: launch_cost.py PREFIX [ROUNDS]. Runs without and with libddbg.so take turns; the
least of the rounds' medians counts, since whatever else the machine does only adds."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("launch_cost.c")
KINDS = {"bare": None, "off": {"DDBG": "0"}, "no stacks": {"DDBG_STACKS": "off"}, "stacks": {"DDBG_STACKS": "all"}}


def main():
    prefix, rounds = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory(prefix="ddbg-bench-") as folder:
        library, program = folder + "/libcudart.so.13", folder + "/launch_cost"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-DLIBRARY", SOURCE, "-o", library, "-Wl,-soname,libcudart.so.13"],
                       check=True)
        subprocess.run(["gcc", "-O2", "-fno-omit-frame-pointer", SOURCE, "-o", program, library, "-Wl,-rpath," + folder],
                       check=True)
        least = {}
        for _ in range(rounds):
            for kind, switches in KINDS.items():
                environment = dict(os.environ, DDBG_DIR=folder + "/runs", DDBG_SOCKET=folder + "/s", **(switches or {}))
                if switches:
                    environment["LD_PRELOAD"] = str(prefix / "lib/libddbg.so")
                said = subprocess.run([program], env=environment, check=True, capture_output=True, text=True).stdout
                for name, ns in map(str.split, said.splitlines()):
                    key = name, kind
                    least[key] = min(least.get(key, float("inf")), float(ns))
        names = list(dict.fromkeys(name for name, _ in least))
        print("%-16s" % "ns added" + "".join("%12s" % kind for kind in KINDS))
        for name in names:
            bare = least[name, "bare"]
            print("%-16s" % name + "".join(
                "%12.1f" % (least[name, kind] - (bare if kind != "bare" else 0)) for kind in KINDS))


main()
