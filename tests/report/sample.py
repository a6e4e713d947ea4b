"""Summaries of made-up comparisons, complete and seeded, in the form that `summary` documents."""

import numpy as np

from pellucid.comparison.planning.registry import ENTRIES

MODELS = (
    "logistic", "lda", "svm_rbf", "forest", "extra_trees", "gradient_boosting", "knn", "bagging",
    "naive_bayes", "qda", "adaboost", "mlp", "tree", "perceptron", "svm_linear", "majority",
)  # fmt: skip
GRID = np.linspace(0, 1, 51)
FOLDS = 5


def classification(classes=("benign", "malignant"), columns=None, rows=569, models=MODELS, seed=0):
    """A finished comparison of classifiers."""
    rng = np.random.default_rng(seed)
    columns = columns or [f"mean {n}" for n in ("radius", "texture", "area", "symmetry", "islands")]
    metric = "roc_auc" if len(classes) == 2 else "accuracy"
    board = leaderboard(rng, models, metric, ("accuracy", "log_loss", "f1"), 0.99, True)
    summary = shell(board, metric, True, "classification", columns, rows)
    counts = rng.multinomial(rows, rng.dirichlet(np.full(len(classes), 8.0)))
    summary["data"]["classes"] = [
        {"label": c, "rows": int(n)} for c, n in zip(classes, counts, strict=True)
    ]
    summary["data"]["columns"] = [column(rng, name, k, classes) for k, name in enumerate(columns)]
    scored = [row["model"] for row in board if row["place"]]
    summary["cards"] = {m: class_card(rng, classes, counts, m) for m in scored}
    summary["learned"] = {m: learned(rng, columns, classes, m) for m in scored}
    summary["regions"] = regions(rng, columns, classes, scored)
    summary["rows"] = single_rows(rng, columns, classes)
    summary["test"]["confusion"] = summary["cards"][scored[0]]["confusion"]
    return summary


def regression(columns=None, rows=506, models=("ridge", "forest", "mean"), seed=0):
    """A finished comparison of regressors."""
    rng = np.random.default_rng(seed)
    columns = columns or ["rooms", "distance", "tax", "age"]
    board = leaderboard(rng, models, "rmse", ("r2", "mae"), 3.2, False)
    summary = shell(board, "rmse", False, "regression", columns, rows)
    summary["data"]["target_range"] = [5.0, 21.2, 50.0]
    summary["data"]["columns"] = [column(rng, name, k, None) for k, name in enumerate(columns)]
    scored = [row["model"] for row in board if row["place"]]
    said = np.sort(rng.normal(22, 6, 300))
    pairs = {"predicted": said.tolist(), "actual": (said + rng.normal(0, 3, 300)).tolist()}
    for m in scored:
        found = {**pairs, "row": list(range(300)), "shown": 300, "rows": rows}
        summary["cards"][m] = {"says": "least squares", "residuals": found, "search": search(rng)}
        summary["learned"][m] = learned(rng, columns, None, m)
    summary["regions"] = regions(rng, columns, None, scored)
    summary["rows"] = single_rows(rng, columns, None)
    return summary


def leaderboard(rng, models, metric, beside, best, higher):
    """The last model is the baseline; one more model failed."""
    board, titles = [], {entry.id: entry.title for entry in reversed(ENTRIES)}
    for k, model in enumerate(models):
        base = k == len(models) - 1
        mean = best - 0.004 * k if higher else best + 0.1 * k
        mean = (0.5 if higher else 9.0) if base else mean
        folds = [float(mean)] * FOLDS if base else (mean + rng.normal(0, 0.006, FOLDS)).tolist()
        good = not base and k < 0.7 * len(models)
        why = "best" if k == 0 else "not significantly worse" if good else "significantly worse"
        board.append({
            "model": model, "title": titles.get(model, model),
            "status": "ok", "reason": "", "place": k + 1, "baseline": base,
            "recommended": k == 0, "rank": 1, "class": "pellucid.linear_model.LogisticRegression",
            "params": None if base else {"C": 10.0}, "notes": ["C=10 lies at the edge"][: k == 0],
            "mean": float(np.mean(folds)), "ci": [mean - 0.01, mean + 0.005],
            "p": None if k == 0 else 0.4 / k**2, "p_holm": None if k == 0 else 0.9 / k,
            "as_good": good, "why": why, "p_baseline": None if base else 1e-6, "lost": 0.01 * k,
            "metrics": dict.fromkeys((metric, *beside), 0.95 - 0.01 * k),
            "folds": {metric: folds}, "fit_seconds": 0.003 * 1.7**k, "predict_seconds": 0.001 * 1.3**k,
        })  # fmt: skip
    board.append({
        "model": "logistic_l1", "title": titles["logistic_l1"],
        "status": "failed", "reason": "the solver did not start",
        "place": None, "baseline": False, "recommended": False, "rank": 1, "class": "x",
        "params": None, "notes": [],
    })  # fmt: skip
    return board


