"""`pellucid predict MODEL FILE`: the rows of a file, predicted with a saved model."""

from typing import Any

import click

from pellucid.app.voice import Voice, voice_options

NAMED = 5  # so many column names are written out in a message


@click.command()
@click.argument("model")
@click.argument("file")
@click.option("-o", "--out", default="-", show_default="stdout", help="Where to write.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "jsonl", "parquet"]),
    help="Format of the output; default: what the ending of --out says, else csv.",
)
@click.option("--id", "ids", multiple=True, help="Copy this column into the output; repeatable.")
@click.option(
    "--allow-missing", is_flag=True, help="Treat columns that FILE lacks as missing values."
)
@voice_options
@click.pass_obj
def predict(
    voice: Voice,
    model: str,
    file: str,
    out: str,
    format_: str | None,
    ids: tuple[str, ...],
    allow_missing: bool,
) -> None:
    """Predict the rows of FILE (CSV, TSV, Parquet or JSON lines; '-' is stdin) with MODEL.

    Writes one row per row of FILE: the column 'prediction' and, for a classifier that knows
    probabilities, one column 'p_<class>' for each class.
    """
    from pellucid.data.read import read
    from pellucid.data.write import format_of, write
    from pellucid.persist import load

    format_ = format_ or format_of(out)  # a wrong name is said before any work is done
    fitted = load(model)
    table = read(file, text=written_as_text(fitted), note=voice.note)
    source = "standard input" if file == "-" else file
    kept = {name: table.column(require(name, table, source)) for name in ids}
    rows = match_columns(fitted, table, source, voice, allow_missing)
    write({**kept, **predictions(fitted, rows, model)}, out, format_)


def written_as_text(fitted: Any) -> list[str]:
    """Columns whose levels are text: in a file that happens to hold only digits they stay so."""
    schema = fitted.schema_
    return [
        schema.name(j)
        for j, levels in enumerate(schema.levels)
        if levels and all(isinstance(level, str) for level in levels)
    ]


def require(name: str, table: Any, source: str) -> str:
    """The name itself if the table has that column, else an error with the nearest one."""
    from pellucid.data.source import did_you_mean
    from pellucid.errors import DataError

    if name not in table.column_names:
        hint = did_you_mean(name, table.column_names)
        raise DataError(
            f"{source} has no column {name!r}.{hint} Columns: {listed(table.column_names)}."
        )
    return name


def match_columns(fitted: Any, table: Any, source: str, voice: Voice, allow_missing: bool) -> Any:
    """The columns the model needs, in its order; others are dropped with a note."""
    needed = getattr(fitted, "feature_names_in_", None)
    if needed is None:  # trained on an array: columns are taken by position
        return table
    needed = [str(name) for name in needed]
    missing = [name for name in needed if name not in table.column_names]
    extra = [name for name in table.column_names if name not in needed]
    if missing and not allow_missing:
        raise_missing(needed, missing, table, source)
    if missing:
        voice.note(f"{source} lacks {listed(missing)}: treated as missing in all rows")
    if extra:
        voice.note(f"ignored {listed(extra)}: not used by the model")
    for name in missing:
        table = table.append_column(name, [[None] * table.num_rows])
    return table.select(needed)


def raise_missing(needed: list[str], missing: list[str], table: Any, source: str) -> None:
    """The error for columns that the model needs and the file lacks."""
    from pellucid.data.source import did_you_mean
    from pellucid.errors import DataError

    found = len(needed) - len(missing)
    columns, them = ("column", "it") if len(missing) == 1 else ("columns", "them")
    hint = did_you_mean(missing[0], [n for n in table.column_names if n not in needed])
    raise DataError(
        f"{source} lacks {columns} {listed(missing)} (the model needs {len(needed)} columns; "
        f"{found} found).{hint} --allow-missing treats {them} as missing values."
    )


def listed(names: list[str]) -> str:
    """Some names, quoted, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:NAMED])
    return shown + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def predictions(fitted: Any, rows: Any, model: str) -> dict[str, Any]:
    """Output columns: `prediction` (or `prediction_0`, ...), and `p_<class>` where known."""
    from pellucid.errors import DataError

    if not hasattr(fitted, "predict"):
        raise DataError(f"{model} holds a {type(fitted).__name__}, which does not predict.")
    if hasattr(fitted, "predict_proba"):
        shares = fitted.predict_proba(rows)
        # Every classifier with probabilities predicts the largest, the lowest class among equals.
        columns = {"prediction": fitted.classes_[shares.argmax(axis=1)]}
        for k, label in enumerate(fitted.classes_.tolist()):
            name = str(label).lower() if isinstance(label, bool) else label  # as CSV writes it
            columns[f"p_{name}"] = shares[:, k]
        return columns
    predicted = fitted.predict(rows)
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction_{k}": predicted[:, k] for k in range(predicted.shape[1])}
