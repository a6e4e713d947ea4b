"""The player of replays in Chromium: what a drawn frame costs while a fit of 500 steps plays.

Script time is the CPU time of the browser's main thread, so other work on the machine hardly counts; the
frames a second are those that this machine shows. 60 a second leave 16.7 ms for each.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

SECONDS = 4.0
_COUNT = (
    "window.drawn = 0; (function count() { window.drawn++; requestAnimationFrame(count) })();"
    "document.getElementById('first').click(); document.getElementById('speed').value = SPEED;"
    "document.getElementById('speed').onchange(); document.getElementById('play').click()"
)


def replays() -> dict[str, Any]:
    """Replays of long fits, by name."""
    import pellucid
    from pellucid.data.datasets import load
    from pellucid.ensemble import GradientBoostingClassifier
    from pellucid.linear_model import LogisticRegression
    from pellucid.svm import SVC

    iris, penguins = load("iris"), load("penguins")
    long = LogisticRegression(solver="gd", max_iter=499, tol=0)
    return {
        "descent": pellucid.replay(long, iris.X, iris.y),
        "boosting": pellucid.replay(GradientBoostingClassifier(), penguins.X, penguins.y),
        "SVM": pellucid.replay(SVC(C=100.0, tol=1e-6), iris.X, iris.y == "virginica"),
    }


def table() -> str:
    """Steps, size of the page, script time of a frame, and frames a second."""
    from tests.report.browser import CHROMIUM, Browser

    if CHROMIUM is None:
        return "player: not available, there is no Chromium"
    lines = ["player      steps  page kB  script ms a frame  frames/s"]
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        browser.call("Performance.enable", timeDomain="threadTicks")
        for name, made in replays().items():
            page = Path(folder) / f"{name}.html"
            made.save(page)
            steps, size = len(made.frames["sentences"]), page.stat().st_size
            cost, rate = measured(browser, page, max(0, min(7, steps // 70)))
            lines.append(f"{name:<10} {steps:6d}  {size / 1000:7.0f}  {cost:17.2f}  {rate:8.1f}")
    return "\n".join(lines)


def measured(browser: Any, page: Path, speed: int) -> tuple[float, float]:
    """(milliseconds of script per frame, frames per second) while the page plays."""
    browser.open(page)
    end = time.monotonic() + 30
    while browser.ask("document.body.dataset.ready") != "yes" and time.monotonic() < end:
        time.sleep(0.05)
    before = _script(browser)
    browser.ask(_COUNT.replace("SPEED", str(speed)))
    start = time.monotonic()
    time.sleep(SECONDS)
    frames, taken = browser.ask("window.drawn"), time.monotonic() - start
    return 1000 * (_script(browser) - before) / max(frames, 1), frames / taken


def _script(browser: Any) -> float:
    found = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
    return float(found["ScriptDuration"])
