"""PCA: scikit-learn and R, relations, the number of axes, the model behind it, bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
import sklearn.decomposition
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits, load_iris, load_wine

import pellucid
from pellucid.decomposition import PCA, dimension, principal_axes
from pellucid.errors import DataError, DataTypeError, NotFittedError, ParameterError
from tests.oracles import shared


def iris():
    return load_iris().data


def sets():
    rng = np.random.default_rng(0)
    return {
        "iris": iris(),
        "wine": load_wine().data,
        "digits": load_digits().data,
        "wide": rng.standard_normal((40, 300)) * np.linspace(1, 9, 300),
        "square": rng.standard_normal((50, 50)),
        "one column": rng.standard_normal((30, 1)),
        "two rows": rng.standard_normal((2, 3)),
    }


def equal_models(ours, theirs, X):
    """Equal where the variance is not just rounding."""
    real = theirs.explained_variance_ > 1e-12 * theirs.explained_variance_[0]
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(
            getattr(ours, name)[real], getattr(theirs, name)[real], rtol=1e-9, err_msg=name
        )
    np.testing.assert_allclose(ours.components_[real], theirs.components_[real], atol=1e-9)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-13, atol=1e-13)
    size = theirs.explained_variance_[0]
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, abs=1e-13 * size)
    assert ours.n_components_ == theirs.n_components_
    assert ours.n_samples_ == theirs.n_samples_
    np.testing.assert_allclose(
        ours.transform(X)[:, real], theirs.transform(X)[:, real], atol=1e-8 * np.sqrt(size)
    )


@pytest.mark.parametrize("name", sets())
@pytest.mark.parametrize("k", [None, 1, 0.8])
@pytest.mark.parametrize("solver", ["auto", "full", "arpack"])
def test_scikit_learn(name, k, solver):
    X = sets()[name]
    if solver == "arpack" and (k == 0.8 or min(X.shape) < 3):
        pytest.skip("arpack takes integers below the number of columns")
    theirs = sklearn.decomposition.PCA(k, svd_solver=solver.replace("auto", "full")).fit(X)
    equal_models(PCA(k, svd_solver=solver, random_state=0).fit(X), theirs, X)


@pytest.mark.parametrize("name", ["iris", "wine", "digits", "square"])
def test_minka(name):
    X = sets()[name]
    theirs = sklearn.decomposition.PCA("mle", svd_solver="full").fit(X)
    equal_models(PCA("mle").fit(X), theirs, X)


def test_minka_on_random_spectra(rng):
    """The evidence of every dimension as in scikit-learn, also for spectra near a tie."""
    from sklearn.decomposition._pca import _infer_dimension

    for _ in range(500):
        p, n = int(rng.integers(3, 15)), int(rng.integers(20, 500))
        variance = np.sort(rng.exponential(size=p) ** rng.uniform(0.2, 3.0))[::-1].copy()
        assert dimension.axes_by_evidence(variance, n) == _infer_dimension(variance, n)


def test_a_share_must_be_exceeded():
    ratio = np.array([0.5, 0.25, 0.25])
    assert [dimension.axes_for_share(ratio, share) for share in (0.4, 0.5, 0.75, 0.9)] == [
        1,
        2,
        3,
        3,
    ]


def test_covariance_solver():
    X = iris()
    theirs = sklearn.decomposition.PCA(3, svd_solver="covariance_eigh").fit(X)
    equal_models(PCA(3, svd_solver="covariance_eigh").fit(X), theirs, X)


@pytest.mark.parametrize("power", ["auto", 3])
def test_randomized_is_near_and_repeatable(power, rng):
    X = rng.standard_normal((400, 60)) * 0.9 ** np.arange(60)
    exact = PCA(5).fit(X)
    ours = PCA(5, svd_solver="randomized", random_state=0, iterated_power=power).fit(X)
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=1e-6)
    again = PCA(5, svd_solver="randomized", random_state=0, iterated_power=power).fit(X)
    assert (again.components_ == ours.components_).all()
    other = PCA(5, svd_solver="randomized", random_state=1, iterated_power=power).fit(X)
    assert (other.components_ != ours.components_).any()
    assert ours.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-6)


@pytest.mark.parametrize("scale", ["TRUE", "FALSE"])
def test_r_prcomp(scale):
    expected = shared.r_reference(f"prcomp_usarrests_scale{scale}")
    X = shared.frame("r_usarrests.csv").select_dtypes("number").to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1) if scale == "TRUE" else X
    model = PCA().fit(X)
    np.testing.assert_allclose(np.sqrt(model.explained_variance_), expected["sdev"], rtol=1e-13)
    rotation = principal_axes.fix_signs(np.array(expected["rotation"]).T)
    np.testing.assert_allclose(model.components_, rotation, rtol=0, atol=1e-13)


ROUTES = {
    "gram": (400, 8, 3), "svd": (60, 40, 3), "rows": (30, 90, 3),
    "lanczos": (420, 400, 4), "lanczos on gram": (700, 320, 4),
}  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
def test_every_automatic_route_is_the_svd(route, rng):
    n, p, k = ROUTES[route]
    X = rng.standard_normal((n, p)) * np.linspace(3, 1, p) + 5
    ours, full = PCA(k).fit(X), PCA(k, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.explained_variance_, full.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(ours.components_, full.components_, atol=1e-9)
    assert ours.noise_variance_ == pytest.approx(full.noise_variance_, rel=1e-12)


def test_automatic_does_not_square_badly_scaled_tables(rng, monkeypatch):
    X = rng.standard_normal((100, 3)) * [1, 1e-4, 1e4]
    asked = []
    by_svd = principal_axes.by_svd
    monkeypatch.setattr(principal_axes, "by_svd", lambda *a: asked.append(1) or by_svd(*a))
    PCA().fit(X)
    assert asked
    asked.clear()
    PCA().fit(X * [1, 1e4, 1e-4])
    assert not asked


@pytest.mark.parametrize("shape", [(50_000, 30), (3000, 400), (300, 2000)])
def test_threads_have_equal_bits(shape, rng):
    X = rng.standard_normal(shape) * np.linspace(1, 2, shape[1])
    results = []
    for threads in (1, 2, 4):
        pellucid.set_threads(threads)
        model = PCA(3).fit(X)
        results.append((model.components_.tobytes(), model.transform(X).tobytes()))
    pellucid.set_threads(None)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("shape", [(200, 5), (12, 20)])
def test_weights_are_repetition(shape, rng):
    X, w = rng.standard_normal(shape), rng.integers(0, 4, shape[0])
    a = PCA().fit(X, sample_weight=w)
    b = PCA().fit(np.repeat(X, w, axis=0))
    assert a.n_samples_ == b.n_samples_ == w.sum()
    for name in ("explained_variance_", "components_", "mean_", "singular_values_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-12, err_msg=name)
    half = PCA().fit(X[w > 0], sample_weight=0.5 * w[w > 0])
    m = (w > 0).sum()
    factor = m / (m - 1) * (w.sum() - 1) / w.sum()  # fractions: n counts rows
    np.testing.assert_allclose(
        half.explained_variance_[:4], factor * a.explained_variance_[:4], rtol=1e-11
    )


def test_rows_columns_shift_rotation(rng):
    X = rng.standard_normal((60, 4)) * [1, 2, 3, 4]
    base = PCA().fit(X)
    shifted = PCA().fit(X + 1e6)
    np.testing.assert_allclose(shifted.components_, base.components_, atol=1e-8)
    order = rng.permutation(4)
    permuted = PCA().fit(X[rng.permutation(60)][:, order])
    np.testing.assert_allclose(permuted.components_, base.components_[:, order], atol=1e-13)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    turned = PCA().fit(X @ Q)
    np.testing.assert_allclose(turned.explained_variance_, base.explained_variance_, rtol=1e-12)
    expected = principal_axes.fix_signs(base.components_ @ Q)
    np.testing.assert_allclose(turned.components_, expected, atol=1e-12)


@pytest.mark.parametrize("power", [-900, -500, 480])
def test_scale_by_a_power_of_two_changes_no_bit(power):
    base, scaled = PCA().fit(iris()), PCA().fit(np.ldexp(iris(), power))
    np.testing.assert_allclose(scaled.components_, base.components_, atol=1e-15)
    expected = np.ldexp(base.singular_values_, power)
    np.testing.assert_allclose(scaled.singular_values_, expected, rtol=1e-14)
    np.testing.assert_allclose(scaled.explained_variance_ratio_, base.explained_variance_ratio_)


def test_variance_that_no_float_holds_is_an_error():
    with pytest.raises(DataError, match="explained_variance_ exceeds the largest float64"):
        PCA().fit(np.ldexp(iris(), 900))


@pytest.mark.parametrize("p", [20, 350])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_is_dense(kind, p, rng):
    X = rng.random((400, p)) * (rng.random((400, p)) < 0.1) * np.linspace(1, 3, p)
    dense = PCA(3).fit(X)
    for solver in ("auto", "covariance_eigh", "arpack"):
        model = PCA(3, svd_solver=solver, random_state=0).fit(kind(X))
        np.testing.assert_allclose(model.explained_variance_, dense.explained_variance_, rtol=1e-11)
        np.testing.assert_allclose(model.components_, dense.components_, atol=1e-8)
        assert model.noise_variance_ == pytest.approx(dense.noise_variance_, rel=1e-11)
        np.testing.assert_allclose(model.transform(kind(X)), dense.transform(X), atol=1e-7)
        np.testing.assert_allclose(model.score_samples(kind(X)), dense.score_samples(X), rtol=1e-9)
    assert PCA().fit(kind(X[:, :9])).n_components_ == 9
    with pytest.raises(DataTypeError, match="sparse"):
        PCA(svd_solver="full").fit(kind(X))


def test_inverse_and_whiten(rng):
    X = rng.standard_normal((80, 4)) * [1, 2, 3, 4] + 7
    for whiten in (False, True):
        model = PCA(whiten=whiten).fit(X)
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
        np.testing.assert_allclose(model.get_covariance(), np.cov(X.T), atol=1e-12)
        theirs = sklearn.decomposition.PCA(whiten=whiten).fit(X)
        np.testing.assert_allclose(model.transform(X), theirs.transform(X), atol=1e-10)
    np.testing.assert_allclose(np.cov(model.transform(X).T), np.eye(4), atol=1e-12)
    flat = PCA(whiten=True).fit(np.column_stack([X, X[:, 0]]))
    assert np.isfinite(flat.transform(np.column_stack([X, X[:, 0]]))).all()
    assert (flat.transform(np.column_stack([X, X[:, 0]]))[:, 4] == 0).all()


@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_the_model_behind_it(k):
    X = iris()
    model, theirs = PCA(k).fit(X), sklearn.decomposition.PCA(k, svd_solver="full").fit(X)
    covariance = model.get_covariance()
    np.testing.assert_allclose(covariance, theirs.get_covariance(), atol=1e-13)
    np.testing.assert_allclose(model.get_precision() @ covariance, np.eye(4), atol=1e-12)
    density = scipy.stats.multivariate_normal(X.mean(axis=0), covariance).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), density, rtol=1e-11)
    assert model.score(X) == pytest.approx(theirs.score(X), rel=1e-11)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_cloud_without_thickness_has_the_variance_of_rounding(offset):
    X = np.column_stack([iris(), iris()[:, 0]]) + offset
    model = PCA().fit(X)
    assert model.explained_variance_[4] == 0.0
    floor = np.finfo(float).eps * model.explained_variance_[0]
    floor += (8 * np.finfo(float).eps * np.abs(model.mean_).max()) ** 2
    inside, part = model.score_samples(X), PCA(4).fit(X)
    # In the cloud: the density of its four directions, times that of the fifth at its mean.
    U = model.transform(X)[:, :4]
    four = -0.5 * ((U**2 / model.explained_variance_[:4]).sum(axis=1)
                   + np.log(2 * np.pi * model.explained_variance_[:4]).sum())  # fmt: skip
    np.testing.assert_allclose(inside, four - 0.5 * np.log(2 * np.pi * floor), atol=0.5)
    np.testing.assert_allclose(part.score_samples(X), inside, atol=1e-6)  # the rest has no noise
    outside = model.score_samples(X + np.array([1e-3, 0, 0, 0, -1e-3]))
    assert np.isfinite(outside).all() and (outside < inside - 1e6).all()
    thin = model.components_[4]
    np.testing.assert_allclose(model.get_precision() @ thin, thin / floor, atol=1e-6 / floor)


def test_rows_that_do_not_differ_have_no_density():
    model = PCA().fit(np.full((5, 3), 2.0))
    for call in (model.get_precision, lambda: model.score([[1.0, 2, 3]])):
        with pytest.raises(DataError, match="has no density"):
            call()


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "arpack", "randomized"])
def test_equal_rows_have_axes_too(solver):
    model = PCA(1, svd_solver=solver, random_state=0).fit(np.full((5, 3), 2.0))
    assert model.explained_variance_ == [0.0] and model.noise_variance_ == 0.0
    assert np.linalg.norm(model.components_) == pytest.approx(1.0)


def test_constant_tables_and_null_axes(rng):
    model = PCA().fit(np.full((5, 3), 2.0))
    assert (model.components_ == np.eye(3)).all()
    assert (model.explained_variance_ratio_ == 0).all() and (
        model.transform([[3, 2, 2]]) == [[1, 0, 0]]
    ).all()
    X = rng.standard_normal((4, 7))
    axes = PCA(4).fit(X).components_
    np.testing.assert_allclose(axes @ axes.T, np.eye(4), atol=1e-14)
    repeated = np.repeat(X, 3, axis=0)
    axes = PCA().fit(repeated).components_
    np.testing.assert_allclose(axes @ axes.T, np.eye(7), atol=1e-13)
    np.testing.assert_allclose(PCA().fit(repeated[::-1]).components_, axes, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"n_components": 5},
            r"n_components=5 must be between 0 and min\(n_samples, n_features\)=4",
        ),
        ({"n_components": 4, "svd_solver": "arpack"}, "strictly less than"),
        ({"n_components": 0, "svd_solver": "arpack"}, "must be between 1 and"),
        ({"n_components": 0.5, "svd_solver": "randomized"}, "must be between 1 and"),
        ({"n_components": "mle", "svd_solver": "arpack"}, "cannot be a string"),
    ],
)
def test_numbers_of_components_that_do_not_fit(arguments, text):
    model = PCA(**arguments)
    with pytest.raises(DataError, match=text):
        model.fit(iris())
    assert not hasattr(model, "components_")


def test_rows_that_do_not_suffice():
    with pytest.raises(DataError, match="only supported if n_samples >= n_features"):
        PCA("mle").fit(iris()[:3])
    with pytest.raises(DataError, match="1 sample"):
        PCA().fit(iris()[:1])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", -1), ("n_components", 1.5), ("n_components", "all"), ("whiten", 2),
        ("svd_solver", "qr"), ("tol", -1.0), ("iterated_power", -1), ("iterated_power", "many"),
        ("n_oversamples", 0), ("power_iteration_normalizer", "SVD"), ("random_state", "x"),
        ("copy", "no"),
    ],
)  # fmt: skip
def test_bad_parameters(name, value):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of PCA must be"):
        PCA(**{name: value}).fit(iris())


def test_bad_components():
    with pytest.raises(NotFittedError):
        PCA().inverse_transform([[1.0]])
    model = PCA(2).fit(iris())
    with pytest.raises(DataError, match="takes 2 columns"):
        model.inverse_transform([[1.0, 2.0, 3.0]])
    with pytest.raises(DataError, match="NaN or infinite"):
        model.inverse_transform([[1.0, np.nan]])
    with pytest.raises(DataTypeError, match="needs numbers"):
        model.inverse_transform([[1j, 2.0]])


def test_frames_names_and_saved_models(tmp_path):
    frame = load_iris(as_frame=True).data
    model = PCA(2).set_output(transform="pandas").fit(frame)
    out = model.transform(frame[frame.columns[::-1]])
    assert list(out.columns) == ["pca0", "pca1"] == model.get_feature_names_out().tolist()
    model.save(tmp_path / "m.pellucid")
    loaded = pellucid.load(tmp_path / "m.pellucid")
    assert (loaded.components_ == model.components_).all()
    assert (np.asarray(loaded.transform(frame)) == out.to_numpy()).all()


cells = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(X=hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=cells))
def test_any_finite_table(X):
    model = PCA()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X)
    except DataError as error:
        assert len(X) < 2 or "exceeds the largest float64" in str(error)
        return
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "mean_"):
        assert np.isfinite(getattr(model, name)).all()
    k = model.n_components_
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
    assert (np.diff(model.explained_variance_) <= 0).all()
