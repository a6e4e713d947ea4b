"""The figures of the source texts: every script of examples/ ends with each figure as it should be."""

import re
import subprocess
import sys

import numpy as np
import pytest
from examples.figures import Figure

from tests.oracles import shared
from tests.source_tree import ROOT


@pytest.mark.slow
def test_all_figures():
    folder = shared.find_folder()
    data = ["--data", str(folder)] if folder else []
    done = subprocess.run(
        [sys.executable, "-m", "examples", *data], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}
    assert counts["equal"] >= (63 if folder else 50) and counts["erratum"] >= 9


def test_a_wrong_figure_is_noticed():
    assert Figure("", "", 0.5, lambda: 0).judged(0.5000001) == "equal"
    assert Figure("", "", 0.5, lambda: 0).judged(0.51) == "WRONG"
    assert Figure("", "", 81, lambda: 0, "erratum", 82).judged(81) == "WRONG"
    assert Figure("", "", 0.9, lambda: 0, "near", (0.8, 1)).judged(np.array([0.9, 0.7])) == "WRONG"
    assert Figure("", "", "yes", lambda: 0).judged("no") == "WRONG"
