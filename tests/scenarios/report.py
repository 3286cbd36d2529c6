"""The tables people read, made of what play.Play recorded."""
import collections
import statistics

from catalog import CLASSES
from score import HEALTHY, OUTCOMES, judge, matrix, rates, wilson

SHORT = {"control_flow_divergence": "control flow", "timing_divergence": "timing", "state_corruption": "state",
         "infrastructure_discontinuity": "infrastructure"}
DETECTORS = (("ddbg", "verdict"), ("timeout only", "timeout_only"), ("operation counts only", "counts_only"))


def played(records):
    """Those whose fault was planted; the others say nothing about the tool."""
    return [record for record in records if not record["problems"] or record["truth"]]


def judged(records, key="verdict"):
    return [(record["truth"], judge(record["truth"], record[key])) for record in played(records)]


def percent(hits, trials):
    low, high = wilson(hits, trials)
    rate = "%5.1f %%" % (100 * hits / trials) if trials else "   -   "
    return "%s  (%d of %d; 95 %%: %.1f to %.1f)" % (rate, hits, trials, 100 * low, 100 * high)


def confusion(records):
    counts = matrix(judged(records))
    lines = ["%-16s" % "truth \\ verdict" + "".join("%16s" % SHORT.get(column, column) for column in OUTCOMES)]
    for row in CLASSES + (HEALTHY,):
        if any(counts[row, column] for column in OUTCOMES):
            lines.append("%-16s" % SHORT.get(row, row) + "".join("%16s" % (counts[row, column] or ".") for column in OUTCOMES))
    return lines


def summary(records):
    """Rates of one detector, with intervals, for programs."""
    out = {}
    for name, key in DETECTORS:
        out[name] = {rate: dict(hits=hits, trials=trials, interval=list(wilson(hits, trials)))
                     for rate, (hits, trials) in rates(judged(records, key)).items()}
    return out


def rate_lines(records):
    names = (("class", "class right"), ("exact", "first bad event exact"), ("kind", "kind right"),
             ("false_verdicts", "false verdicts on healthy runs"), ("unknown_of_faulty", "unknown on faulty runs"),
             ("unknown_of_healthy", "unknown on healthy runs"))
    lines = []
    for detector, key in DETECTORS:
        told = rates(judged(records, key))
        lines.append(detector)
        if detector == "timeout only":  # says no class, so that only the rank can be right
            right = [r for r in played(records) if r["truth"]]
            hits = sum((r[key].get("first_bad_event") or {}).get("rank") == r["truth"]["rank"] for r in right)
            lines.append("  %-32s%s" % ("rank right", percent(hits, len(right))))
        lines += ["  %-32s%s" % (text, percent(*told[name])) for name, text in names]
    return lines


def time_lines(records):
    lines = []
    for name, key in (("from the fault to the verdict", "seconds_to_verdict"), ("analyzer", "analyzer_s")):
        values = sorted(record[key] for record in records if record.get(key) is not None)
        if values:
            lines.append("%-32s median %.1f s, p95 %.1f s, max %.1f s" % (
                name, statistics.median(values), values[int(0.95 * (len(values) - 1))], values[-1]))
    return lines


def by_id(records):
    rows = collections.OrderedDict()
    for record in played(records):
        rows.setdefault(record["id"], []).append((record["truth"], judge(record["truth"], record["verdict"])))
    lines = ["%-5s%8s%8s%8s%8s%10s%8s" % ("id", "faulty", "class", "exact", "kind", "healthy", "false")]
    for name, pairs in rows.items():
        told = rates(pairs)
        lines.append("%-5s%8d%8d%8d%8d%10d%8d" % (
            name, told["class"][1], told["class"][0], told["exact"][0], told["kind"][0], told["false_verdicts"][1],
            told["false_verdicts"][0]))
    return lines


def misses(records):
    lines = []
    for record in played(records):
        truth, verdict = record["truth"], record["verdict"]
        told = judge(truth, verdict)
        if (truth and told["class_right"] and told["exact"] and told["kind_right"]) or (not truth and told["outcome"] == HEALTHY):
            continue
        first = verdict["first_bad_event"]
        lines.append("%s: %s %s, rank %s, %s #%s (%s)" % (
            record["case"], told["outcome"], verdict["kind"], first["rank"], first["comm"], first["seq"], first["call"]))
        if truth:
            places = ", ".join("%s #%s" % (place["comm"], place["seq"]) for place in truth["places"])
            lines.append("    truth: rank %s%s, step %s, %s" % (
                truth["rank"], "" if truth["peer"] < 0 else " and %d" % truth["peer"], truth["step"], places))
        lines.append("    " + (verdict["summary"] or verdict["stderr"] or "")[:300])
    for record in records:
        lines += ["%s: %s" % (record["case"], problem) for problem in record["problems"]]
    return lines


def text(records):
    parts = (("Confusion matrix", confusion(records)), ("Rates", rate_lines(records)), ("Times", time_lines(records)),
             ("By id", by_id(records)), ("Misses", misses(records)))
    return "\n\n".join("\n".join([title, *lines]) for title, lines in parts)
