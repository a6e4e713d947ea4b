"""`python -m benchmarks scale --rates`: how fast tables beyond memory are fitted, and by whom.

Every figure is processor seconds (and wall seconds in brackets) of a process of its own, which is given
one task: a scan by pyarrow, a fit below the ceiling, the same fit in memory, or the same work by
another library. Alternating runs are repeated, and the lowest is kept. Dask: the model fitted by
threads of one process and by one or two workers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

COLUMNS = 20
GROWTH = (100_000, 1_000_000, 10_000_000)
# What a child runs before the body of its task, and what it prints afterwards.
HEAD = """
import json, os, sys, time, warnings
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
warnings.simplefilter("ignore")
path, limit = sys.argv[1], sys.argv[2]
features = [f"x{j}" for j in range(20)]
def batches(rows, target):
    for batch in pq.ParquetFile(path).iter_batches(rows, columns=[*features, target]):
        columns = [batch.column(j).to_numpy() for j in range(20)]
        yield np.column_stack(columns), batch.column(20).to_numpy()
def row_group(k):
    return pq.ParquetFile(path).read_row_group(k, columns=[*features, "c"]).to_pandas()
note = {}
def begin():
    global start, cpu
    start, cpu = time.perf_counter(), time.process_time()
def end():
    children = sum(os.times()[2:4])
    print(json.dumps({"wall": time.perf_counter() - start,
                      "cpu": time.process_time() - cpu + children, **note}))
"""
OURS = """
import pellucid
from pellucid.{module} import {model}
pellucid.set_memory({limit})
source = pellucid.scan(path, features=features)
{before}
begin()
model = {model}({parameters}).fit({table}{target})
note = {{k: v for k, v in getattr(model, "fit_report_", {{}}).items() if not isinstance(v, str)}}
end()
"""
SCAN = """
begin()
for batch in pq.ParquetFile(path).iter_batches(2**15, columns=[*features, "c"]):
    pass
end()
"""
PARTIAL = """
from sklearn.naive_bayes import GaussianNB
begin()
model = GaussianNB()
for X, y in batches(2**16, "c"):
    model.partial_fit(X, y, classes=[0, 1])
end()
"""
SGD = """
from sklearn.linear_model import SGDClassifier
begin()
model = SGDClassifier(loss="log_loss")
for X, y in batches(2**16, "c"):
    model.partial_fit(X, y, classes=[0, 1])
end()
"""
XGBOOST = """
import tempfile, xgboost as xgb
class Parts(xgb.DataIter):
    def __init__(self, folder):
        super().__init__(cache_prefix=folder + "/cache", on_host=False)
    def reset(self):
        self.left = batches(2**18, "c")
    def next(self, give):
        found = next(self.left, None)
        if found is None:
            return False
        give(data=found[0], label=found[1])
        return True
begin()
with tempfile.TemporaryDirectory() as folder:
    parts = Parts(folder)
    parts.reset()
    data = xgb.ExtMemQuantileDMatrix(parts, max_bin=255)
    xgb.train({"tree_method": "hist", "objective": "binary:logistic", "grow_policy": "lossguide",
               "max_leaves": 31, "max_depth": 0, "max_bin": 255, "eta": 0.1}, data, 10)
end()
"""
SPARK = """
from pyspark.ml import Pipeline
from pyspark.ml.classification import GBTClassifier, LogisticRegression, NaiveBayes
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
         .config("spark.ui.enabled", "false").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
