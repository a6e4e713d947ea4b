"""The source of the site: the pages of docs/, the reference, the replays, and the files they link to.

Links to source files lead to a page that shows the file, links to a package to its reference. The
sections of index.md and the links in them are the table of contents.
"""

import contextlib
import io
import multiprocessing
import os
import re
import shutil
import tempfile
from functools import partial
from pathlib import Path

from docs.site.comparison import filled
from docs.site.pages import DOCS, ROOT, outside_fences, replays, save_replays
from docs.site.reference import modules, toctree, write_reference

LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")
LANGUAGES = {
    ".py": "python",
    ".pyx": "cython",
    ".pxd": "cython",
    ".toml": "toml",
    ".md": "markdown",
}


class Site:
    """Copies pages into a folder and collects what they link to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.waiting, self.done = folder, [], set()

    def add(self, path: Path, where: str) -> None:
        """Write a Markdown page at `where`, with its links turned into those of the site."""
        self.done.add(where)
        change = partial(LINK.sub, lambda match: self._link(match, path, where))
        text = outside_fences(filled(path.read_text(), path.stem), change)
        target = self.folder / where
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def _link(self, match: re.Match, page: Path, where: str) -> str:
        target = (page.parent / match[1]).resolve()
        if target.is_relative_to(DOCS):
            new = str(target.relative_to(DOCS))
        else:
            new = self._outside(target)
        return os.path.relpath(new, Path(where).parent) + (match[2] or "")

    def _outside(self, target: Path) -> str:
        """The page of a file or a folder that is not in docs/."""
        inside = target.relative_to(ROOT)
        if inside.suffix == ".md" and len(inside.parts) == 1:
            self.waiting.append((target, new := f"project/{inside.name}"))
            return new
        if target.is_dir():
            name = ".".join(inside.parts[1:])
            known = [
                module for module in modules() if name == module or name.startswith(f"{module}.")
            ]
            if inside.parts[0] == "src" and known:
                return f"api/{max(known, key=len)}.md"
            new = f"source/{inside}/index.md"
        else:
            new = f"source/{inside}.md"
        self.waiting.append((target, new))
        return new

    def finish(self) -> None:
        """Write the pages that other pages link to, and those that these link to."""
        while self.waiting:
            target, where = self.waiting.pop()
            if where not in self.done:
                self.add(target, where) if where.startswith("project/") else self._source(
                    target, where
                )

    def _source(self, target: Path, where: str) -> None:
        """A page that shows a file, or lists a folder."""
        self.done.add(where)
        page = self.folder / where
        page.parent.mkdir(parents=True, exist_ok=True)
        title = f"---\norphan: true\n---\n\n# {target.relative_to(ROOT)}\n\n"
        if target.is_dir():
            files = sorted(p for p in target.iterdir() if p.suffix in LANGUAGES)
            rows = []
            for path in files:
                new = self._outside(path)
                rows.append(f"- [{path.name}]({os.path.relpath(new, Path(where).parent)})")
            page.write_text(title + "\n".join(rows) + "\n")
            return
        kind = LANGUAGES.get(target.suffix, "text")
        page.write_text(f"{title}{'`' * 6}{kind}\n{target.read_text()}\n{'`' * 6}\n")


def assemble(folder: Path) -> None:
    """Write the whole source tree for Sphinx into `folder`."""
    site = Site(folder)
    for page in sorted(DOCS.rglob("*.md")):
        site.add(page, str(page.relative_to(DOCS)))
    site.finish()
    shutil.copytree(DOCS / "img", folder / "img")
    write_reference(folder / "api")
    _add_contents(folder, sorted(site.done))


def _add_contents(folder: Path, written: list[str]) -> None:
    """Toctrees at the end of index.md: its sections are captions, their links the entries."""
    index = folder / "index.md"
    text = index.read_text()
    listed: set[str] = set()
    trees = []
    for section in re.split(r"^## ", text, flags=re.M):
        caption = section.partition("\n")[0]
        links = [m[1].removesuffix(".md") for m in LINK.finditer(section) if m[1].endswith(".md")]
        new = [link for link in dict.fromkeys(links) if link not in listed]
        listed.update(new)
        if new:
            trees.append(toctree(new, "" if caption.startswith("# ") else caption))
    project = [w.removesuffix(".md") for w in written if w.startswith("project/")]
    project = [name for name in project if name not in listed]
    trees.append(toctree(["api/index", *project], "Reference and project"))
    index.write_text(text + "\n" + "\n".join(trees))


def make_replays(folder: Path) -> None:
    """Run the pages that embed a replay, and keep the files."""
    folder.mkdir(parents=True)
    pages = [page for page in sorted(DOCS.rglob("*.md")) if replays(page)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for found in pool.imap_unordered(_replays_of, pages):
            for name, text in found.items():
                if (folder / name).exists():
                    raise ValueError(f"two pages save a replay called {name}")
                (folder / name).write_text(text)


def _replays_of(page: Path) -> dict[str, str]:
    printed = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, printed:
        save_replays(page, Path(folder))
        return {name: (Path(folder) / name).read_text() for name in replays(page)}
