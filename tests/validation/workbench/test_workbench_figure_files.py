"""Figures as files and links that stay, scales of axes, many cases, and marks."""

import hashlib
import io
import itertools
import re
import subprocess
from pathlib import Path

import pytest
from lxml import etree
from PIL import Image

from validation.workbench.project import origin
from validation.workbench.queue.suites import QueuedCase
from validation.workbench.web.axes import count_axis, number_axis
from validation.workbench.web.looks import COLORS, DASHES, MOST_STYLES, Style
from validation.workbench.web.plot import Curve, Drawing, Mark, plot
from validation.workbench.work.pictures import drawn as drawn_file

RESULTS_CSS = Path("validation/workbench/web/static/results.css")
ADDRESS = "suite=1&show=time&over=ranks"


@pytest.fixture
def drawn(desk, row, monkeypatch):
    """Nine platforms with 2 and 4 ranks each."""
    (desk.project.private / "queued" / "1.toml").write_text('scenarios = ["grid4x2"]\n')
    cases = [
        QueuedCase(number, f"grid{number // 2}", "gigabit", "cg", "S", 2 + 2 * (number % 2), "block", "reference", "h")
        for number in range(18)
    ]
    desk.queue.add("=many", "Ann", cases)
    for run in desk.queue.take(99).runs.values():
        desk.queue.finish(run, [row("hcf", predicted_s=1.0 + run, simulated_s=float(run))])
    monkeypatch.setattr(desk, "_show", lambda task, **values: next(drawn_file(desk.project.folder, **values)))


def facts(text):
    return dict(re.findall(r"^#? ?([\w -]+): (.*)$", text, re.M))


def test_the_csv_file_has_the_hash_of_its_rows_its_commit_and_its_link(client, drawn):
    answer = client.get(f"/results/figure.csv?{ADDRESS}")
    lines = answer.text.splitlines(keepends=True)
    rows = "".join(line for line in lines if not line.startswith("#"))
    said = facts(answer.text)
    assert said["SHA-256 of its rows"] == hashlib.sha256(rows.encode()).hexdigest()
    assert said["made by commit"] == origin.commit() and len(rows.splitlines()) == 37  # predicted and simulated
    shown = client.get(said["link"].partition("8765")[2]).text
    assert "have changed" not in shown and said["SHA-256 of its rows"][:16] in shown
    assert "attachment" in answer.headers["content-disposition"]


def test_a_permanent_link_says_that_the_results_have_changed(client, drawn, desk):
    link = re.search(r'href="([^"]+)" id="permanent"', client.get(f"/results/figure?{ADDRESS}").text)[1]
    with desk.queue.tables.changing() as connection:
        connection.execute("UPDATE results SET predicted_s = 3 WHERE id = 1")
    assert "The results have changed since this link was made" in client.get(link.replace("&amp;", "&")).text


def test_the_svg_file_is_sound_alone_and_names_the_same(client, drawn):
    answer = client.get(f"/results/figure.svg?{ADDRESS}")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    tree = etree.fromstring(answer.content)
    (description,) = tree.iter("{*}description")
    csv = facts(client.get(f"/results/figure.csv?{ADDRESS}").text)
    assert facts(description.text) == csv
    results = [link for link in tree.xpath("//*[local-name()='a']/@*") if "/results/" in link]
    assert not tree.xpath("//@class") and len(results) == 36
    assert csv["SHA-256 of its rows"] in "".join(tree.xpath("//*[local-name()='text']/text()"))


def test_the_png_file_is_drawn_and_names_the_same(client, drawn):
    with Image.open(io.BytesIO(client.get(f"/results/figure.png?{ADDRESS}").content)) as image:
        assert image.width == 1520 and len(image.convert("RGB").getcolors(1 << 24)) > 50
        csv = facts(client.get(f"/results/figure.csv?{ADDRESS}").text)
        assert {key: image.text[key] for key in csv} == csv


def test_files_that_do_not_exist_are_told(client, drawn):
    for path, status in (
        ("figure.gif", 400), ("table.svg", 400), ("figure.csv?suite=1&x=cubic", 400), ("figure.csv?over=nothing", 400),
        ("front.csv?suite=1", 400), ("figure.csv?suite=1&show=error", 200),
    ):  # fmt: skip
        assert client.get(f"/results/{path}").status_code == status, path  # without energies there is no front


