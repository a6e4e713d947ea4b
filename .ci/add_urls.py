"""`add_urls.py OWNER/NAME`: write `[project.urls]` of the GitHub repository into pyproject.toml.

The workflow that builds the wheels runs it, so that a wheel names the repository it came from,
a fork's wheel the fork, and no address stands in the source twice.
"""

import sys
import tomllib
from pathlib import Path


def urls(repository: str) -> str:
    """The table `[project.urls]`."""
    home = f"https://github.com/{repository}"
    pages = {
        "Source": home,
        "Documentation": f"{home}/blob/main/docs/index.md",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
    return "\n[project.urls]\n" + "".join(f'{name} = "{page}"\n' for name, page in pages.items())


if __name__ == "__main__":
    [repository] = sys.argv[1:]
    if repository.count("/") != 1:
        sys.exit(f"add_urls.py needs OWNER/NAME, not {repository!r}.")
    path = Path(__file__).parents[1] / "pyproject.toml"
    if "urls" in tomllib.loads(path.read_text())["project"]:
        sys.exit("pyproject.toml has [project.urls] already.")
    path.write_text(path.read_text().rstrip("\n") + "\n" + urls(repository))
