"""Marks that a training program under libddbg.so gets without a change: steps, phases, values and events (shim/ddbg.h), from
hooks in PyTorch. What a step is: steps.py. Which processes have a say: process.py.

    sitecustomize.py   calls watch() when PyTorch is imported
    imports.py         installs hooks when a module has been imported
    marks.py           the C functions
    hooks.py           replaces functions, and puts them back where a hook fails
    loader.py modules.py training.py scalars.py checkpoints.py groups.py ends.py      the hooks
    ranges.py          leads NVTX to libddbg.so

Three rules: no hook lets an exception of its own reach the program, none makes the host wait for a device, none leaves
anything in an object that the program may copy, pickle or compile.
"""


def watch(name, path, target):
    """PyTorch is about to be imported: find_spec's answer."""
    from . import imports
    imports.watch_for(name, _install)
    return imports.find_spec(name, path, target)


def _install(torch):
    from . import marks
    if not marks.bind():
        return
    from . import checkpoints, ends, groups, loader, modules, ranges, scalars, training
    for part in (ends, loader, modules, training, scalars, checkpoints, groups, ranges):
        try:
            part.install(torch)
        except Exception:  # a version of PyTorch that has this elsewhere
            pass
