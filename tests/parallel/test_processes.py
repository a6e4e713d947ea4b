"""Fits and predictions in other processes: forked, spawned, served, and inside joblib's workers.

Each child must give the bits of this process, whatever threads were alive when it began.
"""

import hashlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from pellucid.linear_model import LinearRegression

MODELS = (LinearRegression, KMeans, RandomForestRegressor, HistGradientBoostingRegressor)


def table(n=3000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] ** 2 + X[:, 1]


def digest(number):
    """The bits of a fit in two threads."""
    Model = MODELS[number]
    X, y = table()
    pellucid.set_threads(2)
    options = {} if Model is LinearRegression else {"random_state": 0}
    if Model is RandomForestRegressor:
        options["n_estimators"] = 8
    return hashlib.sha256(Model(**options).fit(X, y).predict(X).tobytes()).hexdigest()


@pytest.fixture(scope="module")
def expected():
    found = [digest(number) for number in range(len(MODELS))]
    pellucid.set_threads(None)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_every_way_to_start_a_process(method, expected):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(digest, range(len(MODELS)))) == expected


def test_forks_while_other_threads_fit(expected):
    """A fork copies one thread and the locks of all."""
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(lambda: [digest(3) for _ in range(3)])
        for _ in range(3):
            with multiprocessing.get_context("fork").Pool(1) as pool:
                assert pool.apply(digest, (2,)) == expected[2]
        assert running.result() == [expected[3]] * 3


def in_threads(number):
    """The same fit twice, in two threads of joblib."""
    with joblib.parallel_backend("threading"):
        return joblib.Parallel(n_jobs=2)(joblib.delayed(digest)(number) for _ in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib_inside_joblib(backend, expected):
    """Workers that start threads of their own, which fit in threads again."""

    with joblib.parallel_backend(backend):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(in_threads)(i) for i in range(len(MODELS)))
    assert found == [[bits, bits] for bits in expected]


APP = """
import sys, json, hashlib, threading
import numpy as np
import pellucid
model = pellucid.load({model!r})
X = np.load({rows!r})
model.predict(X)  # threads exist before the workers are forked
def app(environment, start_response):
    found = []
    jobs = [threading.Thread(target=lambda: found.append(model.predict(X).tobytes())) for _ in range(3)]
    [job.start() for job in jobs]
    [job.join() for job in jobs]
    assert len(set(found)) == 1
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [hashlib.sha256(found[0]).hexdigest().encode()]
"""


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.mark.slow
def test_a_server_that_forks_after_loading(tmp_path):
    """gunicorn --preload: the model is loaded, and has answered, before the workers are forked."""
    pytest.importorskip("gunicorn")
    X, y = table()
    model = RandomForestRegressor(n_estimators=8, random_state=0).fit(X, y)
    model.save(tmp_path / "m")
    np.save(tmp_path / "rows.npy", X)
    code = APP.format(model=str(tmp_path / "m"), rows=str(tmp_path / "rows.npy"))
    (tmp_path / "served.py").write_text(code)
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "served:app", "--preload", "--workers", "2"]
    command += ["--bind", f"127.0.0.1:{port}", "--log-level", "error", "--no-control-socket"]
    server = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    try:
        bits = {answer(f"http://127.0.0.1:{port}/") for _ in range(12)}
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)
    assert bits == {hashlib.sha256(model.predict(X).tobytes()).hexdigest()}


def answer(address):
    """What the server says; it may need some time to begin."""
    end = time.monotonic() + 60
    while True:
        try:
            return urllib.request.urlopen(address, timeout=60).read().decode()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
