"""What the theme leaves out for keyboards and screen readers, added to the built pages."""

from pathlib import Path

# Headings need a level, landmarks a name, the search page a title.
# static/site.js lets regions that scroll take the focus.
CHANGES = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Site">',
    '<div id="search-results">': '<h1>Search</h1>\n<div id="search-results">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<aside class="toc-drawer no-toc">': '<aside class="toc-drawer no-toc" aria-label="On this page">',
}


def mend(site: Path) -> None:
    """Change all pages of a site in place."""
    for path in site.glob("**/*.html"):
        if path.parent.name != "replays":
            text = path.read_text()
            for old, new in CHANGES.items():
                text = text.replace(old, new)
            path.write_text(text)
