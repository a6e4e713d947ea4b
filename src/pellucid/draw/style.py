"""Colours, dashes, markers and the style sheet shared by charts, tables and cards.

Invariant: colour is never the only difference (series also differ in dash, marker or hatching), and
every colour is mixed with the text colour of the page, so one sheet serves light and dark pages.
"""

from __future__ import annotations

# Chosen by search: seen with normal vision and with the three kinds of colour blindness, any two
# stay apart, and each has a contrast above 3 on white and on near-black (tests measure both).
PALETTE = ("#2456d6", "#c55a00", "#1fc3b3", "#86197f", "#d5a71a", "#9786fe", "#8a62a0", "#47511f")
_GREY = "#9a8f9c"
TEXT_SHARE = 20  # per cent of the page's text colour in every colour
# Five dashes and eight colours have no common divisor: forty different lines.
DASHES = (None, "7 3", "2 3", "9 3 2 3", "4 2")
# Relative paths around the current point, for markers about 7 pixels wide. The first is a point
# drawn with a round pen, which is the shortest way to write a disc.
MARKERS = (
    "h0",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m0-3.6l3.4 6h-6.8z",
    "m0-3.8l3.8 3.8-3.8 3.8-3.8-3.8z",
    "m0 3.6l3.4-6h-6.8z",
    "m-1-3.5h2v2.5h2.5v2h-2.5v2.5h-2v-2.5h-2.5v-2h2.5z",
    "m-3.4-2l3.4-1.6 3.4 1.6v4l-3.4 1.6-3.4-1.6z",
    "m-3.5-3.5h7l-5 3.5 5 3.5h-7z",
)

_COLOURS = "".join(
    f".pl-c{i}{{color:color-mix(in oklab,var(--pl-{i},{colour}),currentColor {TEXT_SHARE}%)}}"
    for i, colour in enumerate(PALETTE)
)
# Notebooks style the tables, lists and paragraphs of an output, some with two classes. Inside `.pl` all
# of this is reverted, and our own rules have three classes or more.
_RESET = (
    ".pl.pl.pl :is(table,caption,thead,tbody,tr,th,td,p,details,summary,figure){all:revert}"
    ".pl.pl.pl svg:not(svg *){max-width:100%;height:auto;display:block}"
    ".pl.pl.pl svg.pl-wide:not(svg *){max-width:none}"  # scrolls; smaller, it could not be read
)
_SHEET = (
    ".pl{margin:0 0 1em;max-width:100%;overflow-x:auto}"
    ".pl.pl.pl table{border-collapse:collapse;font-size:.85em;font-variant-numeric:tabular-nums;"
    "color:inherit;margin:0}"
    ".pl.pl.pl caption{text-align:left;font-weight:600;padding:.2em 0}"
    ".pl.pl.pl :is(th,td){padding:.15em .7em;text-align:left;vertical-align:top;font-weight:400;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent)}"
    ".pl.pl.pl thead th{font-weight:600;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 55%,transparent)}"
    ".pl.pl.pl .pl-n{text-align:right}.pl-heat{image-rendering:pixelated}"
    ".pl.pl.pl figure{margin:.5em 0}"
    ".pl-panels{display:flex;flex-wrap:wrap;align-items:flex-start;gap:.5em 1.5em}"
    ".pl.pl.pl .pl-title{font-weight:600;margin:.2em 0}"
    ".pl.pl.pl summary{cursor:pointer;font-size:.85em;opacity:.8}"
    ".pl.pl.pl .pl-note{font-size:.85em;opacity:.8;margin:.3em 0}"
    ".pl.pl.pl .pl-warn{margin:.4em 0;padding-left:.6em;border-left:3px solid #d08700}"
    ".pl-card{border:1px solid color-mix(in srgb,currentColor 25%,transparent);"
    "border-radius:6px;padding:.6em .9em;max-width:40em;overflow-wrap:anywhere}"
    ".pl-result{max-width:54em}"
    ".pl-card .pl-name{font-weight:600;font-size:1.05em}"
    ".pl-card .pl-state{margin-left:.6em;font-size:.85em;padding:.05em .5em;"
    "border:1px solid currentColor;border-radius:1em;opacity:.8}"
    ".pl.pl.pl .pl-changed :is(th,td){font-weight:600}"
    ".pl-facts{display:grid;grid-template-columns:max-content 1fr;gap:.1em .9em;"
    "margin:.5em 0;font-size:.85em}.pl-facts .pl-key{opacity:.8}"
)
# A picture alone in a file has no page whose colours it could take.
_ALONE = (
    "svg:root{color:#1b1b1f;background:#fff}"
    "@media(prefers-color-scheme:dark){svg:root{color:#e9e9ee;background:#131317}}"
    ".pl-heat{image-rendering:pixelated}"
)
CSS = _RESET + _SHEET + _COLOURS
PICTURE_CSS = _ALONE + _COLOURS


def style_sheet() -> str:
    """The style element that charts, tables and cards need once on a page."""
    return f"<style>{CSS}</style>"


def content_policy(style: str, script: str, images: str = "") -> str:
    """The content security policy of a page: its own style and script, no requests."""
    import base64
    import hashlib

    digests = [hashlib.sha256(text.encode()).digest() for text in (style, script)]
    sums = [base64.b64encode(digest).decode() for digest in digests]
    return (
        f"default-src 'none'; style-src 'sha256-{sums[0]}'; script-src 'sha256-{sums[1]}'; "
        f"{images}base-uri 'none'; form-action 'none'"
    )


def dash(index: int) -> str | None:
    return DASHES[index % len(DASHES)]


def marker(index: int) -> str:
    """The marker moves on by one whenever the colours begin again: 64 different series."""
    return MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]


def between(share: float) -> str:
    """A colour between blue (0), grey (0.5) and orange (1), for numbers; seen on light and dark."""
    start, stop = (PALETTE[0], _GREY) if share < 0.5 else (_GREY, PALETTE[1])
    part = 2 * share - (share >= 0.5)
    pairs = [(int(start[i : i + 2], 16), int(stop[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def spectrum(n: int) -> list[str]:
    """`n` colours from the lowest number to the highest."""
    return [between(i / (n - 1)) for i in range(n)]
