"""Questions of a newcomer: each is answered at most two clicks from the landing page, below a heading."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ANSWERS = {  # question: the page, and words that stand on it
    "How long will my program run?": ("programs/own-program.md", "gridval predict"),
    "How many nodes should I ask for?": ("planning/allocation.md", "chosen"),
    "How does it scale?": ("planning/scaling.md", "speed-up"),
    "What does a run cost?": ("planning/cost-and-carbon.md", "--price"),
    "What does it emit?": ("planning/cost-and-carbon.md", "--carbon"),
    "How do I describe my cluster?": ("platforms/own-platform.md", "[[clusters]]"),
    "How do I measure my cluster?": ("tutorials/your-cluster.md", "platform calibrate"),
    "Does it work with my MPI?": ("programs/native.md", "MPICH"),
    "Can I install it without root?": ("installation.md", "root"),
    "Why is a prediction wrong?": ("validation/regimes.md", "what to do"),
    "Which predictor should I use?": ("predictors/index.md", "Which one?"),
    "Why not simulate the run?": ("predictors/index.md", "Why not simulate?"),
    "How sure is a prediction?": ("validation/intervals.md", "90 %"),
    "Can I predict more ranks than I can run?": ("validation/extrapolation.md", "ranks"),
    "Which time do I request from Slurm?": ("planning/jobs.md", "--time"),
    "How much energy does it take?": ("planning/cost-and-carbon.md", "watts"),
    "What happens if a node fails?": ("planning/reliability.md", "checkpoint"),
    "How good is it on real machines?": ("validation/clusters.md", "median"),
    "I only have measured times: what can it do?": ("validation/clusters.md", "--terms"),
    "How do I add my own predictor?": ("tutorials/own-predictor.md", "class"),
    "What does an exit status mean?": ("commands.md", "exit status"),
}
_LINK = re.compile(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)")


def linked_from(page):
    text = (DOCS / page).read_text()
    return {((DOCS / page).parent / link).resolve().relative_to(DOCS).as_posix() for link in _LINK.findall(text)}


@pytest.fixture(scope="module")
def near():
    """Return the pages that are at most two clicks from the landing page."""
    first = linked_from("index.md")
    return {"index.md", *first, *(page for one in first for page in linked_from(one))}


@pytest.mark.parametrize("question", ANSWERS)
def test_a_newcomers_question_is_answered_within_two_clicks(near, question):
    page, words = ANSWERS[question]
    assert page in near
    assert words in (DOCS / page).read_text()


def test_every_page_is_in_one_group_of_the_sidebar():
    text = (DOCS / "index.md").read_text()
    groups = re.findall(r":caption: ([\w ]+)\n", text)
    assert groups == ["Start", "How to", "Explanation", "Reference"]
    listed = [
        page
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
        if line and not line.startswith(":")
        for page in (
            [line]
            if "*" not in line
            else [p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.glob(f"{line}.md")]
        )
    ]
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*.md")}
    assert pages - {"index"} == set(listed)


def test_the_cautions_of_the_page_are_those_that_commands_print():
    text = (DOCS / "validation" / "regimes.md").read_text()
    table = text.partition("## Cautions and what to do")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    quoted = [words for cell in first_cells for words in re.findall(r"`([^`]+)`", cell)]
    assert len(quoted) > 12
    sources = [
        re.sub(r'"\s+f?"', "", path.read_text())  # a sentence in several literals
        for package in ("apps", "predictor")
        for path in (DOCS.parent / package).rglob("*.py")
    ]
    assert [words for words in quoted if not any(words in source for source in sources)] == []
