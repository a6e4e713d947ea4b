"""What a user meets first: the wheel holds the loops and no tests, and the command answers.

Run by `.ci/run` in an environment that holds the wheel and its dependencies, nothing else.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

# Two penguins that no model should confuse; the second has a gap.
NEW = """island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year
Torgersen,38.5,18.5,185,3700,male,2008
Biscoe,48.0,14.5,217,5200,,2008
"""


def check_contents(wheel: str) -> None:
    """Compiled loops, their sources and `py.typed` are in; tests, docs and build files are not."""
    names = zipfile.ZipFile(wheel).namelist()
    sources = [name for name in names if name.endswith(".pyx")]
    assert sources, "the wheel has no loops"
    for source in sources:
        stem = source.removesuffix("pyx")
        compiled = any(name.startswith(stem) and name.endswith((".so", ".pyd")) for name in names)
        assert compiled, f"{source} is not compiled"
    assert "pellucid/py.typed" in names
    packages = {name.split("/")[0] for name in names}
    foreign = {p for p in packages if p != "pellucid" and not p.startswith("pellucid-")}
    assert not foreign, f"the wheel also installs {foreign}"
    foreign_words = ("meson.build", ".pyc", "tests/", "/test_", "conftest")
    build = [n for n in names if any(word in n for word in foreign_words)]
    assert not build, f"the wheel should not hold {build}"


def pellucid(*arguments: str) -> str:
    """Run the installed command in this folder; what it prints on stdout."""
    command = Path(sys.executable).with_name("pellucid")
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"pellucid {arguments} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def check_commands() -> None:
    """The main job on built-in data, then a prediction with the model that it leaves."""
    assert pellucid("--version").startswith("pellucid ")
    assert "compare" in pellucid("--help")
    board = pellucid("compare", "penguins")
    assert "LEADERBOARD" in board and "majority" in board and "recommended" in board, board
    print(board)
    Path("new.csv").write_text(NEW)
    rows = pellucid("predict", "runs/latest/model.pellucid", "new.csv").splitlines()
    assert rows[0] == "prediction,p_Adelie,p_Chinstrap,p_Gentoo", rows
    assert [row.split(",")[0] for row in rows[1:]] == ["Adelie", "Gentoo"], rows


if __name__ == "__main__":
    check_contents(sys.argv[1])
    check_commands()
