"""`pellucid predict`: what it writes equals the model's answers, from any format to any format."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pellucid.app import cli
from pellucid.cluster import KMeans
from pellucid.decomposition import PCA
from pellucid.linear_model import GammaRegressor, LinearRegression, LogisticRegression
from pellucid.tree import DecisionTreeClassifier

COMMAND = f"{sys.executable} -c 'from pellucid.app.cli import main; main()'"


@pytest.fixture
def table(rng):
    """Numbers with gaps, a category, and an id that no model sees."""
    size = rng.normal(size=60)
    size[::7] = np.nan
    colour = rng.choice(["red", "green", "blue"], 60)
    return pa.table({"size": size, "colour": colour, "weight": rng.normal(size=60)})


@pytest.fixture
def label(table):
    return np.where(table["weight"].to_numpy() > 0, "ja, gern", "nein")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tree(here, table, label):
    """A classifier, saved as m.pellucid, and the table as new.csv."""
    write_csv(table, "new.csv")
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(table, label)
    model.save("m.pellucid")
    return model


def write_csv(table, name):
    with open(name, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(["" if c != c else c for c in row.values()] for row in table.to_pylist())


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def answers(rows, model, table):
    """Assert that the rows hold the model's predictions, to the last bit."""
    assert [row["prediction"] for row in rows] == model.predict(table).tolist()
    shares = np.array([[float(row[f"p_{c}"]) for c in model.classes_] for row in rows])
    np.testing.assert_array_equal(shares, model.predict_proba(table))


def test_levels_that_look_missing_are_levels_in_their_column(here, capfdbinary):
    cells = ["NA", "DE", "nan", None] * 10
    table = pa.table({"country": cells, "size": [1.0, None, 3.0, 4.0] * 10})
    model = DecisionTreeClassifier().fit(table, ["p", "q", "r", "s"] * 10)
    model.save("m.pellucid")
    with open("new.csv", "w") as file:
        file.write("country,size\nNA,1\nDE,NA\nnan,3\n,4\n")
    assert cli.run(["predict", "m.pellucid", "new.csv"]) == 0
    rows = read_csv(capfdbinary.readouterr().out.decode())
    assert [row["prediction"] for row in rows] == ["p", "q", "r", "s"]


def test_a_classifier_to_stdout(tree, table, capfdbinary):
    assert cli.run(["predict", "m.pellucid", "new.csv"]) == 0
    heard = capfdbinary.readouterr()
    assert heard.err == b""
    rows = read_csv(heard.out.decode())
    assert list(rows[0]) == ["prediction", "p_ja, gern", "p_nein"]
    answers(rows, tree, table)


def test_every_format_in_and_out(tree, table):
    parquet.write_table(table, "new.parquet")
    with open("new.jsonl", "w") as file:
        for row in table.to_pylist():
            row["size"] = None if np.isnan(row["size"]) else row["size"]
            file.write(json.dumps(row) + "\n")
    for source in ("new.csv", "new.parquet", "new.jsonl"):
        for out in ("out.csv", "out.parquet", "out.jsonl"):
            assert cli.run(["predict", "m.pellucid", source, "-o", out]) == 0
        answers(read_csv(Path("out.csv").read_text()), tree, table)
        answers(parquet.read_table("out.parquet").to_pylist(), tree, table)
        answers(
            [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()], tree, table
        )


def test_a_pipeline_of_the_shell(tree, table):
    shell = f"cat new.csv | {COMMAND} predict m.pellucid - --format jsonl"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    answers([json.loads(line) for line in done.stdout.splitlines()], tree, table)


def test_a_reader_that_leaves_is_no_error(tree, table):
    write_csv(pa.concat_tables([table] * 400), "long.csv")
    shell = f"set -o pipefail; {COMMAND} predict m.pellucid long.csv | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == 'prediction,"p_ja, gern",p_nein\n'


