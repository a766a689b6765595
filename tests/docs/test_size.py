"""Test that the documentation stays one that a person reads: few pages, few words, and no measured figures by hand."""

import re
from pathlib import Path

import pytest
from markdown_pages import DOCS
from test_docs_figures import figure_tables

MOST_PAGES, MOST_WORDS, LONGEST_PAGE = 45, 70_000, 3_500
_GENERATED_PAGE = "<!-- Made by docs/write_results.py"
_GENERATED_PART = re.compile(r"<!-- rooms of \w+ -->.*?<!-- end -->", re.DOTALL)  # by docs/draw_rooms.py


def hand_written() -> dict[Path, str]:
    """Return the pages that people write: their texts without the parts that a script makes."""
    texts = {page: page.read_text("utf-8") for page in sorted(DOCS.rglob("*.md")) if "reference" not in page.parts}
    return {page: _GENERATED_PART.sub(" ", text) for page, text in texts.items() if _GENERATED_PAGE not in text}


def words(text: str) -> int:
    return len(text.split())


def test_there_are_few_hand_written_pages():
    pages = [page for page in hand_written() if not _GENERATED_PART.search(page.read_text("utf-8"))]
    assert len(pages) <= MOST_PAGES, f"{len(pages)} pages: extend or merge one instead"


def test_hand_written_pages_have_few_words():
    counted = {page: words(text) for page, text in hand_written().items()}
    assert sum(counted.values()) <= MOST_WORDS
    assert {page.name: count for page, count in counted.items() if count > LONGEST_PAGE} == {}


@pytest.mark.parametrize("page", hand_written(), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_hand_written_page_has_a_table_of_measured_figures(page):
    tables = figure_tables(page.read_text("utf-8"), page.name)
    assert [table.where for table in tables] == [], "put its rows into docs/results"
