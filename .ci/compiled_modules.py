"""A plugin of pytest for `.ci/sanitize`: says at the end which compiled modules the tests loaded."""

import sys
from pathlib import Path

import pellucid


def pytest_terminal_summary(terminalreporter):
    """How many of the compiled modules were loaded, and the names of the others."""
    package = Path(pellucid.__file__).parent
    built = {str(path) for path in package.rglob("*.so")}
    loaded = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
    left = sorted(path.removeprefix(f"{package}/").partition(".")[0] for path in built - loaded)
    terminalreporter.section("compiled modules")
    terminalreporter.write_line(f"{len(built) - len(left)} of {len(built)} were loaded")
    if left:
        terminalreporter.write_line(f"not loaded: {', '.join(left)}")
