"""One HTML file from the frames of a replay: markup, style, script and data, nothing from elsewhere.

The content security policy of the page forbids every request and every script but the player. The
frames are one JSON document, compressed and written as base64.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from pellucid.draw.style import content_policy

ROOT = Path(__file__).parent

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p id="sentence" aria-live="polite">{last}</p>
<div id="controls" role="group" aria-label="Replay">
<button id="first" type="button" aria-label="First step" disabled>|&lt;</button>
<button id="back" type="button" aria-label="Previous step" disabled>&lt;</button>
<button id="play" type="button" disabled>Play</button>
<button id="next" type="button" aria-label="Next step" disabled>&gt;</button>
<button id="last" type="button" aria-label="Last step" disabled>&gt;|</button>
<input id="scrub" type="range" min="0" max="0" value="0" step="1" aria-label="Step" disabled>
<span id="counter"></span>
<select id="speed" aria-label="Speed" disabled></select>
</div>
<noscript><p>The replay needs JavaScript. The sentence above describes the last step.</p></noscript>
<main id="panels"></main>
<details id="numbers"><summary>Numbers of this step</summary>
<table><caption>Numbers of this step</caption><tbody id="values"></tbody></table></details>
{notes}
<p class="note">Keys: space plays and pauses; arrow keys step; Page Up and Page Down move by a tenth;
Home and End go to the first and last step; + and - change the speed.</p>
<script id="data" type="application/octet-stream">{data}</script>
<script>{script}</script>
</body>
</html>
"""


@cache
def _assets() -> tuple[str, str]:
    return tuple((ROOT / name).read_text("utf-8") for name in ("player.css", "player.js"))  # type: ignore[return-value]


def packed(frames: dict[str, Any]) -> str:
    """The frames as JSON, compressed, in base64."""
    text = json.dumps(frames, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


def page(frames: dict[str, Any]) -> str:
    """The whole file; equal frames give equal bytes."""
    style, script = _assets()
    return PAGE.format(
        policy=html.escape(content_policy(style, script)),
        title=html.escape(frames["title"]),
        style=style,
        script=script,
        last=html.escape(frames["sentences"][-1]),
        notes="".join(f'<p class="note">{html.escape(note)}</p>' for note in frames["notes"]),
        data=packed(frames),
    )


def embedded(text: str, title: str, height: int) -> str:
    """The page inside a notebook: a frame of its own, so that several do not disturb each other."""
    return (
        f'<iframe srcdoc="{html.escape(text)}" title="{html.escape(title)}" '
        f'sandbox="allow-scripts" width="100%" height="{height}" loading="lazy" '
        'style="border:0;max-width:1100px"></iframe>'
    )
