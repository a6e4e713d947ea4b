"""The pages of docs/ and README as programs: their blocks of code, run from top to bottom.

On a page, `python` blocks run in order in one namespace (with `>>>` as doctests), lines that begin
with `$` in `console` blocks run in a shell and must print what stands below them. All of it runs in
one folder that is empty at first. Other kinds of blocks are not executed.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ELLIPSIS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def all_pages() -> list[Path]:
    """README and every page of docs/."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path) -> list[tuple[str, int, str]]:
    """The fenced blocks of a page: kind, line of its first line, text."""
    found, start, kind, fence = [], 0, "", ""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        opening = re.match(r"(`{3,})(.*)", line)
        if opening and not start:
            start, fence, kind = number, opening[1], opening[2].strip()
        elif start and line.rstrip() == fence:
            found.append((kind, start + 1, "\n".join(lines[start : number - 1]) + "\n"))
            start = 0
    return found


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """`change` applied to everything but the fenced blocks."""
    parts = re.split(r"(^(`{3,})[^\n]*\n.*?^\2[ ]*$)", text, flags=re.M | re.S)
    return "".join(
        change(prose) + fenced for prose, fenced in zip(parts[::3], [*parts[1::3], ""], strict=True)
    )


def run_page(page: Path, folder: Path) -> None:
    """Run all code of a page in a folder; raise an error that points at the line if it is wrong."""
    names = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for kind, line, text in blocks(page):
            if kind == "python":
                run_python(text, names, page, line)
            elif kind == "console":
                run_console(text, page, line)
    missing = _unsaved(page, folder)
    assert not missing, f"{page.name}: no code block saves the replay {missing}"


def save_replays(page: Path, folder: Path) -> None:
    """Run the Python blocks of a page until its replays are saved."""
    names = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for kind, line, text in blocks(page):
            if kind == "python" and _unsaved(page, folder):
                run_python(text, names, page, line)


def _unsaved(page: Path, folder: Path) -> list[str]:
    return [name for name in replays(page) if not (folder / name).is_file()]


def run_python(text: str, names: dict, page: Path, line: int) -> None:
    """Execute a block in the page's namespace; errors point at the line of the page."""
    where = os.path.relpath(page, ROOT)
    if ">>>" not in text:
        exec(compile("\n" * (line - 1) + text, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, where, where, line - 1)
    heard = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=ELLIPSIS, verbose=False)
    runner.run(test, out=heard.write, clear_globs=False)
    names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, heard.getvalue()


def run_console(text: str, page: Path, line: int) -> None:
    """Run each `$ command` with this environment's programs first; compare what it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        shell = ["bash", "-c", command]
        done = subprocess.run(
            shell,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path, "COLUMNS": "100"},
        )
        printed = done.stdout + done.stderr
        where = f"{page.name}:{line}: $ {command}\n{printed}"
        if not expected.startswith("error"):
            assert done.returncode == 0, where
        assert doctest.OutputChecker().check_output(expected, printed, ELLIPSIS), where


def replays(page: Path) -> list[str]:
    """The files of the replays that a page embeds."""
    kinds = (kind.split() for kind, _, _ in blocks(page))
    return [words[1] for words in kinds if words[:1] == ["{replay}"]]


def pictures(page: Path) -> list[str]:
    """The names of the SVG files in docs/img that a page shows."""
    return re.findall(r"!\[[^\]]+\]\((?:\.\./|docs/)*img/(\w+\.svg)\)", page.read_text())


def outline(svg: str) -> str:
    """A picture without its numbers, its image and the number of ticks on an axis.

    The last digits may differ between machines, and t-SNE makes another map of them.
    """
    svg = re.sub(r"data:image/png;base64,[^\"]+", "", svg)
    svg = re.sub(r"-?\d+\.?\d*", "0", svg)
    svg = re.sub(r"(M0 0L0 0)+", r"\1", svg)
    return re.sub(r'(<text x="0" y="0">0</text>)+', r"\1", svg)


def check_pictures(page: Path, folder: Path) -> None:
    """The pictures that the code of a page saved in `folder` are those of docs/img."""
    for name in pictures(page):
        if (folder / name).is_file():
            kept = DOCS / "img" / name
            drawn = outline((folder / name).read_text())
            stale = f"run `python -m docs pictures {page.stem}`: {name} changed"
            assert kept.is_file() and outline(kept.read_text()) == drawn, stale
