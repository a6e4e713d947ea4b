"""What the site adds to Sphinx: formulas as MathML, and the `replay` directive."""

import os
import re
from html import escape

from docutils import nodes
from docutils.parsers.rst import Directive
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.transforms.post_transforms import SphinxPostTransform

THIN = '<mspace width="0.1667em"/>'
NAME = r"<mi>(?:log|exp|cos|sin|tanh|det)</mi>"
# What TeX does and MathML leaves out: thin spaces around log, and none after the minus of "= -1".
FUNCTION = re.compile(rf"({NAME})(?!<mo)(<)")
FUNCTION_AFTER = re.compile(rf"(</m[insf]\w*>)({NAME})")
SIGN = r"&#x0003D;|&#x02264;|&#x02265;|&#x0002C;|&#x00028;|\("  # = <= >= , (
AFTER_SIGN = re.compile(rf"(<mo[^>]*>(?:{SIGN})</mo>)<mo>(?=&#x02212;)")


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


class Punctuation(SphinxPostTransform):
    """A comma or full stop after a formula stays in its line."""

    default_priority = 900

    def run(self, **kwargs) -> None:
        for node in list(self.document.findall(nodes.math)):
            after = node.next_node(descend=False, siblings=True)
            mark = re.match(r"[.,:;?!)]+", after) if isinstance(after, nodes.Text) else None
            if mark:
                parent, at = node.parent, node.parent.index(node)
                parts = [node, nodes.Text(mark[0])]
                kept = nodes.inline("", "", *parts, classes=["nobreak"])
                parent[at : at + 2] = [kept, nodes.Text(after[mark.end() :])]


def mathml(latex: str, display: str) -> str:
    """A formula as MathML; a command that is not known is an error."""
    made = convert(latex, display=display)
    unknown = re.search(r"<mi>\\\w+</mi>", made)
    if unknown:
        raise SphinxError(f"unknown command {unknown[0]} in the formula {latex}")
    made = re.sub(r"<mo>(?=[a-z]+</mo><mo)", '<mo lspace="0.1em" rspace="0">', made)  # max(
    made = AFTER_SIGN.sub(r'\1<mo form="prefix">', made)
    return FUNCTION.sub(rf"\1{THIN}\2", FUNCTION_AFTER.sub(rf"\1{THIN}\2", made))


def visit_inline(translator, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("replay", Replay)
    app.add_post_transform(Punctuation)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
