"""Test the pictures of README and of the predictors' pages: they are there, small, and show what the code gives now.

Texts are compared, not bytes: other versions of matplotlib draw the same with other bytes.
"""

import re
import statistics
import sys
from pathlib import Path

import pytest
from lxml import etree
from markdown_pages import DOCS, ROOT, tokens

sys.path.insert(0, str(DOCS))

import draw_first_result
import draw_predictors
import write_clusters
from clusters import hpl, league, published
from pictures.runs import case, open_runner
from pictures.style import card, style, svg

from validation.report.public.kept import kept_clusters

PREDICTORS = DOCS / "predictors"
LARGEST_BYTES = 100_000
WITHOUT = {"index"}  # is about all predictors
SHOWN_ON = {"hcf-nnls": "hcf", "extrap": "regression"}  # pictures on the page of another one
DRAWN = [
    draw_first_result.PICTURE,
    *(write_clusters.PAGES / f"{name}.svg" for name in ("published", *league.TITLES)),
    *(PREDICTORS / f"{name}.svg" for name in draw_predictors.PICTURES),
]


def texts(drawn: str) -> list[str]:
    """Return the texts of a picture in their order."""
    return [" ".join(one.itertext()) for one in etree.fromstring(drawn.encode()).iter("{*}text")]


def pictures(page: Path) -> list[tuple[str, str, str]]:
    """Return the section, the file and the description of each picture of a page."""
    found, section = [], ""
    for number, token in enumerate(tokens(page)):
        if token.type == "heading_open":
            section = tokens(page)[number + 1].content
        for child in token.children or ():
            if child.type == "image":
                found.append((section, str(child.attrs["src"]), child.content))
    return found


def test_the_script_draws_the_pictures_of_all_pages_of_predictors():
    pages = {page.stem for page in PREDICTORS.glob("*.md")} - WITHOUT
    assert {SHOWN_ON.get(name, name) for name in draw_predictors.PICTURES} == pages


@pytest.mark.parametrize("name", draw_predictors.PICTURES)
def test_the_model_of_a_page_has_its_picture_and_a_caption(name):
    page = PREDICTORS / f"{SHOWN_ON.get(name, name)}.md"
    shown = {file: section for section, file, text in pictures(page) if text}
    assert set(shown.values()) == {"The model"}
    assert f"{name}.svg" in shown
    _, _, after = page.read_text().partition(f"({name}.svg)\n\n")
    assert len(after.partition("\n\n")[0].split()) >= 30, "a caption says what one sees, and what follows"


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=lambda page: page.name)
def test_readme_and_the_first_page_begin_with_the_first_result(page):
    (_, file, text), *_ = pictures(page)
    assert (page.parent / file).resolve() == draw_first_result.PICTURE
    assert text


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_a_picture_is_small_and_has_a_title_its_own_background_and_no_date(path):
    assert path.stat().st_size < LARGEST_BYTES
    root = etree.fromstring(path.read_bytes())
    assert root.findtext("{*}title")
    assert "fill: #ffffff" in path.read_text()
    assert not re.search(r"<dc:date>|\b20\d\d-\d\d-\d\d", path.read_text())
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", path.read_text())]
    assert min(sizes) >= 8  # of a picture 619 wide


def test_the_same_picture_gives_the_same_bytes():
    def drawn() -> str:
        with style():
            figure = card(2.0)
            axes = figure.add_subplot()
            axes.plot([1, 2], [3, 4])
            axes.fill_between([1, 2], [3, 4])  # has a clip path, whose name is a salted hash
            return svg(figure, "A line")

    assert drawn() == drawn()


def shown_in(made) -> set[str]:
    """Return the texts about a program in the first result."""
    return {
        draw_first_result.truth_label(made),
        *(draw_first_result.label(made, n) for n in draw_first_result.PREDICTORS),
    }


def test_the_first_result_shows_the_current_times_of_mg():
    with open_runner() as runner:
        made = case(runner, tuple(draw_first_result.PREDICTORS), "mg")
    assert shown_in(made) <= set(texts(draw_first_result.PICTURE.read_text())), "run python docs/draw_first_result.py"


