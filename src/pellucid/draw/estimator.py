"""The card that a notebook shows for an estimator: name, state, facts, parameters, one picture.

Invariant: plain data in, escaped HTML out; changed parameters are marked by a word, not by colour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.style import style_sheet
from pellucid.draw.text_table import fact_list

LONGEST_VALUE = 120


def estimator_card(
    name: str,
    params: Mapping[str, Any],
    defaults: Mapping[str, Any],
    fitted: bool,
    facts: Mapping[str, Any],
    chart_svg: str | None = None,
) -> str:
    """An estimator as HTML.

    Parameters
    ----------
    name : class name.
    params, defaults : values now, and in the signature; differing ones are marked as changed.
    fitted : whether the estimator has been fitted.
    facts : what fitting found, as short key-value pairs.
    chart_svg : a chart made by this package (markup, inserted as it is).
    """
    state = "fitted" if fitted else "not fitted"
    head = svg.element("span", words.escape(words.clean(name)) or "&#160;", class_="pl-name")
    head += svg.element("span", state, class_="pl-state")
    parts = [
        style_sheet(),
        svg.element("div", head),
        fact_list(facts),
        _parameters(params, defaults),
    ]
    if chart_svg:
        parts.append(svg.element("div", chart_svg))
    return svg.element("div", "".join(parts), class_="pl pl-card")


def _parameters(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    if not params:
        return svg.element("p", "No parameters.", class_="pl-note")
    changed = {
        key for key in params if key not in defaults or not _same(params[key], defaults[key])
    }
    rows = "".join(_row(key, value, defaults, key in changed) for key, value in params.items())
    heads = "".join(
        svg.element("th", text, scope="col") for text in ("parameter", "value", "default")
    )
    table = svg.element(
        "table", svg.element("thead", svg.element("tr", heads)) + svg.element("tbody", rows)
    )
    count = f"{len(changed)} changed" if changed else "all defaults"
    summary = svg.element("summary", f"Parameters ({len(params)}, {count})")
    return svg.element("details", summary + table)


def _row(key: str, value: Any, defaults: Mapping[str, Any], changed: bool) -> str:
    default = _shown(defaults[key]) if key in defaults else ""
    cells = [
        svg.element("th", words.escape(words.clean(key)) or "&#160;", scope="row"),
        svg.element("td", _shown(value)),
        svg.element("td", f"changed, was {default}" if changed and default else "&#160;"),
    ]
    return svg.element("tr", "".join(cells), class_="pl-changed" if changed else None)


def _shown(value: Any) -> str:
    return words.escape(words.clean(repr(value), LONGEST_VALUE)) or "&#160;"


def _same(a: Any, b: Any) -> bool:
    """Equal as parameters: identical, or of one type and equal (arrays: element for element)."""
    if a is b:
        return True
    if type(a) is not type(b) and not (_plain(a) and _plain(b)):
        return False
    if isinstance(a, float) and a != a:
        return b != b
    try:
        equal = a == b
        return bool(equal.all()) if hasattr(equal, "all") else bool(equal)
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
