"""The settings of Sphinx for the site."""

from pathlib import Path

from pellucid import __version__

project = "Pellucid"
author = "The Pellucid developers"
copyright = f"2026, {author}"
version = release = __version__
html_title = f"Pellucid {version}"

extensions = ["myst_parser", "docs.site.extension"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nitpicky = False
language = "en"
suppress_warnings = ["misc.highlighting_failure"]  # the picture of levels in ARCHITECTURE.md
smartquotes = False

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_search_scorer = str(Path(__file__).with_name("static") / "scorer.js")
html_favicon = str(Path(__file__).with_name("static") / "favicon.svg")
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
