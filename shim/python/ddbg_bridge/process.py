"""Which processes the hooks speak in.

A process that trains: it is no child of multiprocessing (DataLoader's workers by fork, spawn or forkserver import torch and inherit hooks,
but are part of their rank). A child that joins a process group is a rank of its own, as those of torch.multiprocessing.spawn.

What goes on in a training loop may begin the recording. What every program does (an exception, a checkpoint that is read) is told
only of a process that is recorded by then, or that a launcher gave a rank; never of torchrun's agent.
"""
import os
import sys
import multiprocessing.process

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
_AGENT = "torch.distributed.elastic.agent.server.local_elastic_agent"


class Process:
    __slots__ = ("active", "decided")

    def __init__(self):
        self.active = False  # read by each hook, first of all
        self.decided = False


process = Process()
_on_fork = []


def decide():
    """Asked by a hook of the training loop while the process is not active."""
    if not process.decided:
        process.decided = True
        process.active = multiprocessing.process.parent_process() is None
    return process.active


def may_speak():
    """Asked by hooks of what every program does."""
    if process.active:
        return True
    if _AGENT in sys.modules or not any(name in os.environ for name in _RANKS):
        return False
    return decide()


def is_rank():
    """The process joins a process group."""
    data = sys.modules.get("torch.utils.data")
    if data is not None and data.get_worker_info() is not None:
        return False
    process.decided = process.active = True
    return True


def on_fork(function):
    """function() in a forked child, which is silent from then on."""
    _on_fork.append(function)


def _after_fork():
    process.active, process.decided = False, True
    for function in _on_fork:
        function()


os.register_at_fork(after_in_child=_after_fork)
