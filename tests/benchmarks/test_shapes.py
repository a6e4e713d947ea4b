"""The grid of shapes: every shape can be drawn and raced, a run goes on, the worst ratio comes first."""

import json

import numpy as np
import pytest

pytest.importorskip("sklearn.datasets")

from benchmarks import __main__ as command
from benchmarks.race import Row
from benchmarks.shapes import command as shapes_command
from benchmarks.shapes.contenders import CONTENDERS
from benchmarks.shapes.grid import shapes
from benchmarks.workload import ADAPTERS, OURS


def test_every_contender_has_a_shape_and_every_shape_contenders():
    grid = shapes()
    assert len({shape.name for shape in grid}) == len(grid) >= 10
    for shape in grid:
        assert any(contender.takes(shape) for contender in CONTENDERS), shape.name
    for contender in CONTENDERS:
        assert set(contender.rivals) <= set(ADAPTERS)
        assert any(contender.takes(shape) for shape in grid), contender.estimator


@pytest.mark.filterwarnings("ignore:levels that were not seen")
@pytest.mark.parametrize("kind", ["missing", "levels", "targets", "sparse"])
def test_unusual_tables_are_raced_against_a_pipeline_where_the_peer_needs_one(kind):
    shape = next(shape for shape in shapes() if shape.kind == kind)
    contender = next(c for c in CONTENDERS if c.takes(shape) and "Ridge" in c.estimator)
    entry = contender.workload(shape, 300)
    sample = entry.source.sample(300)
    assert sample.X.shape == (300, shape.columns)
    for who in (OURS, "scikit-learn"):
        model = entry.contender(who, sample).fit(sample.X, sample.y)
        assert np.isfinite(entry.answer.measure(model, sample))


def test_a_run_goes_on_and_prints_the_worst_first(tmp_path, capsys):
    file = tmp_path / "out.json"
    given = ["shapes", "--shape", "100 x 5", "--cpu", "--repeat", "1", "--json", str(file)]
    assert command.main([*given, "--model", "GaussianNB"]) == 0
    assert "... naive_bayes/GaussianNB" in capsys.readouterr().err
    assert command.main([*given, "--model", "NB"]) == 0
    written = json.loads(file.read_text())
    names = [row["workload"] for row in written["rows"]]
    assert (
        names
        == ["naive_bayes/GaussianNB on 100 x 5"] * 2 + ["naive_bayes/BernoulliNB on 100 x 5"] * 2
    )
    assert "... naive_bayes/GaussianNB" not in capsys.readouterr().err  # it is in the file
    assert set(written["means"]) == {"scikit-learn, fit", "scikit-learn, predict"}


def test_means_leave_out_what_failed():
    rows = [
        Row("a", "s", "fit", "p", ours_seconds=1.0, peer_seconds=4.0),
        Row("b", "s", "fit", "p", ours_seconds=2.0, peer_seconds=1.0),
        Row("c", "s", "fit", "p", status="mismatch: x", ours_seconds=1.0, peer_seconds=99.0),
    ]
    found = shapes_command.means(rows)["p, fit"]
    assert found == {"mean": pytest.approx(2**0.5), "races": 2, "below 1": 1}
    lines = shapes_command.text(rows).splitlines()
    assert "b, p" in lines[1] and "a, p" in lines[2] and "mismatch" in lines[4]
