"""Formulas: the tips vector, R's contrasts, missing rows, unknown columns and levels."""

import decimal

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.errors import DataConversionWarning, DataError, ParameterError
from pellucid.inspection import bootstrap
from tests.oracles import shared

pandas = pytest.importorskip("pandas")
formula = pytest.importorskip("pellucid.formula")


def test_tips_vector():
    tips = shared.frame("tips.csv")
    found = pellucid.formula.ols("tip ~ total_bill + C(day)", tips)
    expected = {
        "Intercept": (0.9394331185, 0.2684822957),
        "C(day)[T.Sat]": (-0.0859859960, 0.2610672425),
        "C(day)[T.Sun]": (0.0746538989, 0.2651832013),
        "C(day)[T.Thur]": (-0.0188835443, 0.2691495393),
        "total_bill": (0.1046727960, 0.0075222881),
    }
    table = found.summary().frame()
    errors = dict(zip(["Intercept", *table["term"][1:]], table["std error"]))
    for name, (estimate, error) in expected.items():
        assert found.params[name] == pytest.approx(estimate, abs=6e-11), name
        assert errors[name] == pytest.approx(error, abs=6e-11), name
    facts = dict(found.summary().header)
    assert facts["R2"] == pytest.approx(0.4588740260, abs=6e-11)
    assert facts["residual sd"] ** 2 == pytest.approx(1.0532993922, abs=6e-11)


def birthwt():
    return shared.frame("mass_birthwt.csv")


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_birthwt_as_in_r(link):
    terms = "low ~ age + lwt + C(race) + smoke + ptl + ht + ui"
    found = formula.glm(terms, birthwt(), "binomial", link=link)
    result = shared.r_reference(f"glm_binomial_{link}_birthwt")["result"]
    names = {"race2": "C(race)[T.2]", "race3": "C(race)[T.3]", "(Intercept)": "Intercept"}
    table = found.summary().frame()
    errors = dict(zip(["Intercept", *table["term"][1:]], table["std error"]))
    for term, estimate, error in zip(result["terms"], result["coef"], result["se"]):
        name = names.get(term, term)
        assert found.params[name] == pytest.approx(estimate, rel=1e-7), term
        assert errors[name] == pytest.approx(error, rel=1e-5), term
    facts = dict(found.summary().header)
    assert facts["deviance"] == pytest.approx(result["deviance"], rel=1e-9)


def test_interactions_as_in_r():
    table = shared.frame("r_warpbreaks.csv")
    table["tension"] = pandas.Categorical(table["tension"], ["L", "M", "H"])
    found = formula.glm("breaks ~ wool * tension", table, "poisson")
    result = shared.r_reference("glm_poisson_warpbreaks")["result"]
    np.testing.assert_allclose(sorted(found.params.values()), sorted(result["coef"]), rtol=1e-7)


def small():
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"dose": rng.normal(size=30), "time": rng.uniform(1, 3, 30)})
    table["site"] = ["north", "south", "west"] * 10
    table["events"] = rng.poisson(table["time"] * np.exp(0.3 * table["dose"])).astype(float)
    return table


def test_missing_rows_are_left_out_with_their_exposure():
    table = small()
    holes = table.copy()
    holes.loc[[2, 7], "dose"] = np.nan
    found = formula.glm("events ~ dose + site", holes, "poisson", exposure="time")
    expected = formula.glm(
        "events ~ dose + site", holes.dropna(), "poisson", exposure=holes.dropna()["time"]
    )
    assert found.n_dropped == 2
    assert found.params == expected.params
    robust = found.summary(errors="HC1").frame()["std error"]
    assert robust == expected.summary(errors="HC1").frame()["std error"]
    assert robust != found.summary().frame()["std error"]


def test_prediction_and_other_containers():
    import polars

    table = small()
    one = formula.ols("events ~ dose + C(site)", table)
    two = formula.ols("events ~ dose + C(site)", polars.from_pandas(table))
    assert one.params == two.params
    np.testing.assert_array_equal(one.predict(table.iloc[:4]), one.predict(table)[:4])
    assert one.predict_interval(table, 0.9).shape == (30, 2)
    plain = formula.ols("events ~ 0 + dose", table)
    assert list(plain.params) == ["dose"]


