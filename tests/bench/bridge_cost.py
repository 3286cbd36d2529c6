"""What each hook of the Python bridge costs, in ns: the hooked function against the one that it replaced, in turns, best of many.

    LD_PRELOAD=…/lib/libddbg.so python3 tests/bench/bridge_cost.py      (python3 has PyTorch)

Of those around a phase it is both marks and all else that the hook does. Prints one line a hook, and the mark alone.
"""
import gc
import sys
import time

import torch
from torch.utils.data import DataLoader, dataloader

ROUNDS, TIMES = 40, 500


def best(function):
    clock, turns, least = time.perf_counter_ns, range(TIMES), float("inf")
    for _ in range(ROUNDS):
        start = clock()
        for _ in turns:
            function()
        least = min(least, clock() - start)
    return least / TIMES


def cost(name, hooked, bare):
    pairs = [(best(hooked), best(bare)) for _ in range(3)]
    added = min(h for h, _ in pairs) - min(b for _, b in pairs)
    print("%-34s %7.0f ns" % (name, added), flush=True)


def cost_of_hook(name, hooked, stand_in, *arguments):
    """`stand_in` takes the place of the function that is hooked: its own cost would hide the hook's."""
    hooked.__closure__[hooked.__code__.co_freevars.index("original")].cell_contents = stand_in
    cost(name, lambda: hooked(*arguments), lambda: stand_in(*arguments))


class Nothing(torch.nn.Module):
    def forward(self, x):
        return x


class Idle(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self, closure=None):
        return None


class Endless(dataloader._BaseDataLoaderIter):
    def _next_data(self):
        return self.batch


def main():
    bridge = sys.modules.get("ddbg_bridge")
    if bridge is None:
        sys.exit("bridge_cost.py: the bridge is not in this process: preload an installed libddbg.so")
    from ddbg_bridge import ends, marks
    weight = torch.nn.Parameter(torch.ones(1))
    x, batch = torch.ones(4, 2), {"x": torch.ones(4, 2), "y": torch.ones(4)}
    model, optimizer = Nothing(), Idle([weight])
    endless = Endless(DataLoader([x] * 8))
    endless.batch = batch
    for _ in range(3):  # the model is learned, the first marks are made
        model(x)
        loss = (weight * 2).sum()
        loss.backward()
        optimizer.step()
        next(endless)
    gc.disable()
    begin, begin_by_hand = marks.begin("loader"), lambda: None
    cost("one mark", begin, begin_by_hand)
    call = type(model).__call__
    cost("forward of a model", lambda: call(model, x), lambda: torch.nn.Module.__call__(model, x))
    cost_of_hook("optimizer step", Idle.step, lambda self: None, optimizer)
    cost_of_hook("batch of a DataLoader", Endless.__next__, lambda self: batch, endless)
    cost_of_hook("item() of any tensor", torch.Tensor.item, lambda self: 1.0, torch.ones(1))
    cost_of_hook("item() of the loss", torch.Tensor.item, lambda self: 1.0, loss)
    cost_of_hook("backward", torch.autograd.backward, lambda tensors: None, loss)
    collected = gc.callbacks[-1]
    cost("garbage collection", lambda: (collected("start", {}), collected("stop", {"generation": 0})), lambda: ({}, {}))
    from ddbg_bridge.imports import _Finder
    cost("import of another module", lambda: _Finder.find_spec("json"), lambda: None)
    print("a module in a model: %s" % ("untouched" if torch.nn.Module.__call__.__module__.startswith("torch") else "HOOKED"))


main()
