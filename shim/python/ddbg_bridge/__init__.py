"""Marks that a training program under libddbg.so gets without a change: steps, phases, values and events (shim/ddbg.h), from
hooks in PyTorch. What a step is: steps.py. Which processes have a say: process.py. Of a program on mpi4py alone the exceptions that
nobody catches are told.

    sitecustomize.py   calls watch() when PyTorch or mpi4py is imported
    imports.py         installs hooks when a module has been imported
    marks.py           the C functions
    hooks.py           replaces functions, and puts them back where a hook fails
    loader.py modules.py training.py scalars.py checkpoints.py groups.py ends.py weights.py      the hooks
    ranges.py          leads NVTX to libddbg.so

Three rules: no hook lets an exception of its own reach the program, none makes the host wait for a device, none leaves
anything in an object that the program may copy, pickle or compile.
"""


def watch(name, path, target):
    """It is about to be imported: find_spec's answer."""
    from . import imports
    imports.watch_for(name, _PACKAGES[name])
    return imports.find_spec(name, path, target)


def _install_for_mpi4py(mpi4py):
    from . import ends, marks
    if marks.bind():
        ends.watch_exceptions()


def _install(torch):
    from . import marks
    if not marks.bind():
        return
    from . import checkpoints, ends, groups, loader, modules, ranges, scalars, training, weights
    for part in (ends, loader, weights, modules, training, scalars, checkpoints, groups, ranges):
        try:
            part.install(torch)
        except Exception:  # a version of PyTorch that has this elsewhere
            pass


_PACKAGES = {"torch": _install, "mpi4py": _install_for_mpi4py}
