"""Saved models of formulas: equal bits after loading, plain data only, no code from any file."""

import json
import sys

import numpy as np
import pytest

import pellucid
from pellucid import persist
from pellucid.errors import (
    CannotSaveError,
    DataError,
    ModelFileError,
    ParameterError,
    PellucidError,
)
from pellucid.formula.language import UnsafeExpression, columns_of
from tests.persist.forgery import at, cases, mutated, nodes, parts, sealed

pandas = pytest.importorskip("pandas")
pytest.importorskip("formulaic")
formula = pellucid.formula


def table(n=60):
    rng = np.random.default_rng(0)
    found = pandas.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(1, 3, n)})
    found["g"], found["k"] = rng.choice(list("abc"), n), rng.integers(0, 3, n)
    found["odd name"], found["petal.width"] = rng.normal(size=n), rng.uniform(1, 2, n)
    found["size"] = pandas.Categorical(rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"])
    found["y"] = found.x + found.z + rng.normal(size=n)
    found["count"] = rng.poisson(found.z).astype(float)
    return found


def there_and_back(model, folder):
    model.save(folder / "m")
    return pellucid.load(folder / "m")


FORMULAS = [
    "y ~ x * C(g) + C(k)",
    "y ~ size * x + {x > 0}",
    "y ~ 0 + g + x:z",
    "y ~ 1",
    "y ~ poly(x, 3) + bs(z, df=5)",
    "y ~ cr(z, df=4) + cc(x, df=3)",
    "y ~ center(x) + scale(np.log(z)) + standardize(z**2)",
    "y ~ C(g, contr.treatment('b')) + C(k, contr.sum)",
    'y ~ C(g, Treatment("c")) + C(size, levels=["hi", "lo", "mid"])',
    "y ~ C(g, contr.custom([[1, 0], [0, 1], [-1, -1]])):x",
    "np.log(z) ~ x + `odd name` + np.exp(`odd name`) + petal.width + Q('petal.width'):x",
    "center(y) ~ np.where(x > 0, x, 0) + I(-x / z)",
]


@pytest.mark.parametrize("terms", FORMULAS)
def test_equal_bits_after_loading(terms, tmp_path):
    data, new = table(), table()[5:25]
    model = formula.ols(terms, data)
    again = there_and_back(model, tmp_path)
    assert type(again) is formula.FormulaModel and again.formula == terms
    assert again.params == model.params
    assert str(again) == str(model)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.predict_interval(new), model.predict_interval(new))
    np.testing.assert_array_equal(
        again.explain(new).contributions, model.explain(new).contributions
    )
    assert again.score(data) == model.score(data)
    again.save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    assert f"formula: {terms}" in str(persist.describe(tmp_path / "m"))


def test_new_rows_are_measured_by_the_training_rows(tmp_path):
    """One row has no mean, range or levels of its own."""
    data = table()
    terms = "y ~ center(x) + scale(z) + poly(z, 2) + C(g)"
    again = there_and_back(formula.ols(terms, data), tmp_path)
    whole = again.predict(data)
    one_by_one = [again.predict(data[i : i + 1])[0] for i in range(5)]
    np.testing.assert_allclose(one_by_one, whole[:5], rtol=1e-12)
    assert np.ptp(whole[:5]) > 0.1


def test_exposure_missing_rows_and_robust_errors(tmp_path):
    data = table()
    data.loc[[3, 8], "x"] = np.nan
    whole = data.dropna()
    model = formula.glm("count ~ x + C(g)", data, "poisson", exposure="z")
    again = there_and_back(model, tmp_path)
    assert str(again) == str(model) and "2 of 60 rows have missing values" in str(again)
    np.testing.assert_array_equal(again.predict(whole), model.predict(whole))
    np.testing.assert_array_equal(
        again.predict_interval(whole, kind="mean"), model.predict_interval(whole, kind="mean")
    )
    ones = np.ones(len(whole))
    np.testing.assert_array_equal(
        again.predict(whole, exposure=ones), model.predict(whole, exposure=ones)
    )
    with pytest.raises(ParameterError, match="need the training rows"):
        again.summary(errors="HC1")
    for name in ("X", "y", "table", "rows", "fit_options"):
        with pytest.raises(
            PellucidError, match="training data, which a model file does not contain"
        ):
            getattr(again, name)
    rows = {"X": again.matrix(whole), "y": whole["count"], "exposure": whole["z"]}
    assert (
        again.summary(errors="HC1", **rows).frame()["std error"]
        == model.summary(errors="HC1").frame()["std error"]
    )


