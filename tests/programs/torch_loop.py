"""A training loop on the CPU, in one process, as people write it: torch_loop.py WORD…

    batches=6 accumulate=1 workers=0 start=fork epochs=1
    evaluate            after each epoch, under no_grad
    save=PATH           at the end, and reads it again
    clip                gradient norms
    gan                 two models with an optimizer each
    no-loader           batches made by hand
    odd-loader          a DataLoader whose iterator's inside is not as expected
    adam-closure        the forward and backward are in the optimizer's closure
    compile             by torch.compile
    raise=STEP          a ValueError in this turn; thread: another one in a thread before
    export              the trained model is scripted, pickled and copied
Prints each loss.
"""
import copy
import pickle
import sys
import threading
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

warnings.simplefilter("ignore")
words = dict(word.partition("=")[::2] for word in sys.argv[1:])


class Squares(Dataset):
    def __len__(self):
        return 8 * int(words.get("batches", 6))

    def __getitem__(self, index):
        if get_worker_info() is not None:  # work that would be a step if a worker were a rank
            (torch.ones(1, requires_grad=True) * index).backward()
        return {"x": torch.full((4,), index / 10.0), "y": torch.tensor([index * index / 100.0])}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)


class OddBatch(dict):
    def values(self):
        raise RuntimeError("values are not to be had")


class OddLoader(DataLoader):
    """What the iterator yields, and says of itself, is not what a DataLoader's does."""

    def __iter__(self):
        iterator = super().__iter__()
        iterator._index_sampler = None
        return iterator


def odd(rows):
    return OddBatch({name: torch.stack([row[name] for row in rows]) for name in ("x", "y")})


def loader():
    workers = int(words.get("workers", 0))
    if "odd-loader" in words:
        return OddLoader(Squares(), batch_size=8, collate_fn=odd)
    return DataLoader(Squares(), batch_size=8, num_workers=workers, multiprocessing_context=words.get("start", "fork") if workers else None)


def by_hand():
    data = Squares()
    for first in range(0, len(data), 8):
        rows = [data[first + i] for i in range(8)]
        yield {name: torch.stack([row[name] for row in rows]) for name in ("x", "y")}


def train():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, other = Model(), Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    second = torch.optim.SGD(other.parameters(), lr=0.01)
    called = torch.compile(model, backend="eager") if "compile" in words else model
    accumulate, turn = int(words.get("accumulate", 1)), 0
    for epoch in range(int(words.get("epochs", 1))):
        for number, batch in enumerate(by_hand() if "no-loader" in words else loader()):
            if words.get("raise") == str(turn):
                raise ValueError("batch %d is bad" % number)  # mark: raise
            turn += 1
            if "adam-closure" in words:
                def closure():
                    optimizer.zero_grad()
                    error = nn.functional.mse_loss(called(batch["x"]), batch["y"])
                    error.backward()
                    return error
                print("loss %.6f" % optimizer.step(closure).item())
                continue
            loss = nn.functional.mse_loss(called(batch["x"]), batch["y"]) / accumulate
            loss.backward()
            if "clip" in words:
                print("norm %.6f" % nn.utils.clip_grad_norm_(model.parameters(), 1.0))
            if (number + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
            if "gan" in words:
                other(model(batch["x"]).detach().expand(-1, 4)).square().mean().backward()
                second.step()
                second.zero_grad()
            print("loss %.6f" % loss.item())
        if "evaluate" in words:
            model.eval()
            with torch.no_grad():
                print("evaluation %.6f" % sum(nn.functional.mse_loss(model(b["x"]), b["y"]) for b in loader()).item())
            model.train()
    return model


def explode():
    raise KeyError("in a thread")


if __name__ == "__main__":
    if "thread" in words:
        thread = threading.Thread(target=explode)
        thread.start()
        thread.join()
    model = train()
    if "save" in words:
        torch.save(model.state_dict(), words["save"])
        model.load_state_dict(torch.load(words["save"]))
    if "export" in words:
        scripted = torch.jit.script(model)
        again = pickle.loads(pickle.dumps(copy.deepcopy(model)))
        x = torch.ones(2, 4)
        print("equal", torch.equal(model(x), scripted(x)), torch.equal(model(x), again(x)), b"ddbg" in pickle.dumps(model))