def shell(board, metric, higher, task, columns, rows):
    """Everything that does not depend on the task."""
    scored = [row for row in board if row["place"]]
    n = len(scored)
    better = [[None if i == j else 0.5 + 0.03 * (j - i) for j in range(n)] for i in range(n)]
    better = [[v if v is None else min(1.0, max(0.0, v)) for v in row] for row in better]
    widths = [0.0, 0.005, 0.01, 0.02]
    within = {str(w): [[None if v is None else min(1.0, 30 * w) for v in r] for r in better]
              for w in widths}  # fmt: skip
    best = scored[0]
    return {
        "schema": 2, "title": "sample",
        "answer": [
            f"Use {best['model']}.",
            f"Its {metric} is {best['mean']:.3f} (95 % interval {best['ci'][0]:.3f} to "
            f"{best['ci'][1]:.3f}) in {FOLDS} nested folds.",
            f"That is better than {scored[-1]['model']}, which ignores the columns.",
            f"{n // 2} other models cannot be told from the best here; this is the simplest of them.",
        ],
        "data": {
            "name": "sample", "sha256": "ab" * 32, "rows": rows, "features": list(columns),
            "kinds": {"number": len(columns)}, "target": "diagnosis", "task": task,
            "task_why": "from the values", "notes": ["3 rows without a target are left out"],
        },
        "checks": [
            {"code": "D011", "level": "error", "text": "one column alone gives the answer away",
             "action": "drop it with --drop", "columns": [columns[0]], "leak": True},
            {"code": "D008", "level": "warning", "text": "26 pairs of columns correlate above 0.9",
             "action": "", "columns": list(columns[:2]), "leak": False},
            {"code": "D003", "level": "note", "text": "2 duplicate rows", "action": "",
             "columns": [], "leak": False},
        ],
        "fine": "no missing values, no id-like column",
        "plan": {
            "metric": metric, "metric_why": "two classes", "greater_is_better": higher,
            "metrics": [metric], "folds": "stratified", "n_folds": FOLDS, "inner_folds": 3,
            "train_rows": rows - rows // 5, "test_rows": rows // 5, "test_why": "stratified",
            "models": len(board), "fits": 1800,
        },
        "leaderboard": board,
        "verdict": {"best": best["model"], "as_good": [r["model"] for r in scored if r["as_good"]],
                    "scored": n, "margin": 0.01, "prefer": "simple",
                    "recommended": best["model"], "beats_baseline": True},
        "pairwise": {"models": [r["model"] for r in scored], "better": better, "rope": widths,
                     "within": within},
        "cards": {}, "learned": {}, "regions": None, "rows": None,
        "test": {
            "model": best["model"], "rows": rows // 5, "metrics": {metric: best["mean"]},
            "intervals": {metric: [best["mean"] - 0.03, best["mean"] + 0.004]},
            "baseline": {metric: scored[-1]["mean"]}, "agrees": True, "openings": 1,
        },
        "reproduce": {
            "command": "pellucid compare sample.csv --target diagnosis --seed 0",
            "config": 'target = "diagnosis"\nseed = 0\n', "seed": 0, "sha256": "ab" * 32,
            "versions": {"pellucid": "0.1.0", "numpy": "2.3"}, "total_seconds": 41.0,
            "seconds": {r["model"]: {"search": 1.0, "fit": 0.1, "predict": 0.01} for r in scored},
            "failures": [{"model": "logistic_l1", "why": "the solver did not start"}],
            "limits": ["Intervals are over folds, not over other tables."],
        },
        "complete": True,
    }  # fmt: skip


