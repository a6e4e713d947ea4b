"""`render(summary)`: the report as one HTML file without external resources.

Everything is inlined: the style sheet, a few kilobytes of script, charts as SVG. The page's content
security policy forbids every request and every script but ours, so text from the table cannot become
code. All charts, tables and rows work without JavaScript, which adds sorting, the threshold slider and
the search. Invariant: equal summaries give equal bytes, at most `CAP` of them; the page lists what was
left out to stay below.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pellucid.draw.label_text import clean
from pellucid.draw.style import CSS, content_policy
from pellucid.report import model_sections, sections, wording
from pellucid.report.views import Detail

ROOT = Path(__file__).parent / "templates"
TARGET, CAP = 1_000_000, 3_000_000
ROOM = 0.8  # share of TARGET; the data tables of a larger page do not fit
LONGEST = 120  # characters of a name
LONG = 150  # characters of an SVG path; shorter ones are not worth sharing
_PATH = re.compile(rf'<path d="[^"<>]{{{LONG},}}"[^<>]*/>')

_FEWER = Detail(
    tables="recommended",
    extras="recommended",
    columns=12,
    rows=12,
    searchable=2000,
    note="To keep this file small, only the recommended model has data tables, all partial "
    "dependence charts and bands around its curves, and fewer columns and rows are shown.",
)
# The gentle steps are taken to reach TARGET, the harsh ones only to stay below CAP.
GENTLE = (
    Detail(),
    Detail(
        tables="recommended",
        note="To keep this file small, only the charts of the recommended model have data tables.",
    ),
    _FEWER,
    replace(_FEWER, columns=6, rows=4, searchable=1000, note=_FEWER.note.replace("fewer", "few")),
)
_GOOD = replace(
    _FEWER,
    tables="none",
    cards="good",
    rows=8,
    searchable=500,
    note="To keep this file below 3 MB, only models as good as the best have a card, and fewer "
    "columns and rows are shown. The leaderboard shows every model.",
)
_RECOMMENDED = replace(
    _GOOD,
    cards="recommended",
    columns=6,
    rows=5,
    searchable=0,
    regions=False,
    note="To keep this file below 3 MB, only the recommended model has a card, and decision "
    "regions and most columns and rows are left out. The leaderboard shows every model.",
)
_NO_CARDS = replace(
    _RECOMMENDED,
    cards="none",
    columns=0,
    rows=0,
    note="To keep this file below 3 MB, cards, rows, columns and decision regions are left "
    "out. The leaderboard shows every model.",
)
HARSH = (_GOOD, _RECOMMENDED, _NO_CARDS)


def render(summary: dict[str, Any]) -> str:
    """The whole report, with less detail if the page would be too large."""
    plane = sections.regions(summary)  # the slowest charts are drawn only once
    page = _gentle(summary, plane)
    for detail in HARSH:
        if size(page) <= CAP:
            break
        page = _page(summary, detail, plane)
    return page


def _gentle(summary: dict[str, Any], plane: Any) -> str:
    """The page with the most detail that reaches TARGET, or the least gentle one.

    Most reports need the third step, and the first one takes longest to draw. So the third is drawn
    first, and more detail only as long as it may fit.
    """
    all_of_it, charts, fewer, few = GENTLE
    page = _page(summary, fewer, plane)
    if size(page) > TARGET:  # beyond 2 * CAP, no gentle step saves enough
        return page if size(page) > 2 * CAP else _page(summary, few, plane)
    for detail, room in ((charts, 1.0), (all_of_it, ROOM)):
        if size(page) > room * TARGET:
            break
        more = _page(summary, detail, plane)
        if size(more) > TARGET:
            break
        page = more
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
    environment.filters |= {
        "name": name,
        "lines": lines,
        "plural": wording.plural,
        "count": "{:,}".format,
    }
    return environment


def name(text: Any, limit: int = LONGEST) -> Any:
    """Text from the table, shortened and isolated from the writing direction of the text around it."""
    from markupsafe import Markup

    whole, shown = clean(text, max(400, limit)), clean(text, limit)
    if shown == whole:
        return Markup("<bdi>{}</bdi>").format(shown)
    return Markup('<bdi title="{}">{}</bdi>').format(whole, shown)


def lines(text: Any, limit: int = 2000) -> str:
    """Text of several lines without control characters."""
    return "\n".join(clean(line, limit) for line in str(text).splitlines()[:400])


def _page(summary: dict[str, Any], detail: Detail, plane: Any) -> str:
    from markupsafe import Markup

    style = (ROOT / "report.css").read_text("utf-8") + CSS
    script = (ROOT / "report.js").read_text("utf-8")
    views = {
        "answer": sections.answer(summary),
        "data": sections.data(summary, detail),
        "board": sections.board(summary),
        "models": model_sections.models(summary, detail),
        "correlated": model_sections.correlated(summary),
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
        policy=content_policy(style, script, "img-src data:; "),
        style=Markup(style),
        script=Markup(script),
        **views,
    )  # fmt: skip
    return shared(page)


def shared(page: str) -> str:
    """The page with every repeated long SVG path written once.

    For example, the decision regions of all models show the same training rows. Only paths of charts
    change, because text from the table is escaped and cannot contain one.
    """
    counts, names = Counter(_PATH.findall(page)), dict[str, str]()

    def written(match: re.Match[str]) -> str:
        path = match.group()
        if counts[path] < 2:
            return path
        if path in names:
            return f'<use href="#{names[path]}"/>'
        names[path] = f"shape-{len(names)}"
        return f'<path id="{names[path]}"{path.removeprefix("<path")}'

    return _PATH.sub(written, page)
