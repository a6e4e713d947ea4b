"""The image writer is read back by an independent reader of the format."""

import struct
import zlib

import pytest

from pellucid.draw.png import data_address, png, red_green_blue
from pellucid.errors import ParameterError

PALETTE = [(255, 0, 0, 255), (0, 128, 0, 77), (0, 0, 255, 0)]


def read(image):
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(image):
        (size,) = struct.unpack(">I", image[at : at + 4])
        kind, data = image[at + 4 : at + 8], image[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", image[at + 8 + size : at + 12 + size])
        assert check == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    return chunks


def test_pixels_come_back():
    rows = [bytes([0, 1, 2]), bytes([2, 1, 0])]
    chunks = read(png(rows, PALETTE))
    assert list(chunks) == [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (3, 2, 8, 3, 0, 0, 0)
    assert chunks[b"PLTE"] == bytes([255, 0, 0, 0, 128, 0, 0, 0, 255])
    assert chunks[b"tRNS"] == bytes([255, 77, 0])
    assert zlib.decompress(chunks[b"IDAT"]) == b"\0" + rows[0] + b"\0" + rows[1]


def test_regions_are_tiny():
    rows = [bytes(int(j > i) for j in range(100)) for i in range(100)]
    assert len(png(rows, PALETTE)) < 700


@pytest.mark.parametrize("rows", [[], [b""], [b"\0", b"\0\0"], [b"\x03"], [b"\0" * 3000] * 3000])
def test_what_is_no_image_is_refused(rows):
    with pytest.raises(ParameterError):
        png(rows, PALETTE)


def test_addresses_and_colours():
    assert data_address(b"abc") == "data:image/png;base64,YWJj"
    assert red_green_blue("#2456d6") == (0x24, 0x56, 0xD6)