def test_what_cannot_be_is_said():
    table = small()
    with pytest.raises(DataError, match=r"no column 'dosis'\. Did you mean 'dose'\?"):
        formula.ols("events ~ dosis", table)
    with pytest.raises(DataError, match="Did you mean 'time'"):
        formula.glm("events ~ dose", table, "poisson", exposure="tine")
    with pytest.raises(ParameterError, match="form 'target ~ columns'"):
        formula.ols("events", table)
    with pytest.raises(ParameterError, match="cannot be parsed"):
        formula.ols("events ~ (dose", table)
    with pytest.raises(DataError, match="named columns"):
        formula.ols("a ~ b", np.ones((3, 2)))
    with pytest.raises(DataError, match="one target"):
        formula.ols("site ~ dose", table)
    model = formula.ols("events ~ C(site)", table)
    with pytest.raises(DataError, match=r"did not have the level\(s\) 'east'"):
        model.predict(table.assign(site="east"))
    hidden = 3.0
    with pytest.raises(DataError, match="hidden"):
        formula.ols("events ~ dose + hidden", table)
    assert hidden


def test_the_intercept_alone():
    table = small()
    found = formula.ols("events ~ 1", table)
    assert found.params["Intercept"] == pytest.approx(table["events"].mean(), rel=1e-14)
    assert found.summary().frame()["std error"][0] == pytest.approx(
        table["events"].std() / np.sqrt(30), rel=1e-12
    )
    assert not {"R2", "F"} & dict(found.summary().header).keys()
    np.testing.assert_allclose(found.predict(table), table["events"].mean())
    rate = formula.glm("events ~ 1", table, "poisson", exposure="time")
    total = table["events"].sum() / table["time"].sum()
    assert rate.params["Intercept"] == pytest.approx(np.log(total), rel=1e-12)


def test_the_intercept_alone_is_not_penalised_and_needs_events():
    table = small()
    found = formula.glm("events ~ 1", table, "poisson", alpha=10.0)
    assert found.params["Intercept"] == pytest.approx(np.log(table["events"].mean()), rel=1e-12)
    with pytest.raises(DataError, match="Every y is 0"):
        formula.glm("events ~ 1", table.assign(events=0.0), "poisson")


def test_a_column_named_intercept_is_a_column():
    table = small().assign(Intercept=small()["time"])
    for terms in ("dose + {}", "{}"):
        named, plain = (
            formula.ols(f"events ~ 0 + {terms.format(name)}", table)
            for name in ("Intercept", "time")
        )
        assert list(named.params.values()) == list(plain.params.values())
        np.testing.assert_array_equal(named.predict(table), plain.predict(table))
        assert "R2" in dict(named.summary().header)
    with pytest.raises(DataError, match="column named 'Intercept'"):
        formula.ols("events ~ dose + Intercept", table)


def test_missing_groups_are_named_by_the_row_of_the_table():
    holes = small()
    holes.loc[2, "dose"] = np.nan
    holes.loc[[2, 9], "site"] = None
    found = formula.ols("events ~ dose", holes)
    with pytest.raises(DataError, match="groups is missing in row 9"):
        found.summary(errors="clustered", groups="site")


def test_rows_without_weight_or_exposure_are_left_out_and_said():
    holes = small()
    holes.loc[[2, 7], "dose"] = np.nan
    holes.loc[11, "time"] = np.nan
    found = formula.glm("events ~ dose", holes, "poisson", exposure="time")
    assert (
        found.params
        == formula.glm("events ~ dose", holes.dropna(), "poisson", exposure="time").params
    )
    assert found.n_dropped == 3
    assert "3 of 30 rows have missing values" in str(found)
    groups = holes["site"].to_numpy()
    by_name = found.summary(errors="clustered", groups="site").frame()
    assert by_name == found.summary(errors="clustered", groups=groups).frame()
    rows = np.delete(groups, [2, 7, 11])
    plain = formula.glm("events ~ dose", holes.dropna(), "poisson", exposure="time")
    assert by_name == plain.summary(errors="clustered", groups=rows).frame()
    holes.loc[20, "time"] = -1.0
    with pytest.raises(DataError, match=r"row 17, .*do not count the 3 rows"):
        formula.glm("events ~ dose", holes, "poisson", exposure="time")


def test_exposure_by_name_serves_again_in_prediction():
    table = small()
    found = formula.glm("events ~ dose", table, "poisson", exposure="time")
    rates = found.predict(table, exposure=np.ones(30))
    np.testing.assert_allclose(found.predict(table), rates * table["time"], rtol=1e-12)
    np.testing.assert_array_equal(found.predict(table, exposure="time"), found.predict(table))
    np.testing.assert_allclose(
        found.predict_interval(table, kind="mean"),
        found.predict_interval(table, kind="mean", exposure=np.ones(30))
        * table[["time"]].to_numpy(),
        rtol=1e-12,
    )
    with pytest.raises(DataError, match="no column 'time'"):
        found.predict(table.drop(columns="time"))
    given = formula.glm("events ~ dose", table, "poisson", exposure=table["time"])
    np.testing.assert_array_equal(given.predict(table), rates)


def test_a_dot_is_every_other_column():
    table = small()
    assert formula.ols("events ~ .", table).params == (
        formula.ols("events ~ dose + time + site", table).params
    )


