"""`pellucid explain MODEL DATA --row N`: the contributions of the columns to a prediction."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import click

from pellucid.app.commands.predict import allow_missing_option, encoding_option
from pellucid.app.messages import Messages, as_json_text, format_options, message_options
from pellucid.report.screen import packed, terminal_width

FIRST = 3  # rows to explain if no --row is given


@click.command()
@click.argument("model", default="runs/latest")
@click.argument("data", required=False)
@click.option(
    "--row", "rows", type=int, multiple=True, help="Row number, starting at 0; repeatable."
)
@allow_missing_option
@format_options("text", "json", "jsonl")
@encoding_option
@message_options
@click.pass_obj
def explain(
    messages: Messages,
    model: str,
    data: str | None,
    rows: tuple[int, ...],
    allow_missing: bool,
    format_: str,
    encoding: str | None,
) -> None:
    """Explain the predictions of MODEL for rows of DATA.

    MODEL is a model file or the folder of a run (default: runs/latest). With a folder, DATA is optional:
    the default is the data of the run. The contributions of the columns add up exactly to the
    prediction. They refer to the positive class if there are two classes, and to the predicted class if
    there are more.

    JSON has one object per row: row, prediction, class (to which the contributions refer), baseline,
    contributions {column: amount} and total = baseline + all contributions.
    """
    import numpy as np

    from pellucid.app.commands.predict import encoding_of_run, load_model, match_columns
    from pellucid.data.io import shared_tables
    from pellucid.errors import DataError
    from pellucid.records import Explanation

    path, data, stored = find(model, data)
    fitted = load_model(path, data, "explain")[1]
    table = read_table(fitted, data, messages, encoding or stored, encoding_of_run(path))
    chosen = rows or tuple(range(min(FIRST, table.num_rows)))
    outside = [row for row in chosen if not 0 <= row < table.num_rows]
    if outside:
        raise DataError(f"{data} has rows 0 to {table.num_rows - 1}; there is no row {outside[0]}.")
    matched = match_columns(fitted, table, data, messages, allow_missing, extra_is_fine=True)
    part = shared_tables.take(matched, np.array(chosen))
    found = fitted.explain(part)
    if isinstance(found, Explanation):
        own = found.columns == tuple(part.column_names)  # a formula makes its own columns
        found = replace(found, rows=chosen, values=_values(part) if own else found.values)
    else:
        found = replace(found, explained=chosen)
    predictions = predicted(fitted, part, found)
    if format_ == "text":
        messages.show(as_text(found, predictions))
    else:
        click.echo(as_lines(found, format_, predictions), nl=False)


def find(model: str, data: str | None) -> tuple[str, str, str | None]:
    """The model file, the data and, if it is the data of the run, its encoding."""
    from pellucid.app.arguments import refuse_table
    from pellucid.app.options import read_config
    from pellucid.comparison.execution.run_folder import find_run
    from pellucid.errors import DataError

    if Path(model).is_file():
        refuse_table(model, data, "explain")
        if data is None:
            raise DataError(f"DATA is missing. Usage: pellucid explain {quote(model)} DATA --row 0")
        return model, data, None
    folder = find_run(model)
    path = model_of_run(folder)
    if data is not None:
        return str(path), data, None
    stored = folder / "config.toml"  # runs from Python have none
    config = read_config(stored, required=True) if stored.exists() else {}
    if config.get("data") in (None, "-"):
        raise DataError(f"{folder} does not record which data it used. Pass DATA explicitly.")
    return str(path), str(config["data"]), config.get("encoding")


def model_of_run(folder: Path) -> Path:
    """The model file of a run; the error explains why there is none."""
    from pellucid.errors import DataError

    path, results = folder / "model.pellucid", folder / "results.json"
    if path.exists():
        return path
    data = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    best, failed = data.get("recommended"), (data.get("test") or {}).get("failed")
    if not data.get("complete"):
        again = f"pellucid compare --resume --out {quote(str(folder))}"
        why = f"the run is not complete. Resume it: {again}"
    elif best is None:
        why = "no model has a score"
    elif failed:
        why = f"{best} could not be fitted ({failed})"
    else:
        why = f"{best} is not a Pellucid model"
    raise DataError(f"{folder} has no model file: {why}.")


def read_table(
    fitted: Any, data: str, messages: Messages, encoding: str | None, usual: str | None
) -> Any:
    """A file, or the name of a built-in data set."""
    from pellucid.app.commands.predict import read_like
    from pellucid.data import datasets

    if data in datasets.names() and not Path(data).is_file():
        return datasets.load(data).table
    return read_like(fitted, data, messages, encoding, usual)


def _values(table: Any) -> list[list[Any]]:
    """Cells by column, "missing" where a value is missing."""
    from pellucid.data.io.shared_tables import python_columns

    cells = python_columns(table)
    return [["missing" if v is None or v != v else v for v in column] for column in cells]


def predicted(fitted: Any, rows: Any, found: Any) -> list[float] | None:
    """Predictions in the units of the target, if the contributions are on the link scale."""
    if getattr(found, "scale", "") != "link" or found.classes is not None:
        return None
    return [float(value) for value in fitted.predict(rows)]


def as_text(found: Any, predictions: list[float] | None = None) -> str:
    """One line per row, wrapped between its parts on a terminal."""
    from pellucid.draw.number import number

    width = terminal_width(sys.stdout)
    lines = str(found).splitlines()
    for i, prediction in enumerate((predictions or [])[: len(lines)]):
        head, sign, rest = lines[i].partition(" -> ")
        total, _, terms = rest.partition("  ")
        if sign:
            lines[i] = f"{head} -> {number(prediction, 3)} (link {total})  {terms}"
    if width is not None:
        lines = [
            part for line in lines for part in packed(line.split("  "), "", "    ", width, "  ")
        ]
    return "\n".join(lines) + "\n"


def as_lines(found: Any, form: str, predictions: list[float] | None = None) -> str:
    """The numbers as JSON: one object per row, or per row and neighbour."""
    from pellucid.comparison.execution.journal import plain
    from pellucid.records import Explanation

    if isinstance(found, Explanation):
        entries = [_entry(found, i) for i in range(len(found.prediction))]
        for entry, prediction in zip(entries, predictions or ()):
            entry["prediction"] = prediction
    else:
        columns = found.frame()
        entries = [dict(zip(columns, row)) for row in zip(*columns.values())]
    entries = plain(entries)
    if form == "json":
        facts = {"schema": 2, "scale": getattr(found, "called", None), "rows": entries}
        return as_json_text(facts, indent=1) + "\n"
    return "".join(as_json_text(entry) + "\n" for entry in entries)


def _entry(found: Any, i: int) -> dict[str, Any]:
    """One explained row, with the class and the signs of the text."""
    outcome, amounts = found.towards(i)
    return {
        "row": found.rows[i],
        "prediction": outcome.total if outcome.label is None else outcome.label,
        "class": outcome.of,
        "baseline": found.base[outcome.k],
        "contributions": dict(zip(found.columns, amounts.tolist())),
        "total": outcome.total,
    }
