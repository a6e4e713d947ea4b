"""`pellucid show WHAT`: a method, a model file or a run, in this order; nothing is executed."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import click

from pellucid.app.messages import Voice, voice_options
from pellucid.draw.label_text import cells
from pellucid.report.screen import PIPED, packed, terminal_width, width

LATEST = "runs/latest"
ITEM = re.compile(r"[\w, *]+ : |\d+\. |- ")  # what begins a line of its own: `C : float`, `1. `


@click.command()
@click.argument("what", default=LATEST)
@click.option("--json", "as_json", is_flag=True, envvar="PELLUCID_JSON", help="As JSON.")
@voice_options
@click.pass_obj
def show(voice: Voice, what: str, as_json: bool) -> None:
    """Show WHAT: a method ('logistic'), a model file, or a run folder (default: runs/latest).

    A method is described by its objective, its parameters and where its source is. A model file is
    described without building the model: no code of a file can run.
    """
    path = Path(what)
    if path.is_file():
        show_model(what, as_json)
    elif what == LATEST or path.exists() or (Path("runs") / what).exists():
        show_run(what, as_json, voice)
    else:
        show_method(what, as_json)


def show_model(path: str, as_json: bool) -> None:
    """What a model file says of itself."""
    from pellucid.persist import describe

    told, wide = describe(path), terminal_width(sys.stdout)
    if as_json:
        click.echo(json.dumps(vars(told), ensure_ascii=False, indent=1, default=str))
        return
    lines = str(told).splitlines()
    if wide is not None:
        starts = [(" " * _indent(line), line.strip().split(" ")) for line in lines]
        lines = [p for indent, parts in starts for p in packed(parts, indent, "      ", wide)]
    click.echo("\n".join(lines))


def show_run(what: str, as_json: bool, voice: Voice) -> None:
    """The board of a run."""
    from pellucid.comparison.execution.run_folder import find_run
    from pellucid.errors import DataError
    from pellucid.report import terminal

    folder = find_run(what)
    path = folder / "results.json"
    if not path.exists():
        raise DataError(
            f"{folder} has no results yet. Continue it: pellucid compare --resume --out "
            f"{quote(str(folder))}"
        )
    if as_json:
        click.echo(path.read_text(encoding="utf-8"), nl=False)
        return
    data = json.loads(path.read_text(encoding="utf-8"))
    timings = json.loads((folder / "timings.json").read_text(encoding="utf-8"))
    voice.show(terminal.board(data, timings, width()))


def show_method(name: str, as_json: bool) -> None:
    """What a method is, its objective, and where its source stands."""
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
            f"Methods: {', '.join(ids)}; or the name of any class."
        )
    facts = [method_facts(entry) for entry in found]
    facts += [class_facts(module, known) for module, known in others]
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    click.echo("\n".join(method_text(fact, width()) for fact in facts), nl=False)


def method_facts(entry: Any) -> dict[str, Any]:
    """A method in plain data."""
    model = entry.model_class()
    return {
        "id": entry.id,
        "task": entry.task,
        "says": entry.description,
        "rank": entry.rank,
        **_source(model, entry.module),
        "space": {
            name: axis.values() if hasattr(axis, "values") else list(axis)
            for name, axis in entry.axes("normal").items()
        },
    }


def class_facts(module: str, name: str) -> dict[str, Any]:
    """A class that takes no part in comparisons, in plain data."""
    model = getattr(importlib.import_module(module), name)
    says = "for use from Python; takes no part in comparisons"
    return {"id": name, "task": module.partition(".")[2], "says": says, "rank": None,
            **_source(model, module), "space": None}  # fmt: skip


def _source(model: type, module: str) -> dict[str, Any]:
    return {
        "class": f"{module}.{model.__name__}",
        "source": inspect.getsourcefile(model),
        "about": inspect.getdoc(model) or "",
    }


def method_text(fact: dict[str, Any], width: int = PIPED) -> str:
    """For a reader."""
    from pellucid.app.plan_text import searched

    facts = {"class": fact["class"], "source": fact["source"]}
    if fact["space"] is not None:
        facts["search"] = searched(fact["space"])
    lines = packed(f"{fact['id']} ({fact['task']}): {fact['says']}".split(" "), "", "  ", width)
    for name, text in facts.items():
        first, *rest = str(text).split(" ")  # a path stands behind its name, however long it is
        lines += packed(rest, f"{name:<8}{first} ", " " * 8, width)
    about = fact["about"].split("\nExamples\n")[0].rstrip()
    return "\n".join([*lines, "", *reflowed(about, width), ""]) + "\n"


def reflowed(text: str, width: int) -> list[str]:
    """A docstring in a narrower page: paragraphs with too long a line are filled anew.

    Lines of one indentation belong together unless they are set in columns, as formulas are.
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
