"""`pellucid predict MODEL DATA`: predict the rows of a file with a saved model."""

from typing import Any

import click

from pellucid.app.messages import Messages, memory_option, message_options

NAMED = 5  # column names listed in a message
EXPLAINED_ROWS = 4096  # at a time: contributions are rows x columns x classes
allow_missing_option = click.option(
    "--allow-missing", is_flag=True, help="Treat columns missing from DATA as missing values."
)
encoding_option = click.option(
    "--encoding", metavar="TEXT", help="Encoding of DATA, such as cp1252; default: detected."
)


def load_model(model: str, data: str | None, command: str) -> tuple[str, Any]:
    """The path of the model file (that of a run, if `model` is a folder) and the model.

    Swapped arguments get their own error message.
    """
    from pathlib import Path

    from pellucid.app.arguments import refuse_model, refuse_table
    from pellucid.persist import load

    if Path(model).is_dir():
        from pellucid.app.commands.explain import model_of_run
        from pellucid.comparison.execution.run_folder import find_run

        model = str(model_of_run(find_run(model)))
    refuse_table(model, data, command)
    refuse_model(data, f"{command} MODEL DATA")
    return model, load(model)


@click.command()
@click.argument("model")
@click.argument("file", metavar="DATA")
@click.option("-o", "--out", default="-", show_default="stdout", help="The file to write.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "jsonl", "parquet"]),
    help="Output format; default: by the extension of --out, otherwise csv.",
)
@click.option("--id", "ids", multiple=True, help="Copy this column into the output; repeatable.")
@click.option(
    "--explain",
    "explained",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Add the N largest contributions of each row as columns why_1, why_2, ..., and why_class.",
)
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Add an interval (low, high) that covers this share of new rows, such as 0.9; for a "
    "classifier, a set of classes.",
)
@allow_missing_option
@click.option(
    "--csv-safe",
    is_flag=True,
    help="Write ' before texts that a spreadsheet would run as a formula (=, +, -, @ at the start).",
)
@memory_option
@encoding_option
@message_options
@click.pass_obj
def predict(
    messages: Messages,
    model: str,
    file: str,
    out: str,
    format_: str | None,
    ids: tuple[str, ...],
    explained: int,
    interval: float | None,
    allow_missing: bool,
    csv_safe: bool,
    memory: str | None,
    encoding: str | None,
) -> None:
    """Predict the rows of DATA (CSV, TSV, Parquet, JSON or Excel; '-' is stdin) with MODEL.

    MODEL is a model file or the folder of a run. The output has one row per row of DATA: the column
    'prediction' and, for a classifier with probabilities, one column 'p_<class>' per class.

    With --interval 0.9, 'low' and 'high' bound 90 % of new values, and 'set' lists classes that include
    the true one for 90 % of new rows, most probable first, separated by '|'. The model must come from a
    comparison.

    With --explain, 'why_1' has the form 'column (amount)': the contribution of the column to the
    score of the class in 'why_class'. This is the positive class if there are two classes, and the
    predicted class of the row if there are more; regression has no 'why_class'. 'pellucid explain'
    uses the same class and the same signs.

    If --out is a folder (it exists, or ends in /), DATA can be larger than memory: a file, a folder or
    a pattern in quotes. The folder gets Parquet files; the same command continues a run that was
    stopped.
    """
    from pathlib import Path

    from pellucid.data.io.source import require_column
    from pellucid.data.io.write import format_of, write
    from pellucid.errors import DataError

    if memory is not None:
        from pellucid.parallel import set_memory

        set_memory(memory)
    if out.endswith("/") or Path(out).is_dir():
        options = {
            "--explain": explained,
            "--interval": interval,
            "--allow-missing": allow_missing,
            "--csv-safe": csv_safe,
        }
        options["--format"] = format_ not in (None, "parquet")
        predict_folder(load_model(model, file, "predict")[1], file, out, ids, options)
        return
    format_ = format_ or format_of(out)  # report a wrong extension before any work
    model, fitted = load_model(model, file, "predict")
    table = read_like(fitted, file, messages, encoding, encoding_of_run(model))
    source = "standard input" if file == "-" else file
    for name in ids:
        require_column(table, name, source)
    kept = {name: table.column(name) for name in ids}
    rows = match_columns(fitted, table, source, messages, allow_missing, copied=ids)
    columns = predictions(fitted, rows, model)
    if interval is not None:
        columns |= intervals(fitted, rows, interval, model)
    if explained:
        columns |= contributions(fitted, rows, explained, model)
    twice = [name for name in kept if name in columns]
    if twice:
        raise DataError(
            f"--id {twice[0]}: the output already has a column of that name. Rename the column in the "
            "file, or leave it out."
        )
    warn_outside(fitted, rows, messages)
    write({**kept, **columns}, out, format_, spreadsheet_safe=csv_safe)


