"""`python -m benchmarks scale`: tables larger than the memory that is allowed.

A Parquet file of 20 million rows and 20 columns (3.2 GB as doubles) is written once; each model is
fitted to it in a process of its own below a ceiling of 600 MB. The peak is the kernel's (VmHWM), read
when the work is done; that of `wait4` would count the parent before the child's exec. `--rates`,
`--peers`, `--growth`, `--dask` and `--dask-peers` measure seconds instead, see `benchmarks.scale_rates`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROWS, COLUMNS, LIMIT = 20_000_000, 20, "600MB"
CHUNK = 250_000
MODELS = {
    "LinearRegression": ("linear_model", "y", {}),
    "LogisticRegression": ("linear_model", "c", {}),
    "PoissonRegressor": ("linear_model", "k", {}),
    "GaussianNB": ("naive_bayes", "c", {}),
    "LinearDiscriminantAnalysis": ("discriminant_analysis", "c", {}),
    "PCA": ("decomposition", None, {"n_components": 5}),
    "KMeans": (
        "cluster",
        None,
        {"n_clusters": 5, "n_init": 1, "max_iter": 5, "random_state": 0},
    ),
    "HistGradientBoostingClassifier": ("ensemble", "c", {"max_iter": 10, "random_state": 0}),
}
PREDICT = "predict"
SPEEDS = {
    "rates": "compare streaming with a scan and with memory",
    "peers": "compare with other libraries that need not hold the table",
    "growth": "seconds for 10**5, 10**6 and 10**7 rows",
    "dask": "fits by one process, one Dask worker and two",
    "dask-peers": "boosting on Dask by other libraries, with one worker and two",
}
# What a child runs: one model, then one line of JSON.
CHILD = """
import importlib, json, sys, time, warnings
import pellucid
warnings.simplefilter("ignore")
task = json.loads(sys.argv[1])
pellucid.set_memory(task["limit"])
features = [f"x{j}" for j in range(task["columns"])]
source = pellucid.scan(task["path"], features=features)
start, cpu = time.perf_counter(), time.process_time()
if task["model"] == "predict":
    from pellucid.linear_model import LinearRegression
    first = next(source.tables(100_000))
    model = LinearRegression().fit(first.select(features), first.column("y").to_numpy())
    model.predict_to(source, task["out"])
    report = {}
else:
    family = importlib.import_module("pellucid." + task["family"])
    model = getattr(family, task["model"])(**task["parameters"])
    model.fit(source, **({"y": task["target"]} if task["target"] else {}))
    report = getattr(model, "fit_report_", {})
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
print(json.dumps({"peak_mb": peak * 1024 / 1e6,
                  "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
                  "reading": report.get("seconds_reading"), "scratch": report.get("scratch_bytes")}))
"""


def write_table(path: Path, rows: int) -> None:
    """A table with a linear signal for numbers (y), classes (c) and counts (k)."""
    slope = np.random.default_rng(1).normal(size=COLUMNS) / 5
    writer = None
    for start in range(0, rows, CHUNK):
        rng, n = np.random.default_rng([7, start]), min(CHUNK, rows - start)
        X = rng.normal(size=(n, COLUMNS)).astype(np.float32).astype(np.float64)
        score = X @ slope
        table = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)} | {
            "y": score + rng.normal(size=n),
            "c": (score + rng.logistic(size=n) > 0).astype(np.int8),
            "k": rng.poisson(np.exp(score.clip(-3, 3) / 3)),
        })  # fmt: skip
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="lz4")
        writer.write_table(table)
    assert writer is not None
    writer.close()


def measure(name: str, path: Path, limit: str, out: Path) -> dict:
    """Seconds and the peak of a fresh process that fits one model, or predicts."""
    family, target, parameters = MODELS.get(name, ("", None, {}))
    task = {
        "model": name, "family": family, "target": target, "parameters": parameters, "limit": limit,
        "path": str(path), "columns": COLUMNS, "out": str(out),
    }  # fmt: skip
    started = time.perf_counter()
    child = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(task)], stdout=subprocess.PIPE, text=True
    )
    if child.returncode:
        return {"model": name, "failed": True}
    seconds = time.perf_counter() - started
    return {"model": name, "failed": False, "total_seconds": seconds, **json.loads(child.stdout)}


def main(arguments: Sequence[str]) -> int:
    """Measure the chosen models; exit code 1 if one fails or exceeds the ceiling."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("model", nargs="*", help=f"of {', '.join([*MODELS, PREDICT])}; all if none")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--memory", default=LIMIT, help=f"the ceiling ({LIMIT})")
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of --growth; the lowest counts"
    )
    parser.add_argument("--spark", metavar="PYTHON", help="one with PySpark, for --peers")
    parser.add_argument("--json", metavar="FILE", help="write all numbers to FILE")
    for name, what in SPEEDS.items():
        parser.add_argument(f"--{name}", action="store_true", help=what)
    options = parser.parse_args(list(arguments))
    if any(getattr(options, name.replace("-", "_")) for name in SPEEDS):
        return _speeds(options)
    from pellucid.parallel.memory import parse_size

    limit = parse_size(options.memory, "--memory") / 1e6
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, options.rows)
        print(
            f"{options.rows} rows, {path.stat().st_size / 1e9:.2f} GB on disk, ceiling {limit:g} MB"
        )
        for name in options.model or [*MODELS, PREDICT]:
            row = measure(name, path, options.memory, Path(folder) / "out")
            rows.append(row | {"kept": not row["failed"] and row["peak_mb"] <= limit})
            print(as_text(rows[-1]), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(not all(row["kept"] for row in rows))


def _speeds(options: argparse.Namespace) -> int:
    """Measure seconds; they depend on the machine, so the exit code is 0."""
    from benchmarks import scale_rates

    found: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        if options.rates or options.peers or options.dask or options.dask_peers:
            write_table(path, options.rows)
        if options.rates:
            found["rates"] = scale_rates.rates(path, options.memory)
        if options.peers:
            found["peers"] = scale_rates.peers(path, options.memory, spark=options.spark)
        if options.dask:
            found["dask"] = scale_rates.dask(path)
        if options.dask_peers:
            found["dask peers"] = scale_rates.dask_peers(path)
        if options.growth:
            found["growth"] = {
                name: scale_rates.growth(name, Path(folder), options.memory, options.repeats)
                for name in options.model or scale_rates.GROWING
            }
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def as_text(row: dict) -> str:
    """One line of the table."""
    if row["failed"]:
        return f"{row['model']:32s} failed"
    scratch = f"{(row['scratch'] or 0) / 1e9:5.2f} GB scratch"
    return (
        f"{row['model']:32s} {row['peak_mb']:5.0f} MB {'kept' if row['kept'] else 'EXCEEDED'} "
        f"{row['seconds']:6.1f} s (cpu {row['cpu']:5.1f}, reading {row['reading'] or 0:5.1f}) {scratch}"
    )
