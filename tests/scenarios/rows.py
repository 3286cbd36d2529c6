"""The rows of the table by family, as in the README."""
from catalog import ALL, BOTH, CONTROL_FLOW, INFRASTRUCTURE, MPICH, NCCL, OPENMPI, STATE, TIMING, TRAINING, Row

MISMATCH = ("collective_mismatch", "argument_mismatch", "callsite_mismatch", "missing_collective")
COUNTS = ("argument_mismatch",)
LEFT = MISMATCH + ("early_exit",)
WRONG_ARGUMENT = (CONTROL_FLOW, STATE)  # the job may stop, or go on with wrong data
MESSAGES = ("pipeline", "halo")

WONT_START = [
    Row("W1", "stuck_before_init", ("missing_rank",), (INFRASTRUCTURE,), exact="rank", stage="folder"),
    Row("W2", "", ("singleton_world",), (INFRASTRUCTURE,), exact="nobody", stage="foreign_launcher", twin=False, ends=True),
    Row("W3", "", ("env_mismatch", "library_stall", "init_error"), (INFRASTRUCTURE,), (NCCL,), exact="rank", stage="odd_variable"),
    Row("W3", "odd_transport", ("env_mismatch", "init_error"), (INFRASTRUCTURE,), (OPENMPI,), exact="rank", stage="odd_transport"),
    Row("W4", "", ("version_mismatch",), (INFRASTRUCTURE,), exact="rank", stage="odd_program"),
    Row("W5", "", ("env_mismatch", "library_stall"), (INFRASTRUCTURE,), (NCCL,), exact="rank", stage="odd_fabric"),
    Row("W6", "init_error", ("init_error",), (INFRASTRUCTURE,), (NCCL,), exact="rank", stage="init_error"),
    Row("W6", "", ("env_mismatch",), (INFRASTRUCTURE,), exact="rank", stage="no_transport", ends=True),
    Row("W7", "world_size", ("world_size_mismatch",), (INFRASTRUCTURE,), (NCCL,), exact="rank"),
    Row("W7", "one_too_few", ("missing_rank", "world_size_mismatch"), (INFRASTRUCTURE,), (NCCL,), exact="rank", stage="one_too_few"),
    Row("W7", "", ("world_size_mismatch",), (INFRASTRUCTURE,), (MPICH,), exact="rank", stage="odd_size"),
    Row("W8", "same_rank", ("duplicate_rank",), (INFRASTRUCTURE,), (NCCL,), exact="rank"),
    Row("W8", "", ("duplicate_rank",), (INFRASTRUCTURE,), (MPICH,), exact="pair", stage="odd_rank_number"),
    Row("W9", "wrong_port", ("missing_rank",), (INFRASTRUCTURE,), (NCCL,), exact="rank",
        stage="wrong_port"),
    Row("W10", "skip_split", MISMATCH + ("group_creation_mismatch",), (CONTROL_FLOW, INFRASTRUCTURE), shapes=("data_parallel",)),
    Row("W11", "checkpoint_unseen", MISMATCH, WRONG_ARGUMENT, stage="weights"),
    Row("W12", "parameter_list", COUNTS, WRONG_ARGUMENT),
    Row("W13", "other_layout", COUNTS, WRONG_ARGUMENT),
]

