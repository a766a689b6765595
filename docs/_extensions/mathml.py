"""Render equations as MathML while the site is built, without scripts and without the network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

_logger = logging.getLogger(__name__)


def _mathml(node: nodes.Element, *, as_block: bool) -> str:
    """Return the MathML of an equation, or its source as code with a warning if it cannot be converted."""
    tex = node.astext()
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as err:
        _logger.warning("equation %r: %s", tex, err, location=node)
        return f"<code>{tex}</code>"


def _visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write an equation within a line."""
    self.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation of its own, with its number if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})</span>')
    self.body.append(_mathml(node, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
