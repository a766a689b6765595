"""Test that every table of measured figures names the command and the commit, or the date, that made it.

The convention: the paragraph directly before or after such a table has a command in backquotes and the words "measured
with commit abc1234" or "measured on 2026-11-21".  A table is one of figures if at least three of its cells have a
decimal number, a percentage, or a number with a unit of time, energy or memory.  ``<!-- not measured -->`` directly
before a table says that its numbers are parameters, equations, or published figures.
"""

import math
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_pages import DOCS, ROOT, pages, table
from test_docs_code_blocks import check_command, commands

from predictor.answers.regime import holds_from, known_map
from validation.map.output import share_text

_NUMBER = r"(?<![\w.])\d[\d,]*"
FIGURE = re.compile(
    rf"{_NUMBER}(\.\d+)? ?%|{_NUMBER}\.\d+(?![\w.])|{_NUMBER}(\.\d+)? (s|ms|us|min|node-s|J|kJ|MJ|GB|MB)\b"
)
FEWEST_FIGURES = 3  # cells with figures that make a table one of figures
NOT_MEASURED = "<!-- not measured -->"
COMMAND = re.compile(r"(\.venv/bin/)?(gridval |python -m |python (benchmarks|examples)/|benchmarks/|make )")
COMMIT = re.compile(r"measured with commits? `?(?P<commit>[0-9a-f]{7,40})\b", re.IGNORECASE)
DATE = re.compile(r"measured on \d{4}-\d\d-\d\d\b", re.IGNORECASE)
READER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Paragraph:
    """The text of a paragraph, with single spaces, and what it has in backquotes."""

    text: str = ""
    code: tuple[str, ...] = ()


@dataclass(frozen=True)
class FigureTable:
    """A table of figures and the paragraphs directly before and after it."""

    where: str
    neighbours: tuple[Paragraph, Paragraph]

    @property
    def commands(self) -> list[str]:
        return [code for one in self.neighbours for code in one.code if COMMAND.match(code)]

    @property
    def commits(self) -> list[str]:
        return [found["commit"] for one in self.neighbours for found in COMMIT.finditer(one.text)]

    @property
    def problem(self) -> str | None:
        """What is missing; None: nothing.  One paragraph must have both the command and the commit or date."""
        for one in self.neighbours:
            dated = COMMIT.search(one.text) or DATE.search(one.text)
            if dated and any(COMMAND.match(code) for code in one.code):
                return None
        return f"{self.where}: no paragraph beside it has a command and 'measured with commit'"


def figure_tables(text: str, name: str) -> list[FigureTable]:
    """Return the tables of figures of a page, without those that are marked as not measured."""
    tokens = READER.parse(text)
    found = []
    for start, token in enumerate(tokens):
        if token.type != "table_open":
            continue
        end = next(at for at in range(start, len(tokens)) if tokens[at].type == "table_close")
        body = next((at for at in range(start, end) if tokens[at].type == "tbody_open"), end)
        cells = [one for one in tokens[body:end] if one.type == "inline"]
        before = tokens[start - 1] if start else None
        marked = before is not None and before.type == "html_block" and before.content.strip().endswith(NOT_MEASURED)
        if not marked and sum(_has_figure(cell) for cell in cells) >= FEWEST_FIGURES:
            beside = (_paragraph(tokens[max(0, start - 3) : start]), _paragraph(tokens[end + 1 : end + 4]))
            assert token.map is not None
            found.append(FigureTable(f"{name}:{token.map[0] + 1}", beside))
    return found


def _has_figure(cell) -> bool:
    return any(child.type == "text" and FIGURE.search(child.content) for child in cell.children)


def _paragraph(tokens) -> Paragraph:
    """Return the paragraph if exactly these tokens are one."""
    if [token.type for token in tokens] != ["paragraph_open", "inline", "paragraph_close"]:
        return Paragraph()
    children = tokens[1].children
    code = tuple(" ".join(child.content.split()) for child in children if child.type == "code_inline")
    text = "".join(" " if child.type == "softbreak" else child.content for child in children)
    return Paragraph(" ".join(text.split()), code)


def tables_of(page: Path) -> list[FigureTable]:
    return figure_tables(page.read_text(), str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_name_their_command_and_commit(page):
    assert [table.problem for table in tables_of(page) if table.problem] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_exist_with_their_options(page):
    asked = {code.removeprefix(".venv/bin/") for table in tables_of(page) for code in table.commands}
    lines = [f"python {code}" if code.startswith("benchmarks/") else code for code in sorted(asked)]
    wrong = {line: said for line in lines for words in commands(line) if (said := check_command(words))}
    assert wrong == {}


def _git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True)


def test_the_commits_are_in_the_history():
    if _git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("the whole history is not here")
    commits = {commit for page in pages() for table in tables_of(page) for commit in table.commits}
    assert [one for one in sorted(commits) if _git("merge-base", "--is-ancestor", one, "HEAD").returncode] == []


def test_the_shares_without_a_caution_are_those_of_the_map():
    rows = [row for row in table(DOCS / "results" / "regimes.md", "app") if "prediction, 20 %" in row]
    assert len(rows) == 12
    for row in rows:
        predictor, app = row["predictor"].strip("`"), row["app"].split()[0].lower()
        share = holds_from(predictor, app)
        everywhere = share == known_map()[predictor, app][0].share_from
        said = "everywhere" if everywhere else share_text(None if share == math.inf else share)
        assert row["prediction, 20 %"] == said, row


FIGURES = "| a | b |\n|---|---|\n| 1.5 | 20 % |\n| 3 ms | none |\n"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (f"Some words.\n\n{FIGURES}\nMore words.\n", 1),
        (f"{FIGURES}\nMeasured with commit abc1234 by `gridval program run --app\ncg`.\n", 0),
        (f"Errors, measured with commit `abc1234` by\n`make bench-steady`:\n\n{FIGURES}", 0),
        (f"{FIGURES}\nMeasured on 2026-11-21 by `benchmarks/speed.py`.\n", 0),
        (f"{FIGURES}\nMeasured with commit abc1234.\n", 1),  # no command
        (f"{FIGURES}\nBy `gridval program run --app cg`.\n", 1),  # no commit
        (f"By `make bench`:\n\n{FIGURES}\nMeasured with commit abc1234.\n", 1),  # not in one paragraph
        (f"Measured with commit abc1234 by `make bench`.\n\n## Heading\n\n{FIGURES}", 1),  # not beside the table
        (f"<!-- not measured -->\n\n{FIGURES}", 0),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | `0.5` |\n", 0),  # no figures
    ],
)
def test_what_counts_as_named(text, problems):
    assert len([table for table in figure_tables(text, "page") if table.problem]) == problems
