"""A PostgreSQL server of its own on the loopback interface, for the time of a test."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`; Debian does not put it on the path."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    on_path = shutil.which("initdb")
    folders += [Path(on_path).resolve().parent] if on_path else []
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@contextlib.contextmanager
def open_server() -> Iterator[str]:
    """The address of an empty database; skips the test without PostgreSQL."""
    programs = _programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL here")
    with tempfile.TemporaryDirectory() as folder:
        user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        if user is not None:
            shutil.chown(folder, user)
        data = f"{folder}/data"

        def run(*command: str) -> None:
            program = str(programs / command[0])
            subprocess.run(
                [program, "-D", data, *command[1:]], check=True, user=user, cwd=folder,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip

        run("initdb", "-A", "trust", "-U", "pellucid", "--no-sync")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-h 127.0.0.1 -p {port} -k {folder} -F"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://pellucid@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