@pytest.mark.slow
def test_the_first_result_is_current():
    with style():
        drawn = svg(draw_first_result.drawing(draw_first_result.cases()), draw_first_result.TITLE)
    assert texts(drawn) == texts(draw_first_result.PICTURE.read_text()), "run python docs/draw_first_result.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", draw_predictors.PICTURES)
def test_the_pictures_of_the_predictors_are_current(name):
    if name == "extrap" and draw_predictors.laws.process.python() is None:
        pytest.skip("Extra-P is not installed: make extrap")
    with open_runner() as runner:
        drawn = draw_predictors.drawing(name, runner)
    assert texts(drawn) == texts((PREDICTORS / f"{name}.svg").read_text()), "run python docs/draw_predictors.py"


def test_a_picture_that_does_not_exist_is_refused_in_one_line():
    with pytest.raises(SystemExit, match=r"^error: hfc: no such picture\. Known: hcf, "):
        draw_predictors.main(["hfc"])


def kept_rows(made):
    """Return the stored rows of the files of made ones."""
    return {file: file.read_text() for file in made}


def test_the_rows_of_published_runs_are_what_the_code_gives():
    made = write_clusters.rows("published", published.PARTS)
    assert made == kept_rows(made), "run make clusters"
    assert texts(published.picture()) == texts((write_clusters.PAGES / "published.svg").read_text())


def test_the_rows_of_hpl_are_what_its_kept_predictions_give():
    made = write_clusters.rows("hpl", hpl.PARTS)
    assert made == kept_rows(made), "run make clusters"


def test_the_kept_predictions_of_hpl_are_what_the_code_gives_for_the_smallest():
    row = min(hpl.kept(), key=lambda one: one.row.n)
    assert row.row.predict(1.0) == pytest.approx(row.predicted_s, rel=1e-3), "run examples/real/dahu.py again"


def test_the_league_of_real_clusters_has_the_errors_that_other_pages_state():
    grids = [row.error for row in league.kept() if row.program in ("HPL, grids", "HPL, sizes")]
    page = (write_clusters.PAGES / "hpl.md").read_text()
    assert grids and all(f"| {100 * error:+.1f} % |" in page for error in grids)
    printed = {(row.cluster, row.program): row.error for row in league.kept() if row.predictor == "simulate"}
    assert printed["emulated wan10", "CG"] == pytest.approx(0.006)  # measured-league.toml


def test_the_published_league_has_the_medians_of_its_page():
    rows = kept_clusters(str(write_clusters.PAGES / "clusters.csv"), None).rows
    page = (write_clusters.PAGES / "clusters.md").read_text()
    lines = re.findall(r"^\| ([^|]+) \| `([^|`]+)` \| (\d+) \| ([\d.]+) % \|", page, re.MULTILINE)
    assert len(lines) == 34
    for cluster, predictor, count, shown in lines:
        errors = [abs(row["error"]) for row in rows if (row["cluster"], row["predictor"]) == (cluster, predictor)]
        assert len(errors) == int(count)
        assert 100 * statistics.median(errors) == pytest.approx(float(shown), abs=0.051)


@pytest.mark.slow
def test_the_league_of_real_clusters_is_what_the_code_gives():
    tables = write_clusters.rows("clusters", league.PARTS)
    for file, text in tables.items():
        made, there = (
            [line for line in rows.splitlines() if "csd3," not in line]  # a search, which rounding may turn
            for rows in (text, file.read_text())
        )
        assert made == there, "run make clusters"
    made, there = (
        [line for line in text.splitlines() if not line.startswith("csd3,")]
        for text in (league.table(), (write_clusters.PAGES / "clusters.csv").read_text())
    )
    assert made == there, "run make clusters"
    for name, drawn in league.pictures().items():
        assert texts(drawn) == texts((write_clusters.PAGES / f"{name}.svg").read_text())
