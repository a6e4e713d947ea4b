"""Tables that need not fit into memory: every source gives the model that the table in memory gives."""

import contextlib
import datetime as dt
import importlib
import os
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import pellucid
from pellucid.data.sources import databases, row_choice, scratch_table
from pellucid.data.sources.find import source_of
from pellucid.errors import DataError, MemoryLimitError, ParameterError
from pellucid.linear_model import LinearRegression
from pellucid.naive_bayes import GaussianNB
from pellucid.names import ESTIMATORS
from pellucid.parallel import memory

ROWS = 60_000  # 7 columns: 3.4 MB, more than the smallest large array


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(ROWS, 4))
    X[:, 3] = np.floor(X[:, 3])
    score = X @ [1.0, -1.0, 0.5, 0.25]
    region = np.array(["north", "south", "east", "west"])[rng.integers(0, 4, ROWS)]
    churn = np.where(score + rng.logistic(size=ROWS) > 1, "yes", "no")
    columns = {f"x{j}": X[:, j] for j in range(4)} | {"region": region.tolist()}
    columns["x2"] = pa.array(X[:, 2], mask=rng.random(ROWS) < 0.1)
    return pa.table({
        **columns, "churn": churn.tolist(), "units": rng.poisson(np.exp(score / 8)) + 1.0,
        "weight": rng.integers(0, 3, ROWS),
    })  # fmt: skip


@pytest.fixture
def ceiling(monkeypatch):
    """Every source counts as large, and arrays from 1 MB on may be in scratch files."""
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    pellucid.set_memory(memory.resident() + 600 * 10**6)
    monkeypatch.setattr(memory, "LARGEST", 2**18)
    monkeypatch.setattr(memory, "SMALLEST", 2**18)
    monkeypatch.setattr(memory, "BUDGET", 0)
    yield
    pellucid.set_memory(None)


