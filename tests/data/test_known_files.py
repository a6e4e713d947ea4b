"""Data sets that are read from a user's file: formats, checksums, and directions where to get them."""

import gzip

import numpy as np
import pytest

from pellucid.data import datasets
from pellucid.data.io import known_files
from pellucid.errors import DataError, ParameterError
from tests.oracles.shared import path as shared_file


def test_boston_from_a_table_and_from_statlib(tmp_path):
    boston = datasets.load("boston", path=shared_file("boston.csv"))
    assert boston.target == "MEDV" and boston.table.shape == (506, 14)
    cells = np.column_stack([boston.table[name].to_numpy() for name in boston.table.column_names])
    lines = [" The Boston house-price data of Harrison, D. and Rubinfeld, D.L."]
    for row in cells:
        lines += [" ".join(map(repr, row[:11].tolist())), " ".join(map(repr, row[11:].tolist()))]
    (tmp_path / "boston.txt").write_text("\n".join(lines))
    assert datasets.load("boston", path=tmp_path / "boston.txt").table.equals(boston.table)
    (tmp_path / "wrong.txt").write_text("\n".join(lines).replace("24.0", "24.1", 1))
    with pytest.raises(DataError, match=r"wrong.txt does not hold the values .*lib.stat.cmu.edu"):
        datasets.load("boston", path=tmp_path / "wrong.txt")


def test_spambase_has_names_and_classes():
    spam = datasets.load("spambase", path=shared_file("spambase.csv"))
    assert len(spam.features) == 57 and spam.table.num_rows == 4601
    assert (spam.y == "spam").mean() == pytest.approx(0.394, abs=5e-4)


def test_newsgroups_from_folder_and_table(tmp_path):
    table = shared_file("newsgroups4_raw.csv.gz")
    for part, category, name, text in known_files._from_table(table):
        folder = tmp_path / f"20news-bydate-{part}" / category
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    news = datasets.load("newsgroups4", path=tmp_path)
    assert news.table.equals(datasets.load("newsgroups4", path=table).table)
    train = datasets.load("newsgroups4", path=tmp_path, subset="train")
    counts = np.unique(train.y, return_counts=True)[1]
    assert counts.tolist() == [584, 594, 600, 593]
    raw = datasets.load("newsgroups4", path=tmp_path, subset="train", remove=())
    assert raw.table["text"][0].as_py().startswith("From:")
    with pytest.raises(ParameterError, match="remove takes"):
        datasets.load("newsgroups4", path=tmp_path, remove=("jokes",))


def test_texts_are_stripped_as_scikit_learn_does():
    text = "From: a\n\nHello.\n> old words\nA new thought.\n\n--\nMy signature"
    assert known_files._stripped(text, known_files.PARTS) == "Hello.\nA new thought.\n"
    from sklearn.datasets._twenty_newsgroups import (
        strip_newsgroup_footer,
        strip_newsgroup_header,
        strip_newsgroup_quoting,
    )

    for one in (text, "no header", "a\n\nb\n\n", "a\n\n> b\nc wrote:\nd\n----\n"):
        theirs = strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(one)))
        assert known_files._stripped(one, known_files.PARTS) == theirs


@pytest.mark.parametrize("name", ["boston", "spambase", "newsgroups4"])
def test_without_a_file_the_error_says_where_to_get_it(name, tmp_path):
    with pytest.raises(DataError, match=rf"not part of Pellucid.*http.*load\(\"{name}\", path="):
        datasets.load(name)
    with pytest.raises(DataError, match="There is no file"):
        datasets.load(name, path=tmp_path / "nothing")
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(DataError, match="checksum"):
        datasets.load(name, path=tmp_path / "empty.gz")
