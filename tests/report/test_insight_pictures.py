"""What is special about single models, on the page and left out of it."""

import re

import numpy as np
import pytest

from pellucid.report import html
from tests.report import sample
from tests.report.test_html import Page


@pytest.mark.parametrize("make", [sample.classification, sample.regression])
def test_what_is_special_about_a_model_is_drawn(make):
    page = Page(html.render(make()))
    assert {"Weights along the penalty", "Support vectors"} <= set(page.titles)
    assert sum(title.startswith("If ") for title in page.titles) >= 2
    assert "some rows and the rows nearest to them" in page.words and "778 (0.5)" in page.words
    if make is sample.classification:
        assert "Along the discriminant" in page.titles
    hidden = html.render(make(), rows=False)
    assert "Weights along the penalty" in hidden
    assert not re.search(r">If |29\.875|[^\d]778 \(|Along the discriminant", hidden)


def test_losses_of_boosting_on_rows_set_aside_are_drawn():
    from pellucid.ensemble import HistGradientBoostingRegressor
    from pellucid.report.model_pictures import history

    X = np.random.default_rng(0).normal(size=(80, 2))
    model = HistGradientBoostingRegressor(max_iter=3, early_stopping=True, random_state=0)
    told = {name: column.tolist() for name, column in model.fit(X, X[:, 0]).history_.items()}
    assert "loss on rows set aside" in history(told, True)
