"""The line tables of each CPython of this machine, read as the interpreter itself reads them."""
import subprocess

import pytest

from harness import ROOT
from test_python_stacks import interpreters

COMPARE = r'''
import ast, ctypes, sys, types, sysconfig, os
minor = sys.version_info[1]
ours = ctypes.CDLL(sys.argv[1])._ZN4ddbg4shim10PythonLineEiPKhmii
theirs = ctypes.pythonapi.PyCode_Addr2Line
theirs.argtypes = [ctypes.py_object, ctypes.c_int]
compared = 0
def compare(code):
    global compared
    table = code.co_linetable if minor >= 10 else code.co_lnotab
    for at in range(0, len(code.co_code), 2):
        line = theirs(code, at)
        if line < 0: continue  # an instruction without a line, at which no call is made
        found = ours(minor, table, ctypes.c_size_t(len(table)), code.co_firstlineno, at)
        assert found == line, (code.co_filename, code.co_name, at, found, line)
        compared += 1
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType): compare(constant)
folder = sysconfig.get_paths()["stdlib"]
for name in ["argparse", "ast", "datetime", "dataclasses", "inspect", "pickle", "typing", "subprocess", "tarfile", "turtle"]:
    path = os.path.join(folder, name + ".py")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file: compare(compile(file.read(), path, "exec"))
print(compared)
'''


@pytest.fixture(scope="module")
def line_table(tmp_path_factory):
    """shim/recorder/python/line_table.cc as a library of its own."""
    library = tmp_path_factory.mktemp("lines") / "line_table.so"
    subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-O1", "-I", ROOT, "-o", library,
                    ROOT / "shim/recorder/python/line_table.cc"], check=True)
    return library


@pytest.mark.parametrize("python", interpreters())
def test_lines_are_those_of_the_interpreter(python, line_table):
    done = subprocess.run([python, "-c", COMPARE, str(line_table)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10000
