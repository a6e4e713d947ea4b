"""The palette is measured: contrast on light and dark pages, distance for every kind of eye."""

import itertools

import numpy as np
import pytest

from pellucid.draw.style import DASHES, MARKERS, PALETTE, TEXT_SHARE

# Linear RGB -> cone responses -> Oklab, and the simulations of Machado, Oliveira and Fernandes.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
VISION = {
    "normal": np.eye(3).ravel(),
    "no red": [
        0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
    ],
    "no green": [
        0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881,
    ],
    "no blue": [
        1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900,
    ],
}  # fmt: skip
PAGES = {"light": (0.1, 1.0), "dark": (0.93, 0.07)}  # grey of the text and of the ground


def linear(channels):
    channels = np.asarray(channels, dtype=float)
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    return np.cbrt(np.maximum(rgb @ _CONES.T, 0)) @ _OKLAB.T


def on_page(grey):
    """The palette as the style sheet mixes it with the page's text."""
    rgb = linear([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in PALETTE])
    share = TEXT_SHARE / 100
    mixed = (1 - share) * oklab(rgb) + share * oklab(linear([grey] * 3))
    return np.clip((mixed @ np.linalg.inv(_OKLAB).T) ** 3 @ np.linalg.inv(_CONES).T, 0, 1)


@pytest.mark.parametrize("page", PAGES)
def test_contrast_with_the_ground(page):
    text, ground = PAGES[page]
    luminance = on_page(text) @ [0.2126, 0.7152, 0.0722]
    other = float(linear(ground))
    ratios = (np.maximum(luminance, other) + 0.05) / (np.minimum(luminance, other) + 0.05)
    assert np.all(ratios >= 3), dict(zip(PALETTE, ratios))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("vision", VISION)
def test_any_two_colours_differ(page, vision):
    seen = oklab(np.clip(on_page(PAGES[page][0]) @ np.reshape(VISION[vision], (3, 3)).T, 0, 1))
    for i, j in itertools.combinations(range(len(PALETTE)), 2):
        least = 0.11 if max(i, j) < 5 else 0.085
        assert np.linalg.norm(seen[i] - seen[j]) >= least, (PALETTE[i], PALETTE[j])


def test_forty_lines_all_look_different():
    looks = {(i % len(PALETTE), i % len(DASHES)) for i in range(40)}
    assert len(looks) == 40
    assert len(set(MARKERS)) == len(PALETTE)
