"""Rows that tie at the largest distance share its votes: against brute force, repetition and order."""

import numpy as np
import pytest
import scipy.sparse

import pellucid
from pellucid.neighbors import KNeighborsClassifier, KNeighborsRegressor, ties

K = 5
RULES = {
    "uniform": np.ones_like,
    "distance": lambda d: np.where(
        (d == 0).any(), (d == 0) * 1.0, 1.0 / np.where(d == 0, np.inf, d)
    ),
    "exp": lambda d: np.exp(-d),
}
FORMS = ("brute", "kd_tree", "sparse", "precomputed", "function")


def counts(rng, n=150):
    """Small counts: most distances occur many times, and their squares are exact."""
    X = rng.integers(0, 3, size=(n, 3)).astype(float)
    return X, rng.integers(0, 3, n), np.round(rng.normal(size=n), 3)


def expected(D, values, rule):
    """Each row: slots are filled by distance; rows as far as the last slot share their slots."""
    out = []
    for d in D:
        weight, last = RULES[rule](np.sort(d)[:K]), np.sort(d)[K - 1]
        near = np.flatnonzero(d < last)
        near = near[np.argsort(d[near], kind="stable")]
        total = sum(w * values[i] for w, i in zip(weight, near))
        total = total + weight[len(near) :].sum() * values[d == last].mean(axis=0)
        out.append(total / weight.sum())
    return np.array(out)


def fitted(Model, form, X, y, Q, rule, **more):
    """A model and its queries, in one of the forms."""
    D = {"Q": distances(Q, X), "X": distances(X, X)}
    how = {
        "sparse": ({}, scipy.sparse.csr_array(X), scipy.sparse.csr_array(Q)),
        "precomputed": ({"metric": "precomputed"}, D["X"], D["Q"]),
        "function": ({"metric": lambda a, b: np.sqrt(((a - b) ** 2).sum())}, X, Q),
    }.get(form, ({"algorithm": form}, X, Q))
    return Model(K, weights=rule, **how[0], **more).fit(how[1], y), how[2]


def distances(A, B):
    return np.sqrt(((A[:, None] - B[None]) ** 2).sum(-1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", RULES)
def test_equal_to_brute_force(form, rule, rng):
    X, y, t = counts(rng)
    Q = np.vstack([X[:20], rng.integers(0, 4, size=(40, 3))])
    D = distances(Q, X)
    model, asked = fitted(KNeighborsClassifier, form, X, y, Q, rule)
    shares = expected(D, np.eye(3)[y], rule)
    np.testing.assert_allclose(model.predict_proba(asked), shares, atol=1e-14)
    model, asked = fitted(KNeighborsRegressor, form, X, np.c_[t, -2 * t], Q, rule)
    means = expected(D, np.c_[t, -2 * t], rule)
    np.testing.assert_allclose(model.predict(asked), means, atol=1e-13)
    parts = model.explain(asked)
    np.testing.assert_allclose(parts.votes.sum(axis=1), means, atol=1e-13)


@pytest.mark.parametrize("form", ["brute", "kd_tree", "precomputed"])
def test_training_rows_do_not_vote_for_themselves(form, rng):
    X, y, _ = counts(rng)
    D = distances(X, X)
    np.fill_diagonal(D, np.inf)
    model, _ = fitted(KNeighborsClassifier, form, X, y, X, "uniform")
    shares = expected(D, np.eye(3)[y], "uniform")
    np.testing.assert_allclose(model.predict_proba(None), shares, atol=1e-14)


@pytest.mark.parametrize("Model", [KNeighborsClassifier, KNeighborsRegressor])
def test_order_of_rows_and_of_queries_changes_no_bit(Model, rng):
    X, y, t = counts(rng)
    y = y if Model is KNeighborsClassifier else t
    answer = "predict_proba" if Model is KNeighborsClassifier else "predict"
    some = rng.permutation(len(X))
    a, b = Model(K).fit(X, y), Model(K).fit(X[some], y[some])
    Q = rng.integers(0, 4, size=(60, 3)).astype(float)
    found = getattr(a, answer)(Q)
    assert np.array_equal(found, getattr(b, answer)(Q))
    alone = np.concatenate([getattr(a, answer)(Q[i : i + 1]) for i in range(60)])
    assert np.array_equal(found, alone)


def test_as_many_copies_of_all_rows_with_as_many_votes_change_nothing(rng):
    X, y, t = counts(rng)
    Q = rng.integers(0, 4, size=(60, 3)).astype(float)
    for Model, target, answer in (
        (KNeighborsClassifier, y, "predict_proba"), (KNeighborsRegressor, t, "predict"),
    ):  # fmt: skip
        once = Model(K).fit(X, target)
        thrice = Model(3 * K).fit(np.repeat(X, 3, axis=0), np.repeat(target, 3))
        a, b = getattr(once, answer)(Q), getattr(thrice, answer)(Q)
        np.testing.assert_allclose(a, b, atol=1e-14)


def test_no_class_is_favoured(rng):
    """All rows are equally far: the shares are those of the classes."""
    X, y = np.ones((1000, 2)), (rng.random(1000) < 0.7).astype(int)
    model = KNeighborsClassifier(K).fit(X, y)
    assert model.predict_proba([[0.0, 0.0]])[0, 1] == pytest.approx(y.mean(), abs=1e-14)
    assert model.kneighbors([[0.0, 0.0]])[1].shape == (1, K)


def test_few_ties_at_a_time_and_saved_models(monkeypatch, tmp_path, rng):
    X, y, _ = counts(rng)
    model = KNeighborsClassifier(K).fit(X, y)
    Q = rng.integers(0, 4, size=(60, 3)).astype(float)
    found = model.predict_proba(Q)
    model.save(tmp_path / "m.pellucid")
    assert np.array_equal(pellucid.load(tmp_path / "m.pellucid").predict_proba(Q), found)
    monkeypatch.setattr(ties, "ENTRIES", 300)
    monkeypatch.setattr(ties, "WIDER", 2)
    assert np.array_equal(model.predict_proba(Q), found)


def test_unknown_distances_of_sparse_tables_do_not_tie():
    """Five known neighbours are enough; the others, which are not stored, do not vote."""
    D = np.zeros((7, 7))
    D[:, :5] = [1.0, 1.0, 2.0, 2.0, 2.0]
    np.fill_diagonal(D, 0.0)
    D[5:, :5] = D[0, :5] + [1.0, 0.0, 0.0, 0.0, 0.0]
    graph = scipy.sparse.csr_array(np.where(D > 0, D, 0.0))
    model = KNeighborsClassifier(K, metric="precomputed").fit(graph, [0, 1, 0, 1, 1, 0, 1])
    assert model.predict_proba(graph[5:]).tolist() == [[0.4, 0.6]] * 2
