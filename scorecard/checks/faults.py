"""Rows 17 to 19: broken files, kills during a comparison, interrupts inside a fit."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pellucid
from pellucid.data.io.read import read
from pellucid.data.io.write import write
from pellucid.dummy import DummyClassifier
from pellucid.errors import PellucidError
from scorecard.runner import Case, counted
from tests.comparison import test_interruption
from tests.contract.classes import exemptions, make, public_classes
from tests.contract.compare import learned
from tests.contract.data import numbers

TABLE = pa.table({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
ENDINGS = ("csv", "tsv", "jsonl", "parquet", "xlsx")


def files(share: float) -> Iterator[Case]:
    """Missing, truncated, corrupt, locked, endless files, and outputs that cannot be written."""
    for ending in ENDINGS if share == 1 else ENDINGS[:1]:
        for fault, damage in DAMAGES.items():
            yield Case(f"{ending} {fault}", partial(_refused, ending, damage))
    for fault, target in TARGETS.items():
        yield Case(f"write {fault}", partial(_not_written, target))
    if share == 1:
        for limit in (0, 1, 100, 1000, 3000):
            yield Case(f"disk full after {limit} bytes", partial(_disk_full, limit))


def _content(ending: str) -> bytes:
    if ending == "parquet":
        sink = pa.BufferOutputStream()
        pq.write_table(TABLE, sink)
        return sink.getvalue().to_pybytes()
    if ending == "jsonl":
        return b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'
    if ending == "xlsx":
        return b"PK\x03\x04" + bytes(200)
    mark = "," if ending == "csv" else "\t"
    return f"a{mark}b\n1{mark}x\n2{mark}y\n".encode()


def _missing(path: Path, content: bytes) -> None:
    pass


def _folder(path: Path, content: bytes) -> None:
    path.mkdir()


def _pipe(path: Path, content: bytes) -> None:
    """Nobody writes to it."""
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path, bytes], Any]] = {
    "missing": _missing,
    "folder": _folder,
    "device": lambda path, content: path.symlink_to("/dev/zero"),
    "loop of links": lambda path, content: path.symlink_to(path),
    "empty": lambda path, content: path.write_bytes(b""),
    "only bytes of zero": lambda path, content: path.write_bytes(bytes(64)),
    "cut inside a quote": lambda path, content: path.write_bytes(content[:-4] + b'"\x80'),
    "random bytes": lambda path, content: path.write_bytes(
        np.random.default_rng(0).integers(128, 256, 300, dtype=np.uint8).tobytes()
    ),
    "pipe": _pipe,
}


def _refused(ending: str, damage: Callable[[Path, bytes], Any]) -> None:
    """An error of ours that names the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        damage(path, _content(ending))
        try:
            read(path)
        except PellucidError as error:
            assert "table" in str(error) or ending in str(error), str(error)
        else:
            raise AssertionError("it was read")


def _folder_target(folder: Path) -> Path:
    (folder / "m").mkdir()
    return folder / "m"


TARGETS: dict[str, Callable[[Path], Path]] = {
    "no such folder": lambda folder: folder / "no" / "m",
    "a folder": _folder_target,
    "full device": lambda folder: Path("/dev/full"),
    "name too long": lambda folder: folder / ("m" * 300),
}


def _model() -> Any:
    return DummyClassifier().fit(np.zeros((4, 2)), [0, 1, 1, 0])


def _not_written(target: Callable[[Path], Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = target(Path(folder))
        before = sorted(Path(folder).rglob("*"))
        for write in (_model().save, partial(_write_csv, TABLE)):
            try:
                write(path)
            except PellucidError as error:
                assert str(error)
            else:
                raise AssertionError("nothing was said")
        assert sorted(Path(folder).rglob("*")) == before, "something was left behind"


def _write_csv(table: Any, path: Path) -> None:
    write(dict(zip(table.column_names, table.columns)), str(path), format="csv")


def _disk_full(limit: int) -> None:
    """A file larger than `limit` cannot be written: the old one stays, whole."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        model = _model()
        model.save(path)
        before = path.read_bytes()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            model.save(path)
        except PellucidError:
            assert len(before) > limit
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert path.read_bytes() == before and os.listdir(folder) == ["m"]
        pellucid.load(path)


def kills(share: float) -> Iterator[Case]:
    """kill -9 at a random moment of a comparison; continued, it gives the same bytes."""
    for number in counted(50, share):
        yield Case(f"kill {number}", partial(_killed, number))


def _killed(number: int) -> None:
    rng = np.random.default_rng([number, 18])
    with tempfile.TemporaryDirectory() as folder:
        whole = _whole_run()
        place = Path(folder)
        process = test_interruption.start(place, *test_interruption.RUN, "-j", "2")
        if number % 2:
            test_interruption.wait_for(place, int(rng.integers(1, 15)), process)
        else:
            test_interruption.wait_for(place, 1, process)
            time.sleep(float(rng.uniform(0, 2.0)))
        process.kill()
        process.communicate()
        test_interruption.continued(place, whole)


def _whole_run() -> Path:
    """An uninterrupted run, made once for all cases."""
    folder = Path(tempfile.gettempdir()) / f"pellucid-whole-{os.getppid()}"
    if not (folder / "run" / "results.json").exists():
        folder.mkdir(exist_ok=True)
        done = test_interruption.finish(folder, *test_interruption.RUN, "-j", "1")
        assert done.returncode == 0, done.stderr
    return folder / "run"


def interrupts(share: float) -> Iterator[Case]:
    """Ctrl-C, or SIGTERM as the command handles it, at a random moment inside a fit: back within a
    second, and unfitted.
    """
    names = sorted(public_classes())
    for number in counted(len(names), share):
        for sent in (signal.SIGINT, signal.SIGTERM):
            key = f"{names[number]} {number}" + " SIGTERM" * (sent == signal.SIGTERM)
            yield Case(key, partial(_interrupted, names[number], number, sent))
            if share == 1:  # single steps that take long only on large tables
                yield Case(f"{key} large", partial(_interrupted, names[number], number, sent, True))


def _interrupted(name: str, number: int, sent: int, large: bool = False) -> None:
    Model = public_classes()[name]
    small = 1500 if "SV" in name or name == "TSNE" else 20_000
    sample = numbers(Model, n=300_000, p=15) if large else numbers(Model, n=small, p=4)
    rng = np.random.default_rng([number, 19])
    delay = float(rng.uniform(0.1, 2.0) if large else rng.uniform(0.02, 0.3))
    model, parent = make(Model), os.getpid()
    before = set(vars(model))
    killer = os.fork()
    if killer == 0:
        time.sleep(delay)
        os.kill(parent, sent)
        os._exit(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began, fits = time.monotonic(), 0
    try:
        while time.monotonic() - began < delay + 20:
            model = make(Model)
            model.fit(sample.X, sample.y)
            fits += 1
        raise AssertionError("the signal was lost")
    except (KeyboardInterrupt, SystemExit):
        late = time.monotonic() - began - delay
    os.waitpid(killer, 0)
    assert late < 1.0, f"returned after {late:.2f} s"
    left = set(vars(model)) - before
    assert not left or set(learned(model)), f"half-fitted: {left}"
    whole = set(learned(model))
    assert not whole or "n_features_in_" in whole, f"half-fitted: {whole}"
    assert exemptions(Model) is not None