def test_axes_are_logarithmic_or_linear_by_choice(client, drawn):
    assert number_axis("t", [1.0, 2.0]).logarithmic is False and number_axis("t", [1.0, 2.0], scale="log").logarithmic
    assert number_axis("t", [1.0, 1e6], scale="linear").logarithmic is False
    assert count_axis("n", [2, 512]).logarithmic and not count_axis("n", [2, 512], "linear").logarithmic
    assert number_axis("t", [3.1, 3.4], scale="log").ticks  # no power of ten lies between them
    axis = number_axis("t", [1.0, 100.0], scale="log")
    assert axis.share(10.0) == pytest.approx(0.5)
    text = client.get(f"/results/figure?{ADDRESS}&x=log&y=log").text
    assert text.count('aria-current="true">logarithmic') == 2


def test_points_that_a_logarithmic_axis_cannot_show_are_counted(client, drawn, desk):
    with desk.queue.tables.changing() as connection:
        connection.execute("UPDATE results SET error_pct = -error_pct WHERE id < 4")
    text = client.get("/results/figure?suite=1&show=error&over=ranks&y=log").text
    assert "3 points are at 0 or below" in text and text.count('<a href="/results/') > 15
    assert "Names along the axis have no scale" in client.get("/results/figure?suite=1&over=platform&x=log").text


def test_many_lines_differ_in_colour_line_style_and_mark_and_have_their_names(client, drawn):
    styles = [Style(number, number) for number in range(MOST_STYLES)]
    assert len({(style.hue, style.dash) for style in styles}) == MOST_STYLES == 28
    assert len({(style.marker, style.hollow) for style in styles[:14]}) == 14
    text = client.get("/results/figure?suite=1&show=error&over=ranks").text
    assert text.count('class="of"') == 9 and "hcf, grid8</text>" in text
    assert client.get("/results/figure?suite=1&platform=grid1&show=error").text.count('class="of"') == 0


def test_names_beside_lines_do_not_cover_each_other():
    curves = [Curve(f"line {number}", Style(number, number), [Mark(1, 1, "", 1), Mark(2, 5, "", 2)])
              for number in range(28)]  # fmt: skip
    drawing = Drawing("t", number_axis("x", [1, 2]), number_axis("y", [1, 5]), curves)
    heights = sorted(float(y) for y in re.findall(r'class="of" x="[\d.]+" y="([\d.]+)"', plot(drawing)))
    gaps = [after - before for before, after in itertools.pairwise(heights)]
    assert len(heights) == 28 and min(gaps) > 11 and heights[0] >= 14 and heights[-1] <= 338.1


def test_colours_and_line_styles_of_files_are_those_of_pages():
    css = RESULTS_CSS.read_text()
    light = css.partition("@media")[0]
    assert re.findall(r"--c\d: (#\w+)", light) == list(COLORS)
    assert re.findall(r"\.d\d \.line \{ stroke-dasharray: ([\d ]+);", css) == list(DASHES[1:])


def test_marked_results_are_marked_in_the_figure_its_rows_and_the_table(client, drawn):
    for path in ("/results/figure?suite=1&show=error&mark=4", "/results?suite=1&mark=4"):
        text = client.get(path).text
        assert '<tr data-result="4" class="marked">' in text and "1 result is marked" in text
        assert 'href="/results/4/timeline"' in text and 'href="/results?suite=1&amp;run=4"' in text
    assert 'data-result="4" class="marked" tabindex' in client.get("/results/figure?suite=1&show=error&mark=4").text
    alone = client.get("/results?suite=1&mark=4&mark=7&marked=only").text
    assert re.findall(r'<tr data-result="(\d+)"', alone) == ["4", "7"]
    form = re.search(r'<form id="marks".*?</form>', client.get("/results?suite=1&mark=99").text)[0]
    assert 'name="mark" value="99"' in form  # a mark on another page is kept


def test_the_commit_is_that_of_the_checkout_and_says_whether_files_differ(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                       capture_output=True)  # fmt: skip

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-qm", "a")
    head = subprocess.run(["git", "-C", tmp_path, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    assert origin.commit.__wrapped__(tmp_path) == head
    (tmp_path / "a").write_text("2")
    assert origin.commit.__wrapped__(tmp_path) == f"{head} with changes"
    assert origin.commit.__wrapped__(tmp_path / "nowhere").startswith("gridval ")
