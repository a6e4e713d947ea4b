"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import os
from pathlib import Path

from pellucid.errors import DataError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name and rename it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        partial.unlink(missing_ok=True)
