"""Parse the Markdown files of the project."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_READER = MarkdownIt("commonmark").enable("table")
_MYST = re.compile(r"\{[\w-]+\}")  # directives such as ```{toctree}, which Sphinx checks when it builds the site


@dataclass(frozen=True)
class Block:
    """A fenced code block."""

    page: Path
    line: int  # number of the opening fence's line, from 1
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Return README, CHANGELOG and all pages in docs."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


@cache
def tokens(page: Path) -> tuple[Token, ...]:
    return tuple(_READER.parse(page.read_text()))


def blocks(*languages: str) -> list[Block]:
    """Return the code blocks of the given languages, or of any language if none is given, from all pages."""
    found = []
    for page in pages():
        for token in tokens(page):
            language = token.info.strip().split(" ")[0]
            wanted = not languages or language in languages
            if token.type == "fence" and wanted and not _MYST.match(language):
                assert token.map is not None
                found.append(Block(page, token.map[0] + 1, language, token.content))
    return found


def links(page: Path) -> list[str]:
    """Return the targets of links and pictures in their order."""
    inline = (child for token in tokens(page) for child in token.children or ())
    found = (child.attrs.get("href") or child.attrs.get("src") for child in inline)
    return [str(target) for target in found if target]


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of the headings with the names that GitHub gives them."""
    found: list[str] = []
    for heading, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if heading.type == "heading_open":
            text = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
            anchor = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            times = sum(one == anchor or re.fullmatch(rf"{re.escape(anchor)}-\d+", one) is not None for one in found)
            found.append(f"{anchor}-{times}" if anchor in found else anchor)
    return frozenset(found)


def table(page: Path, first_heading: str) -> list[dict[str, str]]:
    """Return the rows of a page's tables whose first column has the given name: each cell's Markdown by column."""
    found: list[dict[str, str]] = []
    header: list[str] = []
    row: list[str] = []
    for token in tokens(page):
        if token.type == "table_open":
            header = []
        elif token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(token.content)
        elif token.type == "tr_close":
            if not header:
                header = row
            elif header[0] == first_heading:
                found.append(dict(zip(header, row, strict=True)))
    return found
