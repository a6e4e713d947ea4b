"""The smallest PNG writer: one palette of colours with opacity, one index per pixel.

Invariant: the same pixels give the same bytes; no size above `MOST_PIXELS` is accepted.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

from pellucid.errors import ParameterError

MOST_PIXELS = 1 << 22


def png(rows: Sequence[bytes], palette: Sequence[tuple[int, int, int, int]]) -> bytes:
    """An image of palette indices, one `bytes` per row; palette entries are (r, g, b, alpha)."""
    height, width = len(rows), len(rows[0]) if rows else 0
    if not 0 < height * width <= MOST_PIXELS or any(len(row) != width for row in rows):
        raise ParameterError(f"An image needs rows of equal length, at most {MOST_PIXELS} pixels.")
    if not 0 < len(palette) <= 256 or max(map(max, rows)) >= len(palette):
        raise ParameterError("Every pixel must be an index into a palette of at most 256 colours.")
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    pixels = b"".join(b"\0" + row for row in rows)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"PLTE", b"".join(bytes(colour[:3]) for colour in palette)),
            _chunk(b"tRNS", bytes(colour[3] for colour in palette)),
            _chunk(b"IDAT", zlib.compress(pixels, 9)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def data_address(image: bytes) -> str:
    """The image as a data URL."""
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")


def red_green_blue(colour: str) -> tuple[int, int, int]:
    """The three bytes of `#rrggbb`."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
