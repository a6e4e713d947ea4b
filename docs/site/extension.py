"""What the site adds to Sphinx: formulas as MathML, and the `replay` directive."""

import os
import re
from html import escape

from docutils import nodes
from docutils.parsers.rst import Directive
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError


class Replay(Directive):
    """`{replay} name.html` embeds a replay that the code of the page saves; its text is the title."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        page = self.state.document.settings.env.docname
        src = os.path.relpath(f"replays/{self.arguments[0]}", os.path.dirname(page) or ".")
        title = escape(" ".join(self.content)) or "Replay of a fit"
        frame = f'<iframe class="replay" src="{src}" title="{title}" loading="lazy"></iframe>'
        link = f'<p class="replay"><a href="{src}">Open the replay on a page of its own</a></p>'
        return [nodes.raw("", frame + link, format="html")]


def mathml(latex: str, display: str) -> str:
    """A formula as MathML; a command that is not known is an error."""
    made = convert(latex, display=display)
    unknown = re.search(r"<mi>\\\w+</mi>", made)
    if unknown:
        raise SphinxError(f"unknown command {unknown[0]} in the formula {latex}")
    return made


def visit_inline(translator, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("replay", Replay)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
