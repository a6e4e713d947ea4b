"""What a user meets first: the wheel holds the loops and no tests, and the command answers.

Run by `.ci/run` in an environment that holds the wheel and its dependencies, nothing else.
"""

import subprocess
import sys
import zipfile
from pathlib import Path


def check_contents(wheel: str) -> None:
    """Compiled loops, their sources and `py.typed` are in; tests, docs and build files are not."""
    names = zipfile.ZipFile(wheel).namelist()
    sources = [name for name in names if name.endswith(".pyx")]
    assert sources, "the wheel has no loops"
    for source in sources:
        stem = source.removesuffix("pyx")
        compiled = any(name.startswith(stem) and name.endswith(".so") for name in names)
        assert compiled, f"{source} is not compiled"
    assert "pellucid/py.typed" in names
    packages = {name.split("/")[0] for name in names}
    foreign = {p for p in packages if p != "pellucid" and not p.startswith("pellucid-")}
    assert not foreign, f"the wheel also installs {foreign}"
    build = [n for n in names if n.endswith(("meson.build", ".pyc")) or "test" in n.split("/")[-1]]
    assert not build, f"the wheel should not hold {build}"


def check_commands() -> None:
    """The console script is on the path of the environment and works."""
    command = Path(sys.executable).with_name("pellucid")
    for arguments in (["--version"], ["--help"]):
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=True)
        assert "pellucid" in done.stdout and not done.stderr, done
        print(done.stdout.strip())


if __name__ == "__main__":
    check_contents(sys.argv[1])
    check_commands()