def column(rng, name, k, classes):
    """Every third column is categorical."""
    found = {"name": name, "kind": "number", "missing": k, "distinct": 300, "alone": 0.9 - 0.03 * k}
    if k % 3 == 2:
        levels = ["Biscoe", "Dream", "Torgersen"]
        found |= {"kind": "categorical", "distinct": 3,
                  "levels": [{"label": v, "rows": 100} for v in levels], "rest": 0}  # fmt: skip
        if classes is None:
            shape = {"kind": "means", "means": [20.0, 25.0, 31.0], "rows": [100, 100, 100]}
        else:
            shape = {
                "kind": "levels",
                "counts": {c: rng.integers(5, 80, 3).tolist() for c in classes},
            }
        return found | {"by_target": {"labels": levels, **shape}}
    edges = np.linspace(0, 30, 16)
    found |= {"low": 0.0, "median": 14.123, "high": 30.0}
    if classes is None:
        labels = [f"{a:g} to {a + 6:g}" for a in range(0, 30, 6)]
        shape = {"kind": "means", "labels": labels, "means": [18, 19, 22, 28, 30], "rows": [60] * 5}
    else:
        counts = {
            c: np.histogram(rng.normal(9 + 8 * j, 4, 200), edges)[0].tolist()
            for j, c in enumerate(classes)
        }
        shape = {"kind": "histogram", "edges": edges.tolist(), "counts": counts}
    return found | {"by_target": shape}


def class_card(rng, classes, counts, model):
    """Curves that look like those of a good model."""
    K = len(classes)
    hits = np.diag(counts) + rng.integers(0, 6, (K, K))
    shown = classes[1:] if K == 2 else classes
    roc, pr, calibration, histogram = [], [], [], []
    for c in shown:
        up = GRID ** (0.04 + 0.03 * rng.random())
        spread = 0.05 * (1 - GRID)
        low, high = (np.clip(up + s * spread, 0, 1).tolist() for s in (-1, 1))
        mean = {"x": GRID.tolist(), "y": up.tolist(), "low": low, "high": high}
        roc.append({"class": c, "mean": mean, "folds": [], "auc": 0.98})
        down = {"x": GRID.tolist(), "y": (1 - 0.4 * GRID**6).tolist()}
        pr.append({"class": c, "mean": down, "folds": [], "ap": 0.97, "share": 0.37})
        bins = [{"low": b / 10, "high": b / 10 + 0.1, "predicted": b / 10 + 0.05,
                 "observed": float(np.clip(b / 10 + rng.normal(0.05, 0.05), 0, 1)), "rows": 9 + 7 * b}
                for b in range(10)]  # fmt: skip
        calibration.append({"class": c, "bins": bins, "brier": 0.031, "ece": 0.02})
        edges = np.linspace(0, 1, 21)
        shapes = {o: np.histogram(rng.beta(*((6, 1) if o == c else (1, 6)), 200), edges)[0].tolist()
                  for o in classes}  # fmt: skip
        histogram.append(
            {"class": c if K == 2 else None, "edges": edges.tolist(), "counts": shapes}
        )
    card = {
        "says": "log-odds are a weighted sum", "class": "LogisticRegression", "params": {"C": 10.0},
        "confusion": {"labels": list(classes), "counts": hits.tolist()}, "roc": roc, "pr": pr,
        "calibration": calibration, "histogram": histogram[-1], "search": search(rng),
        "learning": None,
    }  # fmt: skip
    if model == "logistic":
        card["learning"] = {"rows": [45, 90, 180, 360], "train": [1.0, 0.995, 0.992, 0.991],
                            "test": [0.95, 0.97, 0.982, 0.987]}  # fmt: skip
    if K == 2:
        cuts = np.linspace(0.005, 1, 200)
        card["thresholds"] = {"class": classes[1], "rows": [
            [round(float(t), 4), int(170 * (1 - t**4)), int(280 * (1 - t) ** 4),
             170 - int(170 * (1 - t**4)), 280 - int(280 * (1 - t) ** 4)] for t in cuts
        ]}  # fmt: skip
    return card


