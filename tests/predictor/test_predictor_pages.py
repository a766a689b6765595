"""docs/predictors: every predictor has a page, and all pages have the same sections in the same order."""

import re
from pathlib import Path

import pytest

from predictor.registry import PREDICTORS

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "predictors"
INDEX = (PAGES / "index.md").read_text()
PAGE_OF = dict(re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\)", INDEX, re.MULTILINE))
SECTIONS = [
    "The model",
    "Equations",
    "Assumptions",
    "Evidence and cost",
    "Where it holds",
    "Measured errors",
    "Comparison with the paper",
    "Code",
]


def test_the_table_has_every_predictor_in_the_order_of_the_registry():
    assert list(PAGE_OF) == [*PREDICTORS, "learned", "learned:known", "simulate"]


@pytest.mark.parametrize("page", sorted(set(PAGE_OF.values())))
def test_pages_have_the_same_sections(page):
    text = (PAGES / page).read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    first = text.partition("## ")[0]
    names = {name for name, where in PAGE_OF.items() if where == page}
    assert names <= set(re.findall(r"`([^`]+)`", first)), "the first lines name the predictors of the page"
    assert "Source" in first
    measured = text.partition("## Measured errors")[2].partition("\n## ")[0]
    assert "```sh" in measured and "|---" in measured.replace("| ---", "|---"), "a table, and what reproduces it"


@pytest.mark.checkout
@pytest.mark.parametrize("page", sorted(set(PAGE_OF.values())))
def test_the_files_that_pages_name_exist(page):
    code = (PAGES / page).read_text().partition("\n## Code")[2]
    (folder,) = re.findall(r"^\| where in `([^`]+)` ", code, re.MULTILINE) or [""]
    table = code.partition("|---|---|")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.partition(" | ")[0])]
    assert named
    beside = ROOT
    for name in named:
        if not name.endswith((".py", ".csv", ".toml", ".txt", "/")) and not (ROOT / name).exists():
            continue  # a word, not a file
        path = ROOT / folder / name
        if not list(path.parent.glob(path.name)) and "/" not in name:
            path = beside / name  # "a/b.py, c.py": beside the one before
        assert list(path.parent.glob(path.name)), name
        beside = path.parent


def test_pages_that_are_there_are_in_the_table():
    assert {page.name for page in PAGES.glob("*.md")} == {"index.md", "conformance.md", *PAGE_OF.values()}