def test_a_loaded_model_knows_its_levels_and_columns(tmp_path):
    again = there_and_back(formula.ols("y ~ x + C(g)", table()), tmp_path)
    with pytest.raises(DataError, match=r"did not have the level\(s\) 'd'"):
        again.predict(table().assign(g="d"))
    with pytest.raises(DataError, match="no column 'x'"):
        again.predict(table().drop(columns="x"))
    assert again.levels == {"g": ("a", "b", "c")}
    assert list(again.feature_names_in_) == ["g", "x"]


UNFIT = {
    "y ~ x.abs()": r"'x\.abs\(\)' is not among the expressions",
    "y ~ hashed(g, levels=3)": "'hashed",
    "y ~ np.vander(x)": r"'np\.vander\(x\)'",
    "y ~ pieces": "levels of 'pieces' are not strings, numbers or booleans",
}


@pytest.mark.parametrize("terms", UNFIT)
def test_what_is_not_plain_data_is_not_saved(terms, tmp_path):
    data = table()
    data["pieces"] = pandas.cut(data["x"], 3)
    model = formula.ols(terms, data)
    with pytest.raises(CannotSaveError, match=UNFIT[terms]):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


HOSTILE = [
    "__import__('os').system('true')",
    "np.load('f', allow_pickle=True)",
    "np.lib.format.open_memmap('f')",
    "x.to_pickle('f')",
    "np.log.__class__(x)",
    "(lambda: 1)()",
    "`lambda`: x",
    "[x for x in (1,)]",
    "open('f')",
    "C(x, open('f'))",
    "`__import__`('os')",
    "np",
    "contr.mro(x)",
    "poly(x, 2, _state={})",
    "poly(x, *[3])",
    "poly(x, 1000000)",
    "poly(x, degree=10 * 10)",
    "bs(x, df=10000)",
    "x ** 9 ** 9 ** 9",
    "(x ** 9) ** 9",
    "9 ** 9",
    "x << 9",
    "'a' * 99999999",
    "[x] * 99999999",
    "I('a') * 99999999",
    "I([x]) * 99999999",
    "C(x, levels=['\\'])",
    "C(x, levels=['`'])",
    'C(x, levels=["it\'s"])',
    "C(x, f'{x}')",
    "x if x else x",
    "x[0]",
    "-" * 500 + "x",
    "(" * 500 + "x" + ")" * 500,
    "x +" * 100 + "x" + " + (x" * 100,
    "x\0",
    "",
    # What one reader takes for a comment, a text or a quoted name, another may take for code.
    "(x # '`\n + open(x) #`'\n)",
    '(x # "`\n + open(x) #`"\n)',
    "x # '`\n`'",
    "(x\n + z)",
    "C(x, levels=['`a`'])",
    "x # `open(x)`",
    " x",
    "x+z",
]


def test_no_file_brings_code(tmp_path):
    """A forger knows the format; what is evaluated is arithmetic all the same."""
    model = formula.ols("y ~ np.log(z) + C(g)", table())
    model.save(tmp_path / "m")
    shape, document, data = parts((tmp_path / "m").read_bytes())
    text = json.dumps(document)
    for expression in HOSTILE:
        with pytest.raises(UnsafeExpression):
            columns_of(expression)
        forged = json.loads(text.replace('"np.log(z)"', json.dumps(expression)))
        (tmp_path / "f").write_bytes(sealed(shape, forged, data))
        with pytest.raises(ModelFileError):
            pellucid.load(tmp_path / "f")


def test_what_is_checked_is_what_is_evaluated(tmp_path):
    """A comment for the check that is a line of code for the evaluation would run anything."""
    from formulaic.utils.code import sanitize_variable_names

    ran, data = tmp_path / "ran", table()
    code = f"__import__('pathlib').Path({str(ran)!r}).touch()"
    written = ", ".join(map(str, code.encode()))
    hostile = f"(z # '`\n + 0 * bool(eval(bytes(({written},)).decode())) #`'\n)"
    names = {"z": data.z, "__builtins__": __builtins__}
    eval(sanitize_variable_names(hostile, {}, {}), names)  # as formulaic reads it
    assert ran.exists()
    ran.unlink()
    formula.ols("y ~ np.log(z)", data).save(tmp_path / "m")
    shape, document, raw = parts((tmp_path / "m").read_bytes())
    forged = json.loads(json.dumps(document).replace('"np.log(z)"', json.dumps(hostile)))
    (tmp_path / "f").write_bytes(sealed(shape, forged, raw))
    with pytest.raises(ModelFileError, match="which a model file may not contain"):
        pellucid.load(tmp_path / "f").predict(data)
    assert not ran.exists()


