"""What a bug report needs: versions of Pellucid, Python and the packages beneath it."""

import platform
import sys
from importlib import metadata

_PACKAGES = (
    "numpy", "scipy", "scikit-learn", "narwhals", "pyarrow", "pandas", "polars", "safetensors",
    "threadpoolctl", "click", "rich", "jinja2",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Package name to version; "absent" if not installed."""
    out = {"pellucid": metadata.version("pellucid"), "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            out[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            out[package] = "absent"
    return out


def show_versions() -> None:
    """Print the versions, the machine and the number of threads."""
    from pellucid.parallel import get_threads

    for name, version in versions().items():
        sys.stdout.write(f"{name:>14}  {version}\n")
    sys.stdout.write(f"{'machine':>14}  {platform.machine()} {platform.system()}\n")
    sys.stdout.write(f"{'threads':>14}  {get_threads()}\n")