def search(rng):
    tried = [
        {"params": {"C": c}, "mean": 0.97 + 0.003 * k, "low": 0.96, "high": 0.99, "failed": None,
         "chosen": 4 if k == 3 else 0}
        for k, c in enumerate([0.001, 0.1, 1.0, 10.0])
    ]  # fmt: skip
    tried.append({"params": {"C": 1000.0}, "mean": None, "low": None, "high": None,
                  "failed": "did not converge", "chosen": 0})  # fmt: skip
    return {"params": ["C"], "rounds": 6, "candidates": tried, "edge": ["C"]}


def learned(rng, columns, classes, model):
    K = 1 if classes is None or len(classes) == 2 else len(classes)
    terms = [c if k % 3 != 2 else f"{c}=Dream" for k, c in enumerate(columns)]
    values = rng.normal(0, 1, (K, len(terms)))
    found = {
        "coefficients": None, "tree": None, "history": None, "groups": [],
        "importances": {"columns": list(columns), "values": np.linspace(0.2, 0, len(columns)).tolist(),
                        "low": np.linspace(0.18, -0.01, len(columns)).tolist(),
                        "high": np.linspace(0.22, 0.01, len(columns)).tolist(),
                        "method": "loss of score when the column is shuffled"},
    }  # fmt: skip
    if model in ("logistic", "ridge"):
        found["coefficients"] = {
            "terms": terms, "classes": [] if classes is None else list(classes[-K:]),
            "values": (3 * values).tolist(), "scaled": values.tolist(), "intercept": [0.1] * K,
            "low": None, "high": None,
        }  # fmt: skip
        found["history"] = {
            "iteration": [0, 1, 2, 3, 4],
            "objective": [300.0, 80.0, 40.0, 31.0, 30.9],
        }
        found["groups"] = [columns[:2]]
        found["path"] = {"param": "C", "x": [0.01, 1.0, 100.0], "chosen": 1.0, "terms": terms[:2],
                         "y": [[0.0, 0.5, 0.9], [0.0, -0.2, -0.4]], "classes": K}  # fmt: skip
        found["dependence"] = dependence(columns, classes)
        if classes is not None:
            codes = [i % len(classes) for i in range(30)]
            found["projection"] = {"x": [float(c) for c in codes], "y": [0.5] * 30, "codes": codes}
            if len(classes) == 2:
                found["projection"] = {"edges": [-2.0, 0.0, 2.0], "counts": [[9, 1], [2, 7]]}
        groups = len(classes or "1")
        found["support"] = {"vectors": [3] * groups, "rows": [40] * groups}
        truth = 21.25 if classes is None else classes[0]
        found["neighbours"] = [
            {"row": 777, "actual": truth, "near": [{"row": 778, "distance": 0.5, "actual": truth}]}
        ]
    if model in ("tree", "forest"):
        found["tree"] = tree(columns, classes)
    return found


def dependence(columns, classes):
    K = len(classes or "1")
    levels = {"name": columns[0], "kind": "levels", "x": ["Biscoe", "Dream"]}
    numbers = {"name": columns[-1], "kind": "number", "x": [1.25, 2.5, 29.875]}
    return {"rows": 60, "columns": [
        {**numbers, "y": [[0.1, 0.2, 0.3]] * K}, {**levels, "y": [[0.4, 0.5]] * K},
    ]}  # fmt: skip


