"""The table: what can be planted, where, and which verdicts are right (README.md). A row is a fault; a case is one run of it,
drawn by its seed."""
import dataclasses
import itertools
import random
from typing import NamedTuple

CONTROL_FLOW, TIMING, STATE, INFRASTRUCTURE = CLASSES = (
    "control_flow_divergence", "timing_divergence", "state_corruption", "infrastructure_discontinuity")

OPENMPI, MPICH, NCCL = "openmpi", "mpich", "nccl"
BOTH = (OPENMPI, MPICH)
ALL = (OPENMPI, MPICH, NCCL)
TRAINING = ("data_parallel", "experts", "local_sgd", "halo", "pipeline")


@dataclasses.dataclass(frozen=True)
class Row:
    id: str
    fault: str  # the program's name for it, "" for none
    kinds: tuple = ()  # that are right; none: the run is healthy
    classes: tuple = ()  # that are right, the one of notes first
    backends: tuple = BOTH
    shapes: tuple = TRAINING
    exact: str = "place"  # what of the truth a verdict must have: "place" (rank, communicator, number), "rank", "pair", "nobody"
    steps: int = 8
    step_ms: float = 2
    ranks: tuple = (3, 4, 5)
    stage: str = ""  # a way of staging.py to start it, where the usual does not do
    twin: bool = True  # it has a healthy twin
    bad_rank: int = None  # -1: the last
    ends: bool = False  # the job comes to an end: it is diagnosed then
    environment: tuple = ()  # pairs
    alone: bool = False  # nothing else of the suite runs beside it: it is about time
    caveat: str = ""  # words that a caveat of the verdict must have, of a row that is healthy and not unremarkable
    kinds_by_marks: tuple = ()  # instead of `kinds` where the job marks its phases: they tell more

    @property
    def healthy(self):
        return not self.kinds

    @property
    def family(self):
        return self.id[0]


class Case(NamedTuple):
    row: Row
    seed: int
    twin: bool  # the healthy twin of the fault
    backend: str
    shape: str
    ranks: int
    bad_rank: int
    bad_step: int

    @property
    def healthy(self):
        return self.twin or self.row.healthy

    @property
    def marks(self):
        """Half of the jobs tell their steps, and those over MPI their phases."""
        return self.seed % 2 == 0

    @property
    def kinds(self):
        return self.row.kinds_by_marks if self.marks and self.row.kinds_by_marks else self.row.kinds

    @property
    def name(self):
        words = [self.row.id, self.row.fault or "plain", self.backend, self.shape, "s%d" % self.seed]
        return "-".join(words + (["twin"] if self.twin else []))


def draw(row, seed, twin=False, backends=ALL):
    """The case of a seed. Shapes and back ends come in turn, so that a few seeds cover many; the rest is random."""
    own = [backend for backend in row.backends if backend in backends]
    if not own:
        return None
    combinations = list(itertools.product(row.shapes, own))
    random.Random("%s/%s" % (row.id, row.fault)).shuffle(combinations)
    shape, backend = combinations[(seed - 1) % len(combinations)]
    dice = random.Random("%s/%s/%d" % (row.id, row.fault, seed))
    ranks = dice.choice(row.ranks)
    bad_rank = dice.randrange(ranks) if row.bad_rank is None else row.bad_rank % ranks
    bad_step = dice.randrange(1, max(2, row.steps // 2))
    return Case(row, seed, twin, backend, "training" if backend == NCCL else shape, ranks, bad_rank, bad_step)


def cases(rows, seeds, backends=ALL, twins=True):
    for seed in seeds:
        for row in rows:
            for twin in (False, True):
                if twin and (not twins or row.healthy or not row.twin):
                    continue
                case = draw(row, seed, twin, backends)
                if case:
                    yield case