def test_entries_that_do_not_fit_the_table():
    table = small()
    for weights in (np.ones(100), [1, 2, 3], np.ones((30, 2))):
        with pytest.raises(DataError, match=r"weights must be the name of a column, or .* 30 rows"):
            formula.ols("events ~ dose", table, weights=weights)
    with pytest.raises(DataError, match="weights must be numbers"):
        formula.ols("events ~ dose", table, weights="site")
    for wrong in ("~ dose", "events ~", "events ~ dose ~ time"):
        with pytest.raises(ParameterError, match="form 'target ~ columns'"):
            formula.ols(wrong, table)
    with pytest.raises(DataError, match="calls 'foo', which is not a function"):
        formula.ols("events ~ foo(dose)", table)


def exposed(n=60):
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"x": rng.normal(size=n), "g": rng.choice(list("abc"), n)})
    table["time"] = rng.uniform(1, 2, n)
    table["count"] = rng.poisson(table.time * np.exp(0.3 * table.x))
    return table


def test_explanations_scores_and_resamples():
    table = exposed()
    model = formula.glm("count ~ x + C(g)", table, "poisson", exposure="time", alpha=0.1)
    found = model.explain(table)
    assert found.columns == ("x", "C(g)[T.b]", "C(g)[T.c]", "(offset)")
    np.testing.assert_allclose(np.exp(found.prediction[:, 0]), model.predict(table), rtol=1e-12)
    plain = model.model.score(model.X, model.y, exposure=table["time"].to_numpy())
    assert model.score(table) == pytest.approx(plain)
    text = " ".join(str(model.summary()).split())  # what it says is what works
    assert "bootstrap(fit.model, fit.X, fit.y, 'coef_', **fit.fit_options)" in text
    drawn = bootstrap(
        model.model, model.X, model.y, "coef_", **model.fit_options, n_resamples=4, random_state=0
    )
    np.testing.assert_array_equal(drawn.estimate, model.model.coef_)
    least = formula.ols("np.log(time) ~ x", table)
    assert least.score(table) == pytest.approx(dict(least.summary().header)["R2"])
    assert least.explain(table).columns == ("x",)


def test_cells_that_formulas_cannot_use_are_named():
    table = exposed()
    model = formula.ols("time ~ x", table)
    holes = table.assign(x=table.x.where(table.index != 7))
    with pytest.raises(DataError, match="'x' has a missing value in row 7, so"):
        model.predict(holes)
    with pytest.raises(DataError, match="several columns named 'x'"):
        formula.ols("time ~ x", pandas.concat([table, table[["x"]]], axis=1))
    dated = table.assign(day=pandas.date_range("2020-01-01", periods=len(table)))
    with pytest.raises(DataError, match="'day' holds dates"):
        formula.ols("time ~ day", dated)


def typed(kind):
    """One table, its columns `text`, `number` and `weight` held by other types."""
    rng = np.random.default_rng(0)
    number = (rng.integers(0, 3, 30)).tolist()
    found = pandas.DataFrame({"y": rng.normal(size=30)})
    found["text"] = [str(k) for k in number]
    found["number"], found["weight"] = number, rng.integers(1, 4, 30)
    if kind == "object":
        return found.astype({"text": object, "number": object, "weight": object})
    if kind == "decimal":
        return found.assign(number=[decimal.Decimal(k) for k in number])
    if kind == "nullable":
        return found.convert_dtypes()
    if kind == "arrow":
        return found.convert_dtypes(dtype_backend="pyarrow")
    return found


@pytest.mark.parametrize("kind", ["object", "decimal", "nullable", "arrow"])
def test_texts_are_categories_and_numbers_numbers_whatever_holds_them(kind):
    """Texts of figures were read as numbers, and objects that are numbers as levels."""
    for terms in ("text", "number", "C(number)"):
        one = formula.ols(f"y ~ {terms}", typed("plain"), weights="weight")
        two = formula.ols(f"y ~ {terms}", typed(kind), weights="weight")
        assert two.params == one.params
        np.testing.assert_array_equal(two.predict(typed(kind)), one.predict(typed("plain")))
    assert len(formula.ols("y ~ text", typed(kind)).params) == 3
    assert len(formula.ols("y ~ number", typed(kind)).params) == 2


def test_missing_cells_of_nullable_columns_leave_their_rows_out():
    data = typed("nullable")
    data.loc[3, "text"] = data.loc[5, "number"] = data.loc[8, "weight"] = pandas.NA
    found = formula.ols("y ~ text + number", data, weights="weight")
    plain = formula.ols("y ~ text + number", typed("plain").drop([3, 5, 8]), weights="weight")
    assert found.n_dropped == 3
    assert found.params == plain.params


