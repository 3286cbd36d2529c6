"""What a step is.

A turn of the training loop that ends in an optimizer's step. Steps are numbered from 0 by how many such turns there were, so that
batches whose gradients are accumulated are of one step, and all ranks of a job count alike.

* Step 0 begins when the first batch is asked for with gradients enabled; without a DataLoader with the first training forward or
  backward. A sanity check under no_grad before it is outside of all steps; a pass over the data before it, with
  gradients enabled, is in step 0.
* The next one begins when a batch is asked for after an optimizer has stepped: loading is the first thing in a step. Whatever comes
  between (evaluation, which asks for its batches under no_grad, a checkpoint) belongs to the step before it. An iterator known to be at its end
  does not begin one; of an IterableDataset that is not known: where the request that began one finds the end, the step is taken back, with
  the event "end_of_data".
* Several optimizers (a GAN's): only the first that steps in a turn makes the turn count, the others follow in the same.
* Without a DataLoader a turn begins with the first forward or backward after its optimizers have stepped. How many of them there are is
  learned in the first turn: a second optimizer makes that count as two.
* One batch for several steps of one optimizer: each but the first begins when it steps again, later ones with their forward.
* A skipped step of a GradScaler is a turn.
* Batches asked for on another thread than the loop's (a prefetcher) begin no step.
"""
from . import marks
from .process import on_fork


class Turns:
    """Hooks look at `number` and `over` before they call."""

    __slots__ = ("number", "over", "loop_thread", "_fed", "_stepped", "_cycle", "_optimizers", "_only", "_mark")

    def __init__(self):
        self.number = -1
        self.over = False        # its optimizers have stepped
        self.loop_thread = None  # of the thread that runs backward or the optimizer
        self._fed = False        # the turn began with a batch
        self._stepped = set()    # in this turn
        self._cycle = []         # optimizers since the first one stepped last
        self._optimizers = 1     # in a turn
        self._only = None        # the one that stepped in each turn until now
        self._mark = None

    def _advance(self, fed):
        self.number += 1
        self._fed = fed
        self.over = False
        self._stepped.clear()
        if self._mark is None:
            self._mark = marks.step()
        self._mark(self.number)

    def batch_asked(self):
        if self.over or self.number < 0:
            self._advance(True)

    def found_end(self):
        """Instead of the batch that was just asked for."""
        marks.event("end_of_data", "", self.number)
        self.number -= 1
        self.over = True

    def work_begins(self):
        if self.number < 0 or (self.over and not self._fed):
            self._advance(False)

    def optimizer_begins(self, optimizer):
        if self.number < 0 or (self.over and id(optimizer) in self._stepped):
            self._advance(False)

    def optimizer_ended(self, optimizer):
        own = id(optimizer)
        self._stepped.add(own)
        if own == self._only or self._closes(own) or self._fed:
            self.over = True

    def _closes(self, own):
        """Is it the last optimizer of a turn?"""
        if own in self._cycle:
            self._optimizers = len(self._cycle)
            self._cycle = [own]
        else:
            self._cycle.append(own)
        self._only = own if self._cycle == [own] and self._optimizers == 1 else None
        return len(self._cycle) >= self._optimizers


turns = Turns()
on_fork(turns.__init__)