def files(table, folder, rows=7_001, parts=3):
    step = -(-table.num_rows // parts)
    for k in range(parts):
        pq.write_table(table.slice(k * step, step), folder / f"{k}.parquet", row_group_size=rows)
    return f"{folder}/*.parquet"


def hive(table, folder):
    for k in range(2):
        part = table.slice(k * 30_000, 30_000)
        (folder / f"half={k}").mkdir()
        pq.write_table(part, folder / f"half={k}" / "part.parquet")
    return folder


def arrow_file(table, folder):
    with (
        pa.OSFile(str(folder / "t.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as out,
    ):
        out.write_table(table, max_chunksize=9_973)
    return folder / "t.arrow"


def lazy(table, folder):
    polars = pytest.importorskip("polars")
    return polars.from_arrow(table).lazy()


def duckdb_relation(table, folder):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(table)


def duckdb_file(table, folder):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE sales AS SELECT * FROM given")
    return pellucid.scan(folder / "t.duckdb", table="sales")


def sqlite(table, folder):
    connection = sqlite3.connect(folder / "t.sqlite")
    marks = ", ".join("?" * table.num_columns)
    connection.execute(f"CREATE TABLE sales ({', '.join(table.column_names)})")
    connection.executemany(
        f"INSERT INTO sales VALUES ({marks})", zip(*(c.to_pylist() for c in table.columns))
    )
    return pellucid.scan(connection, query="SELECT * FROM sales ORDER BY rowid")


def csv_file(table, folder, ending=""):
    path = str(folder / f"t.csv{ending}")
    with pa.output_stream(path, compression="gzip" if ending else None) as file:
        csv.write_csv(table, file)
    return path


SOURCES = {
    "parquet": lambda table, folder: files(table, folder),
    "one row group": lambda table, folder: files(table, folder, 10**6, 1),
    "arrow": arrow_file,
    "data set": lambda table, folder: ds.dataset(files(table, folder).removesuffix("/*.parquet")),
    "stream": lambda table, folder: table.to_reader(max_chunksize=4_999),
    "lazy frame": lazy,
    "DuckDB relation": duckdb_relation,
    "DuckDB file": duckdb_file,
    "SQLite": sqlite,
    "CSV": csv_file,
    "compressed CSV": lambda table, folder: csv_file(table, folder, ".gz"),
}


def learned(model):
    return {k: v for k, v in vars(model).items() if k.endswith("_") and k != "schema_"}


def assert_same(a, b, where=""):
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif hasattr(a, "__dataclass_fields__"):
        assert_same(vars(a), vars(b), where)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y, where)
    elif not callable(a):
        assert a == b or (a != a and b != b), where


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_gives_the_model_of_the_table(name, table, tmp_path, ceiling):
    part = table.drop_columns(["units", "weight"])
    found = GaussianNB().fit(SOURCES[name](part, tmp_path), "churn")
    assert_same(learned(found), learned(GaussianNB().fit(part, "churn")))
    schema, expected = found.schema_, GaussianNB().fit(part, "churn").schema_
    assert (schema.kinds, schema.levels) == (expected.kinds, expected.levels)
    np.testing.assert_array_equal(schema.shares, expected.shares)
    np.testing.assert_array_equal(schema.n_missing, expected.n_missing)
    assert found.fit_report_["rows"] == ROWS


SEEDED = {"random_state": 0}
MODELS = {
    "LinearRegression": {}, "Ridge": {}, "Lasso": {"alpha": 0.01}, "ElasticNet": {"alpha": 0.01},
    "BayesianRidge": {}, "BayesianRegression": {}, "RidgeCV": {}, "LassoCV": {"cv": 3},
    "PoissonRegressor": {}, "GammaRegressor": {}, "TweedieRegressor": {"power": 1.5},
    "LogisticRegression": {}, "LinearDiscriminantAnalysis": {}, "QuadraticDiscriminantAnalysis": {},
    "FisherDiscriminant": {}, "GaussianBayesClassifier": {}, "BernoulliNB": {}, "ComplementNB": {},
    "MixedNB": {}, "MultinomialNB": {}, "PoissonNB": {}, "Perceptron": SEEDED,
    "SGDClassifier": {"max_iter": 5, "tol": None, **SEEDED}, "KMeans": {"n_clusters": 3, **SEEDED},
    "SGDRegressor": {"max_iter": 5, "tol": None, **SEEDED}, "DummyClassifier": {},
    "DummyRegressor": {}, "GaussianMixture": {"n_components": 2, "max_iter": 5, "tol": 1.0, **SEEDED},
    "PCA": {"n_components": 2}, "Nystroem": {"n_components": 20, **SEEDED}, "LinearSVC": SEEDED,
    "DecisionTreeClassifier": {"splitter": "hist", "max_depth": 5, **SEEDED},
    "DecisionTreeRegressor": {"splitter": "hist", "max_depth": 5, **SEEDED},
    "RandomForestClassifier": {"splitter": "hist", "n_estimators": 3, "max_depth": 6, **SEEDED},
    "RandomForestRegressor": {"splitter": "hist", "n_estimators": 3, "max_depth": 6, **SEEDED},
    "ElasticNetCV": {"cv": 3, "alphas": 5}, "LogisticRegressionCV": {"cv": 2, "Cs": 2},
    "RidgeClassifier": {}, "LinearSVR": SEEDED, "CategoricalNB": {}, "GaussianNB": {},
    "GeneralizedLinearModel": {}, "LogTargetRidge": {},
    "HistGradientBoostingClassifier": {"max_iter": 5, **SEEDED},
    "HistGradientBoostingRegressor": {"max_iter": 5, **SEEDED},
}  # fmt: skip
# Models that want numbers >= 0 without missing values, or columns that are not collinear.
NUMBERS = (
    "BernoulliNB", "ComplementNB", "MultinomialNB", "PoissonNB", "QuadraticDiscriminantAnalysis",
    "GaussianBayesClassifier",
)  # fmt: skip


def make(name, **given):
    module = next(module for module, names in ESTIMATORS.items() if name in names)
    return getattr(importlib.import_module(module), name)(**given)


def target_of(model):
    return {"classes": "churn", "none": None}.get(model._target, "units")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_from_scratch_files_has_equal_bits(name, table, tmp_path, ceiling):
    columns = ["x0", "x1", "x3"] if name in NUMBERS else ["x0", "x1", "x2", "x3", "region"]
    model, twin = make(name, **MODELS[name]), make(name, **MODELS[name])
    target = target_of(model)
    source = pellucid.scan(files(table, tmp_path), features=columns)
    given = {} if target is None else {"y": target}
    model.fit(source, **given)
    twin.fit(table.select(columns + ([target] if target else [])), **given)
    assert model.fit_report_["scratch_bytes"] > 0
    assert_same(learned(model), learned(twin))


def test_every_model_streams_or_names_another():
    streams = {name for name in MODELS if not make(name, **MODELS[name])._substitute}
    every = {name for names in ESTIMATORS.values() for name in names}
    refuse = {name for name in every - streams if make(name)._substitute}
    assert streams == set(MODELS) and streams | refuse == every


@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression", "PoissonRegressor"])
def test_a_summary_from_scratch_files_is_the_same(name, table, tmp_path, ceiling):
    columns = ["x0", "x1", "x2", "region"]
    model, twin = make(name), make(name)
    target = target_of(model)
    model.fit(pellucid.scan(files(table, tmp_path), features=columns), y=target)
    twin.fit(table.select([*columns, target]), y=target)
    assert str(model.summary()) == str(twin.summary())


FAMILIES = (
    "LinearRegression", "LogisticRegression", "PoissonRegressor", "MixedNB",
    "LinearDiscriminantAnalysis", "PCA", "KMeans", "GaussianMixture", "SGDClassifier",
    "RandomForestRegressor", "HistGradientBoostingClassifier",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_each_kind_of_model(source, name, table, tmp_path, ceiling):
    model, twin = make(name, **MODELS.get(name, {})), make(name, **MODELS.get(name, {}))
    target = target_of(model)
    part = table.select(["x0", "x1", "x2", "x3", "region", *([target] if target else [])])
    given = {} if target is None else {"y": target}
    model.fit(SOURCES[source](part, tmp_path), **given)
    assert_same(learned(model), learned(twin.fit(part, **given)))


@pytest.mark.parametrize("rows, parts", [(101, 1), (60_000, 7), (8_192, 13)])
def test_row_groups_and_files_do_not_change_a_model(rows, parts, table, tmp_path, ceiling):
    part = table.select(["x0", "x2", "region", "churn"])
    given = MODELS["HistGradientBoostingClassifier"]
    model = make("HistGradientBoostingClassifier", **given)
    folder = tmp_path / "parts"
    folder.mkdir()
    step = -(-part.num_rows // parts)
    for k in range(parts):
        path = folder / f"{k:02d}.parquet"
        pq.write_table(part.slice(k * step, step), path, row_group_size=rows)
    model.fit(folder, "churn")
    twin = make("HistGradientBoostingClassifier", **given).fit(part, "churn")
    assert_same(learned(model), learned(twin))


def test_weights_offset_and_features_are_columns(table, tmp_path, ceiling):
    source = pellucid.scan(files(table, tmp_path), features=["x0", "x2"])
    found = make("PoissonRegressor").fit(source, "units", sample_weight="weight", offset="x3")
    weight, offset = (table.column(name).to_numpy() for name in ("weight", "x3"))
    rows = table.select(["x0", "x2", "units"])
    twin = make("PoissonRegressor").fit(rows, "units", sample_weight=weight, offset=offset)
    assert_same(learned(found), learned(twin))
    assert found.feature_names_in_.tolist() == ["x0", "x2"]
    found = make("PoissonRegressor").fit(source, "units", exposure="x1")
    twin = make("PoissonRegressor").fit(rows, "units", exposure=table.column("x1").to_numpy())
    assert_same(learned(found), learned(twin))


def test_only_columns_in_use_are_planned_for(table, tmp_path, ceiling):
    source = pellucid.scan(files(table, tmp_path), features=["x0", "x2"])
    model = make("PoissonRegressor").fit(source, "units", sample_weight="weight")
    assert model.fit_report_["columns"] == 4
    assert model.fit_report_["planned_scratch"] == 8 * 4 * ROWS
    with pytest.raises(DataError, match="no column 'unit'"):
        model.fit(source, "unit")


def test_folders_name_columns(table, tmp_path, ceiling):
    part = table.select(["x0", "x2", "units"])
    found = LinearRegression().fit(hive(part, tmp_path), "units")
    twin = LinearRegression().fit(
        part.append_column("half", pa.array(np.arange(ROWS) // 30_000)), "units"
    )
    assert_same(learned(found), learned(twin))


def test_a_folder_names_missing_values_and_negative_numbers(tmp_path):
    for k, (name, level) in enumerate([("-1", "b%20c"), ("__HIVE_DEFAULT_PARTITION__", "d")]):
        place = tmp_path / f"year={name}" / f"kind={level}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"x": [float(k), 2.0]}), place / "part.parquet")
    found = source_of(tmp_path).load().sort_by("x")
    assert found.column("year").to_pylist() == [-1, None, -1, None]
    assert found.column("kind").to_pylist() == ["b c", "d", "b c", "d"]


def test_filters_of_a_data_set_hold(table, tmp_path, ceiling):
    data = ds.dataset(files(table, tmp_path).removesuffix("/*.parquet")).filter(ds.field("x0") > 1)
    found = LinearRegression().fit(pellucid.scan(data, features=["x0", "x2"]), "units")
    twin = LinearRegression().fit(data.to_table(columns=["x0", "x2", "units"]), "units")
    assert_same(learned(found), learned(twin))


def test_a_source_that_fits_is_read_into_memory(table, tmp_path):
    model = LinearRegression().fit(pellucid.scan(files(table, tmp_path), features=["x0"]), "units")
    with pytest.raises(AttributeError, match="in memory"):
        _ = model.fit_report_


def test_a_report_goes_with_what_was_learned(table, tmp_path, ceiling):
    names = ["x0", "x1", "x3"]
    source = pellucid.scan(files(table, tmp_path), features=names)
    few = table.slice(0, 50)
    model = make("SGDClassifier").fit(source, "churn")
    assert model.fit_report_["rows"] == ROWS
    model.partial_fit(few.select(names), few.column("churn").to_numpy())
    assert not hasattr(model, "fit_report_")
    model.fit(source, "churn").fit(few.select([*names, "churn"]), "churn")
    assert not hasattr(model, "fit_report_")


REFUSED = {
    "SVC": "LinearSVC", "KNeighborsClassifier": "HistGradientBoosting", "TSNE": "PCA",
    "RandomForestClassifier": "splitter='hist'", "MLPRegressor": "SGDRegressor",
    "DecisionTreeRegressor": "splitter='hist'", "GradientBoostingRegressor": "HistGradientBoosting",
    "ExtraTreesClassifier": r"RandomForestClassifier\(splitter='hist'\)",
    "BaggingClassifier": "HistGradientBoosting", "AdaBoostRegressor": "HistGradientBoosting",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_need_the_whole_table_name_another(name, table, tmp_path, ceiling):
    with pytest.raises(MemoryLimitError, match=REFUSED[name]):
        make(name).fit(files(table, tmp_path), "churn")


def test_too_little_memory_says_what_would_do(table, tmp_path, ceiling):
    pellucid.set_memory("50MB")
    with pytest.raises(
        MemoryLimitError, match=r"needs at least .* [MG]B of memory, but 50 MB are allowed"
    ):
        LinearRegression().fit(files(table, tmp_path), "units")


# Faults -------------------------------------------------------------------------------------------


def test_a_file_that_changes_is_refused(table, tmp_path, ceiling):
    source = pellucid.scan(files(table, tmp_path), features=["x0"])
    pq.write_table(table.slice(0, 100), tmp_path / "1.parquet")
    model = LinearRegression()
    with pytest.raises(DataError, match="changed while it was read"):
        model.fit(source, "units")
    assert not hasattr(model, "coef_")


def test_a_damaged_row_group_is_refused(table, tmp_path, ceiling):
    files(table, tmp_path, parts=1)
    content = bytearray((tmp_path / "0.parquet").read_bytes())
    content[5_000:200_000] = bytes(195_000)
    (tmp_path / "0.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read.* \(.*0\.parquet: "):
        LinearRegression().fit(pellucid.scan(tmp_path, features=["x0", "x2"]), "units")


def test_a_truncated_file_is_refused(table, tmp_path, ceiling):
    files(table, tmp_path)
    content = (tmp_path / "2.parquet").read_bytes()
    (tmp_path / "2.parquet").write_bytes(content[:-1000])
    with pytest.raises(DataError, match=r"2\.parquet cannot be read: .* incomplete"):
        LinearRegression().fit(tmp_path, "units")


def test_a_part_that_cannot_be_opened_is_refused(table, tmp_path):
    files(table, tmp_path)
    (tmp_path / "3.parquet").symlink_to(tmp_path / "nowhere")
    for source in (tmp_path, f"{tmp_path}/*.parquet"):
        with pytest.raises(DataError, match=r"3\.parquet cannot be read: No such file"):
            LinearRegression().fit(source, "units")
    (tmp_path / "3.parquet").unlink()
    os.mkfifo(tmp_path / "3.parquet")
    for source in (tmp_path, f"{tmp_path}/*.parquet"):
        with pytest.raises(DataError, match=r"3\.parquet cannot be read: it is not a regular file"):
            LinearRegression().fit(source, "units")


def test_a_pattern_matches_folders_that_are_named_like_files(table, tmp_path):
    (tmp_path / "1.parquet").mkdir()
    files(table.slice(20_000, 40_000), tmp_path / "1.parquet")
    (tmp_path / "1.parquet" / "_SUCCESS").touch()
    pq.write_table(table.slice(0, 20_000), tmp_path / "0.parquet")
    for pattern in ("*.parquet", "**/*.parquet"):
        assert source_of(tmp_path / pattern).load().equals(table)


def test_files_with_other_columns_or_types_are_refused(table, tmp_path, ceiling):
    files(table, tmp_path)
    pq.write_table(table.drop_columns(["x3"]), tmp_path / "9.parquet")
    with pytest.raises(DataError, match=r"The columns of .*9\.parquet .* differ: 'x3'"):
        LinearRegression().fit(tmp_path, "units")
    pq.write_table(
        table.set_column(0, "x0", table.column("x0").cast(pa.string())), tmp_path / "9.parquet"
    )
    with pytest.raises(DataError, match="column 'x0' has different types"):
        LinearRegression().fit(tmp_path, "units")


def test_a_full_scratch_disk_leaves_nothing_behind(table, tmp_path, ceiling, monkeypatch):
    resource = pytest.importorskip("resource")
    path, scratch = files(table, tmp_path), tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("PELLUCID_SCRATCH", str(scratch))
    model, before = LinearRegression(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, before[1]))
    try:
        with pytest.raises(OSError, match="scratch folder"):
            model.fit(pellucid.scan(path, features=["x0", "x2"]), "units")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not hasattr(model, "coef_") and not os.listdir(scratch)
    model.fit(pellucid.scan(path, features=["x0", "x2"]), "units")  # and works when there is room
    assert not os.listdir(scratch)


def test_wrong_sources_are_refused(table, tmp_path):
    with pytest.raises(DataError, match="no file matches"):
        pellucid.scan(tmp_path / "*.parquet")
    with pytest.raises(DataError, match="no column 'regions'"):
        pellucid.scan(files(table, tmp_path), features=["regions"])
    with pytest.raises(ParameterError, match="not both"):
        pellucid.scan(tmp_path, table="a", query="b")
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(DataError, match=r"scan\(connection, query="),
    ):
        pellucid.scan(connection)
    assert source_of(table) is None


def test_dates_of_a_database_keep_their_moments():
    when = [dt.datetime(2024, 2, 29, 13, 30, 15, 250_000), None, dt.datetime(1969, 12, 31)]
    cells = np.empty(3, dtype=object)
    cells[:] = when
    assert databases._arrow("when", cells).to_pylist() == when


def test_rows_are_chosen_by_the_seed():
    keys = [row_choice._keys(0, 1000, seed) for seed in range(3)]
    assert not (np.sort(keys[0]) == np.sort(keys[1])).any()
    orders = np.argsort(keys, axis=1)
    assert np.abs(np.corrcoef(orders)[np.triu_indices(3, 1)]).max() < 0.15
    np.testing.assert_array_equal(row_choice._keys(100, 50, 1), keys[1][100:150])


def test_levels_count_their_characters_and_what_each_of_them_needs():
    column = scratch_table._Column("c", None, np.empty(0))
    assert [column._code(level) for level in ("abc", True, "abc", "")] == [0, 1, 0, 2]
    assert column.size == 3 * scratch_table.LEVEL_BYTES + 3