def test_texts_are_not_multiplied(tmp_path):
    """A text of one letter times a number is a text that fills the memory."""
    formula.ols("y ~ np.log(z)", table()).save(tmp_path / "m")
    shape, document, raw = parts((tmp_path / "m").read_bytes())
    for expression in ("g * 999999999999", "999999999999 * I(g)", "Q('g') % 5", "x + g * 10"):
        forged = json.loads(json.dumps(document).replace('"np.log(z)"', json.dumps(expression)))
        (tmp_path / "f").write_bytes(sealed(shape, forged, raw))
        with pytest.raises(DataError, match="multiplies column 'g'"):
            pellucid.load(tmp_path / "f").predict(table())
    found = formula.ols("y ~ I((g == 'a') * x)", table())
    np.testing.assert_array_equal(
        there_and_back(found, tmp_path).predict(table()), found.predict(table())
    )


def test_a_file_does_not_write_on_the_screen(tmp_path):
    formula.ols("y ~ x", table()).save(tmp_path / "m")
    shape, document, raw = parts((tmp_path / "m").read_bytes())
    document["model"]["fields"]["formula"] = "y ~ x\x1b[2J\x1b]0;title\x07"
    (tmp_path / "f").write_bytes(sealed(shape, document, raw))
    said = str(pellucid.load(tmp_path / "f"))
    assert said.startswith("y ~ x") and not {"\x1b", "\x07"} & set(said)


def test_names_that_are_no_columns_are_not_found(tmp_path):
    assert columns_of("eval + x") == ("eval", "x")  # a column's name like any other
    model = formula.ols("y ~ np.log(z)", table().assign(eval=1.0))
    model.save(tmp_path / "m")
    shape, document, data = parts((tmp_path / "m").read_bytes())
    forged = json.loads(json.dumps(document).replace("np.log(z)", "eval + z"))
    (tmp_path / "f").write_bytes(sealed(shape, forged, data))
    with pytest.raises(DataError, match="no column 'eval'"):
        pellucid.load(tmp_path / "f").predict(table())


@pytest.mark.parametrize("seed", range(2))
def test_forged_files_do_no_harm(seed, tmp_path):
    """Any change gives a `PellucidError`, on loading or later, or a model that answers."""
    rng = np.random.default_rng(seed)
    data = table()
    formula.glm("count ~ poly(x, 2) * C(g)", data, "poisson", exposure="z").save(tmp_path / "m")
    shape, document, raw = parts((tmp_path / "m").read_bytes())
    design = document["model"]["fields"]["design"]
    strange = [None, True, -1, "x", "os.system", [], {}, {"@": "tuple", "items": []}, 10**30]
    strange += [at(design, path) for path in list(nodes(design))[::7]]
    survived = 0
    for _ in cases(80):
        forged = json.loads(json.dumps(document))
        forged["model"]["fields"]["design"] = mutated(design, rng, strange)
        (tmp_path / "f").write_bytes(sealed(shape, forged, raw))
        try:
            pellucid.load(tmp_path / "f").predict(data[:9])
            survived += 1
        except PellucidError:
            pass
    assert survived


def test_without_formulaic_a_file_still_tells(tmp_path, monkeypatch):
    model = formula.ols("y ~ x + C(g)", table())
    text = str(model)
    model.save(tmp_path / "m")
    for name in [n for n in sys.modules if n.partition(".")[0] == "formulaic"]:
        monkeypatch.setitem(sys.modules, name, None)
    again = pellucid.load(tmp_path / "m")
    assert str(again) == text
    with pytest.raises(PellucidError, match=r"pip install 'pellucid\[formula\]'"):
        again.predict(table())


def test_the_command_line_takes_a_model_of_a_formula(tmp_path, capfdbinary):
    from pellucid.app import cli

    data = table().assign(g=lambda t: t.g.replace("a", "NA"))
    model = formula.glm("count ~ x + C(g)", data, "poisson", exposure="z")
    model.save(tmp_path / "m.pellucid")
    data.to_csv(tmp_path / "t.csv", index=False)
    arguments = [str(tmp_path / "m.pellucid"), str(tmp_path / "t.csv")]
    assert cli.run(["predict", *arguments]) == 0
    said = capfdbinary.readouterr().out.decode().split()
    assert [float(row) for row in said[1:]] == model.predict(data).tolist()
    assert cli.run(["explain", *arguments, "--row", "1"]) == 0
    told = capfdbinary.readouterr().out.decode()
    assert "C(g)[T.b]" in told and " + contributions = " in told


def test_a_column_that_is_named_as_the_constant():
    with pytest.raises(ParameterError, match="looks like the constant 1"):
        formula.ols("y ~ `1` + x", table().assign(**{"1": 2.0}))
