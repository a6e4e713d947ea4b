"""One workload raced: ours and the peers' alternately in one process, best of k.

Peers take turns within a round, so that a busy moment of the machine hits all of them. Nothing is
asserted about seconds; a row fails only if the answers differ or a contender breaks.
"""

from __future__ import annotations

import copy
import functools
import gc
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.samples import Sample
from benchmarks.workload import OURS, NotAvailable, Workload, fit

_LEAST = 0.1  # seconds: shorter jobs are repeated within one measurement


@dataclass(frozen=True)
class Row:
    """One action of one workload against one peer; seconds, bytes, and the answers."""

    workload: str
    shape: str
    action: str
    peer: str
    status: str = "ok"
    n: int = 0
    ours_seconds: float | None = None
    peer_seconds: float | None = None
    goal: float | None = None
    answer: str = ""
    ours_answer: float | None = None
    peer_answer: float | None = None
    ours_bytes: int | None = None
    peer_bytes: int | None = None
    goal_seconds: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster ours is."""
        if not self.ours_seconds or self.peer_seconds is None:
            return None
        return self.peer_seconds / self.ours_seconds

    @property
    def failed(self) -> bool:
        """True for different answers and for errors; a class that does not exist yet is no fault."""
        return self.status.startswith(("mismatch", "error"))


def alternate(
    jobs: Mapping[str, Callable[[], Any]],
    repeat: int,
    clock: Callable[[], float] | None = None,
    budget: float = math.inf,
) -> dict[str, float]:
    """Best seconds of each job over `repeat` rounds; every round starts with another job.

    No round begins after `budget` seconds of the clock.
    """
    clock = time.perf_counter if clock is None else clock
    spent = 0.0
    best = dict.fromkeys(jobs, math.inf)
    number = dict.fromkeys(jobs, 1)
    names = list(jobs)
    for turn in range(repeat):
        if spent > budget:
            break
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            gc.collect()
            seconds = _timed(jobs[name], number[name], clock)
            spent += seconds * number[name]
            best[name] = min(best[name], seconds)
            number[name] = max(1, min(1000, math.ceil(_LEAST / max(seconds, 1e-9))))
    return best


def _timed(job: Callable[[], Any], number: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(number):
        job()
    return (clock() - start) / number


_Alternate = Callable[[Mapping[str, Callable[[], Any]], int], dict[str, float]]


def race(workload: Workload, n: int, repeat: int, timed: _Alternate = alternate) -> list[Row]:
    """All actions of a workload against all its peers, at n rows."""
    base = Row(workload.key, workload.source.shape, "fit", "", n=n, answer=workload.answer.name)
    try:
        workload.our_class()
    except NotAvailable as reason:
        return [replace(base, status=f"not available: {reason}", peer=", ".join(workload.peers))]
    sample = workload.source.sample(n)
    contenders, absent = _contenders(workload, sample)
    rows = [replace(base, peer=who, status=f"not available: {why}") for who, why in absent.items()]
    try:
        rows += _raced(workload, sample, contenders, functools.partial(timed, repeat=repeat), base)
    except Exception as error:  # one broken contender must not end the run
        rows.append(replace(base, status=f"error: {type(error).__name__}: {error}"))
    return rows


def _contenders(
    workload: Workload, sample: Sample
) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """Copies of each unfitted contender, ours first, and the peers that are missing.

    They are made here, outside the clock: parameters may depend on the sample.
    """
    found: dict[str, Callable[[], Any]] = {}
    absent = {}
    for who in (OURS, *workload.peers):
        try:
            made = workload.contender(who, sample)
        except NotAvailable as reason:
            absent[who] = str(reason)
        else:
            found[who] = functools.partial(copy.copy, made)
    return found, absent


def _raced(
    workload: Workload,
    sample: Sample,
    contenders: Mapping[str, Callable[[], Any]],
    timed: Callable[[Mapping[str, Callable[[], Any]]], dict[str, float]],
    base: Row,
) -> list[Row]:
    fitted: dict[str, Any] = {}

    def fit_one(who: str) -> None:
        fitted[who] = fit(contenders[who](), sample)

    seconds = {"fit": timed({w: lambda w=w: fit_one(w) for w in contenders})}
    asked = getattr(sample, workload.asked)
    for action in workload.goals:
        if action != "fit":
            jobs = {w: lambda m=m, a=action: getattr(m, a)(asked) for w, m in fitted.items()}
            seconds[action] = timed(jobs)
    values = {who: workload.answer.measure(model, sample) for who, model in fitted.items()}
    return [
        _judged(workload, base, peer, action, seconds[action], values)
        for peer in contenders
        if peer != OURS
        for action in workload.goals
    ]


def _judged(
    workload: Workload,
    base: Row,
    peer: str,
    action: str,
    seconds: Mapping[str, float],
    values: Mapping[str, float],
) -> Row:
    answer = workload.answer.at(base.n / workload.source.n)
    agrees = answer.agrees(values[OURS], values[peer])
    allowed = f"{answer.relative:.2g} relative, {answer.absolute:.2g} absolute"
    both = f"{values[OURS]:.10g}, peer {values[peer]:.10g}"
    why = f"mismatch: {answer.name} {both} (allowed: {allowed})"
    return replace(
        base,
        action=action,
        peer=peer,
        status="ok" if agrees else why,
        goal=workload.goals[action],
        ours_seconds=seconds[OURS],
        peer_seconds=seconds[peer],
        ours_answer=values[OURS],
        peer_answer=values[peer],
    )


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The power of n that fits the seconds best: the slope of log seconds over log n."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(workload: Workload, n: int, repeat: int) -> dict[str, Any]:
    """Fit at n/4, n/2 and n rows: seconds and exponent of each contender, and the seconds that ours
    takes for n rows with 1 and with 2 threads.
    """
    sizes = [max(50, n // 4), max(100, n // 2), max(200, n)]
    found: dict[str, list[float]] = {}
    workload.our_class()
    for size in sizes:
        sample = workload.source.sample(size)
        contenders, _ = _contenders(workload, sample)
        jobs = {w: lambda make=make, s=sample: fit(make(), s) for w, make in contenders.items()}
        for who, seconds in alternate(jobs, repeat).items():
            found.setdefault(who, []).append(seconds)
    both = {str(k): functools.partial(_with_threads, k, jobs[OURS]) for k in (1, 2)}
    return {
        "workload": workload.key,
        "sizes": sizes,
        "seconds": found,
        "exponents": {who: exponent(sizes, seconds) for who, seconds in found.items()},
        "threads": alternate(both, repeat),
    }


def _with_threads(threads: int, job: Callable[[], Any]) -> None:
    from pellucid import parallel

    parallel.set_threads(threads)
    try:
        job()
    finally:
        parallel.set_threads(None)
