"""`pellucid compare --resume RUN --use MODEL`: save a model other than the recommended one."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import Any

import click

from pellucid.app.messages import as_json_text
from pellucid.comparison.analysis.holdout_scores import open_test
from pellucid.comparison.analysis.out_of_fold import collect
from pellucid.comparison.execution import run_folder as files
from pellucid.comparison.execution.fold_task import CALIBRATION
from pellucid.comparison.execution.journal import Journal, RunState, plain
from pellucid.comparison.execution.refit import Refitter
from pellucid.draw.number import number


def use(folder: Path, plan: Any, model: str, format_: str) -> int:
    """Fit the model on all training rows, save it beside the run, and score it on the test set."""
    journal_path = folder / "events.jsonl"
    state = RunState.read(journal_path)
    keeper = Refitter.of(plan, state, collect(plan, state, folder / "parts"))
    keeper.refuse_foreign(model)
    path = folder / f"{model}.pellucid"
    with keeper.fitted(model) as (fitted, bench, job):
        keeper.save_fitted(fitted, job, path, chosen="by the user")
        test = None
        if len(plan.test):
            note_opening(journal_path, plan, model, keeper.chosen[model])
            test = open_test(bench, fitted, job)
    facts = {
        "model": model,
        "path": str(path),
        "params": {n: v for n, v in keeper.params(model).items() if n != CALIBRATION},
        "test": test and {"metrics": test["metrics"], "intervals": test["intervals"]},
        "test_used": files.openings(folder, plan.test_set_id()) if test else 0,
        "recommended": recommended(folder),
    }
    if format_ == "json":
        click.echo(as_json_text(plain(facts), indent=1))
    else:
        click.echo(as_text(facts, plan))
    return 0


def note_opening(path: Path, plan: Any, model: str, candidate: int) -> None:
    """Record a use of the test set before it happens; the same model again is no new use."""
    if RunState.read(path).opened_for(model, candidate):
        return
    with closing(Journal(path)) as journal:
        vault = plan.test_set_id()
        journal.write("opened", vault=vault, by="the user", model=model, candidate=candidate)
        journal.sync()


def recommended(folder: Path) -> str | None:
    """The model that the run recommends, if it has results."""
    path = folder / "results.json"
    return json.loads(path.read_text(encoding="utf-8"))["recommended"] if path.exists() else None


def as_text(facts: dict[str, Any], plan: Any) -> str:
    """What was saved, its test score and what to do next."""
    model, name = facts["model"], plan.metric.name
    lines = [f"saved {model}, fitted on {len(plan.train)} training rows: {facts['path']}"]
    if facts["params"]:
        params = ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}"
                           for k, v in facts["params"].items())  # fmt: skip
        lines.append(f"tuned hyperparameters: {params}")
    if facts["test"]:
        low, high = facts["test"]["intervals"].get(name, (None, None))
        value = facts["test"]["metrics"][name]
        between = "" if low is None else f" (95 % interval {number(low)} to {number(high)})"
        lines.append(f"test set, {len(plan.test)} rows: {name} {number(value)}{between}")
        times = facts["test_used"]
        used = "once" if times == 1 else f"{times} times"
        lines.append(
            f"note: you chose {model}; the recommended model is {facts['recommended']}"
            if model != facts["recommended"]
            else f"note: {model} is the recommended model"
        )
        lines.append(
            f"      the test set has been used {used}; each use makes its scores more optimistic"
        )
    lines.append(f"NEXT  pellucid predict {quote(facts['path'])} NEW.csv -o out.csv")
    return "\n".join(lines)
