"""Shapes that charts have in common are written once; the page still shows each of them."""

import re

import pytest

from pellucid.draw.line_chart import corners
from pellucid.report import html, wording
from pellucid.report.html import LONG, shared
from tests.report import sample

PATH = f'<path d="M0 0{" 1 1" * LONG}" fill="none"/>'
OTHER = f'<path d="M0 0{" 2 1" * LONG}" fill="none"/>'


def test_a_repeated_path_is_written_once_and_used():
    page = shared(f"a{PATH}b{OTHER}c{PATH}d{PATH}")
    assert (
        page
        == f'a<path id="shape-0"{PATH[5:]}b{OTHER}c<use href="#shape-0"/>d<use href="#shape-0"/>'
    )


def test_short_paths_and_escaped_text_are_left_alone():
    short, escaped = '<path d="M0 0h1"/>', PATH.replace("<", "&lt;").replace('"', "&#34;")
    assert shared(short * 3) == short * 3 and shared(escaped * 3) == escaped * 3


def test_on_a_page_every_use_has_its_shape_before_it():
    page = html.render(sample.classification())
    used = re.findall(r'<use href="#(shape-\d+)"/>', page)
    assert used and len(set(used)) < len(used)
    for name in set(used):
        assert page.count(f'id="{name}"') == 1
        assert page.index(f'id="{name}"') < page.index(f'href="#{name}"')
    long = re.findall(rf'<path d="[^"<>]{{{LONG},}}"[^<>]*/>', page)
    assert len(set(long)) == len(long)


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        (["0 0", "1 0", "2 0", "3 1"], ["0 0", "2 0", "3 1"]),
        (["0 0", "0 1", "0 2", "0 1"], ["0 0", "0 2", "0 1"]),  # it turns back
        (["0 0", "1 1", "2 2"], ["0 0", "1 1", "2 2"]),
        (["5 5"], ["5 5"]),
    ],
)
def test_points_inside_a_level_stretch_are_not_written(pairs, kept):
    assert corners(pairs) == kept


def test_missing_cells_and_exact_scores_are_named():
    summary = sample.regression()
    summary["rows"]["groups"][0]["rows"][0]["cells"][0] = None
    page = html.render(summary)
    assert '<span class="quiet">missing</span>' in page and ">None<" not in page
    assert wording.EXACT not in page and "too good to be true" not in page
    summary["verdict"]["too_good"] = ["ols"]
    summary["test"]["metrics"]["rmse"] = 1e-9 * summary["test"]["baseline"]["rmse"]
    page = html.render(summary)
    assert wording.EXACT in page and "ols: too good to be true" in page


def test_nothing_is_shown_as_minus_zero():
    from pellucid.report import terminal

    assert wording.score(-1e-5, "r2") == "0.000" and terminal.score(-1e-5, "r2") == ".000"
    assert wording.score(-0.25, "r2") == "-0.250" and terminal.score(-0.25, "r2") == "-.250"
