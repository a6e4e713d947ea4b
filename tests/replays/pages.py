"""What a page of a replay holds, read as the player reads it."""

import base64
import json
import re
import zlib

import numpy as np

FIRST = 35


def unpacked(html):
    """The frames in a page."""
    data = re.search(r'<script id="data"[^>]*>([^<]*)</script>', html).group(1)
    return json.loads(zlib.decompress(base64.b64decode(data)))


def filled(series):
    """A series with every null replaced by the entry before it."""
    found = []
    for entry in series:
        found.append(found[-1] if entry is None and found else entry)
    return found


def codes(text):
    """The whole numbers of a text of letters."""
    return np.array([ord(c) - FIRST for c in text])


def panel(frames, title):
    (found,) = [p for p in frames["panels"] if p["title"] == title]
    return found


def mark(panel, kind):
    return next(m for m in panel["marks"] if m["m"] == kind)


def centres(panel, grid):
    """Coordinates of the cells of a grid, from the top row down, by the axes of the panel."""
    x0, x1, y0, y1 = grid["box"]
    assert [x0, x1] == panel["x"]["range"] and [y0, y1] == panel["y"]["range"]
    x = x0 + (np.arange(grid["nx"]) + 0.5) * (x1 - x0) / grid["nx"]
    y = y1 - (np.arange(grid["ny"]) + 0.5) * (y1 - y0) / grid["ny"]
    return np.array([(a, b) for b in y for a in x])