def tree(columns, classes, depth=5):
    """A full binary tree."""
    nodes = []
    K = 1 if classes is None else len(classes)
    for i in range(2**depth - 1):
        inner = i < 2 ** (depth - 1) - 1
        name = columns[i % len(columns)]
        nodes.append({
            "id": i, "rows": 512 >> (i + 1).bit_length(), "value": [0.3 + 0.1 * k for k in range(K)],
            "label": "21.5" if classes is None else classes[i % K], "column": name if inner else None,
            "test": f"{name} <= 14.123" if inner else None, "cut": False,
            "left": 2 * i + 1 if inner else None, "right": 2 * i + 2 if inner else None,
        })  # fmt: skip
    return {"nodes": nodes, "depth": depth - 1, "row": 3, "way": [0, 2, 5]}


def regions(rng, columns, classes, models):
    xs, ys = np.linspace(0, 30, 40), np.linspace(0, 12, 40)
    found = {}
    for k, model in enumerate(models):
        level = xs[None, :] / 30 + ys[:, None] / 12 + 0.02 * k
        grid = (
            level
            if classes is None
            else np.clip((level * len(classes) / 2).astype(int), 0, len(classes) - 1)
        )
        found[model] = {
            "grid": grid.tolist(),
            "classes": None if classes is None else list(classes),
        }
    points = [
        {
            "x": float(x),
            "y": float(y),
            "label": 21.0 if classes is None else classes[i % len(classes)],
        }
        for i, (x, y) in enumerate(zip(rng.uniform(0, 30, 80), rng.uniform(0, 12, 80), strict=True))
    ]
    return {"x": columns[0], "y": columns[1 % len(columns)], "x_edges": xs.tolist(),
            "y_edges": ys.tolist(), "others": "at their middle values", "points": points,
            "models": found}  # fmt: skip


def single_rows(rng, columns, classes):
    groups = []
    for g, name in enumerate(("worst mistakes", "most uncertain", "random")):
        rows = []
        for i in range(4):
            amounts = rng.normal(0, 1, len(columns))
            if classes is None:
                said = {"actual": 21.25, "predicted": 30.5 + i, "p": None}
            else:
                shares = rng.dirichlet(np.ones(len(classes)))
                said = {"actual": classes[i % len(classes)], "predicted": classes[int(shares.argmax())],
                        "p": dict(zip(classes, shares.tolist(), strict=True))}  # fmt: skip
            rows.append({
                "row": 100 * g + i, "cells": [f"{v:.3f}" for v in rng.uniform(0, 30, len(columns))],
                **said, "base": 0.5, "total": 0.5 + float(amounts.sum()), "scale": "log-odds",
                "about": None if classes is None else classes[-1],
                "changes": changes(columns, classes, said["predicted"]) if i < 2 else None,
                "contributions": [[c, float(a)] for c, a in zip(columns, amounts, strict=True)],
            })  # fmt: skip
        groups.append({"name": name, "rows": rows})
    return {"columns": list(columns), "groups": groups, "all": all_rows(rng, classes, groups)}


def changes(columns, classes, before):
    if classes is None:
        return {"before": before, "threshold": 21.25, "found": []}
    other = next(c for c in classes if c != before)
    columns = [[columns[0], "17.25", "18.5"], [columns[1], None, "3"]]
    return {
        "before": before,
        "threshold": None,
        "found": [{"prediction": other, "columns": columns}],
    }


def all_rows(rng, classes, groups, n=455):
    """Predictions of all training rows; those of the listed ones agree with the list."""
    listed = {row["row"]: row for group in groups for row in group["rows"]}
    found = {"row": list(range(n)), "actual": [], "predicted": [], "p": [], "rows": n}
    for k in range(n):
        row = listed.get(k)
        if classes is None:
            found["actual"].append(21.25)
            found["predicted"].append(round(float(rng.normal(21, 3)), 3))
            continue
        p = np.array(list(row["p"].values())) if row else rng.dirichlet(np.ones(len(classes)))
        found["actual"].append(
            classes.index(row["actual"]) if row else int(rng.integers(len(classes)))
        )
        found["predicted"].append(int(p.argmax()))
        found["p"].append(round(float(p[1] if len(classes) == 2 else p.max()), 5))
    return found if classes is not None else {**found, "p": None}
