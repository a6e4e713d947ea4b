"""Limits that are decided before the first fit, and the guard against fits that never end.

A limit counts estimated work (`time_estimate`), not wall-clock time, so that results do not depend on
how busy the machine is. A model that would exceed the limit tries fewer candidates, from the middle of
its range; it is skipped if even one candidate is too slow. Wall-clock time counts only if the user sets
`--model-timeout` or `--time-limit`. A process that runs far beyond its plan, or does nothing, is killed
and its model has failed. Invariant: the same table and settings skip the same fits on every machine.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace

from pellucid.comparison.planning import time_estimate
from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.comparison.planning.settings import Settings
from pellucid.parallel import get_threads

BEYOND = 10.0  # multiple of its planned work, in CPU time, after which a round is killed
MIN_BEYOND = 60.0  # seconds of CPU time that any round may use
LOOK = 1.0  # seconds between two checks of a process
IDLE = 300.0  # seconds without CPU use after which a process is killed


def limit_work(plan: Plan) -> Plan:
    """The plan with fewer candidates for slow models, and without those that are too slow."""
    if plan.settings.model_timeout is not None:  # then wall-clock time decides
        return plan
    each = time_estimate.fit_seconds(plan)
    limited = [_limited(plan, c, each.get(c.id)) for c in plan.contenders]
    return replace(plan, contenders=limited)


def _limited(plan: Plan, contender: Contender, each: float | None) -> Contender:
    # The user's own models have no estimate.
    if each is None or contender.entry is None or contender.rank == 0:
        return contender
    full = len(contender.candidates)
    most = time_estimate.affordable(plan, contender, each, plan.model_timeout)
    if most == full:
        return contender
    reason = f"{len(plan.train)} rows ({plan.settings.effort} effort; --model-timeout allows more)"
    if not most:
        return replace(contender, skipped=f"too slow for {reason}")
    note = f"tries {most} of {full} candidates, because all would be too slow for {reason}"
    notes = "; ".join(filter(None, (contender.note, note)))
    return replace(contender, max_candidates=most, note=notes)


def max_cpu_seconds(plan: Plan) -> float:
    """CPU time in seconds after which a round of a model is assumed never to end."""
    return max(MIN_BEYOND, BEYOND * plan.model_timeout / (len(plan.folds) + 1))


def final_fit_seconds(plan: Plan) -> tuple[float, float]:
    """Wall-clock limits for the final fit with its test scores, and for the report on that model.

    They are so long that only a process that hangs exceeds them.
    """
    return 20 * plan.model_timeout, 2 * plan.model_timeout


def process_memory(settings: Settings, jobs: int) -> float:
    """Bytes that one process may use: the user's limit, else its share of free memory (0: unknown)."""
    if settings.memory_limit:
        return settings.memory_limit * 1e9
    try:
        free = 0.8 * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + 2e9
    except (ValueError, OSError):
        return 0.0
    return free / jobs


def describe_limits(plan: Plan) -> list[tuple[str, str]]:
    """All limits of a run as (name, text), for display."""
    timeout, limit = plan.settings.model_timeout, plan.settings.time_limit
    if timeout is None:
        work = f"{plan.model_timeout:g} s of estimated work per model, the same on every machine"
        budget = "none"
        most = max_cpu_seconds(plan)
        guard = f"killed after {most:.0f} s of CPU time in one fold, or {IDLE:.0f} s without any"
    else:
        work, guard = "none, because a model timeout is set", "see model timeout"
        budget = (
            f"{timeout:g} s of wall-clock time, {timeout / (len(plan.folds) + 1):.3g} s per fold"
        )
    whole = "none" if limit is None else f"{limit:g} s of wall-clock time, including the report"
    fit, rest = final_fit_seconds(plan)
    jobs = plan.settings.jobs or get_threads()
    memory = process_memory(plan.settings, jobs)
    free = "" if plan.settings.memory_limit else ", its share of free memory"
    return [
        ("work", work),
        ("model timeout", budget),
        ("time limit", whole),
        ("hanging", guard),
        ("final fit", f"{fit:g} s of wall-clock time, {rest:g} s for its part of the report"),
        ("memory", f"{memory / 1e9:.2g} GB per process{free}" if memory else "none"),
        ("processes", str(jobs)),
    ]


@dataclass
class ProcessWatch:
    """CPU time that a process has used since it got its task."""

    pid: int
    began: float = field(default_factory=time.monotonic)
    looked: float = 0.0
    idle: float = 0.0  # seconds without CPU use
    used: float = 0.0

    def __post_init__(self) -> None:
        self.before = cpu_seconds(self.pid) or 0.0
        self.looked = time.monotonic()

    def look(self) -> None:
        """Update at most every LOOK seconds; a pause of this process does not count as idle time."""
        now = time.monotonic()
        if now - self.looked < LOOK:
            return
        known = cpu_seconds(self.pid)
        used = now - self.began if known is None else known - self.before
        self.idle = (
            0.0 if used > self.used + 0.005 else self.idle + min(now - self.looked, 2 * LOOK)
        )
        self.used, self.looked = used, now


def cpu_seconds(pid: int) -> float | None:
    """CPU time of all threads of a process; None if the system does not report it."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
