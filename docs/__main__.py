"""`python -m docs` builds the site into build/site; warnings are errors, links inside it are checked.

`python -m docs pictures [page ...]` runs pages (all without names) and keeps their pictures in docs/img.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from docs.site.pages import DOCS, ROOT, all_pages, pictures, run_page


def main() -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m docs", description=__doc__)
    parser.add_argument("command", nargs="?", default="site", choices=["site", "pictures"])
    parser.add_argument("page", nargs="*", help="names of pages, such as decision_tree")
    parser.add_argument(
        "--to", type=Path, default=ROOT / "build" / "site", help="folder of the site"
    )
    options = parser.parse_args()
    return keep_pictures(options.page) if options.command == "pictures" else build(options.to)


def build(target: Path) -> int:
    """Build the site into `target`; the exit code."""
    from sphinx.cmd.build import build_main

    from docs.site.accessibility import mend
    from docs.site.assemble import assemble, make_replays
    from docs.site.check import faults

    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        assemble(source)
        make_replays(target / "replays")
        settings = ["-c", str(DOCS / "site"), "-d", str(Path(folder) / "doctrees")]
        checks = ["--fail-on-warning", "--keep-going", "-q", "-j", "2"]
        code = build_main(["-b", "html", *settings, *checks, str(source), str(target)])
    mend(target)
    wrong = faults(target) if code == 0 else []
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    code = code or int(bool(wrong))
    if code == 0:
        print(f"The site is in {target}: open index.html there.")
    return code


def keep_pictures(names: list[str]) -> int:
    """Draw the pictures of README and of the pages again."""
    from docs.pictures import main as draw

    draw()
    for page in all_pages():
        if (not names or page.stem in names) and pictures(page):
            with tempfile.TemporaryDirectory() as folder:
                run_page(page, Path(folder))
                for name in pictures(page):
                    if (Path(folder) / name).is_file():
                        shutil.copy(Path(folder) / name, DOCS / "img" / name)
                        print(f"docs/img/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
