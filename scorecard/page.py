"""The scorecard as one page of HTML, without scripts or anything from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

STYLE = """body{font:16px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{padding:.35rem .6rem;text-align:left;vertical-align:top;
border-bottom:1px solid #ddd}td.n{text-align:right;font-variant-numeric:tabular-nums}
.kept{color:#0a6b2d}.BROKEN{color:#a30000;font-weight:600}.part{color:#7a5600}.later{color:#666}
details pre{white-space:pre-wrap;font-size:.85rem}"""
HEAD = ("#", "check", "promise", "pass mark", "wanted", "tried", "bad", "verdict")


def page(results: list[dict[str, Any]]) -> str:
    """All rows in a table; the bad cases of a row fold out."""
    rows = "\n".join(_row(result) for result in results)
    head = "".join(f"<th>{name}</th>" for name in HEAD)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Scorecard of Pellucid</title>\n'
        f"<style>{STYLE}</style>\n<h1>Scorecard</h1>\n<table><thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody></table></html>\n"
    )


def _row(result: dict[str, Any]) -> str:
    texts = [str(result["number"]), result["row"], result["promise"], result["mark"]]
    counts = [f"{result[name]:,}" for name in ("wanted", "tried", "bad")]
    cells = [f"<td>{escape(text)}</td>" for text in texts]
    cells += [f'<td class="n">{count}</td>' for count in counts]
    word = result["verdict"]
    detail = ""
    if result["detail"]:
        text = escape("\n".join(result["detail"]))
        detail = (
            f"<details><summary>{len(result['detail'])} shown</summary><pre>{text}</pre></details>"
        )
    return f'<tr>{"".join(cells)}<td class="{word}">{word}{detail}</td></tr>'