CONTROL = [
    Row("C1", "skip", LEFT, WRONG_ARGUMENT),
    Row("C1", "skip", LEFT, (CONTROL_FLOW,), (NCCL,)),
    Row("C2", "extra", LEFT, WRONG_ARGUMENT),
    Row("C2", "extra", LEFT, (CONTROL_FLOW,), (NCCL,)),
    Row("C3", "other_call", MISMATCH, (CONTROL_FLOW,)),
    Row("C3", "other_call", MISMATCH, (CONTROL_FLOW,), (NCCL,)),
    Row("C3", "other_comm", MISMATCH + ("order_inversion", "wait_cycle", "early_exit"), WRONG_ARGUMENT, shapes=("data_parallel",), ranks=(4, 5)),
    Row("C4", "swap", MISMATCH, WRONG_ARGUMENT, shapes=("data_parallel", "pipeline", "experts", "local_sgd")),
    Row("C5", "comm_order", MISMATCH + ("order_inversion", "wait_cycle"), (CONTROL_FLOW,), shapes=("data_parallel",), ranks=(4, 5)),
    Row("C5", "comm_order", ("order_inversion",), (CONTROL_FLOW,), (NCCL,)),
    Row("C6", "uneven", LEFT, WRONG_ARGUMENT),
    Row("C7", "retry", LEFT + ("order_inversion",), WRONG_ARGUMENT, shapes=("data_parallel", "local_sgd", "halo")),
    Row("C7", "out_of_memory", MISMATCH + ("order_inversion",), (CONTROL_FLOW,), (NCCL,)),
    Row("C8", "skip_optimizer", LEFT, WRONG_ARGUMENT, shapes=("data_parallel", "local_sgd", "experts", "pipeline")),
    Row("C8", "skip_optimizer", LEFT, WRONG_ARGUMENT, (NCCL,)),
    Row("C9", "extra_layer", LEFT + ("order_inversion",), WRONG_ARGUMENT, shapes=("experts",)),
    Row("C10", "bucket_size", COUNTS, WRONG_ARGUMENT, shapes=("data_parallel", "experts")),
    Row("C10", "bucket_size", COUNTS, WRONG_ARGUMENT, (NCCL,)),
    Row("C11", "bucket_size", COUNTS, WRONG_ARGUMENT, (NCCL,), environment=(("NULLNCCL_MISMATCH", "finish"),)),
    Row("C11", "count", COUNTS, WRONG_ARGUMENT),
    Row("C12", "root", COUNTS, WRONG_ARGUMENT, shapes=("data_parallel", "experts", "local_sgd", "halo")),
    Row("C12", "root", COUNTS, WRONG_ARGUMENT, (NCCL,)),
    Row("C13", "op", COUNTS, WRONG_ARGUMENT),
    Row("C13", "operator", COUNTS, WRONG_ARGUMENT, (NCCL,)),
    Row("C13", "type", COUNTS, WRONG_ARGUMENT),
    Row("C14", "no_send", ("p2p_unmatched", "p2p_deadlock", "early_exit"), (CONTROL_FLOW,), shapes=MESSAGES, exact="pair"),
    Row("C14", "no_receive", ("p2p_unmatched", "p2p_deadlock", "early_exit"), (CONTROL_FLOW,), shapes=MESSAGES, exact="pair"),
    Row("C14", "wrong_tag", ("p2p_unmatched", "p2p_deadlock"), (CONTROL_FLOW,), shapes=MESSAGES, exact="pair"),
    Row("C14", "wrong_peer", ("p2p_unmatched", "p2p_deadlock"), (CONTROL_FLOW,), shapes=MESSAGES, exact="pair", ranks=(4, 5)),
]

STRAGGLER = ("straggler",)
LOOP = ("data_parallel", "experts", "local_sgd", "halo")
# Some seconds at least, and steps that are long against what spinning ranks take from each other on two cores.
TIMED = dict(backends=BOTH, ends=True, exact="rank", steps=80, step_ms=60, ranks=(3, 4), alone=True)
# Told only where the ranks hardly wait for a core, and the machines of the suite may have two.
NOBODY = {**TIMED, "exact": "nobody", "ranks": (2,)}
TIMES = [
    Row("T1", "slow_rank", STRAGGLER, (TIMING,), shapes=LOOP, **TIMED),
    Row("T2", "slow_rank", STRAGGLER, (TIMING,), shapes=("pipeline",), bad_rank=-1, **TIMED),
    Row("T3", "imbalance", STRAGGLER, (TIMING,), shapes=LOOP, **NOBODY),
    Row("T4", "loader_stall", STRAGGLER + ("loader_stall",), (TIMING,), shapes=LOOP, kinds_by_marks=("loader_stall",), **TIMED),
    Row("T5", "loader_deadlock", ("stall",), (TIMING,), shapes=LOOP, exact="rank"),
    Row("T6", "slow_onset", STRAGGLER, (TIMING,), shapes=LOOP, **TIMED),
    Row("T7", "", ("slow_link",), (TIMING,), shapes=("all_pairs",), ranks=(4,), exact="pair", stage="slow_line", alone=True),
    Row("T8", "slow_write", STRAGGLER + ("io_stall",), (TIMING,), shapes=LOOP, kinds_by_marks=("io_stall",), **TIMED),
    Row("T9", "contention", ("cpu_contention",), (TIMING,), shapes=LOOP, **{**TIMED, "ranks": (2,), "steps": 50}),
    Row("T10", "pauses", STRAGGLER, (TIMING,), shapes=LOOP, **NOBODY),
    Row("T11", "drift", STRAGGLER, (TIMING,), shapes=LOOP, **TIMED),
]

