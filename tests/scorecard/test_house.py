"""The figures of the source are counted as they are described."""

from scorecard import house


class Documented:
    """A class.

    Parameters
    ----------
    alpha : float, default=1.0
        What it does.
    beta, gamma : int
    delta : int
        Its own line.

    Attributes
    ----------
    coef_ : array
        The coefficients.
    """

    def __init__(self, alpha=1.0, beta=0, gamma=0, delta=0, missing=None):
        pass


def test_a_parameter_is_described_by_a_line_of_its_own():
    found = house.sections(Documented)
    described = {"alpha": True, "beta": False, "gamma": False, "delta": True}
    assert found == {"Parameters": described, "Attributes": {"coef_": True}}
    rows = dict(house.inheritance({"Documented": Documented}))
    assert rows["deepest"] == 1


def test_files_lines_and_words_of_a_tree(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        text = '"""Some text."""\n\nfrom . import x\n\n\ndef slope():\n    # told\n    return 1\n'
        (tmp_path / folder / "same.py").write_text(text)
    assert dict(house.folders(tmp_path)) == {"a": 1, "b": 1}
    lines = dict(house.lines(tmp_path))
    assert (lines["Python lines"], lines["Python lines of code"]) == (16, 6)
    assert dict(house.repeated_names(tmp_path))["same.py"] == 2
    assert dict(house.habits(tmp_path))["relative imports"] == 2
    assert dict(house.habits(tmp_path))["imports inside functions"] == 0
    words = dict(house.words(tmp_path))
    assert (words["slope"], words["told, tells"], words["all of them"]) == (2, 2, 4)
    docs = dict(house.documentation(tmp_path, {"Documented": Documented}))
    assert docs["docstring share of lines"] == "12.5%"
    assert docs["constructor parameters described"] == "2 of 5"
    assert docs["attributes described"] == "1 of 1 listed"