java = spark.sparkContext._gateway.proc.pid
def spent():
    used = open(f"/proc/{java}/stat").read().rsplit(")", 1)[1].split()
    return time.process_time() + (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")
models = {
    "LinearRegression": LinearRegression(labelCol="y", solver="normal"),
    "GaussianNB": NaiveBayes(labelCol="c", modelType="gaussian"),
    "LogisticRegression": LogisticRegression(labelCol="c", regParam=1e-6, maxIter=100),
    "KMeans": KMeans(k=5, maxIter=5, tol=0, seed=0),
    "GBTClassifier, 10 trees of depth 5": GBTClassifier(labelCol="c", maxIter=10, maxDepth=5),
}
begin()
note = {"models": {}}
for name, model in models.items():
    table = spark.read.parquet("file://" + os.path.abspath(path))
    wall, cpu = time.perf_counter(), spent()
    Pipeline(stages=[VectorAssembler(inputCols=features, outputCol="features"), model]).fit(table)
    own = {"wall": time.perf_counter() - wall, "cpu": spent() - cpu}
    note["models"]["Spark " + name] = own
end()
"""
BOOST = "max_iter=10, early_stopping=False, random_state=0"
GROWING = {  # model: target, parameters
    "LinearRegression": ("y", ""),
    "GaussianNB": ("c", ""),
    "LogisticRegression": ("c", ""),
    "KMeans": (None, "5, n_init=1, max_iter=5, tol=0, random_state=0"),
    "HistGradientBoostingClassifier": ("c", BOOST),
}


def ours(model: str, target: str | None, limit: str | None, parameters: str = "") -> str:
    """A task: our model below a ceiling, or with the table in memory for None."""
    module = {
        "GaussianNB": "naive_bayes", "HistGradientBoostingClassifier": "ensemble",
        "KMeans": "cluster",
    }  # fmt: skip
    wanted = f'[*features, "{target}"]' if target else "features"
    before = "" if limit else f"table = pq.read_table(path, columns={wanted})"
    return OURS.format(
        module=module.get(model, "linear_model"), model=model, before=before,
        target=f', y="{target}"' if target else "",
        limit="limit" if limit else None, parameters=parameters, table="source" if limit else "table",
    )  # fmt: skip


def run(body: str, path: Path, limit: str, python: str = sys.executable) -> dict:
    """One task in a process of its own."""
    command = [python, "-c", HEAD + body, str(path), limit]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def alternating(tasks: dict[str, str], path: Path, limit: str, repeats: int) -> dict[str, dict]:
    """For each task the run with the fewest processor seconds; tasks take turns."""
    best: dict[str, dict] = {}
    for _ in range(repeats):
        for name, body in tasks.items():
            found = run(body, path, limit)
            if name not in best or found["cpu"] < best[name]["cpu"]:
                best[name] = found
    for name, row in best.items():
        print(f"{name:44s} {row['cpu']:7.2f} s ({row['wall']:.1f})", flush=True)
    return best


def rates(path: Path, limit: str, repeats: int = 3) -> dict[str, dict]:
    """Streaming against pyarrow's scan and against memory."""
    tasks = {"pyarrow scan of the same columns": SCAN}
    for model, (target, parameters) in GROWING.items():
        tasks[f"{model} below the ceiling"] = ours(model, target, limit, parameters)
        tasks[f"{model} in memory"] = ours(model, target, None, parameters)
    return alternating(tasks, path, limit, repeats)


def peers(path: Path, limit: str, repeats: int = 2, spark: str | None = None) -> dict[str, dict]:
    """The same work by libraries that can do it without the table in memory; `spark`: a Python that has
    PySpark."""
    tasks = {
        "pellucid GaussianNB": ours("GaussianNB", "c", limit),
        "scikit-learn GaussianNB.partial_fit": PARTIAL,
        "pellucid LogisticRegression (converged)": ours("LogisticRegression", "c", limit),
        "scikit-learn SGDClassifier.partial_fit (1 pass)": SGD,
        "pellucid histogram boosting, 10 trees":
            ours("HistGradientBoostingClassifier", "c", limit, BOOST),
        "XGBoost external memory, 10 trees": XGBOOST,
    }  # fmt: skip
    found = alternating(tasks, path, limit, repeats)
    if spark:
        found |= run(SPARK, path, limit, spark)["models"]
        for name, row in found.items():
            if name.startswith("Spark"):
                print(f"{name:44s} {row['cpu']:7.2f} s ({row['wall']:.1f})", flush=True)
    return found


def growth(model: str, folder: Path, limit: str, repeats: int) -> float:
    """The exponent of processor seconds (the lowest of some runs) in the number of rows, and the
    peaks. Seconds of the kernel vary twofold between runs, with the state of its page cache."""
    from benchmarks.scale import write_table

    seconds = []
    for rows in GROWTH:
        path = folder / f"t{rows}.parquet"
        if not path.exists():
            write_table(path, rows)
        body = ours(model, GROWING[model][0], limit, GROWING[model][1])
        found = min((run(body, path, limit) for _ in range(repeats)), key=lambda row: row["cpu"])
        seconds.append(found["cpu"])
        peak = found.get("peak_memory", 0) / 1e6
        print(f"{model:32s} {rows:10d} rows {found['cpu']:7.2f} s, peak {peak:.0f} MB", flush=True)
    exponent = float(np.polyfit(np.log(GROWTH), np.log(seconds), 1)[0])
    print(f"{model:32s} exponent {exponent:.2f}", flush=True)
    return exponent


DASK = """
import dask.dataframe as dd, distributed, pandas as pd, pellucid
from pellucid.cluster import KMeans
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.naive_bayes import GaussianNB
def fits(table, few, spent):
    means = np.linspace(-1, 1, 100).reshape(5, 20)
    for model in (GaussianNB(), LinearRegression(), LogisticRegression()):
        model.fit(few, y="c")  # imports what fits need
    for model in (GaussianNB(), LinearRegression(), LogisticRegression(),
                  KMeans(5, init=means, n_init=1, max_iter=10, tol=0)):
        target = {} if isinstance(model, KMeans) else {"y": "c"}
        rows = table if target else table[features]
        own = {"cpu": np.inf}
        for _ in range(3):  # memory that a process touches first can cost more than the fit
            start, cpu = time.perf_counter(), spent()
            model.fit(rows, **target)
            again = {"wall": time.perf_counter() - start, "cpu": spent() - cpu}
            own = min(own, again, key=lambda row: row["cpu"])
        report = getattr(model, "fit_report_", {})
        own |= {k: v for k, v in report.items() if k == "passes" or k.startswith("bytes")}
        note[type(model).__name__] = own
if __name__ == "__main__":
    workers, groups = int(limit), range(pq.ParquetFile(path).num_row_groups)
    begin()
    if workers == 0:
        fits(pd.concat([row_group(k) for k in groups], ignore_index=True), row_group(0),
             time.process_time)
    else:
        frame = dd.from_map(row_group, groups)
        with distributed.LocalCluster(n_workers=workers, threads_per_worker=1,
                                      dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                def spent():
                    return sum(client.run(time.process_time).values()) + time.process_time()
                frame = frame.persist()
                distributed.wait(frame)
                fits(frame, frame.partitions[:1].persist(), spent)
    end()
"""


DASK_PEERS = """
import dask.array as da, dask.dataframe as dd, distributed
if __name__ == "__main__":
    workers = int(limit)
    frame = dd.from_map(row_group, range(pq.ParquetFile(path).num_row_groups))
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1,
                                  dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            frame = frame.persist()
            distributed.wait(frame)
            def ours():
                from pellucid.ensemble import HistGradientBoostingClassifier
                return HistGradientBoostingClassifier(
                    max_iter=10, early_stopping=False, random_state=0).fit(frame, y="c")
            def xgboost():
                from xgboost import dask as xgb
                data = xgb.DaskQuantileDMatrix(client, frame[features], frame["c"], max_bin=255)
                return xgb.train(client, {
                    "tree_method": "hist", "objective": "binary:logistic", "eta": 0.1,
                    "grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0, "max_bin": 255,
                }, data, 10)["booster"]
            def lightgbm():
                from lightgbm.dask import DaskLGBMClassifier
                rows = frame.to_dask_array(lengths=True)
                model = DaskLGBMClassifier(client=client, n_estimators=10, num_leaves=31, verbose=-1)
                return model.fit(rows[:, :20], rows[:, 20]).to_local()
            def spent():
                return sum(client.run(time.process_time).values()) + time.process_time()
            few = pq.read_table(path, columns=features).slice(0, 20_000)
            few = np.column_stack([column.to_numpy() for column in few.columns])
            for name, fit in (("pellucid", ours), ("xgboost.dask", xgboost),
                              ("lightgbm.dask", lightgbm)):
                start, cpu = time.perf_counter(), spent()
                model = fit()
                wall, cpu = time.perf_counter() - start, spent() - cpu
                if name == "xgboost.dask":
                    import xgboost as plain
                    found = model.predict(plain.DMatrix(few, feature_names=model.feature_names))
                else:
                    found = model.predict_proba(few)[:, 1]
                note[name] = {"wall": wall, "cpu": cpu, "probabilities": found.tolist()}
    begin()
    end()
"""


def dask_peers(path: Path) -> dict[str, dict]:
    """Histogram boosting, 10 trees of 31 leaves, by one Dask worker and by two: processor seconds of
    client and workers, wall seconds, and how far probabilities move with the number of workers."""
    one, two = (run(DASK_PEERS, path, str(workers)) for workers in (1, 2))
    found = {}
    for name in ("pellucid", "xgboost.dask", "lightgbm.dask"):
        a, b = (np.array(row[name].pop("probabilities")) for row in (one, two))
        found[name] = {"one": one[name], "two": two[name], "moved": float(np.abs(a - b).max())}
        print(f"{name:16s} {found[name]}", flush=True)
    return found


def dask(path: Path) -> dict[str, dict]:
    """Fits by two threads of one process, by one worker and by two, of one thread each: seconds of the
    wall and of all processors (client and scheduler, too), passes and bytes; the lowest of three."""
    names = {0: "two threads", 1: "one worker", 2: "two workers"}
    found = {name: run(DASK, path, str(workers)) for workers, name in names.items()}
    models = [name for name, row in found["two workers"].items() if isinstance(row, dict)]
    for model in models:
        times = ", ".join(
            f"{name} {row[model]['wall']:.1f} s (cpu {row[model]['cpu']:.1f})"
            for name, row in found.items()
        )
        print(f"{model:20s} {times}", flush=True)
    return found
