"""The comparison as plain text of at most 96 columns, without colour: the marks carry the meaning.

Input is the content of results.json and timings.json, output is a string.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pellucid.draw.number import column as align_numbers
from pellucid.draw.number import number
from pellucid.draw.text import cells, clean, fit_cells
from pellucid.report import words
from pellucid.report.words import BESIDE, EXACT, exact, p_digits, too_good

WIDTH = 96
TITLES = {"log_loss": "log loss", "roc_auc": "roc auc", "balanced_accuracy": "bal. acc.",
          "average_precision": "av. prec."}  # fmt: skip
ADJECTIVES = {"number": "numeric"}
MARKS = {"error": "!!", "warning": "!", "note": "."}
FORETOLD = {
    "": "",
    "yes": "as foretold by the folds: yes",
    "better": "better than the folds foretold; the intervals overlap",
    "worse": "! worse than the folds foretold; the intervals overlap",
    "no": "! not as foretold by the folds",
}
GLUE = "\N{NO-BREAK SPACE}"  # a blank at which no line is broken


def share(value: float | None, decimals: int = 3) -> str:
    """A number between 0 and 1 without its leading zero."""
    if value is None or value != value:
        return "n/a"
    text = f"{value:.{decimals}f}"
    return text[1:] if text.startswith("0.") else text


def is_share(metric: str) -> bool:
    """Whether a score is told with a fixed number of decimals."""
    return metric in words.BOUNDED


def score(value: float | None, metric: str, decimals: int = 3) -> str:
    """A score as the table shows it."""
    if value is not None and value == value and not is_share(metric):
        return number(value, 4)
    told = words.score(value, metric, decimals)
    return re.sub(r"^([<-]?)0\.", r"\1.", told)


def p_value(p: float | None) -> str:
    """p as a reader wants it."""
    if p is None or p != p:
        return ""
    return "p<.001" if p < 0.001 else f"p={share(p, p_digits(p))}"


def wrapped(text: str, first: str, indent: str, width: int = WIDTH) -> list[str]:
    """Words on lines of at most `width` cells, the first one after `first`."""
    lines, line = [], first
    for word in clean(text, 4000).replace(" %", f"{GLUE}%").split(" "):
        longer = f"{line} {word}" if line.strip() and not line.endswith(" ") else f"{line}{word}"
        if cells(longer) > width and line.strip() and line != indent:
            lines.append(line.rstrip())
            line = indent + fit_cells(word, width - len(indent))
        else:
            line = longer
    return [text.rstrip().replace(GLUE, " ") for text in (*lines, line)]


# Before the run -------------------------------------------------------------------------------


def data_line(data: dict[str, Any]) -> list[str]:
    """`data    569 rows x 30 features (30 number), target ...`."""
    kinds = ", ".join(f"{n} {ADJECTIVES.get(kind, kind)}" for kind, n in data["kinds"].items())
    count = len(data["features"])
    text = f"{data['rows']} rows x {count} feature{'s' if count != 1 else ''} ({kinds}), "
    text += f"target '{clean(data['target'], 60)}': "
    if "classes" in data:
        total = sum(c["rows"] for c in data["classes"])
        ordered = sorted(data["classes"], key=lambda c: -c["rows"])
        text += ", ".join(
            f"{clean(c['label'], 30)} = {c['rows']} ({100 * c['rows'] / total:.1f} %)"
            for c in ordered[:6]
        )
        text += f" and {len(ordered) - 6} more classes" if len(ordered) > 6 else ""
    else:
        low, median, high = data["target_range"]
        text += f"{number(low)} to {number(high)}, median {number(median)}"
    lines = wrapped(text, "data    ", "        ")
    for note in data["notes"]:
        lines += wrapped(note, "        ", "        ")
    return lines


def finding(found: dict[str, Any]) -> str:
    """Code, text, and what to do where the text does not say it."""
    done = not found["action"] or found["action"] in found["text"]
    return f"{found['code']} {found['text']}" + ("" if done else f" ({found['action']})")


def check_lines(checks: list[dict[str, Any]], fine: str) -> list[str]:
    """Findings, loudest first, then what is fine."""
    lines: list[str] = []
    for found in checks:
        first = "        " if lines else "checks  "
        lines += wrapped(f"{MARKS[found['level']]} {finding(found)}", first, "          ")
    if fine:
        lines += wrapped(f"ok  {fine}", "        " if lines else "checks  ", "            ")
    return lines


def plan_lines(
    plan: dict[str, Any], effort: str, estimate: str, more: str = " (--plan shows all)"
) -> list[str]:
    """What is going to happen; `estimate` says how long it will take, `more` where more is told."""
    if plan["test_rows"]:
        usual = plan["test_why"] in ("stratified", "drawn")  # as the folds are
        locked = f"test {plan['test_rows']} rows locked away"
        locked += "" if usual else f" ({plan['test_why']})"
    else:
        locked = f"no test part{plan['test_why'].removeprefix('none')}"
    fewer = plan["n_folds"] // plan["repeats"] < plan["cv"]
    why = f" (too few rows for {plan['cv']})" if fewer else ""
    text = (
        f"{locked} | nested {folds(plan)} {plan['folds']} CV{why}, {effort} search "
        f"| metric {plan['metric']}"
    )
    work = f"{plan['models']} models, about {plan['fits']:,} fits, {estimate}{more}"
    return [*wrapped(text, "plan    ", "        "), *wrapped(work, "        ", "        ")]


# After the run --------------------------------------------------------------------------------


def board(data: dict[str, Any], timings: dict[str, Any]) -> str:
    """The leaderboard, the verdict, the test part and the notes."""
    lines = title(data)
    lines += table(data, timings)
    lines += ["", *verdict(data), *test_part(data, timings)]
    return "\n".join(lines + note_lines(data)) + "\n"


def note_lines(data: dict[str, Any]) -> list[str]:
    """What was noted about models, each thing once with all it is true of."""
    of: dict[str, list[str]] = {}
    for row in data["leaderboard"]:
        for note in row["notes"][:3] if row["place"] else []:
            of.setdefault(clean(note, 200), []).append(row["model"])
    lines = [""] if of else []
    for k, (note, models) in enumerate(of.items()):
        head = "       " if k else "NOTES  "
        lines += wrapped(f"{', '.join(models)}: {note}", head, "         ")
    return lines


def title(data: dict[str, Any]) -> list[str]:
    plan = data["plan"]
    better = "higher" if plan["greater_is_better"] else "lower"
    stopped = "" if data["complete"] else "  (stopped early: partial)"
    return [
        f"LEADERBOARD  {plan['metric']}, nested {folds(plan)} CV on {plan['train_rows']} "
        f"rows ({better} is better){stopped}"
    ]


def folds(plan: dict[str, Any]) -> str:
    """`5-fold`, or `5-fold x 2`."""
    each, times = plan["n_folds"] // plan["repeats"], plan["repeats"]
    return f"{each}-fold" + (f" x {times}" if times > 1 else "")


def table(data: dict[str, Any], timings: dict[str, Any]) -> list[str]:
    """One line per model that was asked for."""
    metric = data["plan"]["metric"]
    beside = [m for m in BESIDE[data["data"]["task"]] if m != metric][:2]
    scored = [row for row in data["leaderboard"] if row["place"]]
    others = [row for row in data["leaderboard"] if not row["place"]]
    marks = ["", *("=" if row["as_good"] else "x" for row in scored)]
    names = ["model", *(clean(row["model"], 24) for row in scored)]
    uses = ["use", *map(use, scored)]
    parts = [marks, names, *columns(scored, metric, beside, timings), uses]
    sizes = [max(map(cells, column)) for column in parts]
    sizes[1] = max([sizes[1], *(cells(clean(row["model"], 24)) for row in others)])
    blanks = gaps(sizes)
    lines = [aligned(cells_, sizes, blanks) for cells_ in zip(*parts)]
    for row in others:
        state = "no score" if row["status"] == "ok" else row["status"]
        reason = f"{state}: {row['reason']}" if row["reason"] else state
        head = aligned(("-", clean(row["model"], 24), "."), sizes, blanks)[:-1]
        lines += wrapped(reason, head, " " * cells(head))
    return lines + [part for line in words.legend(data) for part in wrapped(line, "  ", "    ")]


def gaps(sizes: list[int]) -> list[int]:
    """Blanks before each column: two, of which those to the right give one up in a wide table."""
    spare = WIDTH - sum(sizes) - len(sizes)
    order = [2, 0, 1, *range(3, len(sizes))]  # the first are the last to do so
    return [2 if order.index(k) < spare else 1 for k in range(len(sizes))]


def aligned(parts: Sequence[str], sizes: list[int], blanks: list[int]) -> str:
    """The cells of one line."""
    return "".join(" " * b + pad(p, size) for p, size, b in zip(parts, sizes, blanks)).rstrip()


def pad(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def columns(
    scored: list[dict[str, Any]], metric: str, beside: list[str], timings: dict[str, Any]
) -> list[list[str]]:
    """The columns of the table, head first."""
    seconds = timings.get("models", {})
    if is_share(metric):
        means = [score(row["mean"], metric, 4) for row in scored]
        ranges = [
            f"{score(row['ci'][0], metric)} - {score(row['ci'][1], metric)}" for row in scored
        ]
    else:
        means = align_numbers([row["mean"] for row in scored], 4)
        lows = align_numbers([row["ci"][0] for row in scored], 4)
        highs = align_numbers([row["ci"][1] for row in scored], 4)
        ranges = [f"{low} - {high}" for low, high in zip(lows, highs)]
    against = map(words.against, scored)
    out = [["mean", *means], ["95 % interval", *ranges], ["vs best", *against]]
    for name in beside:
        values = [score(row["metrics"][name], name) for row in scored]
        known = [row["metrics"][name] for row in scored]
        if not is_share(name) and None not in known:
            values = align_numbers(known, 4)
        out.append([TITLES.get(name, name), *values])
    fits = [seconds.get(row["model"], {}).get("fit") for row in scored]
    out.append(["fit", *map(time_of, fits)])
    return out


def time_of(seconds: float | None) -> str:
    """At most six characters up to some hours."""
    if seconds is None:
        return ""
    return f"{seconds:.{2 if seconds < 9.995 else 1 if seconds < 99.95 else 0}f} s"


def use(row: dict[str, Any]) -> str:
    """The last column: what the reader should do with the row."""
    if row["recommended"]:
        return "<- recommended"
    if row["baseline"]:
        return "baseline"
    if words.gives_no_probabilities(row):
        return "no probabilities"
    count = len(row["notes"])
    return f"{count} note{'s' if count > 1 else ''}" if count else ""


def verdict(data: dict[str, Any]) -> list[str]:
    """What may be concluded, in words: the answer, and checks that put it into doubt."""
    own = next((row for row in data["leaderboard"] if row["recommended"]), None)
    silent = own is not None and words.gives_no_probabilities(own)
    said = [*words.answer(data), *(["It gives no probabilities."] if silent else [])]
    lines = wrapped(" ".join(said), "", "")
    warning = too_good(data["verdict"])
    lines += wrapped(f"! {warning}", "", "  ") if warning else []
    for found in data["checks"]:  # the scores above probably mean nothing
        if found["level"] == "error":
            lines += wrapped(f"{MARKS['error']} {finding(found)}", "", "   ")
    return lines


def test_part(data: dict[str, Any], timings: dict[str, Any]) -> list[str]:
    """The locked rows, scored once."""
    test = data["test"]
    if test is None:
        why = "no model has a score" if data["complete"] else "the run is not complete"
        rows, none = data["plan"]["test_rows"], data["plan"]["test_why"]
        return [f"TEST PART  still locked: {why}" if rows else f"TEST PART  {none}"]
    if "failed" in test:
        return wrapped(
            f"{test['model']} could not be fitted: {test['failed']}", "TEST PART  ", "  "
        )
    ranking = data["plan"]["metric"]
    names = [ranking, *(m for m in BESIDE[data["data"]["task"]] if m != ranking)][:3]
    parts = [with_interval(name, test) for name in names]
    times = timings.get("openings", 1)
    opened = "opened once" if times <= 1 else f"opened {times} times"
    rows = f"{test['rows']} rows"
    if "groups" in test:
        rows += " of one group" if test["groups"] == 1 else f" of {test['groups']} groups"
    text = f"({opened}, {test['model']} only, {rows}): " + "; ".join(parts)
    lines = wrapped(text, "TEST PART  ", "  ")
    own = score(test["baseline"].get(names[0]), names[0])
    also = FORETOLD[words.foretold(data)]
    whole = f"  the baseline on the same rows: {names[0]} {own}       {also}".rstrip()
    lines += [whole] if len(whole) <= WIDTH else [whole.removesuffix(also).rstrip(), f"  {also}"]
    if exact(test):
        lines += wrapped(f"! {EXACT}", "  ", "    ")
    if times > 1:
        lines.append(
            f"  ! test part opened {times} times for this data: treat this score as optimistic"
        )
    return lines


def with_interval(name: str, test: dict[str, Any]) -> str:
    value = score(test["metrics"].get(name), name)
    if name not in test["intervals"] or None in test["intervals"][name]:
        return f"{name} {value}"
    low, high = test["intervals"][name]
    return f"{name} {value} [{score(low, name)}, {score(high, name)}]"
