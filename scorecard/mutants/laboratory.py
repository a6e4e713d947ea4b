"""A copy of the project that holds all drawn mutants, is built once, and tests one mutant at a time."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from scorecard.mutants.schemata import SWITCH, switched
from scorecard.mutants.sites import Mutant
from scorecard.mutants.sites import mutants as mutants_of

ROOT = Path(__file__).resolve().parents[2]
COMPILED = (".pyx", ".pxd")
BUDGET = 8.0  # seconds of tests that a mutant has to survive, as they take without it
FIRST = 12  # tests of different files that are tried before the others
ERROR = re.compile(r"(src/pellucid/[\w/]+\.p(?:yx|xd)):\d+:\d+:")  # of Cython
RECORDING = 1200  # limit of the processor time of a file of tests, in seconds


@dataclass(frozen=True)
class Reach:
    """A test that passes without mutants: its processor time and the places that it reaches."""

    test: str
    seconds: float
    places: frozenset[int]


class Server:
    """A process that forks children to run tests in, see `scorecard.mutants.server`."""

    def __init__(self, python: Path, source: Path, *arguments: str) -> None:
        environment = {
            **os.environ,
            "PELLUCID_TEST_LIMIT": "100000",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            [str(python), "-m", "scorecard.mutants.server", *arguments],
            cwd=source, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.reached = set(self._read())

    def _read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def test(
        self,
        tests: Iterable[str],
        active: int = 0,
        seconds: float = RECORDING,
        record: Path | None = None,
    ) -> dict[str, Any]:
        """Run tests in a child: `code` of pytest (or minus the signal) and the test that `failed`."""
        request = {
            "active": active, "tests": list(tests), "seconds": int(seconds) + 1,
            "record": str(record) if record else None,
        }  # fmt: skip
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = self._read()
        return answer


@dataclass
class Laboratory:
    """The copy in `folder`: `source` is the tree, `python` runs it. `mutants` by number."""

    folder: Path
    mutants: Mapping[int, Mutant] = field(default_factory=dict)
    sound: set[str] = field(default_factory=set)  # tests that passed again without a mutant

    @property
    def source(self) -> Path:
        return self.folder / "project"

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def prepare(self) -> set[int]:
        """Copy the committed sources, insert the mutants, build; the numbers without a place."""
        marker = self.folder / "refused.json"
        if marker.exists():
            return set(json.loads(marker.read_text()))
        if not self.source.exists():
            self.source.mkdir(parents=True)
            archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True)
            subprocess.run(["tar", "-x"], cwd=self.source, input=archive.stdout, check=True)
        by_file: dict[str, dict[int, Mutant]] = defaultdict(dict)
        for number, mutant in self.mutants.items():
            by_file[mutant.file][number] = mutant
        refused = self._insert(by_file) | self._compile(by_file)
        self._environment()
        marker.write_text(json.dumps(sorted(refused)))
        return refused

    def _insert(self, by_file: Mapping[str, Mapping[int, Mutant]]) -> set[int]:
        refused: set[int] = set()
        for file, mutants in by_file.items():
            original = (ROOT / file).read_text(encoding="utf-8")
            known = set(mutants_of(original, file))
            changeable = {number: m for number, m in mutants.items() if m in known}
            changed, without = switched(original, file, changeable)
            without |= mutants.keys() - changeable.keys()
            place = self.source / file
            if place.read_text(encoding="utf-8") != changed:  # what is equal is not built again
                place.write_text(changed, encoding="utf-8")
            refused |= without
        return refused

    def _compile(self, by_file: Mapping[str, Mapping[int, Mutant]]) -> set[int]:
        """Build at -O1, which computes the same bits. A file that does not build loses the mutants
        that do not build alone."""
        build = self.folder / "build"
        if not (build / "build.ninja").exists():
            self._run("meson", "setup", str(build), "-Dbuildtype=plain", "-Doptimization=1")
        self._run("ninja", "-C", str(build), "-j", "1", "-k", "0", check=False)
        refused: set[int] = set()
        while (text := self._failure(build)) is not None:
            found = [file for file in ERROR.findall(text) if file in by_file]
            dropped = self._repair(build, found[0], by_file[found[0]]) if found else set()
            if not dropped:
                raise SystemExit(f"the sources do not build:\n{text[-3000:]}")
            refused |= dropped
        built = build / "src" / "pellucid"
        for module in built.rglob("*.so"):
            shutil.copy2(module, self.source / "src" / "pellucid" / module.relative_to(built))
        return refused

    def _failure(self, build: Path) -> str | None:
        done = self._run("ninja", "-C", str(build), "-j", "1", check=False)
        return (done.stdout + done.stderr).decode() if done.returncode else None

    def _repair(self, build: Path, file: str, mutants: Mapping[int, Mutant]) -> set[int]:
        """Add the mutants of a file one after another; the numbers of those that do not build."""
        kept: dict[int, Mutant] = {}
        refused = set()
        for number, mutant in mutants.items():
            self._insert({file: {**kept, number: mutant}})
            text = self._failure(build)
            if text is not None and file in ERROR.findall(text):
                refused.add(number)
            else:
                kept[number] = mutant
        self._insert({file: kept})
        return refused

    def _environment(self) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder / "venv"])
        places = {place for place in sys.path if place.endswith("site-packages")}
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        own = self.folder / "venv" / "lib" / name / "site-packages" / "project.pth"
        own.write_text("\n".join([str(self.source / "src"), *sorted(places)]) + "\n")

    def _run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, cwd=self.source, capture_output=True, check=check)

    @cached_property
    def warm(self) -> Server:
        return self._serve()

    @cached_property
    def cold(self) -> Server:
        return self._serve("cold")

    def _serve(self, *arguments: str) -> Server:
        for name in ("scorecard", "tests"):  # as they are now: a survivor may have its test
            shutil.copytree(ROOT / name, self.source / name, dirs_exist_ok=True)
        (self.source / "src" / "mutant_switch.py").write_text(SWITCH)
        return Server(self.python, self.source, *arguments)

    def is_cold(self, number: int, mutant: Mutant) -> bool:
        """Whether a place is reached at import. A compiled module asks for its mutant once, so that
        all of its mutants are cold if one of them is."""
        if not mutant.file.endswith(COMPILED):
            return number in self.warm.reached
        return mutant.file in {self.mutants[i].file for i in self.warm.reached}

    def reach(self, files: Iterable[str]) -> list[Reach]:
        """The tests of some files, each with what it reaches; measured once, and after a change."""
        found = []
        for file in files:
            record = self.folder / "reach" / f"{file.replace('/', '.')}.jsonl"
            changed = (ROOT / file).stat().st_mtime
            if not record.exists() or record.stat().st_mtime < changed:
                record.parent.mkdir(exist_ok=True)
                part = record.with_suffix(f".{os.getpid()}")
                self.warm.test([file], record=part)
                part.rename(record)
            for line in record.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                found.append(Reach(entry["test"], entry["seconds"], frozenset(entry["places"])))
        return found

    def outcome(self, number: int, tests: list[str], usual: float, cold: bool = False) -> str:
        """`killed`, `hung` (killed by the time limit) or `survived`."""
        server = self.cold if cold else self.warm
        answer = server.test(tests, number, seconds=10 + 4 * usual)
        code, test = answer["code"], answer["failed"]
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "hung"
        if code == 0:
            return "survived"
        if code == 1 and test not in self.sound:
            if server.test([test])["code"] != 0:
                return "unsound"
            self.sound.add(test)
        return "killed"


def chosen(
    number: int, reaches: Iterable[Reach], budget: float = BUDGET
) -> list[tuple[list[str], float]]:
    """Tests that reach a mutant (all tests for number 0) up to a budget, and their usual time: first the
    quickest ones of some files, which notice most mutants, then others by their time."""
    reached = sorted(
        (reach for reach in reaches if not number or number in reach.places),
        key=lambda reach: reach.seconds,
    )
    by_file = {reach.test.split("::")[0]: reach for reach in reversed(reached)}
    quick = sorted(by_file.values(), key=lambda reach: reach.seconds)[:FIRST]
    first = [reach for reach in quick if reach is quick[0] or reach.seconds < budget / FIRST]
    rest, total = [], sum(reach.seconds for reach in first)
    for reach in reached:
        if reach not in first:
            if total + reach.seconds > budget:
                break
            rest.append(reach)
            total += reach.seconds
    groups = [group for group in (first, rest) if group]
    return [([r.test for r in group], sum(r.seconds for r in group)) for group in groups]
