"""`python -m benchmarks accuracy [--tables a,b] [--rows N] [--folds K]`: scores against peers.

Nested cross-validation on tables of the reference folder (`PELLUCID_SHARED_DATA`, or the nearest
`shared/data`): log loss for classes, RMSE for numbers. Peers: CatBoost, LightGBM and XGBoost with their
default settings, and LightGBM tuned over our own portfolio. `--rows` takes a random sample of larger
tables. Every table is a run in its own folder of `--runs`: what is interrupted goes on from its journal
(model by model, fold by fold) when it is started again, and finished tables are only read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.planning.peers import Peer
from pellucid.comparison.planning.registry import ENTRIES

TABLES: dict[str, tuple[str, tuple[str, ...]]] = {  # file: (target, columns to drop)
    "german_credit.csv": ("class", ()), "titanic3.csv": ("survived", ("boat", "body", "name", "ticket")),
    "car_evaluation.csv": ("class", ()), "vehicle.csv": ("Class", ()),
    "isl_carseats.csv": ("Sales", ()),
    "bike_day.csv": ("cnt", ("instant", "dteday", "casual", "registered")),
    "abalone.csv": ("Rings", ()), "wine_quality.csv": ("quality", ()), "concrete.csv": ("strength", ()),
    "isl_hitters.csv": ("Salary", ()), "pima_diabetes.csv": ("diabetes", ()), "glass.csv": ("Type", ()),
    "saheart.csv": ("chd", ()), "ionosphere.csv": ("Class", ()), "airfoil.csv": ("sound", ()),
    "boston.csv": ("MEDV", ()), "isl_college.csv": ("Apps", ()), "vowel.csv": ("y", ("subset",)),
    "spambase.csv": ("spam", ()), "ames.csv": ("SalePrice", ("Order", "PID")),
}  # fmt: skip
PEERS = ("catboost", "lightgbm", "xgboost")
OURS = ("blend", "gradient_boosting")
NAMES = {  # LightGBM's names of our parameters
    "learning_rate": "learning_rate", "max_leaf_nodes": "num_leaves",
    "min_samples_leaf": "min_child_samples",
    "max_features": "colsample_bytree", "subsample": "subsample", "l2_regularization": "reg_lambda",
}  # fmt: skip


class TunedLightGBM(Peer):
    """LightGBM searched over the first six settings of our portfolio, with early stopping."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TunedLightGBM:
        """Three inner folds choose the setting and the number of rounds."""
        import lightgbm

        portfolio = next(e for e in ENTRIES if e.portfolio).portfolio[:6]
        base, found = dict(self.params), []
        fold = np.random.default_rng(0).permutation(len(y)) % 3
        y = np.asarray(y)
        for setting in portfolio:
            params = base | {NAMES[k]: v for k, v in setting.items()}
            params |= {"subsample_freq": 1, "n_estimators": 1000}
            losses, rounds = [], []
            for k in range(3):
                inner = Peer(self.path, self.classes, params, self.random_state)
                train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
                loss, best = _stopped(inner, lightgbm, X, y, train, test)
                losses.append(loss)
                rounds.append(best)
            found.append(
                (float(np.mean(losses)), params | {"n_estimators": int(np.median(rounds))})
            )
        self.params = min(found, key=lambda one: one[0])[1]
        super().fit(X, y, sample_weight)
        self.params = base
        return self


