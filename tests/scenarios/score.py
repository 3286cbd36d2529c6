"""How verdicts are judged against the truth, and how rates are told."""
import collections
import math

from catalog import CLASSES

HEALTHY, UNKNOWN, FAILED = "healthy", "unknown", "tool failed"
OUTCOMES = CLASSES + (HEALTHY, UNKNOWN, FAILED)


def wilson(hits, trials, z=1.959964):
    """The 95 % interval of a rate after `hits` of `trials`; (0, 1) without any trial."""
    if trials == 0:
        return 0.0, 1.0
    rate, spread = hits / trials, z * z / trials
    middle = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / trials + spread / (4 * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def outcome(verdict):
    """The column of the confusion matrix."""
    if not verdict or verdict.get("verdict") not in ("fault", "healthy", "unknown"):
        return FAILED
    if verdict["verdict"] != "fault":
        return verdict["verdict"]
    return verdict.get("class") if verdict.get("class") in CLASSES else FAILED


def is_exact(truth, verdict):
    """Is the first bad event the planted one, as far as the truth says (`exact`: see catalog.Row)?"""
    first = verdict.get("first_bad_event") or {}
    how = truth["exact"]
    if how == "nobody":  # or everybody, which is the same
        return verdict.get("kind") in truth["kinds"] and len(verdict.get("culprit_ranks") or []) in (0, truth["ranks"])
    if how == "pair":
        return first.get("rank") in (truth["rank"], truth["peer"])
    if first.get("rank") != truth["rank"]:
        return False
    if how == "rank":
        return True
    if truth.get("call") and first.get("call") != truth["call"]:
        return False
    if truth.get("by_marks") and first.get("step") not in (None, truth["step"]):
        return False
    return any(first.get("comm") == place["comm"] and first.get("seq") == place["seq"] for place in truth["places"])


def judge(truth, verdict):
    """What of a verdict is right; `truth` None: the run was healthy."""
    told = outcome(verdict)
    if truth is None:
        return dict(outcome=told, false_verdict=told in CLASSES + (FAILED,))
    fault = told in CLASSES
    class_right = fault and told in truth["classes"]
    return dict(outcome=told, class_right=class_right, kind_right=fault and verdict.get("kind") in truth["kinds"],
                exact=class_right and is_exact(truth, verdict))


def is_right(truth, verdict):
    """Nothing is wrong with it: class, place and kind, or silence."""
    told = judge(truth, verdict)
    return told["exact"] and told["kind_right"] if truth else told["outcome"] == HEALTHY


def matrix(judged):
    """Counts by (class of the truth or healthy, outcome). A class that is right by another name of the truth is its own."""
    counts = collections.Counter()
    for truth, judgement in judged:
        row = truth["classes"][0] if truth else HEALTHY
        column = row if truth and judgement["class_right"] else judgement["outcome"]
        counts[row, column] += 1
    return counts


def rates(judged):
    """{name: (hits, trials)} over all."""
    faulty = [judgement for truth, judgement in judged if truth]
    healthy = [judgement for truth, judgement in judged if not truth]
    told = {name: (sum(judgement[key] for judgement in faulty), len(faulty))
            for name, key in (("class", "class_right"), ("exact", "exact"), ("kind", "kind_right"))}
    told["false_verdicts"] = (sum(judgement["false_verdict"] for judgement in healthy), len(healthy))
    told["unknown_of_faulty"] = (sum(judgement["outcome"] == UNKNOWN for judgement in faulty), len(faulty))
    told["unknown_of_healthy"] = (sum(judgement["outcome"] == UNKNOWN for judgement in healthy), len(healthy))
    return told
