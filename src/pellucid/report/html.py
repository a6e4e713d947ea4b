"""`render(summary)`: the report as one HTML file that needs nothing else and asks nobody.

Everything is inlined: style, a few kilobytes of script, charts as SVG. The page's own content policy
forbids every request and every script but ours, so text of the table cannot become code. Without
JavaScript all charts, tables and rows are there; with it tables sort, thresholds slide, rows filter.
Invariant: equal summaries give equal bytes, never more than `CAP` of them; what had to be left out
to stay below is said on the page.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from pellucid.draw.label_text import clean
from pellucid.draw.style import CSS
from pellucid.report import model_sections, sections, wording
from pellucid.report.privacy import without_rows
from pellucid.report.svg_dedup import shared
from pellucid.report.views import Detail

ROOT = Path(__file__).parent / "templates"
TARGET, CAP = 1_000_000, 3_000_000
LONGEST = 120  # characters of a name

# Gentle steps come first and are taken to reach TARGET; the others only to stay below CAP.
GENTLE = (
    Detail(),
    Detail(
        tables="recommended",
        said="To keep this file small, only the charts of the recommended model have data tables.",
    ),
    Detail(
        tables="recommended",
        columns=12,
        rows=12,
        searchable=2000,
        dependences="recommended",
        bands="recommended",
        said="To keep this file small, data tables, dependences and the bands of curves are given for "
        "the recommended model only, and fewer columns and rows are drawn.",
    ),
    Detail(
        tables="recommended",
        columns=6,
        rows=4,
        searchable=1000,
        dependences="recommended",
        bands="recommended",
        said="To keep this file small, data tables, dependences and the bands of curves are given for "
        "the recommended model only, and few columns and rows are drawn.",
    ),
)
HARSH = (
    Detail(
        tables="none",
        dependences="recommended",
        bands="recommended",
        cards="good",
        columns=12,
        rows=8,
        searchable=500,
        said="To keep this file below 3 MB, only models as good as the best have a card, and fewer "
        "columns and rows are drawn. The leaderboard shows every model.",
    ),
    Detail(
        tables="none",
        dependences="recommended",
        bands="recommended",
        cards="recommended",
        columns=6,
        rows=5,
        searchable=0,
        regions=False,
        said="To keep this file below 3 MB, only the recommended model has a card, and decision "
        "regions and most columns and rows are left out. The leaderboard shows every model.",
    ),
    Detail(
        tables="none",
        dependences="recommended",
        bands="recommended",
        cards="none",
        columns=0,
        rows=0,
        searchable=0,
        regions=False,
        said="To keep this file below 3 MB, cards, rows, columns and decision regions are left "
        "out. The leaderboard shows every model.",
    ),
)


def render(summary: dict[str, Any], *, rows: bool = True) -> str:
    """The whole report; `rows=False` takes every cell of the table out first."""
    shown = summary if rows else without_rows(summary)
    plane = sections.regions(shown)  # the slowest charts: drawn once for all steps
    page = _page(shown, GENTLE[0], plane)
    for detail in GENTLE[1:]:
        if size(page) <= TARGET or size(page) > 2 * CAP:  # gentle steps cannot save so much
            break
        page = _page(shown, detail, plane)
    for detail in HARSH:
        if size(page) <= CAP:
            break
        page = _page(shown, detail, plane)
    return page


def size(page: str) -> int:
    """Bytes of the file."""
    return len(page.encode("utf-8", "replace"))


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(ROOT),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    environment.filters["name"] = name
    environment.filters["lines"] = lines
    environment.filters["plural"] = wording.plural
    environment.filters["count"] = count
    return environment


def name(text: Any, limit: int = LONGEST) -> Any:
    """Text of the table, shortened, and kept apart from the direction of the text around it."""
    from markupsafe import Markup

    whole, shown = clean(text, max(400, limit)), clean(text, limit)
    if shown == whole:
        return Markup("<bdi>{}</bdi>").format(shown)
    return Markup('<bdi title="{}">{}</bdi>').format(whole, shown)


def count(amount: float) -> str:
    """A number of rows: thousands apart by commas, as everywhere on the page."""
    return f"{amount:,}"


def lines(text: Any, limit: int = 2000) -> str:
    """Text of several lines without characters that hide or turn it."""
    return "\n".join(clean(line, limit) for line in str(text).splitlines()[:400])


@cache
def _assets() -> tuple[str, str]:
    style = (ROOT / "report.css").read_text("utf-8") + CSS
    return style, (ROOT / "report.js").read_text("utf-8")


def policy(style: str, script: str) -> str:
    """Only our own style and script, pictures inside the file, and no request to anywhere."""
    sums = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{sums[0]}'; script-src 'sha256-{sums[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _page(summary: dict[str, Any], detail: Detail, plane: Any) -> str:
    from markupsafe import Markup

    style, script = _assets()
    views = {
        "answer": sections.answer(summary),
        "data": sections.data(summary, detail),
        "board": sections.board(summary),
        "cards": model_sections.cards(summary, detail),
        "learned": model_sections.learned(summary, detail),
        "alike": model_sections.alike(summary),
        "regions": plane if detail.regions else None,
        "rows": sections.rows(summary, detail),
        "test": sections.test(summary),
        "reproduce": sections.reproduce(summary, detail),
    }
    page = _environment().get_template("report.html").render(
        title=summary.get("title") or summary["data"]["name"],
        plan=summary["plan"],
        target=summary["data"]["target"],
        task=summary["data"]["task"],
        no_rows=bool(summary.get("no_rows")),
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        **views,
    )  # fmt: skip
    return shared(page)
