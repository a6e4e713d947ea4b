"""What is installed: one version, the command, the compiled loops, the types, and no tests."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, entry_points
from importlib.resources import files

import pytest
import yaml

from tests.source_tree import PACKAGE, ROOT, source_files

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]
WORKFLOWS = ROOT / ".github" / "workflows"
INSTALLED = distribution("pellucid")
CHECKERS = ("ruff", "mypy", "codespell")


def installed_paths() -> list[str]:
    """The installed files of the package; an editable install has only a loader."""
    paths = [str(path) for path in INSTALLED.files or ()]
    if not any(path.startswith("pellucid/") for path in paths):
        pytest.skip("an editable install: .ci/run runs this test on the built wheel")
    return paths


def test_one_version():
    written = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert INSTALLED.version == written
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == written, "the newest heading of CHANGELOG.md is the version"


def test_the_command_is_installed():
    (command,) = entry_points(group="console_scripts", name="pellucid")
    assert command.value == "pellucid.app.cli:main" and callable(command.load())


def test_types_are_shipped():
    assert files("pellucid").joinpath("py.typed").is_file()


def test_every_loop_is_compiled_and_installed():
    paths = installed_paths()
    for source in source_files(".pyx"):
        stem = f"pellucid/{source.relative_to(PACKAGE).with_suffix('')}."
        assert any(p.startswith(stem) and p.endswith((".so", ".pyd")) for p in paths), source


def test_nothing_else_is_installed():
    paths = installed_paths()
    scripts = ("pellucid/", "pellucid-", "../")
    assert not [path for path in paths if not path.startswith(scripts)]
    foreign = ("tests/", "/test_", "conftest", "meson.build")
    assert not [path for path in paths if any(word in path for word in foreign)]


def test_all_python_files_are_installed():
    paths = set(installed_paths())
    missing = [
        p for p in source_files(".py", ".pyi") if f"pellucid/{p.relative_to(PACKAGE)}" not in paths
    ]
    assert not missing


def test_requirements_have_a_lower_bound_and_no_upper_bound():
    extras = PROJECT["optional-dependencies"].values()
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]:
        assert line == "pellucid[test]" or re.fullmatch(r"[\w\[\],-]+>=[\d.]+", line), line


def test_ci_pins_everything_that_is_required():
    pins = re.findall(r"^([\w.-]+)==", (ROOT / ".ci" / "constraints.txt").read_text(), re.M)
    pinned = {pin.lower().replace("_", "-") for pin in pins}
    tested = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"], *CHECKERS]
    assert {re.match(r"[\w-]+", line).group() for line in tested} <= pinned


def test_hooks_and_ci_run_the_same_versions():
    pins = dict(
        re.findall(r"^([\w.-]+)==(\S+)", (ROOT / ".ci" / "constraints.txt").read_text(), re.M)
    )
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    revisions = dict(re.findall(r"/(ruff|codespell)(?:-pre-commit)?\n +rev: v(\S+)", hooks))
    assert revisions == {name: pins[name] for name in ("ruff", "codespell")}


def test_the_same_pythons_everywhere():
    classifiers = "\n".join(PROJECT["classifiers"])
    promised = re.findall(r"Python :: (3\.\d+)$", classifiers, re.M)
    assert PROJECT["requires-python"] == f">={promised[0]}"
    matrix = re.search(r"python: \[(.*)\]", (WORKFLOWS / "tests.yml").read_text()).group(1)
    assert re.findall(r"[\d.]+", matrix) == promised
    wheels = TOOLS["cibuildwheel"]["build"].split()
    ordinary = [f"cp{version.replace('.', '')}-*" for version in promised]
    assert wheels == [*ordinary, ordinary[-1].replace("-", "t-")], "and the free-threaded newest"


def test_the_citation_names_the_version():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M).group(1)
    assert cited == INSTALLED.version


def test_workflows_are_readable():
    texts = [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(texts) > 5
    for path in texts:
        assert isinstance(yaml.safe_load(path.read_text()), dict), path
    for path in WORKFLOWS.glob("*.yml"):
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}, f"{path.name}: rights are per job"


def test_a_wheel_names_the_repository_it_is_built_from(tmp_path):
    for name in ("pyproject.toml", ".ci/add_urls.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, tmp_path / ".ci/add_urls.py", "someone/a-fork"]
    subprocess.run(command, check=True)
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    assert project.pop("urls")["Source"] == "https://github.com/someone/a-fork"
    assert project == PROJECT
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "already" in again.stderr