def test_columns_go_by_name_and_others_are_ignored(tree, table, capfdbinary):
    more = table.select(["weight", "size", "colour"]).append_column("id", [list(range(60))])
    write_csv(more, "more.csv")
    assert cli.run(["predict", "m.pellucid", "more.csv"]) == 0
    heard = capfdbinary.readouterr()
    assert heard.err.decode() == "note: ignored columns that the model does not use: 'id'\n"
    answers(read_csv(heard.out.decode()), tree, table)
    assert cli.run(["predict", "-q", "m.pellucid", "more.csv"]) == 0
    assert capfdbinary.readouterr().err == b""


def test_an_id_goes_along(tree, table, capfdbinary):
    write_csv(table.append_column("name", [[f"n{i}" for i in range(60)]]), "named.csv")
    assert cli.run(["predict", "m.pellucid", "named.csv", "--id", "name", "--id", "size"]) == 0
    heard = capfdbinary.readouterr()
    assert heard.err == b"", "what is copied is not called ignored"
    rows = read_csv(heard.out.decode())
    assert list(rows[0])[:3] == ["name", "size", "prediction"]
    assert [row["name"] for row in rows] == [f"n{i}" for i in range(60)]
    answers(rows, tree, table)


def error_of(arguments, capfd):
    """Run, expect failure in one line, return that line."""
    assert cli.run(arguments) == 2
    heard = capfd.readouterr()
    assert heard.out == "" and heard.err.count("\n") == 1
    assert heard.err.startswith("error: ")
    return heard.err.removeprefix("error: ").strip()


def test_a_missing_column_is_named_with_the_nearest_one(tree, table, capfd):
    write_csv(table.rename_columns(["size", "color", "weight"]), "other.csv")
    assert error_of(["predict", "m.pellucid", "other.csv"], capfd) == (
        "other.csv has no column 'colour' (2 of the 3 columns that the model needs were found). "
        "Did you mean 'color'? --allow-missing treats it as missing values."
    )


@pytest.mark.parametrize("lost", ["size", "colour"])
def test_a_missing_column_can_be_allowed(tree, table, lost, capfdbinary):
    write_csv(table.drop_columns([lost]), "less.csv")
    assert cli.run(["predict", "m.pellucid", "less.csv", "--allow-missing"]) == 0
    heard = capfdbinary.readouterr()
    assert (
        heard.err.decode() == f"note: less.csv has no column {lost!r}: treated as missing values\n"
    )
    place = table.column_names.index(lost)
    gone = pa.nulls(60, table.schema.field(lost).type)
    answers(read_csv(heard.out.decode()), tree, table.set_column(place, lost, gone))


def test_an_unknown_id_is_an_error_with_the_columns(tree, capfd):
    assert error_of(["predict", "m.pellucid", "new.csv", "--id", "wieght"], capfd) == (
        "column 'wieght' is not in new.csv. Did you mean 'weight'? Columns: size, colour, weight."
    )


def test_an_unseen_level_is_a_warning(tree, table, capfd):
    colours = ["violet", *table["colour"].to_pylist()[1:]]
    write_csv(table.set_column(1, "colour", [colours]), "new.csv")
    assert cli.run(["predict", "m.pellucid", "new.csv", "-o", "out.csv"]) == 0
    heard = capfd.readouterr().err
    assert heard.startswith("warning: ") and "colour" in heard and heard.count("\n") == 1


def test_levels_that_look_like_numbers_are_still_levels(here, capfdbinary):
    model = DecisionTreeClassifier().fit(pa.table({"code": ["1", "02", "A"] * 9}), list("xyz") * 9)
    model.save("m.pellucid")
    Path("new.csv").write_text("code\n1\n02\n1\n")
    Path("one.csv").write_text("code\n1\n")
    assert cli.run(["predict", "m.pellucid", "new.csv"]) == 0
    assert cli.run(["predict", "m.pellucid", "one.csv"]) == 0
    heard = capfdbinary.readouterr()
    assert heard.err == b""
    rows = [line.split(",")[0] for line in heard.out.decode().splitlines()]
    assert rows == ["prediction", "x", "y", "x", "prediction", "x"]


