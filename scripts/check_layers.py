"""Who may include whom (ARCHITECTURE.md, "Rooms"). Usage: check_layers.py [ROOT]; prints each breach, ends with 1 if any.

A file is under the rule of the longest folder that contains it. A rule gives the folders, files and system headers that
may be included, and exceptions that may not. Standard headers and those of the system are always allowed.
"""
import re
import sys
from pathlib import Path

ROOMS = ("proto", "shim", "collector", "analyzer")

# room: (may include, must not include); a name ending in "/" is a folder, another one is the beginning of a path.
SHIM_FAMILIES = ("shim/mpi/", "shim/nccl/", "shim/cuda/", "shim/gloo/", "shim/marks/")
HEAVY = ("proto/ddbg.pb.h", "google/protobuf", "spdlog/", "fmt/", "asio", "CLI/", "nlohmann/", "zstd.h", "mpi.h", "nccl.h")
RULES = {
    "proto": (("proto/",), ()),
    "shim": (("proto/", "shim/"), HEAVY),
    # The recorder knows no MPI, NCCL or CUDA.
    "shim/recorder": (("proto/", "shim/recorder/", "shim/ddbg.h"), HEAVY + SHIM_FAMILIES),
    "shim/interpose": (("proto/", "shim/recorder/", "shim/interpose/"), HEAVY + SHIM_FAMILIES),
    # The collector knows no calls: it moves bytes.
    "collector": (("proto/", "collector/"), ("proto/call.h", "proto/calls_")),
    "analyzer": (("proto/", "analyzer/"), ()),
}

# The analyzer's rooms from the ground up: each may include itself and those before it, none prints or is a command but for
# the last ones, and only main, command.h and cmd_*.cc include them all.
ANALYZER = ("model", "stacks", "load", "match", "align", "steps", "launch", "context", "report", "find", "verdict", "render",
            "export")
NO_PRINTING = ("iostream", "fmt/color.h", "spdlog/")
for floor, room in enumerate(ANALYZER):
    below = tuple("analyzer/%s/" % name for name in ANALYZER[:floor + 1])
    forbidden = () if room in ("render", "export") else NO_PRINTING
    RULES["analyzer/" + room] = (("proto/",) + below, ("CLI/",) + forbidden)

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
IMPORT = re.compile(r'^\s*import\s+"()([^"]+)"')
SOURCES = {".h", ".cc", ".cpp", ".c", ".S", ".def", ".proto", ".inc"}


def rule_of(path):
    return RULES[max((room for room in RULES if path.startswith(room + "/")), key=len)]


def breach(path, quoted, included):
    """Why `path` must not include `included`, or None."""
    allowed, forbidden = rule_of(path)
    if any(included.startswith(name) for name in forbidden):
        return "must not include"
    ours = included.split("/")[0] in ROOMS or included.split("/")[0] == "tests"
    if ours and not any(included.startswith(name) for name in allowed):
        return "must not include"
    if quoted and not ours:
        return "quotes (write <...>, or the path from the root of the tree)"
    return None


def check(root):
    breaches = []
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = IMPORT.match(line) if file.suffix == ".proto" else INCLUDE.match(line)
                why = match and breach(path, match.group(1) == '"', match.group(2))
                if why:
                    breaches.append("%s:%d: %s %s" % (path, number, why, match.group(2)))
    return breaches


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    breaches = check(root)
    for line in breaches:
        print(line)
    return 1 if breaches else 0


sys.exit(main())
