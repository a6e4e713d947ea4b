"""A copy of the project in which one source at a time is changed, rebuilt and tested."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from scorecard.mutants.sites import Mutant

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600  # of one run of tests
COMPILED = (".pyx", ".pxd", ".pxi")


@dataclass(frozen=True)
class Laboratory:
    """The copy in `folder`: `source` is the tree, `build` its Meson build, `python` runs it."""

    folder: Path
    sound: set[tuple[str, ...]] = field(
        default_factory=set
    )  # selections that pass without a change

    @property
    def source(self) -> Path:
        return self.folder / "project"

    @property
    def build(self) -> Path:
        return self.folder / "build"

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def prepare(self) -> None:
        """Copy the committed sources, build them, and make an environment that imports them."""
        if not self.source.exists():
            self.source.mkdir(parents=True)
            archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True)
            subprocess.run(["tar", "-x"], cwd=self.source, input=archive.stdout, check=True)
        if not (self.build / "build.ninja").exists():
            self._run("meson", "setup", str(self.build), "-Dbuildtype=release")
        if not self.python.exists():
            subprocess.run(
                [sys.executable, "-m", "venv", "--without-pip", self.folder / "venv"], check=True
            )
            places = {place for place in sys.path if place.endswith("site-packages")}
            name = f"python{sys.version_info.major}.{sys.version_info.minor}"
            own = self.folder / "venv" / "lib" / name / "site-packages" / "project.pth"
            own.write_text("\n".join([str(self.source / "src"), *sorted(places)]) + "\n")
        # Modules that lie beside the sources already are those of an earlier build.
        if not any(self.source.rglob("*.so")) and not self.compile():
            raise SystemExit("the unchanged sources do not build")

    def compile(self) -> bool:
        """Build what changed, and put the modules beside their sources; False if it fails."""
        done = self._run("ninja", "-C", str(self.build), "-j", "1", check=False)
        if done.returncode:
            return False
        built = self.build / "src" / "pellucid"
        for module in built.rglob("*.so"):
            target = self.source / "src" / "pellucid" / module.relative_to(built)
            if not target.exists() or target.stat().st_mtime < module.stat().st_mtime:
                shutil.copy2(module, target)
        return True

    def _run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, cwd=self.source, capture_output=True, check=check)

    def test(self, selection: tuple[str, ...]) -> str:
        """`passed`, `failed` or `hung` (beyond `SECONDS` of processor time); ends at the first
        failure."""
        command = [
            str(self.python), "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider",
            "--no-header", "--tb=no", *selection,
        ]  # fmt: skip
        environment = {
            **os.environ,
            "PELLUCID_TEST_LIMIT": "100000",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            command, cwd=self.source, capture_output=True, env=environment, preexec_fn=_limited
        )
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "hung"
        return "failed" if done.returncode else "passed"

    def outcome(self, mutant: Mutant, stages: list[tuple[str, ...]]) -> str:
        """`invalid` (does not build), `killed`, `hung` (killed by the time limit) or `survived`."""
        path = self.source / mutant.file
        original = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(original), encoding="utf-8")
        try:
            if path.suffix in COMPILED and not self.compile():
                return "invalid"
            noticed = self._noticed(stages)
        finally:
            path.write_text(original, encoding="utf-8")
            if path.suffix in COMPILED:
                self.compile()
        if noticed is None:
            return "survived"
        word, selection = noticed
        if selection not in self.sound and self.test(selection) != "passed":
            raise SystemExit(f"{' '.join(selection)} fails on the unchanged sources")
        self.sound.add(selection)
        return "killed" if word == "failed" else "hung"

    def _noticed(self, stages: list[tuple[str, ...]]) -> tuple[str, tuple[str, ...]] | None:
        """The first selection that does not pass, and how; None if all pass."""
        for selection in stages:
            word = self.test(selection)
            if word != "passed":
                return word, selection
        return None


def _limited() -> None:
    """Processor time has a limit, not the clock: the machine may be busy. A shell lets its background
    commands ignore Ctrl-C, which some tests send."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
