"""DataLoader: phase "loader" from the request of a batch until it is there, value "batch_size", and where steps begin. Batches that are asked for
under no_grad between steps are no part of what a step waited for: phase "evaluation". Event "loader_workers" ("fork: 12,13") when an
iterator has started its processes, with their number and how long that took."""
import multiprocessing
import time
from threading import get_ident

from . import marks
from .hooks import Hook
from .process import decide, process
from .steps import turns

hook = Hook("loader")
_MAP = 0  # _DatasetKind.Map
_DEEPEST = 4

loading = False  # on the loop's thread; forward of a transform is no training forward then


class _Lengths:
    """How many batches the iterator that was last used has, so that its end is known before it is asked."""
    iterator = 0
    batches = -1


def _is_at_end(iterator):
    if iterator._num_yielded == 0 or id(iterator) != _Lengths.iterator:
        _Lengths.iterator, _Lengths.batches = id(iterator), -1
        if iterator._dataset_kind == _MAP:
            _Lengths.batches = len(iterator._index_sampler)
    return _Lengths.batches == iterator._num_yielded


def install(torch):
    from torch.utils.data import dataloader
    tensor = torch.Tensor
    is_grad_enabled = torch.is_grad_enabled
    batch_size = marks.value("batch_size")
    of_training = marks.begin("loader"), marks.end("loader")
    of_evaluation = marks.begin("evaluation"), marks.end("evaluation")

    def size_of(batch):
        """The first dimension of the first tensor; no tensor's content is looked at."""
        for _ in range(_DEEPEST):
            kind = type(batch)
            if kind is tensor or isinstance(batch, tensor):
                return batch.size(0) if batch.dim() else None
            if kind is list or kind is tuple or isinstance(batch, (list, tuple)):
                if not batch:
                    return None
                batch = batch[0]
            elif kind is dict or hasattr(batch, "values"):
                for batch in batch.values():
                    break
                else:
                    return None
            else:
                return None
        return None

    def make(original):
        def __next__(self):
            global loading
            if loading or not (process.active or decide()) or not hook.on:
                return original(self)
            if turns.loop_thread is not None and turns.loop_thread != get_ident():
                return original(self)
            begin, end = of_training
            begins_step = False
            if not is_grad_enabled():
                if turns.number >= 0:
                    begin, end = of_evaluation
            elif turns.over or turns.number < 0:
                try:
                    if not _is_at_end(self):
                        turns.batch_asked()
                        begins_step = True
                except Exception:
                    hook.failed()
            begin()
            loading = True
            try:
                batch = original(self)
            except StopIteration:
                try:
                    if begins_step:
                        turns.found_end()
                except Exception:
                    hook.failed()
                raise
            finally:
                loading = False
                end()
            try:
                size = size_of(batch)
                if size is not None:
                    batch_size(size)
            except Exception:
                hook.failed()
            return batch
        return __next__

    hook.replace(dataloader._BaseDataLoaderIter, "__next__", make)
    hook.replace(dataloader._MultiProcessingDataLoaderIter, "__init__", _telling_workers)


def _telling_workers(original):
    def __init__(self, *args, **kwargs):
        start = time.monotonic_ns()
        original(self, *args, **kwargs)
        try:
            if hook.on and (process.active or decide()):
                method = getattr(self._workers[0], "_start_method", None) or multiprocessing.get_start_method(allow_none=True)
                text = "%s: %s" % (method, ",".join(str(worker.pid) for worker in self._workers))
                marks.event("loader_workers", text, len(self._workers), time.monotonic_ns() - start)
        except Exception:
            hook.failed()
    return __init__