def intervals(fitted: Any, rows: Any, level: float, model: str) -> dict[str, Any]:
    """`low` and `high`, or `set`, from the out-of-fold errors that a comparison stored."""
    import warnings

    from pellucid import conformal
    from pellucid.errors import DataError, UnseenLevelWarning

    if not hasattr(fitted, "schema_") or not conformal.has_errors(fitted):
        raise DataError(
            f"{model} cannot make intervals: it has no out-of-fold errors. 'pellucid compare' "
            "stores them in the models that it saves."
        )
    with warnings.catch_warnings():  # the prediction has warned already
        warnings.simplefilter("ignore", UnseenLevelWarning)
        if not hasattr(fitted, "classes_"):
            ends = conformal.interval(fitted, rows, level)
            return {"low": ends[:, 0], "high": ends[:, 1]}
        inside, shares = conformal.sets(fitted, rows, level), fitted.predict_proba(rows)
    labels = [str(label) for label in fitted.classes_.tolist()]
    order = (-shares).argsort(axis=1, kind="stable")
    sets = ["|".join(labels[k] for k in own if row[k]) for own, row in zip(order, inside)]
    return {"set": sets}


def contributions(fitted: Any, rows: Any, most: int, model: str) -> dict[str, list[str]]:
    """`why_class`, then `why_1`, `why_2`, ...: the largest contributions to that class."""
    classes: list[str | None] = []
    texts: list[list[str]] = []
    for start in range(0, rows.num_rows, EXPLAINED_ROWS):
        found = explanation(fitted, rows.slice(start, EXPLAINED_ROWS), model)
        for i in range(len(found.prediction)):
            outcome, amounts = found.towards(i)
            own = amounts.tolist()
            order = sorted(range(len(own)), key=lambda j: -abs(own[j]))[:most]
            classes.append(outcome.of)
            texts.append([f"{found.columns[j]} ({own[j]:+.3g})" for j in order])
    named = {} if None in classes else {"why_class": [str(label) for label in classes]}
    return named | {
        f"why_{k + 1}": [row[k] if k < len(row) else "" for row in texts] for k in range(most)
    }


def explanation(fitted: Any, rows: Any, model: str) -> Any:
    """The contributions of the columns; an error if the model has none."""
    import warnings

    from pellucid.errors import DataError, UnseenLevelWarning
    from pellucid.records import Explanation

    with warnings.catch_warnings():  # the prediction has warned already
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found: Any = fitted.explain(rows) if hasattr(fitted, "explain") else None
    if not isinstance(found, Explanation):
        raise DataError(
            f"{model} contains a {type(fitted).__name__}, which has no contributions of columns. Leave "
            "out --explain."
        )
    return found


def warn_outside(fitted: Any, rows: Any, messages: Messages) -> None:
    """Warn about rows with numbers or dates outside the range of the training rows."""
    import numpy as np

    from pellucid.data.arrow import arrow_column
    from pellucid.draw.dates import date
    from pellucid.draw.number import number

    schema = getattr(fitted, "schema_", None)
    if schema is None or schema.names is None:  # a formula, or an array: no ranges of columns
        return
    outside, limits = np.zeros(rows.num_rows, dtype=bool), []
    for j, name in enumerate(schema.names):
        kind = schema.kinds[j]
        if kind not in ("number", "datetime") or schema.low[j] > schema.high[j]:
            continue
        column = arrow_column(name, rows.column(name))
        if column.kind != kind:
            continue
        for wrong, sign, limit in (
            (column.values > schema.high[j], ">", schema.high[j]),
            (column.values < schema.low[j], "<", schema.low[j]),
        ):
            if wrong.any():
                outside |= wrong
                shown = date(limit) if kind == "datetime" else number(float(limit))
                limits.append((int(wrong.sum()), f"{name} {sign} {shown}"))
    if limits:
        named = ", ".join(text for _, text in sorted(limits, key=lambda pair: -pair[0])[:3])
        count = int(outside.sum())
        are, what = ("is", "its prediction is an extrapolation") if count == 1 else (
            "are", "their predictions are extrapolations")  # fmt: skip
        messages.warn(
            f"{count} of {rows.num_rows} rows {are} outside the training range ({named}): {what}"
        )


def read_for(fitted: Any, file: Any, messages: Messages, encoding: str | None) -> Any:
    """Read a file with the column types of the model.

    Levels that were text stay text, even if they are all digits in this file, and a level such as
    "NA" is not a missing value in its column.
    """
    from pellucid.data.io.dialect import MISSING
    from pellucid.data.io.read import read
    from pellucid.data.io.source import find

    source = find(file)
    texts = {
        name: set(levels)
        for name, levels in known_levels(fitted).items()
        if levels and all(isinstance(level, str) for level in levels)
    }
    table = read(source, text=list(texts), note=messages.note, encoding=encoding)
    given = set(table.column_names)
    for name, levels in texts.items():
        if name in given and not levels.isdisjoint(MISSING):
            markers = [marker for marker in MISSING if marker not in levels]
            own = read(
                source, columns=[name], text=[name], missing=markers, encoding=encoding,
                note=lambda remark: None,
            )  # fmt: skip
            place = table.column_names.index(name)
            table = table.set_column(place, name, own.column(name))
    return table


