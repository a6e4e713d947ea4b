"""Checks of the built pages: links inside the site work, and nothing is loaded from outside."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src"}


class Page(HTMLParser):
    """The identifiers, the links and the loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.faults: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {found[key] or "" for key in ("id", "name") if key in found}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag in LOADED and found.get(LOADED[tag]):
            self.loaded.append(found[LOADED[tag]] or "")
        if tag == "img" and not found.get("alt"):
            self.faults.append(f"a picture without a text: {found.get('src')}")
        if tag == "iframe" and not found.get("title"):
            self.faults.append(f"a frame without a title: {found.get('src')}")


def faults(site: Path) -> list[str]:
    """Everything that is wrong with the pages of a site, one line each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        where = path.relative_to(site)
        wrong += [f"{where}: {fault}" for fault in page.faults]
        wrong += [f"{where}: loads {url}" for url in page.loaded if _outside(url)]
        targets = [*page.links, *page.loaded]
        wrong += [f"{where}: no {url}" for url in targets if not _exists(url, path, pages)]
    return wrong


def _outside(url: str) -> bool:
    return urlsplit(url).scheme in ("http", "https") or url.startswith("//")


def _exists(url: str, page: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(url)
    if parts.scheme or url.startswith("//"):
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return False
    known = pages[target].ids | {"", "top"} if target in pages else set()
    return not parts.fragment or target not in pages or unquote(parts.fragment) in known