def test_levels_of_a_polars_categorical_are_sorted():
    """They are numbered by the first appearance in the process, which is no order."""
    import polars

    polars.Series(["west", "south"], dtype=polars.Categorical)
    data = polars.from_pandas(small()).with_columns(polars.col("site").cast(polars.Categorical))
    found = formula.ols("events ~ site", data)
    assert found.params == formula.ols("events ~ site", small()).params


def test_columns_under_the_names_of_functions():
    data = small()
    beside = data.assign(C=1.0, np=2.0, Treatment=3.0)
    terms = "events ~ C(site, Treatment('west')) + np.log(time)"
    model = formula.ols(terms, beside)
    assert model.params == formula.ols(terms, data).params
    np.testing.assert_array_equal(model.predict(beside), model.predict(data))
    with pytest.raises(DataError, match="'C' as a column and as a function"):
        formula.ols("events ~ C(site) + C", beside)
    assert len(formula.ols("events ~ dose + C", data.assign(C=data["time"])).params) == 3


def test_rows_of_which_a_formula_makes_no_number():
    data = small().assign(events=lambda t: t["events"] + 1)
    data.loc[4, "time"] = np.nan
    with pytest.warns(DataConversionWarning, match=r"undefined for .*first is row \d+"):
        found = formula.ols("events ~ np.log(dose)", data)
    lost = int((data["dose"] < 0).sum())
    assert found.n_dropped == lost > 0
    row = int(np.flatnonzero(data["dose"] < 0)[0])
    with pytest.raises(
        DataError, match=rf"'np.log\(dose\)' is undefined in row {row} \({lost} rows"
    ):
        found.predict(data)


def test_ten_to_a_power():
    found = formula.ols("events ~ exp10(time)", small())
    np.testing.assert_allclose(found.X["exp10(time)"], 10 ** small()["time"], rtol=1e-14)


def test_cells_and_formulas_without_a_meaning():
    data = small()
    with pytest.raises(ParameterError, match=r"several parts \('\|'\) are not supported"):
        formula.ols("events ~ dose | time", data)
    with pytest.raises(DataError, match="Did you mean 'dose'"):
        formula.ols("events ~ DOSE", data)
    with pytest.raises(DataError, match="Complex data not supported: column 'dose'"):
        formula.ols("events ~ dose", data.assign(dose=data["dose"] + 1j))
    spans = data.assign(dose=pandas.to_timedelta(data["dose"], unit="D"))
    with pytest.raises(DataError, match="for 'dose', which are not numbers"):
        formula.ols("events ~ dose", spans)
    with pytest.raises(DataError, match="mixes numbers and text"):
        formula.ols("events ~ site", data.assign(site=["a", 1, 2] * 10))
    assert list(formula.ols("events ~ `2`", data.rename(columns={"dose": 2})).params)[1] == "2"


def test_quotes_around_plain_names():
    """They were put into the names of functions too: np.e`x`p(`x`)."""
    data = exposed().assign(e=lambda t: t["x"])
    for quoted in ("np.exp(`x`)", "np.exp(`e`) + `x`", "I(`x` * `time`)"):
        one, two = (formula.ols(f"time ~ {t}", data) for t in (quoted, quoted.replace("`", "")))
        assert one.params == two.params
    odd = data.rename(columns={"x": "a b"})
    found = formula.ols("time ~ np.exp(`a b`)", odd)
    assert list(found.params) == ["Intercept", "np.exp(`a b`)"]
    word = data.rename(columns={"x": "class"})
    assert list(formula.ols("time ~ `class`", word).params) == ["Intercept", "class"]


def test_what_r2_is_compared_with():
    data = exposed()
    assert "compare the model with 0" in str(formula.ols("time ~ 0 + x", data).summary())
    for terms in ("time ~ x", "time ~ 1"):
        assert "compare the model with 0" not in str(formula.ols(terms, data).summary())


def test_scores_weigh_rows_by_name():
    data = exposed()
    found = formula.ols("time ~ x", data, weights="count")
    facts = dict(found.summary().header)
    assert found.score(data, sample_weight="count") == pytest.approx(facts["R2"], rel=1e-12)
    assert found.score(data, sample_weight=data["count"]) == pytest.approx(facts["R2"], rel=1e-12)
    assert found.score(data) != pytest.approx(facts["R2"], rel=1e-3)
    with pytest.raises(DataError, match="no column 'counts'"):
        found.score(data, sample_weight="counts")
    with pytest.raises(ParameterError, match="'y ~ 0 \\+ x' has none"):
        formula.glm("count ~ x", data, "poisson", fit_intercept=False)


def test_a_target_that_vanishes_is_named():
    with pytest.raises(ParameterError, match="no target left"):
        pellucid.formula.ols("- + : ~ a", pd.DataFrame({"a": np.arange(12.0)}))
