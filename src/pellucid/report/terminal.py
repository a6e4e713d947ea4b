"""A comparison as plain text of a given width, from the content of results.json and timings.json."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pellucid.draw.label_text import cells, clean, pad
from pellucid.draw.number import column as align_numbers
from pellucid.draw.number import number
from pellucid.report import conclusion, wording
from pellucid.report.screen import GLUE, PIPED, packed, wrapped
from pellucid.report.wording import EXACT, exact, too_good

TITLES = {"log_loss": "log loss", "roc_auc": "roc auc", "balanced_accuracy": "bal. acc.",
          "average_precision": "av. prec."}  # fmt: skip
ADJECTIVES = {"number": "numeric"}
MARKS = {"error": "!!", "warning": "!", "note": "."}
TITLE = "LEADERBOARD  "
# Columns that a narrow terminal leaves out, the first one first; "beside 1" is the next metric.
DROPS = ("beside 2", "fit", "beside 1", "95 % interval", "vs best")


def score(value: float | None, metric: str, decimals: int = 3) -> str:
    """A score as the table shows it."""
    if value is not None and value == value and metric not in wording.BOUNDED:
        return number(value, 4)
    return re.sub(r"^([<-]?)0\.", r"\1.", wording.score(value, metric, decimals))


# Before the run -------------------------------------------------------------------------------


def data_line(data: dict[str, Any], width: int = PIPED) -> list[str]:
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
    lines = wrapped(text, "data    ", "        ", width)
    for note in data["notes"]:
        lines += wrapped(note, "        ", "        ", width)
    return lines


def finding(found: dict[str, Any]) -> str:
    """Code and text of a check, and its action if the text does not contain it."""
    done = not found["action"] or found["action"] in found["text"]
    return f"{found['code']} {found['text']}" + ("" if done else f" ({found['action']})")


def check_lines(checks: list[dict[str, Any]], fine: str, width: int = PIPED) -> list[str]:
    """Findings, most severe first, then the checks that passed."""
    lines: list[str] = []
    for found in checks:
        first = "        " if lines else "checks  "
        mark = MARKS[found["level"]]
        lines += wrapped(finding(found), f"{first}{mark} ", " " * (9 + len(mark)), width)
    if fine:
        lines += wrapped(fine, ("        " if lines else "checks  ") + "ok  ", " " * 12, width)
    return lines


def plan_lines(
    plan: dict[str, Any],
    effort: str,
    estimate: str,
    more: str = " (details: --plan)",
    width: int = PIPED,
) -> list[str]:
    """What will be done; `estimate` is the expected time, `more` where to find the details."""
    if plan["test_rows"]:
        usual = plan["test_why"] in ("stratified", "drawn")  # like the folds
        test = f"test set of {plan['test_rows']} rows held out"
        test += "" if usual else f" ({plan['test_why']})"
    else:
        test = f"no test set{plan['test_why'].removeprefix('none')}"
    fewer = plan["n_folds"] // plan["repeats"] < plan["cv"]
    why = f" (too few rows for {plan['cv']})" if fewer else ""
    search = f"nested {folds(plan)} {plan['folds']} CV{why}, {effort} search"
    parts = [f"{test} |", f"{search} |", f"metric {plan['metric']}"]
    work = f"{plan['models']} models, about {plan['fits']:,} fits, {estimate}{more}"
    lines = whole(parts, "plan    ", width)
    return lines + wrapped(work, "        ", "        ", width)


def whole(parts: list[str], first: str, width: int) -> list[str]:
    """Parts on few lines, which break between parts, or inside a part that is too long."""
    indent = " " * len(first)
    tokens: list[str] = []
    for part in map(clean, parts):
        fits = cells(part) <= width - len(indent)
        tokens += [part.replace(" ", GLUE)] if fits else part.split(" ")
    return packed(tokens, first, indent, width)


# After the run --------------------------------------------------------------------------------


def board(data: dict[str, Any], timings: dict[str, Any], width: int = PIPED) -> str:
    """The leaderboard, the verdict, the test set and the notes."""
    lines = wrapped(title(data), TITLE, " " * len(TITLE), width)
    lines += [*table(data, timings, width), ""]
    for paragraph in verdict(data):
        mark = re.match("!* ?", paragraph)
        lines += wrapped(paragraph, "", " " * mark.end() if mark else "", width)
    lines += ["", *test_set(data, timings, width)]
    return "\n".join(lines + note_lines(data, width)) + "\n"


def note_lines(data: dict[str, Any], width: int = PIPED) -> list[str]:
    """Notes about models; a note that several models share is printed once."""
    of: dict[str, list[str]] = {}
    for row in data["leaderboard"]:
        for note in row["notes"][:3] if row["place"] else []:
            of.setdefault(clean(note, 200), []).append(row["model"])
    lines = [""] if of else []
    for k, (note, models) in enumerate(of.items()):
        head = "       " if k else "NOTES  "
        lines += wrapped(f"{', '.join(models)}: {note}", head, "         ", width)
    return lines


def title(data: dict[str, Any]) -> str:
    """What the leaderboard shows: metric, folds, rows."""
    plan = data["plan"]
    better = "higher" if plan["greater_is_better"] else "lower"
    stopped = "" if data["complete"] else " (stopped early: partial)"
    return (
        f"{plan['metric']}, nested {folds(plan)} CV on {plan['train_rows']} rows ({better} is "
        f"better){stopped}"
    )


def folds(plan: dict[str, Any]) -> str:
    """`5-fold`, or `5-fold x 2`."""
    each, times = plan["n_folds"] // plan["repeats"], plan["repeats"]
    return f"{each}-fold" + (f" x {times}" if times > 1 else "")


@dataclass(frozen=True)
class Column:
    """One column of the board: its name in `DROPS`, and its texts, the head first."""

    name: str
    texts: list[str]
    right: bool = False

    @property
    def size(self) -> int:
        return max(map(cells, self.texts))


def table(data: dict[str, Any], timings: dict[str, Any], width: int = PIPED) -> list[str]:
    """One line per model, then the legend."""
    metric = data["plan"]["metric"]
    beside = wording.beside(data["data"]["task"], metric)
    scored = [row for row in data["leaderboard"] if row["place"]]
    others = [row for row in data["leaderboard"] if not row["place"]]
    names = ["model", *(clean(row["model"], 24) for row in scored)]
    widest = max(map(cells, [*names, *(clean(row["model"], 24) for row in others)]))
    parts = [
        Column("mark", ["", *("=" if row["as_good"] else "x" for row in scored)]),
        Column("model", [pad(name, widest) for name in names]),
        *columns(scored, metric, beside, timings),
        Column("use", ["use", *map(use, scored)]),
    ]
    kept = fitting(parts, width)
    sizes = [column.size for column in kept]
    blanks = gaps(sizes, width)
    lines = [
        "".join(" " * b + pad(c.texts[i], c.size, c.right) for c, b in zip(kept, blanks)).rstrip()
        for i in range(len(names))
    ]
    for row in others:
        state = "no score" if row["status"] == "ok" else row["status"]
        reason = f"{state}: {row['reason']}" if row["reason"] else state
        head = f"{' ' * blanks[0]}-{' ' * blanks[1]}{pad(clean(row['model'], 24), widest)}  "
        lines += wrapped(reason, head, " " * cells(head), width)
    gone = [column.texts[0] for column in parts if column not in kept]
    legend = conclusion.legend(data)
    legend += [f"a wider terminal also shows: {', '.join(gone)}"] if gone else []
    return lines + [part for line in legend for part in wrapped(line, "  ", "    ", width)]


def fitting(parts: list[Column], width: int) -> list[Column]:
    """The most important columns that fit side by side with a blank before each."""
    kept = list(parts)
    for name in DROPS:
        if sum(column.size + 1 for column in kept) <= width:
            break
        kept = [column for column in kept if column.name != name]
    return kept


def gaps(sizes: list[int], width: int) -> list[int]:
    """Blanks before each column: two, or one where the table would be too wide."""
    spare = width - sum(sizes) - len(sizes)
    order = [2, 0, 1, *range(3, len(sizes))]  # the first keep two blanks longest
    return [2 if order.index(k) < spare else 1 for k in range(len(sizes))]


def columns(
    scored: list[dict[str, Any]], metric: str, beside: list[str], timings: dict[str, Any]
) -> list[Column]:
    """The columns of numbers."""
    seconds = timings.get("models", {})
    means = numbers([row["mean"] for row in scored], metric, 4)
    ends = [numbers([row["ci"][end] for row in scored], metric) for end in (0, 1)]
    sizes = [max(map(cells, texts), default=0) for texts in ends]
    ranges = [
        " - ".join(pad(text, size, right=True) for text, size in zip(pair, sizes))
        for pair in zip(*ends)
    ]
    # p has no leading zero, like the scores.
    against = [re.sub(r"p ([=<]) 0?", r"p\1", conclusion.against(row)) for row in scored]
    out = [
        Column("mean", ["mean", *means], right=True),
        Column("95 % interval", ["95 % interval", *ranges], right=True),
        Column("vs best", ["vs best", *against]),
    ]
    for place, name in enumerate(beside, 1):
        values = numbers([row["metrics"][name] for row in scored], name)
        out.append(Column(f"beside {place}", [TITLES.get(name, name), *values], right=True))
    fits = times([seconds.get(row["model"], {}).get("fit") for row in scored])
    return [*out, Column("fit", ["fit", *fits], right=True)]


def numbers(values: list[float | None], metric: str, decimals: int = 3) -> list[str]:
    """Scores of one column: with the same decimals."""
    if metric in wording.BOUNDED or any(value is None or value != value for value in values):
        return [score(value, metric, decimals) for value in values]
    return align_numbers(values, 4)


def times(seconds: list[float | None]) -> list[str]:
    """Times of one column: two decimals, or one if the longest is ten seconds or more."""
    decimals = 1 if max((s for s in seconds if s is not None), default=0.0) >= 9.995 else 2
    least = 10**-decimals
    return [
        "" if s is None else f"<{least:g} s" if s < least / 2 else f"{s:.{decimals}f} s"
        for s in seconds
    ]


def use(row: dict[str, Any]) -> str:
    """The last column: a tag, or the number of notes."""
    if row["recommended"]:
        return "<- recommended"
    if row["baseline"]:
        return "baseline"
    if wording.gives_no_probabilities(row):
        return "no probabilities"
    count = len(row["notes"])
    return f"{count} note{'s' if count > 1 else ''}" if count else ""


def verdict(data: dict[str, Any]) -> list[str]:
    """The answer and the errors that call it into question, as paragraphs that are not wrapped yet."""
    own = next((row for row in data["leaderboard"] if row["recommended"]), None)
    sentences = conclusion.answer(data)
    if own is not None and wording.gives_no_probabilities(own):
        sentences.append("It gives no probabilities.")
    lines = [" ".join(sentences)]
    warning = too_good(data["verdict"])
    lines += [f"! {warning}"] if warning else []
    for found in data["checks"]:  # the scores are probably meaningless
        if found["level"] == "error":
            lines.append(f"{MARKS['error']} {finding(found)}")
    return lines


def test_set(data: dict[str, Any], timings: dict[str, Any], width: int = PIPED) -> list[str]:
    """The score on the test set."""
    test, head = data["test"], "TEST SET  "
    if test is None:
        why = "no model has a score" if data["complete"] else "the run is not complete"
        rows, none = data["plan"]["test_rows"], data["plan"]["test_why"]
        return wrapped(f"not used yet: {why}" if rows else none, head, "  ", width)
    if "failed" in test:
        text = f"{test['model']} could not be fitted: {test['failed']}"
        return wrapped(text, head, "  ", width)
    ranking = data["plan"]["metric"]
    names = [ranking, *wording.beside(data["data"]["task"], ranking)]
    opened = timings.get("openings", 1)
    used = "used once" if opened <= 1 else f"used {opened} times"
    rows = f"{test['rows']} rows"
    if "groups" in test:
        rows += " of one group" if test["groups"] == 1 else f" of {test['groups']} groups"
    scores = "; ".join(with_interval(name, test).replace(" ", GLUE) for name in names)
    intro = f"({used}, {clean(test['model'], 60)} only, {rows}):"
    lines = packed(f"{intro} {scores}".split(" "), head, "  ", width)
    own = score(test["baseline"].get(names[0]), names[0])
    lines += wrapped(f"the baseline on the same rows: {names[0]} {own}", "  ", "    ", width)
    for text in (wording.intervals(data), wording.threshold(data)):
        lines += wrapped(text, "  ", "    ", width) if text else []
    agrees = wording.agreement(data)
    if agrees:
        mark = "" if agrees in ("yes", "better") else "! "
        lines += wrapped(f"{mark}{wording.AGREEMENT[agrees]}", "  ", "    ", width)
    if exact(test):
        lines += wrapped(f"! {EXACT}", "  ", "    ", width)
    if opened > 1:
        text = f"! used {opened} times: treat this score as optimistic"
        lines += wrapped(text, "  ", "    ", width)
    return lines


def with_interval(name: str, test: dict[str, Any]) -> str:
    ends = test["intervals"].get(name) or [None]
    values = [test["metrics"].get(name), *([] if None in ends else ends)]
    value, *shown = (
        score(v, name) if name in wording.BOUNDED else wording.score(v, name) for v in values
    )
    return f"{name} {value}" + (f" [{', '.join(shown)}]" if shown else "")
