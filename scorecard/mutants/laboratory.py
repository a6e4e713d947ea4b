"""A copy of the project in which one source at a time is changed, rebuilt and tested."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

from scorecard.mutants.sites import Mutant

ROOT = Path(__file__).resolve().parents[2]
COMPILED = (".pyx", ".pxd", ".pxi")


@dataclass(frozen=True)
class Laboratory:
    """The copy in `folder`: `source` is the tree, `build` its Meson build, `python` runs it."""

    folder: Path

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
            places = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
            name = f"python{sys.version_info.major}.{sys.version_info.minor}"
            own = self.folder / "venv" / "lib" / name / "site-packages" / "project.pth"
            own.write_text("\n".join([str(self.source / "src"), *sorted(places)]) + "\n")
        if not self.compile():
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

    def test(self, selection: tuple[str, ...], limit: float | None = None) -> tuple[str, float]:
        """`passed`, `failed` or `hung`, and the seconds of a test run that ends at the first failure."""
        command = [
            str(self.python), "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider",
            "--no-header", "--tb=no", *selection,
        ]  # fmt: skip
        environment = {
            **os.environ,
            "PELLUCID_TEST_LIMIT": "100000",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        began = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=self.source, capture_output=True, timeout=limit, env=environment,
                preexec_fn=_take_ctrl_c,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "hung", time.monotonic() - began
        return "failed" if done.returncode else "passed", time.monotonic() - began

    def outcome(self, mutant: Mutant, stages: list[tuple[tuple[str, ...], float]]) -> str:
        """`invalid` (does not build), `killed`, `hung` (killed by the time limit) or `survived`.

        `stages` are selections of tests with the seconds that the unchanged sources take for them.
        """
        path = self.source / mutant.file
        original = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(original), encoding="utf-8")
        try:
            if path.suffix in COMPILED and not self.compile():
                return "invalid"
            for selection, seconds in stages:
                word, _ = self.test(selection, 4 * seconds + 60)
                if word != "passed":
                    return "killed" if word == "failed" else "hung"
            return "survived"
        finally:
            path.write_text(original, encoding="utf-8")
            if path.suffix in COMPILED:
                self.compile()


def _take_ctrl_c() -> None:
    """A shell lets its background commands ignore Ctrl-C, which some tests send."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
