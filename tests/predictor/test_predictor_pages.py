"""docs/predictors: every predictor has a page, and all pages have the same sections in the same order."""

import re
from pathlib import Path

import pytest

from predictor.registry import PREDICTORS

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "predictors"
INDEX = (PAGES / "index.md").read_text()
PAGE_OF = dict(re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\)", INDEX, re.MULTILINE))
PAGES_OF_ONE = sorted({page for page in PAGE_OF.values() if not page.startswith("index.md")})
SECTIONS = [
    "The model",
    "Equations",
    "Assumptions",
    "Evidence and cost",
    "Where it holds",
    "Measured errors",
    "Comparison with the paper",
]


def test_the_table_has_every_predictor_in_the_order_of_the_registry():
    assert list(PAGE_OF) == [*PREDICTORS, "learned", "learned:known", "simulate"]


@pytest.mark.parametrize("page", PAGES_OF_ONE)
def test_pages_have_the_same_sections(page):
    text = (PAGES / page).read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    first = text.partition("## ")[0]
    names = {name for name, where in PAGE_OF.items() if where == page}
    assert names <= set(re.findall(r"`([^`]+)`", first)), "the first lines name the predictors of the page"
    assert "Source" in first
    measured = text.partition("## Measured errors")[2].partition("\n## ")[0]
    assert re.search(r"\| ?---|\.\./results/", measured), "figures, or where they are"


def test_pages_that_are_there_are_in_the_table():
    assert {page.name for page in PAGES.glob("*.md")} == {"index.md", *PAGES_OF_ONE}