def known_levels(fitted: Any) -> dict[str, Any]:
    """The levels of each column, from the model's schema or its formula."""
    if not hasattr(fitted, "schema_"):
        return fitted.levels
    return {fitted.schema_.name(j): levels for j, levels in enumerate(fitted.schema_.levels)}


def encoding_of_run(model: str) -> str | None:
    """The encoding that was given to the run of a model; None if there was none."""
    from pathlib import Path

    from pellucid.app.options import read_config

    stored = Path(model).parent / "config.toml"
    if Path(model).name != "model.pellucid" or not stored.is_file():
        return None
    return read_config(stored, required=False).get("encoding")


def read_like(
    fitted: Any, file: str, messages: Messages, encoding: str | None, usual: str | None
) -> Any:
    """As `read_for`; a file that is not UTF-8 is read in the encoding of the run."""
    from pellucid.data.io.encodings import needs_encoding
    from pellucid.data.io.source import find
    from pellucid.errors import DataError

    source = find(file)
    if encoding is not None or usual is None or not needs_encoding(source):
        return read_for(fitted, source, messages, encoding)
    try:
        table = read_for(fitted, source, Messages(-2), usual)
    except DataError:
        return read_for(fitted, source, messages, None)
    messages.note(f"{source.name} is not UTF-8: read as {usual}, the encoding of the run")
    return table


def match_columns(
    fitted: Any,
    table: Any,
    source: str,
    messages: Messages,
    allow_missing: bool,
    extra_is_fine: bool = False,
    copied: tuple[str, ...] = (),
) -> Any:
    """The columns that the model needs, in its order; a note lists those that are dropped."""
    from pellucid.data.io.source import did_you_mean, with_empty_columns
    from pellucid.errors import DataError

    needed = getattr(fitted, "feature_names_in_", None)
    if needed is None:  # trained on an array: columns are taken by position
        return table
    needed = [str(name) for name in needed]
    given, wanted = dict.fromkeys(table.column_names), {*needed, *copied}
    missing = [name for name in needed if name not in given]
    extra = [name for name in given if name not in wanted]
    columns, them = ("column", "it") if len(missing) == 1 else ("columns", "them")
    if missing and not allow_missing:
        found = len(needed) - len(missing)
        hint = did_you_mean(missing[0], [*extra, *copied])
        raise DataError(
            f"{source} has no {columns} {listed(missing)} ({found} of the {len(needed)} columns that "
            f"the model needs were found).{hint} --allow-missing treats {them} as missing values."
        )
    if missing:
        messages.note(f"{source} has no {columns} {listed(missing)}: treated as missing values")
    if extra and not extra_is_fine:
        messages.note(f"ignored columns that the model does not use: {listed(extra)}")
    return with_empty_columns(table, missing).select(needed)


def listed(names: list[str]) -> str:
    """Some names, quoted, and the number of the others."""
    shown = ", ".join(repr(name) for name in names[:NAMED])
    return shown + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def predictions(fitted: Any, rows: Any, model: str) -> dict[str, Any]:
    """Output columns: `prediction` (or `prediction_0`, ...), and `p_<class>` for probabilities."""
    from pellucid.beyond_memory import prediction_columns
    from pellucid.errors import DataError

    if not hasattr(fitted, "predict"):
        raise DataError(f"{model} contains a {type(fitted).__name__}, which cannot predict.")
    return prediction_columns(fitted, rows)


def predict_folder(fitted: Any, file: str, out: str, ids: tuple[str, ...], options: Any) -> None:
    """Predict a table of any size into a folder of Parquet files; continues after a kill."""
    from pellucid.base import Estimator
    from pellucid.data.io.read import read
    from pellucid.data.sources.find import source_of
    from pellucid.errors import DataError, ParameterError

    used = [flag for flag, given in options.items() if given]
    if used:
        raise ParameterError(f"{used[0]} is not available when --out is a folder.")
    if not isinstance(fitted, Estimator) or not hasattr(fitted, "predict"):
        raise DataError(f"a {type(fitted).__name__} cannot predict into a folder: name a file.")
    texts = [
        name
        for name, levels in known_levels(fitted).items()
        if levels and all(isinstance(level, str) for level in levels)
    ]
    fitted.predict_to(source_of(file, text=texts) or read(file, text=texts), out, copy=ids)
