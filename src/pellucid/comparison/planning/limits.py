"""Limits that are decided before the first fit, and the guard against fits that never end.

A limit counts work, not seconds of a clock, so that results do not depend on how busy a machine is:
the work of a model is what `estimate` says its fits take on the machine of its figures. A model that
would take more than the plan allows tries fewer candidates, from the middle of its range; one whose
fits alone are too much is skipped. Seconds of the clock count only if they were asked for
(`--model-timeout`, `--time-limit`). What runs on far beyond its plan (or does nothing) has failed:
its process is ended. Invariant: the same table and settings leave out the same on every machine.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace

from pellucid.comparison.planning import time_estimate
from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.comparison.planning.settings import Settings
from pellucid.parallel import get_threads

BEYOND = 10.0  # times its share of the planned work, in processor time, that a round may take
MIN_BEYOND = 60.0  # seconds of the processor that any round may take
LOOK = 1.0  # seconds between two looks at a process
IDLE = 300.0  # seconds without any use of the processor


def limit_work(plan: Plan) -> Plan:
    """The plan with what is too slow cut down or left out."""
    if plan.settings.model_timeout is not None:  # the clock decides, as asked
        return plan
    each = time_estimate.fit_seconds(plan)
    limited = [_limited(plan, c, each.get(c.id)) for c in plan.contenders]
    return replace(plan, contenders=limited)


def _limited(plan: Plan, contender: Contender, each: float | None) -> Contender:
    if each is None or contender.entry is None or contender.rank == 0:  # the user's own: unknown
        return contender
    most, full = (
        time_estimate.affordable(plan, contender, each, plan.model_timeout),
        len(contender.candidates),
    )
    if most == full:
        return contender
    reason = (
        f"{len(plan.train)} rows ({plan.settings.effort} effort; --model-timeout gives it more)"
    )
    if not most:
        return replace(contender, skipped=f"too slow for {reason}")
    note = f"{most} of {full} candidates tried: all would be too slow for {reason}"
    return replace(
        contender, max_candidates=most, note=f"{contender.note}; {note}" if contender.note else note
    )


def most_processor_seconds(plan: Plan) -> float:
    """After so many seconds of the processor a round of a model is taken for one that never ends."""
    return max(MIN_BEYOND, BEYOND * plan.model_timeout / (len(plan.folds) + 1))


def final_fit_seconds(plan: Plan) -> tuple[float, float]:
    """By the clock, so long that only what hangs meets it: for the fit of the recommended model on
    all training rows with its test scores, and for what the report tells of it beside them."""
    return 20 * plan.model_timeout, 2 * plan.model_timeout


def process_memory(settings: Settings, jobs: int) -> float:
    """Bytes that one process may take: as asked, else its part of what is free now (0: unknown)."""
    if settings.memory_limit:
        return settings.memory_limit * 1e9
    try:
        free = 0.8 * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + 2e9
    except (ValueError, OSError):
        return 0.0
    return free / jobs


def describe_limits(plan: Plan) -> list[tuple[str, str]]:
    """All limits of a run by name, in words, for a reader of the plan."""
    asked, limit, rounds = (
        plan.settings.model_timeout,
        plan.settings.time_limit,
        len(plan.folds) + 1,
    )
    if asked is None:
        work = f"{plan.model_timeout:g} s of estimated work for each model, whatever the machine"
        budget = "none"
        most = most_processor_seconds(plan)
        guard = f"{most:.0f} s of processor time in a round, or {IDLE:.0f} s of none"
    else:
        work, guard = "none, because of the model timeout", "see model timeout"
        budget = f"{asked:g} s by the clock, {asked / rounds:.3g} s a round"
    whole = "none" if limit is None else f"{limit:g} s by the clock, including the report"
    fit, rest = final_fit_seconds(plan)
    memory = process_memory(plan.settings, plan.settings.jobs or get_threads())
    free = "" if plan.settings.memory_limit else ", its part of what is free now"
    return [
        ("work", work),
        ("model timeout", budget),
        ("time limit", whole),
        ("hanging", guard),
        ("last fit", f"{fit:g} s by the clock, {rest:g} s for its part of the report"),
        ("memory", f"{memory / 1e9:.2g} GB a process{free}" if memory else "none"),
    ]


@dataclass
class ProcessWatch:
    """What a process has used of the processor since it got its order."""

    pid: int
    began: float = field(default_factory=time.monotonic)
    looked: float = 0.0
    idle: float = 0.0  # seconds in which it used none
    used: float = 0.0

    def __post_init__(self) -> None:
        self.before = processor_seconds(self.pid) or 0.0
        self.looked = time.monotonic()

    def look(self) -> None:
        """Now and then; a pause of this process itself is no idleness of the other."""
        now = time.monotonic()
        if now - self.looked < LOOK:
            return
        known = processor_seconds(self.pid)
        used = now - self.began if known is None else known - self.before
        self.idle = (
            0.0 if used > self.used + 0.005 else self.idle + min(now - self.looked, 2 * LOOK)
        )
        self.used, self.looked = used, now


def processor_seconds(pid: int) -> float | None:
    """Of all threads of a process; None where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
