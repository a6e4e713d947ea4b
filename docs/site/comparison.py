"""The tables "how it compares" of the method pages, made from the stored results of the benchmarks.

A page says where they belong by a block that opens with ```{comparison}. `python -m benchmarks pages`
measures the results again.
"""

import json
import re
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from docs.site.pages import DOCS

FILE = DOCS / "_data" / "comparison.json"
BLOCK = re.compile(r"^```\{comparison\}\n.*?^```$", re.M | re.S)
NAMES = {"pellucid": "Pellucid", "lightgbm": "LightGBM", "xgboost": "XGBoost", "scipy": "SciPy"}


def filled(text: str, page: str) -> str:
    """The text of a page with its block replaced by the tables."""
    return BLOCK.sub(lambda match: tables(load(), page), text)


def load() -> dict[str, Any]:
    """The stored results."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def tables(document: dict[str, Any], page: str) -> str:
    """Both tables of a page and the conditions of the measurement, as Markdown."""
    found = document["pages"][page]
    parts = [
        "Time and peak memory of Pellucid and of others on the same arrays. A ratio above 1 means that "
        "Pellucid is faster. Both reach the same answer, to a tolerance: the last column, lower is "
        "better.",
        _races(found["races"]),
    ]
    if found["scores"]:
        parts += [
            "Scores of equal models in equal folds (mean and standard deviation). A difference "
            "much smaller than the standard deviation is no evidence."
            if page != "tsne"
            else "Mean and standard deviation over equal starts of both. Trustworthiness: higher is "
            "better; divergence: lower is better.",
            _scores(found["scores"]),
        ]
    return "\n\n".join([*parts, _conditions(document, found)])


def _races(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| work | rows x columns | step | Pellucid | the other | ratio | peak memory, both | answers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["ratio"] is None:
            continue
        cells = [
            re.sub(r" \d+k x \d+", "", row["workload"].partition("/")[2]),
            _shape(row["shape"], row["n"]),
            row["action"],
            _time(row["ours_seconds"]),
            f"{row['peer']} {_time(row['peer_seconds'])}",
            f"**{row['ratio']:.2g}**" if row["ratio"] < 10 else f"**{row['ratio']:.0f}**",
            _memory(row["ours_bytes"], row["peer_bytes"]),
            _answers(row) if row["action"] == "fit" else "–",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _shape(shape: str, n: int) -> str:
    """Rows and columns as they were measured; a third number counts classes."""
    measured = re.sub(r"^\S+", f"{n:,}", shape)
    return re.sub(r"^(\S+ x \S+) x (\d+)", r"\1, \2 classes", measured)


def _scores(rows: Sequence[dict[str, Any]]) -> str:
    others = list(dict.fromkeys(who for row in rows for who in row["scores"]))
    heads = [who.replace("pellucid", "Pellucid") for who in others]
    lines = [
        f"| model | table | metric | {' | '.join(heads)} |",
        "|---" * (3 + len(heads)) + "|",
    ]
    for row in rows:
        cells = [f"`{row['model']}`", f"{row['table']}, {row['rows']:,} rows", row["metric"]]
        cells += [_spread(row["scores"].get(who)) for who in others]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _conditions(document: dict[str, Any], found: dict[str, Any]) -> str:
    versions = ", ".join(
        f"{NAMES.get(name, name)} {number}"
        for name, number in document["versions"].items()
        if number
    )
    machine = document["machine"]
    return (
        f"Measured on {found['date']} by `{document['command']}`: processor time with one thread, "
        f"best of {found['best of']}; {machine['processor']}, {machine['cpus']} processors, load "
        f"{found['load']}; Python {machine['python']}, {versions}. Ratios differ between machines and "
        "sizes: run the command on yours. `pellucid compare` compares models on your own table."
    )


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _answers(row: dict[str, Any]) -> str:
    return f"{row['answer']}: {row['ours_answer']:.4g}, {row['peer_answer']:.4g}"


def _memory(ours: int | None, peer: int | None) -> str:
    if ours is None or peer is None:
        return "–"
    return f"{ours / 1e6:.3g} MB, {peer / 1e6:.3g} MB"


def _spread(values: list[float] | None) -> str:
    return "–" if values is None else f"{mean(values):.3f} ± {stdev(values):.3f}"
