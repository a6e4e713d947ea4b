"""What is special about single models, on the page and left out of it."""

import re

import numpy as np
import pytest

from pellucid.report import html
from pellucid.report.privacy import without_rows
from tests.report import sample
from tests.report.test_html import Page


@pytest.mark.parametrize("make", [sample.classification, sample.regression])
def test_what_is_special_about_a_model_is_drawn(make):
    page = Page(html.render(make()))
    assert "Support vectors" in page.titles
    assert {"Coefficients by C"} <= set(page.titles)
    assert sum(title.startswith("Partial dependence on ") for title in page.titles) >= 2
    assert "Nearest neighbours of example rows" in page.words and "778 (0.5)" in page.words
    if make is sample.classification:
        assert "Projection on the discriminant" in page.titles
    hidden = html.render(without_rows(make()))
    assert "Coefficients by C" in hidden
    assert not re.search(r"Partial dependence|29\.875|[^\d]778 \(|Projection on the disc", hidden)


def test_losses_of_boosting_on_rows_set_aside_are_drawn():
    from pellucid.ensemble import HistGradientBoostingRegressor
    from pellucid.report.model_pictures import history

    X = np.random.default_rng(0).normal(size=(80, 2))
    model = HistGradientBoostingRegressor(max_iter=3, early_stopping=True, random_state=0)
    told = {name: column.tolist() for name, column in model.fit(X, X[:, 0]).history_.items()}
    assert "Validation loss" in "".join(history(told, True))
