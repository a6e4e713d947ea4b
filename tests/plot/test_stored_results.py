"""Displays built from stored numbers, as the report does, and drawn for its page."""

import re

import numpy as np
import pytest

from pellucid import plot
from pellucid.plot.evaluation.probabilities import CalibrationBins, wilson
from pellucid.plot.evaluation.ranking import Curve

X = np.linspace(0, 1, 5)


def mean_curve(**ends):
    return Curve("yes", X, np.sqrt(X), np.full(5, np.nan), 0.9, **ends)


def test_figures_have_the_size_the_note_and_the_data_they_are_asked_for():
    display = plot.ResidualsDisplay(np.arange(6.0), [1.0, 0, 4, 3, 5, 3])
    panels = display.figures(width=300, height=150, note="Six rows.")
    assert len(panels) == 3 and [p.count("<details>") for p in panels] == [0, 0, 1]
    assert all(re.search(r'viewBox="0 0 300 \d+"', p) and "Six rows." in p for p in panels)
    assert all(p.startswith("<figure") and "<style" not in p for p in panels)
    assert not any("<details>" in p for p in display.figures(table=False))
    curve = plot.HistoryDisplay({"fit": {"iteration": [1, 2, 3], "objective": [3.0, 2.0, 1.0]}})
    tips = [curve.figures(table=t)[0].count("<title>") for t in (True, False)]
    assert tips == [4, 1], "points without a data table have no tooltips"


def test_rows_far_away_have_their_own_numbers():
    display = plot.ResidualsDisplay(
        [0.0, 1, 2, 9], [0.1, 1, 2, 3], rows=np.array([70, 71, 72, 1234])
    )
    assert display.frame()["row"] == [70, 71, 72, 1234] and ">1234<" in display.svg()


def test_the_ring_of_a_threshold_is_at_its_place_in_both_renderers():
    display = plot.RocCurveDisplay([mean_curve()], [0.4], ring=(0.25, 0.75))
    found = re.search(r'<circle [^>]*class="pl-ring"[^>]*>', display.svg()).group(0)
    at = {key: float(re.search(rf'{key}="([\d.]+)"', found).group(1))
          for key in ("cx", "cy", "data-width", "data-height")}  # fmt: skip
    assert at["cx"] == pytest.approx(0.25 * at["data-width"], abs=0.1)
    assert at["cy"] == pytest.approx(0.25 * at["data-height"], abs=0.1)
    pytest.importorskip("matplotlib")
    offsets = [c.get_offsets().tolist() for c in display.plot().ax_.collections]
    assert [[0.25, 0.75]] in offsets


def test_a_band_is_called_what_it_is():
    band = mean_curve(low=0.9 * np.sqrt(X), high=np.sqrt(X))
    drawn = plot.PrecisionRecallDisplay([band], [0.4], band="lowest to highest fold")
    assert drawn._note() == "Mean over the folds; band: lowest to highest fold."
    assert drawn.frame()["low"] == pytest.approx(0.9 * np.sqrt(X))
    plain = plot.PrecisionRecallDisplay([mean_curve()], [0.4])
    assert plain._note() == "Mean over the folds." and "low" not in plain.frame()
    assert plain.drawn(plain.curves[0])[0] is X, "a mean has no steps"


def test_calibration_without_bins_has_no_histogram():
    share, rows = np.array([0.1, 0.8]), np.array([20.0, 30.0])
    bins = CalibrationBins("yes", None, None, share, share, *wilson(share, rows), rows, 0.05)
    assert len(plot.CalibrationDisplay([bins]).picture().panels) == 1


def test_regions_and_surfaces_of_a_known_grid():
    limits, labels = ((0.0, 4.0), (0.0, 2.0)), ("a", "b")
    points = [(1.0, 1.5, "no"), (3.0, 0.5, "yes")]
    display = plot.RegionsDisplay.from_grid(
        [[0, 1], [1, 1]], limits, ["no", "yes"], labels=labels, points=points
    )
    assert display.frame() == {
        "a": [1.0, 3.0, 1.0, 3.0], "b": [0.5, 0.5, 1.5, 1.5],
        "predicted": ["no", "yes", "yes", "yes"],
    }  # fmt: skip
    shown = [(m.x, m.y, m.name) for m in display.picture().panels[0].marks[1:]]
    assert shown == [((1.0,), (1.5,), "no"), ((3.0,), (0.5,), "yes")]
    surface = plot.SurfaceDisplay.from_grid([[1.0, 2.0], [3.0, 4.0]], limits, labels=labels)
    assert surface.frame()["predicted"] == [1.0, 2.0, 3.0, 4.0]
    assert surface.picture().panels[0].marks[0].values == ((1.0, 2.0), (3.0, 4.0))