def _stopped(
    peer: Peer, lightgbm: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[float, int]:
    """The lowest validation loss and its round."""
    taken = X.take(train) if hasattr(X, "take") and hasattr(X, "schema") else X.iloc[train]
    held = X.take(test) if hasattr(X, "take") and hasattr(X, "schema") else X.iloc[test]
    keep: Any = slice(None)
    first = Peer(peer.path, peer.classes, peer.params | {"n_estimators": 1}, peer.random_state)
    first.fit(taken, y[train])  # learns the schema and the classes
    classes = getattr(first, "classes_", None)
    if classes is not None:
        keep = np.isin(y[test], classes)
    codes = (lambda v: v) if classes is None else (lambda v: np.searchsorted(classes, v))
    model = type(first.model_)(**peer.params)
    model.fit(
        first._encoded(taken), codes(y[train]),
        eval_set=[(first._encoded(held)[keep], codes(y[test][keep]))],
        callbacks=[lightgbm.early_stopping(20, verbose=False)], **first._fit_options(),
    )  # fmt: skip
    scores = next(iter(model.best_score_["valid_0"].values()))
    return float(scores), int(model.best_iteration_ or peer.params["n_estimators"])


def folder() -> Path | None:
    """The folder of the reference tables, None if there is none."""
    named = os.environ.get("PELLUCID_SHARED_DATA")
    places = [Path(named)] if named else [
        parent / "shared" / "data" for parent in Path(__file__).resolve().parents
    ]  # fmt: skip
    return next((place for place in places if place.is_dir()), None)


def compare_table(
    path: Path, target: str, drop: tuple[str, ...], effort: str, run: Path,
    rows: int | None = None, folds: int = 5,
) -> dict[str, Any]:  # fmt: skip
    """The scores of all models on one table, lower is better; RMSE in standard deviations."""
    import pandas as pd

    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings
    from pellucid.comparison.run import Run

    done = run / "scores.json"
    if done.is_file():
        return json.loads(done.read_text(encoding="utf-8"))
    run.mkdir(parents=True, exist_ok=True)
    frame = pd.read_csv(path).drop(columns=list(drop)).dropna(subset=[target])
    if rows is not None and rows < len(frame):
        frame = frame.sample(rows, random_state=0).reset_index(drop=True)
    numeric = frame[target].dtype.kind == "f" or frame[target].nunique() > 12
    kind = "regression" if numeric else "classification"
    peer = "lightgbm.LGBM" + ("Regressor" if numeric else "Classifier")
    began = time.perf_counter()
    settings = {
        "target": target, "task": kind, "metric": "rmse" if numeric else "log_loss", "test_size": 0,
        "effort": effort, "peers": PEERS, "jobs": 1, "cv": folds,
    }  # fmt: skip
    tuned = TunedLightGBM(peer, not numeric, {"n_jobs": 1, "verbosity": -1})
    plan, findings = prepare(frame, Settings.of(settings), extra={"lightgbm_tuned": tuned})
    result = Run(plan, run, lambda event: None, findings).run()
    unit = float(frame[target].std()) if numeric else 1.0
    scores = {
        row["model"]: row["mean"] / unit for row in result.rows if row.get("mean") is not None
    }
    failed = {row["model"]: row["reason"] for row in result.rows if row["status"] != "ok"}
    weights = next((row["params"] for row in result.rows if row["model"] == "blend"), None)
    found = {
        "table": path.name, "rows": len(frame), "seconds": time.perf_counter() - began,
        "scores": scores, "failed": failed, "blend": weights,
    }  # fmt: skip
    done.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return found


def line(found: dict[str, Any]) -> str:
    """The scores of one table."""
    shown = [*OURS, *PEERS, "lightgbm_tuned"]
    cells = [f"{found['scores'].get(name, float('nan')):10.4f}" for name in shown]
    best = min(found["scores"], key=lambda name: found["scores"][name])
    return f"{found['table']:<22}{found['rows']:>7}{''.join(cells)}  {best:<18}{found['seconds']:6.0f} s"


def totals(found: list[dict[str, Any]]) -> list[str]:
    """On how many tables ours is at least as good as each peer, and mean ranks."""
    shown, out = [*OURS, *PEERS, "lightgbm_tuned"], []
    for ours in OURS:
        for peer in (*PEERS, "lightgbm_tuned"):
            pairs = [(f["scores"].get(ours), f["scores"].get(peer)) for f in found]
            known = [(a, b) for a, b in pairs if a is not None and b is not None]
            won = sum(a <= b for a, b in known)
            out.append(f"{ours} at least as good as {peer}: {won} of {len(known)}")
    ranks = [
        [
            1 + sum(f["scores"].get(o, np.inf) < f["scores"].get(n, np.inf) for o in shown)
            for n in shown
        ]
        for f in found
    ]
    means = np.mean(ranks, axis=0)
    return [*out, "mean ranks: " + ", ".join(f"{n} {r:.2f}" for n, r in zip(shown, means))]


def reference_tables(names: str) -> list[tuple[str, Path, str, tuple[str, ...]]]:
    """Name, path, target and dropped columns of the named tables (all, if none is named) that are here.

    Without their folder there are none, and a line says so.
    """
    place = folder()
    if place is None:
        print("skipped: no reference tables (set PELLUCID_SHARED_DATA)", file=sys.stderr)
        return []
    files = {file.partition(".")[0]: file for file in TABLES}
    wanted = [name for name in names.split(",") if name] or list(files)
    unknown = sorted(set(wanted) - set(files))
    if unknown:
        raise SystemExit(
            f"unknown tables: {', '.join(unknown)}. Known: {', '.join(sorted(files))}."
        )
    here = [name for name in wanted if (place / files[name]).is_file()]
    return [(name, place / files[name], *TABLES[files[name]]) for name in here]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare on the chosen tables; 0 also without the folder, which is said."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy")
    parser.add_argument("--tables", default="", help="names without .csv, separated by commas")
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--rows", type=int, help="at most this many rows of a table, at random")
    parser.add_argument("--folds", type=int, default=5, help="outer folds")
    parser.add_argument("--runs", metavar="DIR", default="runs/accuracy", help="folder of the runs")
    options = parser.parse_args(arguments)
    found = []
    for name, path, target, drop in reference_tables(options.tables):
        size = f"-{options.rows}" if options.rows else ""
        size += f"-{options.folds}" if options.folds != 5 else ""
        run = Path(options.runs) / f"{name}-{options.effort}{size}"
        how = {"rows": options.rows, "folds": options.folds}
        found.append(compare_table(path, target, drop, options.effort, run, **how))
        print(line(found[-1]), flush=True)
    print("\n".join(totals(found)) if found else "no tables")
    return 0
