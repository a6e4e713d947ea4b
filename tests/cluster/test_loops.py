"""The compiled loops equal their plain twins to the last bit, in both builds."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse

from pellucid import parallel
from pellucid.cluster import _groups, _lanes, _layouts, _loops, _sums, row_distances
from pellucid.cluster.row_distances import RowTable, pack
from tests.cluster import plain


@pytest.fixture(params=["wide", "plain"])
def build(request):
    wide = _lanes.use_wide(request.param == "wide")
    if request.param == "wide" and not wide:
        pytest.skip("this processor has no AVX2")
    yield
    _lanes.use_wide(True)


@pytest.fixture(params=["distances", "products", "sparse", "panels", "sparse panels"])
def way(request, monkeypatch):
    """The ways to the same labels: how rows are held, and whether bounds are kept by panel."""
    monkeypatch.setattr(row_distances, "PRODUCTS_FROM", 0 if request.param == "products" else 10**9)
    sparse, by_panel = request.param.startswith("sparse"), request.param.endswith("panels")
    return (scipy.sparse.csr_array if sparse else np.asarray), by_panel


def hard_rows(rng, n, d):
    """Rows with ties, duplicates, offsets and very different sizes."""
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    X[rng.random(n) < 0.3] *= 1e-3
    X[rng.random(n) < 0.2] += 1e6
    X[rng.random(n) < 0.3] += rng.standard_normal(d)
    return X


def dense_rows(X):
    """The rows in shuffled memory, read at their places."""
    places = np.random.default_rng(0).permutation(len(X)).astype(np.int32)
    table = np.empty_like(X)
    table[places] = X
    return _layouts.Rows(table, places, None, None, None, None)


SHAPES = [(1, 1, 1), (3, 2, 2), (4, 1, 4), (7, 3, 5), (30, 7, 9), (64, 20, 10)]


@pytest.mark.parametrize("shape", SHAPES)
def test_distances(build, rng, shape):
    n, d, k = shape
    X, C = hard_rows(rng, n, d), hard_rows(rng, k, d)
    out = np.empty((n, k))
    _loops.distances(X, pack(C), out)
    assert (out == plain.distance_table(X, C)).all()
    labels = rng.integers(0, k, n).astype(np.int32)
    own = np.empty(n)
    _loops.own_distances(dense_rows(X), C, labels, own)
    assert (own == plain.distance_table(X, C)[np.arange(n), labels]).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_trials(build, rng, shape):
    n, d, k = shape
    X, C, w = hard_rows(rng, n, d), hard_rows(rng, k, d), rng.random(n)
    closest = rng.random(n) * 10
    potential = np.zeros((2, k))
    _loops.trials(dense_rows(X), w, pack(C), closest, potential)
    expected = np.minimum(plain.distance_table(X, C), closest[:, None]).T
    exact = [float(sum(Fraction(a) * Fraction(b) for a, b in zip(row, w))) for row in expected]
    assert (potential.sum(axis=0) == exact).all()


def fresh_state(n, k, d, by_panel):
    """As before the first pass."""
    return {
        "labels": np.full(n, -1, dtype=np.int32), "upper": np.full(n, np.inf),
        "lower": np.full((n, -(-k // 4)) if by_panel else n, -np.inf),
        "way": np.zeros(k), "travel": np.zeros(k),
        "high": np.zeros((k, d + 1)), "low": np.zeros((k, d + 1)),
    }  # fmt: skip


def one_pass(table, w, C, state, shift, by_panel):
    drift, half = np.empty(len(pack(C))), np.zeros(len(C))
    _sums.reach(shift, state["way"], state["travel"], drift)
    if len(C) > 1:
        _sums.half_distances(C, pack(C), half)
    near = half * (1 - 1e-13) - state["way"] * (1 + 1e-13)
    stop = parallel.StopFlag()
    moved = 0
    for block in table.blocks:
        one = (_groups.GroupPass if by_panel else _loops.Pass)(
            table.loop_rows(block), w[block], _layouts.Centres(C), state["way"], state["travel"],
            near, state["labels"][block], state["upper"][block],
            None if by_panel else state["lower"][block], state["high"], state["low"],
        )  # fmt: skip
        if by_panel:
            one.bind(state["lower"][block], shift, drift, half)
            one.run_groups(stop.array)
        else:
            table.run(one, block, C, stop)
        moved += one.moved
    return moved


@pytest.mark.parametrize("shape", [*SHAPES, (300, 2, 20)])
def test_passes_with_bounds(build, way, rng, shape):
    """Labels stay those of brute force, and sums exact, while the centres wander."""
    n, d, k = shape
    X, w = hard_rows(rng, n, d), rng.integers(1, 5, n) * 0.1
    C = X[rng.integers(0, n, k)].copy()
    container, by_panel = way
    table = RowTable(container(X), k)
    state = fresh_state(n, k, d, by_panel)
    shift = np.zeros(k)
    for step in (0.0, 0.3, 0.0, 1e-3, 1e-9, 1e-15, 1e6, 0.1):
        new = C + step * rng.standard_normal((k, d)) * (rng.random((k, 1)) < 0.5)
        shift = np.sqrt(((new - C) ** 2).sum(axis=1)) * (1 + 1e-13)
        C, before = np.ascontiguousarray(new), state["labels"].copy()
        moved = one_pass(table, w, C, state, shift, by_panel)
        assert (state["labels"] == plain.label(X, C)).all()
        assert moved == (state["labels"] != before).sum()
        exact = plain.exact_sums(X, w, state["labels"], k)
        for j in range(k):
            for f in range(d + 1):
                sums = Fraction(state["high"][j, f]) + Fraction(state["low"][j, f])
                assert abs(sums - exact[j][f]) <= Fraction(1e-28) * Fraction(1e8)
    new, shift = np.empty_like(C), np.empty(k)
    empty = _sums.means(state["high"], state["low"], C, new, shift)
    filled = np.bincount(state["labels"], minlength=k) > 0
    assert empty == k - filled.sum()
    assert (new[filled] == plain.means(X, w, state["labels"], C)[filled]).all()
    assert (new[~filled] == new[np.argmax([float(row[-1]) for row in exact])]).all()
    exact = np.sqrt(((new - C) ** 2).sum(axis=1))
    assert (shift >= exact).all() and (shift <= exact * (1 + 1e-12)).all()


@pytest.mark.parametrize("by_panel", [False, True])
def test_a_tie_goes_to_the_lowest_label_even_if_the_row_has_another(by_panel):
    X, w = np.zeros((1, 1)), np.ones(1)
    C = np.array([[5.0], [9.0], [9.0], [9.0], [9.0], [1.0]])
    state = fresh_state(1, 6, 1, by_panel)
    one_pass(RowTable(X, 6), w, C, state, np.zeros(6), by_panel)
    assert state["labels"] == [5]
    C = np.array([[-1.0], [9.0], [9.0], [9.0], [9.0], [1.0]])
    one_pass(RowTable(X, 6), w, C, state, np.array([6.0, 0, 0, 0, 0, 0]), by_panel)
    assert state["labels"] == [0]


@pytest.mark.parametrize("k", [1, 2, 4, 5, 9])
def test_reach_and_half_distances(build, k, rng):
    C, shift = hard_rows(rng, k, 3), rng.integers(0, 4, k).astype(float)
    way, travel = rng.random((2, k))
    before, drift, half = (way.copy(), travel.copy()), np.empty(len(pack(C))), np.empty(k)
    _sums.reach(shift, way, travel, drift)
    far = np.array([max(np.delete(shift, j), default=0.0) for j in range(k)])
    for new, old, step in ((way, before[0], shift), (travel, before[1], shift + far)):
        assert (new > old + step).all() and (new <= (old + step) * (1 + 1e-14)).all()
    assert drift.tolist() == [max(shift[i : i + 4]) for i in range(0, k, 4)]
    _sums.half_distances(C, pack(C), half)
    table = np.sqrt(plain.distance_table(C, C)) / 2
    np.fill_diagonal(table, np.inf)
    exact = table.min(axis=1)
    assert (half <= exact).all() and (half >= exact * (1 - 1e-13)).all()


def test_layout(rng):
    C = rng.standard_normal((5, 3))
    panels = pack(C)
    assert panels.shape == (2, 3, 4)
    assert (panels.transpose(0, 2, 1).reshape(8, 3)[:5] == C).all()
    assert np.isinf(panels.transpose(0, 2, 1).reshape(8, 3)[5:]).all()


def test_bounds_skip_rows(rng):
    """The bounds are of use: centres that hardly move leave most rows alone."""
    X = rng.standard_normal((1000, 2)) + rng.integers(0, 4, 1000)[:, None] * 20.0
    C = np.array([[0.0, 0], [20, 20], [40, 40], [60, 60]])
    w, zeros, state = np.ones(1000), np.zeros(4), fresh_state(1000, 4, 2, False)
    for expected in (1000, 0):
        sums = np.zeros((2, 4, 3))
        one = _loops.Pass(
            _layouts.Rows(X, None, None, None, None, None), w, _layouts.Centres(C), zeros, zeros, zeros,
            state["labels"], state["upper"], state["lower"], *sums,
        )  # fmt: skip
        one.run(False, np.zeros(1, dtype=np.int32))
        assert one.evaluated == expected


def test_explained(rng):
    """sum w |x|**2 minus `explained` is the inertia, to more digits than a double holds."""
    X, w = rng.standard_normal((40, 3)) + 1e8, rng.random(40)
    C = X[:4] + 0.5
    labels = plain.label(X, C)
    exact = plain.exact_sums(X, w, labels, 4)
    high = np.array([[float(v) for v in row] for row in exact])
    low = np.array([[float(v - Fraction(float(v))) for v in row] for row in exact])
    total = sum(Fraction(a) * sum(Fraction(v) ** 2 for v in x) for a, x in zip(w, X))
    inertia = sum(
        Fraction(a) * sum((Fraction(v) - Fraction(c)) ** 2 for v, c in zip(x, C[j]))
        for a, x, j in zip(w, X, labels)
    )
    taken = sum(Fraction(part) for part in _sums.explained(C, high, low))
    assert float((total - taken) / inertia) == pytest.approx(1.0, rel=1e-10)


def test_stop_flag(rng):
    X = rng.standard_normal((5000, 2))
    labels, bounds = np.full(5000, -1, dtype=np.int32), np.zeros((2, 5000))
    zeros = np.zeros(1)
    C = np.zeros((1, 2))
    one = _loops.Pass(
        _layouts.Rows(X, None, None, None, None, None), np.ones(5000), _layouts.Centres(C), zeros, zeros,
        zeros, labels, *bounds, None, None,
    )  # fmt: skip
    one.run(False, np.ones(1, dtype=np.int32))
    assert one.evaluated == 0


def test_products_leave_what_rounding_could_change_to_distances(build, rng):
    """Rows midway between centres, at offsets that cost products most digits, and of any length."""
    for offset in (0.0, 1e4, 1e8):
        C = rng.integers(-3, 4, (9, 6)).astype(float) + offset
        pairs = C[rng.integers(0, 9, 400)] / 2 + C[rng.integers(0, 9, 400)] / 2
        X = pairs + rng.choice([0.0, 1e-14, 1e-9, 1e-3, 1e150], (400, 1)) * rng.random((400, 6))
        assert (RowTable(X, 9).label(C) == plain.label(X, C)).all()


def test_non_finite_rows_are_seen_on_the_way(rng):
    C, X = rng.standard_normal((5, 3)), rng.standard_normal((50, 3))
    assert RowTable(X, 5).label_and_check(C)[1] == _lanes.use_wide(
        True
    )  # only products look at all
    for cell in (np.nan, np.inf, -np.inf):
        X[41, 2] = cell
        assert not RowTable(X, 5).label_and_check(C)[1]


@pytest.mark.parametrize("shape", [(64, 20, 10), (200, 2, 9)])
def test_bounds_of_a_pass_hold_in_exact_arithmetic(build, way, rng, shape):
    n, d, k = shape
    X, w = hard_rows(rng, n, d), np.ones(n)
    C = X[rng.integers(0, n, k)] + 0.25 * rng.standard_normal((k, d))
    container, by_panel = way
    state = fresh_state(n, k, d, by_panel)
    one_pass(RowTable(container(X), k), w, C, state, np.zeros(k), by_panel)
    with mpmath.workdps(40):
        cells, centres = ([[mpmath.mpf(float(v)) for v in row] for row in M] for M in (X, C))
        for i, a in enumerate(state["labels"].tolist()):
            exact = [mpmath.norm([u - v for u, v in zip(cells[i], c)]) for c in centres]
            own = exact.pop(a)
            assert mpmath.mpf(float(state["upper"][i])) + float(state["way"][a]) >= own
            if not by_panel:
                gap = mpmath.mpf(float(state["lower"][i])) - float(state["travel"][a])
                assert gap <= min(exact) - own
                continue
            exact.insert(a, mpmath.inf)
            for p, bound in enumerate(state["lower"][i].tolist()):
                assert bound <= min(exact[4 * p : 4 * p + 4])
