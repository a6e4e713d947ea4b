"""The API reference as Markdown: a page per module, one per class, and the command line.

Everything comes from signatures and docstrings; those of estimators are made from their declarations.
"""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pellucid

# Modules that the documentation imports from, beside those at the top of the package.
FURTHER = ("pellucid.data.datasets", "pellucid.errors")
# Classes of results: users get instances and never import them.
RESULTS = {
    "Description": "pellucid.persist.description",
    "Explanation": "pellucid.records",
    "Prototypes": "pellucid.records",
    "Replay": "pellucid.replays",
    "Result": "pellucid.comparison.result",
    "Status": "pellucid.records",
    "SummaryTable": "pellucid.records",
}
SECTION = re.compile(r"^([A-Z][a-z]+)\n-{3,}\n", re.M)


def modules() -> list[str]:
    """The names of all public modules."""
    top = (getattr(pellucid, name) for name in pellucid.__all__)
    found = {value.__name__ for value in top if inspect.ismodule(value)}
    return sorted(found | {*FURTHER})


def members(path: str) -> dict[str, Any]:
    """The public names of a module: `__all__`, or what it defines itself."""
    module = importlib.import_module(path)
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == path
    ]
    return {name: getattr(module, name) for name in sorted(names)}


def write_reference(folder: Path) -> None:
    """Write all pages of the reference into `folder`."""
    folder.mkdir(parents=True)
    rows = []
    for path in modules():
        public = members(path)
        rows.append(f"| [`{path}`]({path}.md) | {_summary(importlib.import_module(path))} |")
        _write_module(folder, path, public)
    top = {n: getattr(pellucid, n) for n in pellucid.__all__}
    own = {n: v for n, v in top.items() if callable(v) and not inspect.ismodule(v)}
    _write_module(folder, "pellucid", own)
    found = {n: getattr(importlib.import_module(path), n) for n, path in RESULTS.items()}
    _write_module(folder, "results", found)
    (folder / "command_line.md").write_text(_command_line())
    head = (
        "| module | contents |\n|---|---|\n| [`pellucid`](pellucid.md) | Functions at the top. |\n"
    )
    rest = "| [results](results.md) | Classes of what functions and methods return. |\n"
    rest += "| [command line](command_line.md) | The options of every command. |\n"
    names = ["pellucid", *modules(), "results", "command_line"]
    text = f"# Reference\n\n{head}" + "\n".join(rows) + f"\n{rest}\n" + toctree(names)
    (folder / "index.md").write_text(text)


def toctree(names: list[str], caption: str = "") -> str:
    """A hidden toctree."""
    lines = [":hidden:", *([f":caption: {caption}"] if caption else []), "", *names]
    return "```{toctree}\n" + "\n".join(lines) + "\n```\n"


def _summary(value: Any) -> str:
    first = (inspect.getdoc(value) or "").split("\n\n")[0]
    return _markdown(" ".join(first.split())).replace("|", "\\|")


def _write_module(folder: Path, path: str, public: dict[str, Any]) -> None:
    """The page of a module, with its functions; each class that is no exception has its own page."""
    prose = "" if path in ("pellucid", "results") else inspect.getdoc(importlib.import_module(path))
    classes = {n: v for n, v in public.items() if _has_page(v)}
    others = {n: v for n, v in public.items() if callable(v) and n not in classes}
    text = f"# {path}\n\n{_markdown(prose or '')}\n\n"
    if classes:
        rows = [f"| [`{n}`]({path}.{n}.md) | {_summary(v)} |" for n, v in classes.items()]
        text += "| class | purpose |\n|---|---|\n" + "\n".join(rows) + "\n\n"
    for name, value in classes.items():
        heading = f"{path}.{name}".removeprefix("pellucid.").removeprefix("results.")
        title = f"---\norphan: true\n---\n\n# {heading}\n\n[`{path}`]({path}.md)\n\n"
        (folder / f"{path}.{name}.md").write_text(title + _class(f"{path}.{name}", value))
    text += "\n".join(f"## {n}\n\n{_function(f'{path}.{n}', v)}" for n, v in others.items())
    (folder / f"{path}.md").write_text(text)


def _has_page(value: Any) -> bool:
    return inspect.isclass(value) and not issubclass(value, BaseException)


