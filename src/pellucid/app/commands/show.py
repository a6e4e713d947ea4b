"""`pellucid show WHAT`: describe a method, a model file or a run."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from pellucid.app.messages import Messages, as_json_text, json_option, message_options
from pellucid.draw.label_text import cells
from pellucid.report.screen import PIPED, packed, terminal_width, width

LATEST = "runs/latest"
ITEM = re.compile(r"[\w, *]+ : |\d+\. |- ")  # starts a new line: `C : float`, `1. `


@click.command()
@click.argument("what", default=LATEST)
@click.option("--plain", is_flag=True, help="Print the method in plain NumPy, written to be read.")
@json_option()
@message_options
@click.pass_obj
def show(messages: Messages, what: str, plain: bool, as_json: bool) -> None:
    """Show WHAT: a method ('logistic'), a model file, or a run folder (default: runs/latest).

    For a method, shows its objective, its parameters and its source file; with --plain, the method
    built in short NumPy code. A model file is described without running any code from it.
    """
    path = Path(what)
    if plain:
        show_plain(what, as_json)
    elif path.is_file():
        show_model(what, as_json, messages)
    elif what == LATEST or path.exists() or (Path("runs") / what).exists():
        show_run(what, as_json, messages)
    else:
        show_method(what, as_json, messages)


def show_model(path: str, as_json: bool, messages: Messages) -> None:
    """The content of a model file."""
    from pellucid.persist import describe

    found, wide = describe(path), terminal_width(sys.stdout)
    if as_json:
        click.echo(as_json_text(vars(found), indent=1, default=str))
        return
    lines = str(found).splitlines()
    if wide is not None:
        starts = [(" " * _indent(line), line.strip().split(" ")) for line in lines]
        lines = [p for indent, parts in starts for p in packed(parts, indent, "      ", wide)]
    messages.show("\n".join(lines) + "\n")


def show_run(what: str, as_json: bool, messages: Messages) -> None:
    """The leaderboard and the answer of a run."""
    from pellucid.comparison.execution.run_folder import find_run
    from pellucid.report import terminal
    from pellucid.report.write_report import read_run

    folder = find_run(what)
    data = read_run(folder, "results.json")
    if as_json:
        click.echo((folder / "results.json").read_text(encoding="utf-8"), nl=False)
        return
    timings = json.loads((folder / "timings.json").read_text(encoding="utf-8"))
    messages.show(terminal.board(data, timings, width()))


def show_method(name: str, as_json: bool, messages: Messages) -> None:
    """The objective, the parameters and the source file of a method."""
    from pellucid.comparison.planning.registry import ALIASES, ENTRIES
    from pellucid.data.io.source import did_you_mean
    from pellucid.errors import DataError
    from pellucid.names import ESTIMATORS

    found = [e for e in ENTRIES if name.lower() in (e.id, e.class_name.lower())]
    others = [
        (module, known)
        for module, names in ESTIMATORS.items()
        for known in names
        if known.lower() == name.lower() and not found
    ]
    if not found and not others:
        ids = sorted({e.id for e in ENTRIES})
        classes = [known for names in ESTIMATORS.values() for known in names]
        meant = [known for known in ALIASES.get(name.lower().replace("_", ""), ()) if known in ids]
        hint = f" Did you mean '{meant[0]}'?" if meant else did_you_mean(name, [*ids, *classes])
        raise DataError(
            f"'{name}' is not a method, model file or run.{hint} "
            f"Methods: {', '.join(ids)}; or the name of a class."
        )
    facts = [method_facts(entry) for entry in found]
    facts += [class_facts(module, known) for module, known in others]
    if as_json:
        click.echo(as_json_text(facts, indent=1))
        return
    messages.show("\n".join(method_text(fact, width()) for fact in facts))


def show_plain(name: str, as_json: bool) -> None:
    """The source of the constructions of a method, each file once."""
    from pellucid.comparison.planning.registry import ALIASES, ENTRIES
    from pellucid.data.io.source import did_you_mean
    from pellucid.errors import DataError
    from pellucid.plain import METHODS

    low = name.lower()
    asked = {low, *(e.id for e in ENTRIES if e.class_name.lower() == low)}
    if low not in METHODS:
        asked.update(ALIASES.get(low.replace("_", ""), ()))
    made = [(method, one) for method, several in METHODS.items() for one in several]
    found = [one for method, one in made if method in asked or one.__name__.lower() == low]
    if not found:
        hint = did_you_mean(name, [*METHODS, *(one.__name__ for _, one in made)])
        wrong = f"There is no plain construction of '{name}'.{hint}"
        wrong = "--plain needs the name of a method." if name == LATEST else wrong
        raise DataError(f"{wrong} Methods: {', '.join(METHODS)}.")
    sources = {one.__module__: inspect.getsource(sys.modules[one.__module__]) for one in found}
    if as_json:
        click.echo(as_json_text(sources, indent=1))
        return
    click.echo("\n\n".join(f"# {module}\n{text}" for module, text in sources.items()), nl=False)


def method_facts(entry: Any) -> dict[str, Any]:
    """A method as plain data."""
    model = entry.model_class()
    return {
        "id": entry.id,
        "title": entry.title,
        "task": entry.task,
        "says": entry.description,
        "rank": entry.rank,
        **_source(model, entry.module),
        "space": entry.values("normal"),
    }


def class_facts(module: str, name: str) -> dict[str, Any]:
    """A class that comparisons do not use, as plain data."""
    model = getattr(importlib.import_module(module), name)
    says = "available from Python; not part of comparisons"
    return {"id": name, "title": name, "task": module.partition(".")[2], "says": says, "rank": None,
            **_source(model, module), "space": None}  # fmt: skip


def _source(model: type, module: str) -> dict[str, Any]:
    return {
        "class": f"{module}.{model.__name__}",
        "source": inspect.getsourcefile(model),
        "about": inspect.getdoc(model) or "",
    }


def method_text(fact: dict[str, Any], width: int = PIPED) -> str:
    """The description of a method, at most `width` columns wide."""
    from pellucid.app.plan_text import searched

    facts = {"class": fact["class"], "source": fact["source"]}
    if fact["space"] is not None:
        facts["search"] = searched(fact["space"])
    which = "" if fact["title"] == fact["id"] else f"{fact['id']}, "
    head = f"{fact['title']} ({which}{fact['task']}): {fact['says']}"
    lines = packed(head.split(" "), "", "  ", width)
    for name, text in facts.items():
        first, *rest = str(text).split(" ")  # a path stays on the line of its name
        lines += packed(rest, f"{name:<8}{first} ", " " * 8, width)
    about = fact["about"].split("\nExamples\n")[0].rstrip()
    return "\n".join([*lines, "", *reflowed(about, width), ""]) + "\n"


def reflowed(text: str, width: int) -> list[str]:
    """A docstring at another width: paragraphs with a line that is too long are wrapped again.

    Lines of one indentation form a paragraph, unless they have columns, like formulas.
    """
    lines: list[str] = []
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if block and (not line.strip() or _indent(line) != _indent(block[0])):
            lines += _filled(block, width)
            block = []
        if line.strip():
            block.append(line)
        else:
            lines.append("")
    return lines[:-1]


def _filled(block: list[str], width: int) -> list[str]:
    if all(cells(line) <= width for line in block):
        return block
    indent = " " * _indent(block[0])
    together = not any("  " in line.strip() or ITEM.match(line.strip()) for line in block)
    parts = [" ".join(line.strip() for line in block)] if together else block
    out: list[str] = []
    for part in parts:
        more = indent if together else indent + "    "
        fits = cells(part) <= width
        out += [part] if fits else packed(part.strip().split(" "), indent, more, width)
    return out


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
