"""Checks of the built pages: links inside the site work, and nothing is loaded from outside."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

TAG = re.compile(r"<(a|img|script|iframe|link|source)\b([^>]*)>")
ATTRIBUTE = re.compile(r'\b(href|src|alt|title)="([^"]*)"')
ID = re.compile(r'\b(?:id|name)="([^"]*)"')


class Page:
    """The identifiers, the links, the loaded files and the faults of a page."""

    def __init__(self, path: Path) -> None:
        text = path.read_text()
        self.ids = {*ID.findall(text), "", "top"}
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.faults: list[str] = []
        for tag, inside in TAG.findall(text):
            found = dict(ATTRIBUTE.findall(inside))
            url = found.get("href") or found.get("src")
            if url:
                (self.links if tag == "a" else self.loaded).add(url)
            if tag == "img" and not found.get("alt"):
                self.faults.append(f"a picture without a text: {url}")
            if tag == "iframe" and not found.get("title"):
                self.faults.append(f"a frame without a title: {url}")


def faults(site: Path) -> list[str]:
    """Everything that is wrong with the pages of a site, one line each."""
    pages = {str(path): Page(path) for path in sorted(site.resolve().rglob("*.html"))}
    files = {str(path) for path in site.resolve().rglob("*") if path.is_file()}
    wrong = []
    for path, page in pages.items():
        where = os.path.relpath(path, site)
        wrong += [f"{where}: {fault}" for fault in page.faults]
        wrong += [f"{where}: loads {url}" for url in page.loaded if _outside(url)]
        targets = sorted(page.links | page.loaded)
        wrong += [f"{where}: no {url}" for url in targets if not _exists(url, path, pages, files)]
    return wrong


def _outside(url: str) -> bool:
    return url.startswith(("http:", "https:", "//"))


def _exists(url: str, page: str, pages: dict[str, Page], files: set[str]) -> bool:
    if _outside(url) or url.startswith(("mailto:", "data:")):
        return True
    parts = urlsplit(url)
    target = os.path.normpath(os.path.join(os.path.dirname(page), unquote(parts.path)))
    target = target if parts.path else page
    if target not in files:
        return False
    return target not in pages or unquote(parts.fragment) in pages[target].ids