def _function(path: str, value: Any) -> str:
    kind = "exception" if inspect.isclass(value) else "function"
    return _object(kind, path, _signature(value), _docstring(inspect.getdoc(value) or ""))


def _class(path: str, cls: type) -> str:
    """Constructor, docstring, then the methods with theirs."""
    listed = _object("class", path, _signature(cls), _docstring(inspect.getdoc(cls) or ""))
    methods = [
        _object("method", f"{path}.{name}", _signature(value), _docstring(inspect.getdoc(value)))
        for name, value in inspect.getmembers(cls)
        if not name.startswith("_") and inspect.isroutine(value) and inspect.getdoc(value)
    ]
    return listed + ("\n## Methods\n\n" + "\n".join(methods) if methods else "")


def _signature(value: Any) -> str:
    """The arguments with short defaults, without `self`; nothing where Python knows none."""
    try:
        signed = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    parameters = [p for p in signed.parameters.values() if p.name != "self"]
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    bare = [p.replace(annotation=inspect.Parameter.empty, default=_default(p)) for p in parameters]
    return str(inspect.Signature(bare))


class _Shown:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(parameter: inspect.Parameter) -> Any:
    """A default whose text is Python that Sphinx can read."""
    if parameter.default is inspect.Parameter.empty:
        return parameter.default
    text = parameter.default.__name__ if callable(parameter.default) else repr(parameter.default)
    return _Shown(text if re.fullmatch(r"[\w.+\-'\"(), \[\]{}:]*", text) else "...")


def _object(kind: str, path: str, signature: str, body: str) -> str:
    """A directive of Sphinx's Python domain, which makes the object known to the search."""
    fence = "`" * 6
    return f"{fence}{{py:{kind}}} {path}{signature}\n\n{body}\n{fence}\n"


def _docstring(text: str | None) -> str:
    """A docstring in numpydoc's format as Markdown."""
    about, *rest = SECTION.split(text or "")
    out = [_markdown(about)]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        listed = title in ("Parameters", "Attributes", "Returns", "Raises", "Yields")
        out.append(f"**{title}**\n\n" + (_entries(body) if listed else _markdown(body)))
    return "\n\n".join(part for part in out if part.strip())


def _entries(body: str) -> str:
    """`name : type` with an indented description, as a list."""
    lines = []
    for entry in re.split(r"^(?=\S)", body.strip("\n"), flags=re.M):
        head, _, description = entry.partition("\n")
        if head.strip():
            name, _, kind = head.partition(" : ")
            shown = f"- **`{name.strip()}`**" + (f" ({_markdown(kind.strip())})" if kind else "")
            # Descriptions are wrapped: a minus at the start of a line opens no list.
            joined = re.sub(r"\n(?=[-+*] )", " ", inspect.cleandoc(description))
            words = _markdown(joined).replace("\n", "\n  ")
            lines.append(f"{shown}: {words}" if words.strip() else shown)
    return "\n".join(lines)


def _markdown(text: str) -> str:
    """Plain text with `code` in backticks, indented formulas and examples, as Markdown."""
    parts = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if re.match(r"\s*>>>", part):
            parts.append("```pycon\n" + inspect.cleandoc(part) + "\n```")
        elif part.startswith("    "):
            parts.append("```text\n" + inspect.cleandoc(part) + "\n```")
        else:
            parts.append(_escaped(part))
    return "\n\n".join(parts)


def _escaped(text: str) -> str:
    """Characters that Markdown would read as markup, outside of `code`."""
    pieces = re.split(r"(`[^`]+`)", text)
    plain = [
        re.sub(r"([*<>$\[\]|])", r"\\\1", p) if i % 2 == 0 else p for i, p in enumerate(pieces)
    ]
    return re.sub(r"^(\s*)([-+#]|\d+\.)(?=\S)", r"\1\\\2", "".join(plain), flags=re.M)


def _command_line() -> str:
    """The help of every command, as it is printed."""
    import click

    from pellucid.app.cli import cli

    context = click.Context(cli, info_name="pellucid", max_content_width=96)
    texts = [f"# Command line\n\n```text\n{cli.get_help(context)}\n```\n"]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context, max_content_width=96)
        texts.append(f"## {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(texts)