def test_errors_leave_the_old_output(tree, capfd):
    Path("out.csv").write_text("old")
    Path("bad.csv").write_text("size,colour,weight\n1,red,inf\n")
    error_of(["predict", "m.pellucid", "bad.csv", "-o", "out.csv"], capfd)
    assert Path("out.csv").read_text() == "old"


def test_bad_files_are_one_line(tree, capfd):
    content = bytearray(Path("m.pellucid").read_bytes())
    content[len(content) // 2] ^= 1
    Path("damaged.pellucid").write_bytes(content)
    assert "damaged.pellucid" in error_of(["predict", "damaged.pellucid", "new.csv"], capfd)
    assert "absent.pellucid" in error_of(["predict", "absent.pellucid", "new.csv"], capfd)
    assert "nwe.csv" in error_of(["predict", "m.pellucid", "nwe.csv"], capfd)
    assert ".xlsx" in error_of(["predict", "m.pellucid", "new.csv", "-o", "out.xlsx"], capfd)
    assert "absent/" in error_of(["predict", "m.pellucid", "new.csv", "-o", "absent/o.csv"], capfd)


def test_regression_and_clusters(here, table, capfdbinary):
    write_csv(table, "new.csv")
    numbers = table.select(["size", "weight"])
    for model in (LinearRegression(), KMeans(2, random_state=0)):
        model.fit(numbers, np.arange(60.0)).save("m.pellucid")
        assert cli.run(["predict", "m.pellucid", "new.csv", "-q"]) == 0
        rows = read_csv(capfdbinary.readouterr().out.decode())
        assert list(rows[0]) == ["prediction"]
        written = [float(row["prediction"]) for row in rows]
        np.testing.assert_array_equal(written, model.predict(numbers))


def test_several_targets(here, table, capfdbinary):
    write_csv(table, "new.csv")
    two = np.column_stack([np.arange(60.0), -np.arange(60.0)])
    model = LinearRegression().fit(table, two)
    model.save("m.pellucid")
    assert cli.run(["predict", "m.pellucid", "new.csv"]) == 0
    rows = read_csv(capfdbinary.readouterr().out.decode())
    written = [[float(row["prediction_0"]), float(row["prediction_1"])] for row in rows]
    np.testing.assert_array_equal(written, model.predict(table))


def test_a_model_trained_without_names_takes_columns_by_position(here, rng, capfdbinary):
    X = rng.normal(size=(30, 2))
    model = DecisionTreeClassifier().fit(X, X[:, 0] > 0)
    model.save("m.pellucid")
    write_csv(pa.table({"a": X[:, 0], "b": X[:, 1]}), "new.csv")
    assert cli.run(["predict", "m.pellucid", "new.csv"]) == 0
    rows = read_csv(capfdbinary.readouterr().out.decode())
    assert list(rows[0]) == ["prediction", "p_false", "p_true"]
    assert [row["prediction"] == "true" for row in rows] == model.predict(X).tolist()


def test_what_cannot_predict_says_so(here, table, capfd):
    PCA(1).fit(table.select(["weight"])).save("m.pellucid")
    write_csv(table, "new.csv")
    text = error_of(["predict", "m.pellucid", "new.csv", "-q"], capfd)
    assert text == "m.pellucid contains a PCA, which cannot predict."


def test_predicting_starts_light(tree):
    code = (
        "import json, sys\nfrom pellucid.app.cli import run\n"
        "assert run(['predict', 'm.pellucid', 'new.csv', '-o', 'out.csv']) == 0\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"scipy", "sklearn", "pandas", "polars", "rich", "jinja2"}
    assert not heavy & set(json.loads(done.stdout))


def test_swapped_arguments_are_told(tree, capsys):
    assert cli.run(["predict", "new.csv", "m.pellucid"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "error: new.csv is a table, not a model. Usage: pellucid predict MODEL DATA. "
        "Did you mean: pellucid predict m.pellucid new.csv\n"
    )
    assert cli.run(["explain", "new.csv", "m.pellucid"]) == 2
    assert "Did you mean: pellucid explain m.pellucid new.csv" in capsys.readouterr().err
    assert cli.run(["explain", "new.csv"]) == 2
    said = capsys.readouterr().err
    assert said == "error: new.csv is a table, not a model. Usage: pellucid explain MODEL DATA.\n"


def test_a_run_in_the_place_of_the_table_is_told(tree, table, capsys):
    Path("run").mkdir()
    Path("run/events.jsonl").write_text("")
    Path("run/model.pellucid").write_bytes(Path("m.pellucid").read_bytes())
    parquet.write_table(table, "new.parquet")
    for name in ("new.csv", "new.parquet"):
        assert cli.run(["predict", name, "run"]) == 2
        assert f"Did you mean: pellucid predict run {name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (["predict", "m.pellucid", "m.pellucid"], "predict MODEL DATA"),
        (["explain", "m.pellucid", "m.pellucid"], "explain MODEL DATA"),
        (["compare", "m.pellucid", "-t", "y"], "compare DATA"),
        (["check", "m.pellucid", "-t", "y"], "check DATA"),
    ],
)
def test_a_model_in_the_place_of_the_table_is_told(tree, command, usage, capsys):
    assert cli.run(command) == 2
    said = capsys.readouterr().err
    assert said == f"error: m.pellucid is a model, not a table. Usage: pellucid {usage}\n"


def test_two_tables_or_a_missing_model_are_not_taken_for_swapped(tree, capsys):
    assert cli.run(["predict", "new.csv", "new.csv"]) == 2
    assert "new.csv is a table" in (said := capsys.readouterr().err) and "mean" not in said
    assert cli.run(["predict", "none.pellucid", "new.csv"]) == 2
    assert "There is no model file 'none.pellucid'" in capsys.readouterr().err


def test_an_encoding_can_be_named(tree, table, capsys):
    text = Path("new.csv").read_text().replace("red", "röd")
    Path("new.csv").write_bytes(text.encode("cp1252"))
    assert cli.run(["predict", "m.pellucid", "new.csv", "--encoding", "cp1252"]) == 0
    assert "röd" in capsys.readouterr().err  # an unseen level, told by its name


def test_a_model_of_a_run_reads_files_in_the_encoding_of_its_table(tree, table, capsys):
    """A semicolon file of an older program: what the run was told need not be told again."""
    colours = ["grün" if c == "green" else c for c in table["colour"].to_pylist()]
    own = table.set_column(1, "colour", pa.array(colours))
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    Path("run").mkdir()
    model.fit(own, np.array(colours)).save("run/model.pellucid")
    Path("run/events.jsonl").write_text("")
    Path("run/config.toml").write_text('data = "old.csv"\nencoding = "latin-1"\n')
    write_csv(own, "old.csv")
    text = Path("old.csv").read_text().replace(",", ";").replace(".", ",")
    Path("old.csv").write_bytes(text.encode("latin-1"))
    for model in ("run", "run/model.pellucid"):
        assert cli.run(["predict", model, "old.csv"]) == 0
        said = capsys.readouterr()
        assert [line.split(",")[0] for line in said.out.splitlines()[1:]] == colours
        assert "is not UTF-8: read as latin-1, the encoding of the run" in said.err
        assert cli.run(["explain", model, "old.csv", "--row", "1"]) == 0
        assert "row 1 -> " in capsys.readouterr().out
    Path("new.csv").write_text(text, encoding="utf-8")  # a file that says itself what it is
    assert cli.run(["predict", "run", "new.csv"]) == 0
    said = capsys.readouterr()
    assert [line.split(",")[0] for line in said.out.splitlines()[1:]] == colours
    assert "latin-1" not in said.err
    Path("loose.pellucid").write_bytes(Path("run/model.pellucid").read_bytes())
    assert cli.run(["predict", "loose.pellucid", "old.csv"]) == 0
    assert "is not UTF-8: it is read as cp1252" in capsys.readouterr().err
    Path("wide.csv").write_bytes(text.encode("utf-16"))
    parquet.write_table(own, "old.parquet")
    for file in ("wide.csv", "old.parquet"):
        assert cli.run(["predict", "run", file]) == 0
        assert "latin-1" not in capsys.readouterr().err


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_reasons_in_every_format(tree, table, form):
    assert cli.run(["predict", "m.pellucid", "new.csv", "--explain", "3", "-o", f"o.{form}"]) == 0
    rows = (
        parquet.read_table("o.parquet").to_pylist()
        if form == "parquet"
        else [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
    )
    assert len(rows) == 60 and rows[0]["why_1"].startswith("weight (")
    assert set(rows[0]) == {
        "prediction", "p_ja, gern", "p_nein", "why_class", "why_1", "why_2", "why_3",
    }  # fmt: skip


def test_reasons_speak_for_the_positive_class(here, table, label, monkeypatch):
    monkeypatch.setattr("pellucid.app.commands.predict.EXPLAINED_ROWS", 7)
    write_csv(table, "new.csv")
    model = LogisticRegression().fit(table, label)
    model.save("m.pellucid")
    assert cli.run(["predict", "m.pellucid", "new.csv", "--explain", "1", "-o", "o.parquet"]) == 0
    rows = parquet.read_table("o.parquet").to_pylist()
    told = model.explain(table)
    assert {row["prediction"] for row in rows} == {"ja, gern", "nein"}
    for i, row in enumerate(rows):
        amounts = told.contributions[i, :, 0]
        j = np.abs(amounts).argmax()
        assert row["why_1"] == f"{told.columns[j]} ({amounts[j]:+.3g})"
        assert row["why_class"] == "nein"


@pytest.mark.parametrize("classes", [2, 3])
def test_text_json_and_columns_have_the_same_class_and_signs(here, table, classes, capsys):
    write_csv(table, "new.csv")
    cuts = np.quantile(table["weight"].to_numpy(), np.arange(1, classes) / classes)
    names = np.array(["low", "middle", "top"])
    model = LogisticRegression().fit(table, names[np.digitize(table["weight"].to_numpy(), cuts)])
    model.save("m.pellucid")
    assert cli.run(["predict", "m.pellucid", "new.csv", "--explain", "3", "-o", "o.parquet"]) == 0
    rows = [str(i) for i in range(10)]
    asked = ["explain", "m.pellucid", "new.csv", *(f"--row={i}" for i in rows)]
    assert cli.run([*asked, "--format", "jsonl"]) == 0
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert cli.run(asked) == 0
    texts = capsys.readouterr().out.splitlines()
    written = parquet.read_table("o.parquet").to_pylist()
    assert len({row["prediction"] for row in written[:10]}) > 1
    for row, entry, text in zip(written, entries, texts, strict=False):
        of = "middle" if classes == 2 else row["prediction"]
        assert row["why_class"] == entry["class"] == of
        assert row["prediction"] == entry["prediction"] and f"-> {row['prediction']} " in text
        assert list(entry["contributions"]) == ["size", "colour", "weight"]
        for k in (1, 2, 3):
            column, _, amount = row[f"why_{k}"].partition(" ")
            assert float(amount.strip("()")) == pytest.approx(
                entry["contributions"][column], rel=0.01
            )
            assert f"{amount[:2]}" in text.split(f"  {column} ")[1].split("  ")[0]
        assert (f"p({of}) " in text) == (classes == 2)


def test_numbers_have_no_class_of_reasons(here, table, capsys):
    write_csv(table, "new.csv")
    LinearRegression().fit(table, np.arange(60.0)).save("m.pellucid")
    assert cli.run(["predict", "m.pellucid", "new.csv", "--explain", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "prediction,why_1"
    assert cli.run(["explain", "m.pellucid", "new.csv", "--row", "2", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)["rows"][0]
    assert entry["class"] is None and entry["prediction"] == entry["total"]


def test_a_column_of_the_file_does_not_vanish(tree, table, capsys):
    write_csv(table.append_column("p_nein", pa.array([0.5] * 60)), "new.csv")
    arguments = ["predict", "m.pellucid", "new.csv", "--id", "p_nein", "-o", "o.csv"]
    assert cli.run(arguments) == 2 and not Path("o.csv").exists()
    assert "--id p_nein: the output already has a column of that name" in capsys.readouterr().err


def test_rows_outside_the_training_range_are_counted(tree, table, capsys):
    far = table.slice(0, 5).set_column(2, "weight", pa.array([9.0, -9.0, 0.0, 0.0, 0.0]))
    write_csv(far, "far.csv")
    assert cli.run(["predict", "m.pellucid", "far.csv"]) == 0
    said = capsys.readouterr().err
    assert "warning: 2 of 5 rows are outside the training range (weight > " in said
    assert cli.run(["predict", "m.pellucid", "far.csv", "-qq"]) == 0
    assert capsys.readouterr().err == ""


def test_dates_outside_the_training_range_are_counted(here, capsys):
    days = np.datetime64("2020-01-01") + np.arange(40)
    hours = np.datetime64("2020-01-01T00:00:00") + np.arange(40) * np.timedelta64(3600, "s")
    table = pa.table({"when": days, "clock": hours})
    LinearRegression().fit(table, np.arange(40.0)).save("m.pellucid")
    write_csv(table.slice(0, 3), "inside.csv")
    Path("far.csv").write_text(
        "when,clock\n2031-05-06,2020-01-01T00:00:00\n2020-01-02,2020-01-05T00:00:00\n"
        "2020-01-03,2020-01-01T00:00:00\n"
    )
    assert cli.run(["predict", "m.pellucid", "inside.csv"]) == 0
    assert "outside" not in capsys.readouterr().err
    assert cli.run(["predict", "m.pellucid", "far.csv"]) == 0
    assert (
        "warning: 2 of 3 rows are outside the training range (when > 2020-02-09, clock > "
        "2020-01-02 15:00)"
    ) in capsys.readouterr().err


def test_a_row_outside_the_training_range_is_told_in_plain_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    prices = pa.table({"price": [1000.0, 15940.0] * 10})
    DecisionTreeClassifier().fit(prices, ["low", "high"] * 10).save("p.pellucid")
    Path("new.csv").write_text("price\n2000\n20000\n")
    assert cli.run(["predict", "p.pellucid", "new.csv"]) == 0
    said = capsys.readouterr().err
    assert "1 of 2 rows is outside the training range (price > 15940)" in said


def test_explain_shows_the_prediction_in_the_units_of_the_target(here, rng, capsys):
    """Contributions of a log-linear model add up on the link scale, not in these units."""
    table = pa.table({"size": rng.normal(size=80), "weight": rng.normal(size=80)})
    y = np.exp(3 + 0.5 * table["size"].to_numpy()) * rng.gamma(20, 1 / 20, size=80)
    model = GammaRegressor().fit(table, y)
    model.save("m.pellucid")
    write_csv(table, "new.csv")
    expected = model.predict(table)[4]
    assert cli.run(["explain", "m.pellucid", "new.csv", "--row", "4", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["rows"]
    assert entry["prediction"] == pytest.approx(expected)
    assert entry["total"] == pytest.approx(np.log(expected))
    assert cli.run(["explain", "m.pellucid", "new.csv", "--row", "4"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"row 4 -> {expected:.3g} (link {np.log(expected):.3g})")