ENDED = ("process_killed",)
DISK = dict(stage="small_disk")
INFRA = [
    Row("I1", "kill", ENDED, (INFRASTRUCTURE,), exact="rank"),
    Row("I1", "kill", ENDED, (INFRASTRUCTURE,), (OPENMPI,), exact="rank", stage="recovery"),
    Row("I2", "freeze", ("frozen",), (INFRASTRUCTURE,), exact="rank", ends=True),
    Row("I3", "exit", ("early_exit",), (INFRASTRUCTURE, CONTROL_FLOW), exact="rank"),
    Row("I3", "exit_code", ("early_exit",), (INFRASTRUCTURE, CONTROL_FLOW), exact="rank"),
    Row("I4", "", stage="clock_step", steps=200, step_ms=30, caveat="the wall clock of"),
    Row("I5", "", ("library_stall",), (INFRASTRUCTURE,), (MPICH,), ("halo", "data_parallel"), exact="pair",
        stage="dead_link", steps=1500, step_ms=20, twin=False),
    Row("I6", "", ("early_exit",), (INFRASTRUCTURE, CONTROL_FLOW), exact="rank", stage="small_disk", ends=True),
    Row("I7", "throttle", ("throttled",), (INFRASTRUCTURE,), exact="rank", stage="cgroup", ends=True, steps=60, step_ms=60,
        shapes=LOOP, ranks=(2,), alone=True),
    Row("I8", "", ("library_stall",), (INFRASTRUCTURE,), (NCCL,), exact="nobody", stage="library_stall", twin=False),
    Row("I9", "", ("process_killed",), (INFRASTRUCTURE,), (NCCL,), exact="rank", stage="restart"),
    Row("I10", "segfault", ENDED, (INFRASTRUCTURE,), exact="rank"),
    Row("I10", "abort", ENDED, (INFRASTRUCTURE,), exact="rank"),
    Row("I11", "", shapes=TRAINING, stage="kill_collector", steps=40, step_ms=50),
]

LONG = dict(steps=20, step_ms=5)
HEALTHY = [
    Row("N1", "", shapes=TRAINING, backends=ALL, **LONG),
    Row("N2", "pause", shapes=LOOP),
    Row("N3", "evaluate", shapes=("data_parallel",), **LONG),
    Row("N4", "", shapes=("medley",), **LONG),
    Row("N5", "", shapes=("data_parallel",), ranks=(4, 5, 6), **LONG),
    Row("N6", "", shapes=("pipeline",), ranks=(2, 3, 4, 5), **LONG),
    Row("N10", "", shapes=("task_farm",), ranks=(3, 4, 6), **LONG),
    Row("N11", "", shapes=("local_sgd",), **LONG),
    Row("N12", "", shapes=("experts",), **LONG),
    Row("N13", "overflow", shapes=("data_parallel",), **LONG),
    Row("N14", "resize", shapes=LOOP, **LONG),
    Row("N16", "", shapes=TRAINING, ranks=(2, 7, 8), steps=6),
    Row("N17", "", shapes=TRAINING, ranks=(1, 2), **LONG),
    Row("N19", "busy", shapes=TRAINING, ranks=(8,), steps=60, step_ms=20),
    Row("N18", "", shapes=TRAINING, steps=3, step_ms=500),
]

ROWS = WONT_START + CONTROL + TIMES + INFRA + HEALTHY


def chosen(families="", ids=()):
    """Rows of these families ("WC") and ids, in the order of the table; all without either."""
    return [row for row in ROWS if (not families and not ids) or row.family in families or row.id in ids]
