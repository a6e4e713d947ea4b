"""README by copy and paste: run its blocks in this environment, in an empty folder, and say the seconds.

`python .ci/readme.py`, with an interpreter that has the wheel alone. Blocks of Python and commands of
console blocks must print what README shows.
"""

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from docs.site.pages import blocks, run_page  # noqa: E402

README = ROOT / "README.md"
began = time.perf_counter()
with tempfile.TemporaryDirectory() as folder:
    run_page(README, Path(folder))
    made = sorted(path.name for path in Path(folder).iterdir())
kinds = [kind for kind, _, _ in blocks(README) if kind in ("python", "console")]
assert "penguins.pellucid" in made, made
print(
    f"README: {len(kinds)} blocks in {time.perf_counter() - began:.0f} s, files {', '.join(made)}"
)
