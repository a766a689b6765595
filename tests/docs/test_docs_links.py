"""Test that links between pages have targets, and that other links are well-formed."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_pages import DOCS, ROOT, anchors, links, pages


@pytest.fixture(scope="module")
def reachable(tracked):
    """Files that git does not ignore, and their folders: links to other files of this checkout would be broken."""
    files = {ROOT / name for name in tracked}
    return files | {parent for file in files for parent in file.parents}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page, reachable):
    wrong = []
    for target in links(page):
        url = urlsplit(target)
        if url.scheme or url.netloc:
            good = url.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", url.netloc)
        else:
            there = (page.parent / unquote(url.path)).resolve() if url.path else page
            good = there in reachable and (
                not url.fragment or (there.suffix == ".md" and url.fragment in anchors(there))
            )
        if not good:
            wrong.append(target)
    assert wrong == []


def test_every_page_that_the_code_names_exists():
    """Check the pages named in help texts, comments and descriptions."""
    wrong = []
    for package in ("platforms", "apps", "predictor", "validation", "examples", "benchmarks", "tests"):
        for file in (ROOT / package).rglob("*"):
            if file.suffix in (".py", ".toml", ".c", ".h", ".cpp", ".csv", ".html"):
                for name in re.findall(r"\bdocs/[\w/+-]+\.md\b", file.read_text()):
                    if not (ROOT / name).exists():
                        wrong.append(f"{file.relative_to(ROOT)}: {name}")
    assert wrong == []


def test_anchors_are_githubs(tmp_path: Path):
    # GitHub's rules: lower case, no punctuation except hyphens and underscores, repeated anchors numbered.
    page = tmp_path / "page.md"
    page.write_text("# Where `HCF` holds, and where not\n\n## A_b - c\n\n## Code\n\n## Code\n")
    assert anchors(page) == {"where-hcf-holds-and-where-not", "a_b---c", "code", "code-1"}


def test_every_page_begins_with_its_title():
    for page in DOCS.rglob("*.md"):
        text = page.read_text()
        assert text.startswith("# "), page
        outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert len(re.findall(r"^# ", outside, re.MULTILINE)) == 1, page
