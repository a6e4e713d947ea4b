"""`pellucid fit MODEL DATA -t TARGET`: fit one model, without a comparison, and save it."""

from typing import Any

import click

from pellucid.app.messages import (
    Messages,
    as_json_text,
    json_option,
    memory_option,
    message_options,
)


@click.command()
@click.argument("model")
@click.argument("file", metavar="DATA")
@click.option("-t", "--target", metavar="COLUMN", help="The column to predict.")
@click.option(
    "--weights", "--weight", "weight", metavar="COLUMN", help="The column with sample weights."
)
@click.option("--features", metavar="COLUMNS", help="The columns to use, separated by commas.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE",
    help="A parameter of the model, such as alpha=0.5; repeatable.",
)  # fmt: skip
@click.option("-o", "--out", default="model.pellucid", show_default=True, help="The model file.")
@memory_option
@json_option()
@message_options
@click.pass_obj
def fit(
    messages: Messages,
    model: str,
    file: str,
    target: str | None,
    weight: str | None,
    features: str | None,
    settings: tuple[str, ...],
    out: str,
    memory: str | None,
    as_json: bool,
) -> None:
    """Fit MODEL, such as LogisticRegression, to DATA and save it.

    DATA is a file of any kind that 'pellucid compare' reads, an Arrow file, a folder of Parquet files
    or a pattern in quotes. All but Excel files can be larger than memory.
    """
    from pellucid.parallel import set_memory
    from pellucid.records.progress_line import ProgressLine
    from pellucid.records.watch import watching

    if memory is not None:
        set_memory(memory)
    estimator = make_model(model, dict(map(setting_of, settings)))
    given = {name: column for name, column in (("y", target), ("sample_weight", weight)) if column}
    if estimator._target != "none" and target is None:
        raise click.UsageError(f"{model} predicts a target: name its column with -t.")
    line = ProgressLine.of_command(messages.level)
    try:
        with watching(state=False, progress=line):
            estimator.fit(data_of(file, features, list(given.values())), **given)
    finally:
        if line is not None:
            line.end()
    estimator.save(out)
    facts = getattr(estimator, "fit_report_", {})
    facts |= {"model": model, "path": out, "columns": estimator.n_features_in_}
    click.echo(as_json_text(facts, indent=1) if as_json else as_text(facts))


def make_model(name: str, given: dict[str, Any]) -> Any:
    """A new estimator by the name of its class."""
    import importlib

    from pellucid.data.io.source import did_you_mean
    from pellucid.errors import ParameterError
    from pellucid.names import ESTIMATORS

    homes = {label: module for module, labels in ESTIMATORS.items() for label in labels}
    if name not in homes:
        pair = [label for label in homes if label.lower().startswith(name.lower())]
        hint = did_you_mean(name, homes) or f" Models: {', '.join(homes)}."
        if len(pair) == 2:  # a classifier and a regressor
            hint = f" Did you mean {' or '.join(map(repr, pair))}?"
        raise ParameterError(f"there is no model {name!r}.{hint}")
    return getattr(importlib.import_module(homes[name]), name)().set_params(**given)


def setting_of(text: str) -> tuple[str, Any]:
    """`alpha=0.5` as a name and a value; what is no JSON value is text."""
    import json

    name, mark, value = text.partition("=")
    if not mark:
        raise click.UsageError(f"--set {text}: write NAME=VALUE.")
    words = {"None": None, "True": True, "False": False}
    if value in words:
        return name, words[value]
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def data_of(file: str, features: str | None, roles: list[str]) -> Any:
    """The table, as a source where it can be one, with the chosen columns."""
    from pellucid.data.opening import source_behind

    source = source_behind(file)
    if features is None:
        return source or file
    names = [name.strip() for name in features.split(",")]
    if source is None:
        from pellucid.data.io.read import read

        return read(file, columns=[*names, *(role for role in roles if role not in names)])
    from pellucid.data.sources.find import scan

    return scan(source, features=names)


def as_text(facts: dict[str, Any]) -> str:
    """One line about the model, and one about memory if the table did not fit."""
    from pellucid.parallel.memory import shown_size

    lines = [f"{facts['model']} on {facts['columns']} columns saved to {facts['path']}"]
    if "peak_memory" in facts:
        lines.append(
            f"{facts['rows']:,} rows in {facts['seconds']:.1f} s. Memory: "
            f"{shown_size(facts['peak_memory'])} of {shown_size(facts['memory_limit'])}. "
            f"Scratch files: {shown_size(facts['scratch_bytes'])}."
        )
    return "\n".join(lines)
