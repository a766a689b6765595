"""The page of --report: its contents, that it is self-contained, and that its commands repeat the runs."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from lxml import html

from apps.errors import SimulationError
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.values import parsed
from platforms.grids.scenario import named_grid
from platforms.model.placement import block, probe_placement
from platforms.read.read import materialise
from predictor.registry import predictors
from validation.campaign import main as campaign
from validation.comparison.compare import Failure
from validation.comparison.kept import read_results, rows_of_results
from validation.report.command import main as draw
from validation.report.gather import Invocation
from validation.report.reporter import Reporter
from validation.report.tables import NOTHING
from validation.run import COMMAND, RunRequest, main
from validation.series.case import Case
from validation.series.series import Series

RUN = "--scenario grid4x2 --class S --app cg,is --predictor hcf,hcf:constant --iterations full"
MINUS = "\N{MINUS SIGN}"
ODD = "<script>alert(1)<b>$x$"  # name of a program


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page of a run as text, and the printed results and summary."""
    path, printed = tmp_path_factory.mktemp("report") / "its" / "folder" / "report.html", io.StringIO()
    with redirect_stdout(printed):
        assert main([*RUN.split(), "--no-store", "--json", "--report", str(path)]) == 0
    said = json.loads(printed.getvalue())
    return SimpleNamespace(text=path.read_text("utf-8"), results=said["results"], summary=said["summary"])


@pytest.fixture(scope="module")
def text(made):
    return made.text


@pytest.fixture(scope="module")
def page(text):
    return html.document_fromstring(text)


def rows(page, table):
    """The rows of a table as text, by the titles of its columns."""
    (found,) = page.xpath(f'//table[@id="{table}-table"]')
    titles = [heading.text_content() for heading in found.xpath("./thead/tr/th")]
    return [dict(zip(titles, (cell.text_content() for cell in row), strict=True)) for row in found.xpath("./tbody/tr")]


def value(text):
    return float(text.replace(MINUS, "-").replace(",", ""))


def percent(text):
    """The number of an error in %; what is smaller than the least one shown is 0."""
    return 0.0 if text.startswith("<") else value(text)


def seconds(text):
    """The seconds of a time with its unit."""
    number, unit = text.split()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}[unit]


def test_every_prediction_stands_there_as_in_the_results(made, page):
    shown, kept = rows(page, "results"), made.results
    assert len(shown) == len(kept) == 4
    for one, row in zip(shown, kept, strict=True):
        assert (one["platform"], one["program"], one["predictor"]) == (row["scenario"], row["app"], row["predictor"])
        assert seconds(one["predicted"]) == pytest.approx(row["predicted_s"], rel=1e-3)
        assert seconds(one["simulated"]) == pytest.approx(row["simulated_s"], rel=1e-3)
        assert percent(one["error, %"]) == pytest.approx(row["error_pct"], rel=5e-3, abs=0.01)


def test_the_page_begins_with_the_times_of_the_targets_and_one_picture(made, page):
    first = page.xpath("//main/section")[0]
    assert first.get("id") == "answers" and len(first.xpath(".//figure")) == 1
    shown = rows(page, "answers")
    assert [(row["program"], row["predictor"]) for row in shown] == [("cg S", "hcf"), ("is S", "hcf")]  # asked first
    assert seconds(shown[0]["predicted"]) == pytest.approx(made.results[0]["predicted_s"], rel=1e-3)
    assert all("communication" in row["what takes most of the time"] for row in shown)
    assert "iterations" not in first.text_content()  # all were simulated


def test_times_of_few_simulated_iterations_are_explained_on_the_page(tmp_path, capsys):
    path = tmp_path / "report.html"
    words = "--scenario grid4x2 --class S --app cg --predictor hcf --no-store --report"
    assert main([*words.split(), str(path)]) == 0
    said = html.document_fromstring(path.read_text("utf-8")).xpath('//section[@id="answers"]')[0].text_content()
    # CG, class S, has 15 iterations.
    assert "Only 5 of the 15 iterations were simulated, until they took equal times; the others are added as" in said
    assert "This changes no time by more than" in said


def rows_of(page, name):
    """The texts of a table's cells."""
    return [[cell.text_content().strip() for cell in row] for row in page.get_element_by_id(f"{name}-table").iter("tr")]


def kept_page(folder, *names):
    """The page that gridval report draws of kept results."""
    assert draw([*map(str, names), "--out", str(folder / "kept.html")]) == 0
    return html.document_fromstring((folder / "kept.html").read_text("utf-8"))


def test_the_page_of_kept_results_has_the_tables_of_the_run_s_own_page(made, page, tmp_path):
    files = [tmp_path / f"{name}.json" for name in ("cg", "is")]
    for file in files:
        file.write_text(json.dumps({"results": [row for row in made.results if row["app"] == file.stem]}))
    kept = kept_page(tmp_path, *files)
    assert "4 predictions of 2 targets" in kept.text_content()
    for name in ("summary", "results", "ranking"):
        assert rows_of(kept, name) == rows_of(page, name)
    costs, without = rows_of(page, "costs"), 4  # the kinds of the evidence are not kept
    assert [row[:without] + row[without + 1 :] for row in rows_of(kept, "costs")] == [
        row[:without] + row[without + 1 :] for row in costs
    ]
    assert all(row[without] == NOTHING for row in rows_of(kept, "costs")[1:])
    sections = [heading.text_content() for heading in kept.iter("h2")]
    assert "Answers" in sections and "Platforms" not in sections
    assert f"Drawn from results that were kept: {tmp_path}" in kept.text_content()


def test_results_are_kept_as_json_as_csv_and_in_a_folder(made, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({"results": made.results}))
    (tmp_path / "folder").mkdir()
    pd.DataFrame(made.results).to_csv(tmp_path / "folder" / "results.csv", index=False)
    names = ("results.json", "folder/results.csv", "folder")
    read = [rows_of_results(read_results(str(tmp_path / name))) for name in names]
    assert len(read[0]) == 4 and read[1] == read[0] and read[2] == read[0]


def test_a_kept_result_without_an_answer_has_its_reason(made, tmp_path):
    refused = {**made.results[0], "predicted_s": None, "error_pct": None, "abs_error_pct": None, "flags": "too far"}
    (tmp_path / "a.json").write_text(json.dumps({"results": [refused, *made.results[1:]]}))
    page = kept_page(tmp_path, tmp_path / "a.json")
    assert rows_of(page, "refusals")[1][-1] == "too far"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "No columns to parse"),
        ("{", "Expecting property name"),
        ('{"results": []}', "no columns predictor"),
        ('{"results": 5}', "there is no list of results in it"),
        ('{"predictions": []}', "there is no list of results in it"),
        ("a,b\n1,2\n", "no columns predictor"),
    ],
)
def test_what_holds_no_results_is_one_line(text, said, tmp_path, capsys):
    (tmp_path / "x").write_text(text)
    assert draw([str(tmp_path / "x"), "--out", str(tmp_path / "page.html")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line and line.startswith(f"error: {tmp_path / 'x'}: ")
    assert not (tmp_path / "page.html").exists()


def test_statistics_stand_there_as_in_the_summary(made, page):
    shown, kept = rows(page, "summary"), [row for row in made.summary if row["cases"] > 1]
    assert len(shown) == len(kept) == 2  # two predictors, over both programs: a line of one case repeats the results
    for one, row in zip(shown, kept, strict=True):
        assert percent(one["mean |error|, %"]) == pytest.approx(row["mean_abs_error_pct"], rel=5e-3, abs=0.01)
        assert percent(one["largest |error|, %"]) == pytest.approx(row["max_abs_error_pct"], rel=5e-3, abs=0.01)


def test_costs_are_those_of_the_results(made, page):
    for one, row in zip(rows(page, "costs"), made.results, strict=True):
        assert value(one["evidence, node-seconds"]) == pytest.approx(row["evidence_node_s"], rel=1e-3)
        assert value(one["% of the full run"]) == pytest.approx(100 * row["evidence_share"], rel=5e-3)


def test_nothing_is_fetched_from_anywhere(page, text):
    wanted = [value for name in ("src", "href", "data", "action", "poster") for value in page.xpath(f"//@{name}")]
    wanted += page.xpath("//@*[name()='xlink:href']") + re.findall(r"url\(([^)]*)\)", text)
    assert wanted
    assert [one[:40] for one in wanted if not one.startswith(("#", "data:"))] == []
    assert not page.xpath("//link | //iframe | //object | //embed | //img | //script[@src]")
    assert "@import" not in text and "@font-face" not in text


def test_names_inside_the_page_are_each_given_once_and_those_that_are_used_exist(page, text):
    ids = page.xpath("//@id")
    assert len(set(ids)) == len(ids)
    used = re.findall(r"url\(#([^)]*)\)", text) + [one[1:] for one in re.findall(r'href="(#[^"]+)"', text)]
    for name in ("aria-labelledby", "aria-describedby", "aria-controls"):
        used += [word for words in page.xpath(f"//@{name}") for word in words.split()]
    assert used and set(used) <= set(ids)


def test_headings_step_down_one_level_at_a_time(page):
    levels = [int(one.tag[1]) for one in page.xpath("//h1 | //h2 | //h3 | //h4 | //h5 | //h6")]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_picture_and_table_says_what_it_is(page):
    for picture in page.xpath("//figure"):
        assert picture.xpath("./figcaption")[0].text_content().strip()
        (svg,) = picture.xpath('.//*[local-name()="svg"]')
        assert svg.get("role") == "img"
        assert page.get_element_by_id(svg.get("aria-labelledby")).text.strip()
    for one in page.xpath("//table"):
        assert one.xpath("./caption")[0].text_content().strip()
        assert set(one.xpath(".//th/@scope")) == {"col", "row"}


def test_the_pictures_that_were_promised_are_there(page):
    # Two programs with few cases share the figures of errors and of parts; cg and is each have times and an iteration.
    names = page.xpath("//figure/@id")
    assert names == [
        *("parts-0", "times-0-0", "times-1-0", "scatter-0", "share-0"),
        *("platform-0", "timeline-0", "timeline-1", "pareto"),
    ]


def test_text_in_pictures_is_text(page):
    (svg,) = page.xpath('//figure[@id="scatter-0"]//*[local-name()="svg"]')
    words = {one.text_content().strip() for one in svg.xpath('.//*[local-name()="text"]')}
    assert {"simulated time, s", "predicted time, s", "within 5 %", "within 10 %", "hcf", "hcf:constant"} <= words


def test_settings_versions_and_the_command_stand_there(page):
    facts = {one.xpath("./dt")[0].text: one.xpath("./dd")[0].text for one in page.xpath('//dl[@class="facts"]/div')}
    assert facts["simulated iterations"] == "full"
    assert facts["Python"] == sys.version.split()[0]
    assert {"SimGrid", "numpy", "matplotlib", "project"} <= set(facts)
    gridval, verb, *words = shlex.split(page.xpath("//header//code")[0].text)
    assert (gridval, verb) == ("gridval", "run")
    shown, given = (parsed(RunRequest, COMMAND.parser(), one) for one in (words, RUN.split()))
    assert shown == replace(given, no_store=True, json=True, report=shown.report)
    assert Path(shown.report).name == "report.html"


def test_the_commands_repeat_the_runs_to_the_last_digit(page, made, tmp_path):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    times_s = {row["app"]: row["simulated_s"] for row in made.results}
    blocks = {one.xpath("../../summary")[0].text: one.text for one in page.xpath('//code[@class="run"]')}
    targets = {name: lines for name, lines in blocks.items() if name.endswith("the target")}
    assert len(targets) == 2 and len(blocks) > 2  # and the probes
    for name, lines in targets.items():
        folder = tmp_path / name.split()[1]
        folder.mkdir()
        done = subprocess.run(
            ["bash", "-e", "-c", lines], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        assert "grid4x2-gigabit.xml: OK" in done.stdout
        said = json.loads(done.stdout.rstrip().rpartition("\n")[2])
        took_s = max(stop - start for start, stop in zip(said["start_s"], said["stop_s"], strict=True))
        assert took_s == times_s[name.split()[1]]


def test_the_same_campaign_gives_the_same_page_but_for_times_of_this_machine(tmp_path):
    file, path = tmp_path / "campaign.toml", tmp_path / "report.html"
    file.write_text('scenarios = ["grid4x2"]\napps = ["is"]\nclasses = ["S"]\npredictors = ["hcf"]  # <one>\n')
    pages = []
    for _ in range(2):
        assert campaign([str(file), "--store", str(tmp_path / "store"), "--report", str(path)]) == 0
        pages.append(path.read_text("utf-8"))
    first, second = (re.sub(r'<section id="costs".*?</section>', "", page, flags=re.DOTALL) for page in pages)
    assert first == second
    page = html.document_fromstring(pages[0])
    assert page.xpath("//details/pre/code")[0].text == file.read_text()
    assert not page.xpath('//section[@id="league"]')  # of a single predictor


def test_a_page_of_two_targets_is_small(text):
    assert len(text.encode()) < 400_000  # so that 18 results stay below 1.5 MB


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The page of a user's program with an odd name and a measured time; one of two predictors has no answer."""
    folder = tmp_path_factory.mktemp("measured")
    program, path = folder / f"{ODD}.c", folder / "report.html"
    program.write_text((Path(__file__).parents[3] / "examples/jacobi/jacobi.c").read_text())
    (folder / "truth.csv").write_text(f"app,platform,ranks,time_s\n{ODD},grid4x2,8,0.5\n")
    arguments = ["--program", str(program), "--program-args", "100 {iterations} charged", "--program-iterations", "20"]
    arguments += ["--truth", str(folder / "truth.csv"), "--report", str(path)]
    assert main([*"--scenario grid4x2 --no-store --predictor hcf,hierarchical".split(), *arguments]) == 0
    return path.read_text("utf-8")


def test_names_of_users_are_shown_and_not_obeyed(measured):
    page = html.document_fromstring(measured)
    assert len(page.xpath("//script")) == 1 and not page.xpath("//b")
    assert f"{ODD} on grid4x2" in page.xpath("//h1")[0].text_content()
    assert "<script>alert" not in measured


def test_measured_times_are_called_measured(measured):
    page = html.document_fromstring(measured)
    assert "measured on a real machine" in " ".join(page.xpath('//p[@class="lede"]/text()'))
    assert rows(page, "targets")[0]["measured"] == "0.5000 s"
    assert not page.xpath('//figure[starts-with(@id, "timeline") or starts-with(@id, "share")]')
    assert "the target" not in " ".join(page.xpath('//section[@id="repeat"]//summary/text()'))


def test_what_has_no_answer_has_its_reason(measured):
    page = html.document_fromstring(measured)
    (refused,) = rows(page, "refusals")
    assert refused["predictor"] == "hierarchical"
    assert "no layout" not in refused["reason"] and len(refused["reason"]) > 20
    assert [one["predicted"] == "no answer" for one in rows(page, "results")] == [False, True]


def test_what_failed_has_its_reason_even_where_nothing_else_is_to_be_said(tmp_path, capsys):
    path = tmp_path / "report.html"
    with Reporter(str(path), Invocation(("python", "-m", "validation.run"))) as report:
        failure = Failure(a_target(), SimulationError("cg S on 8 ranks: deadlock <of all>"))
        report.add(Case(a_target(), "block", Settings()), failure)
    page = html.document_fromstring(path.read_text("utf-8"))
    assert rows(page, "failures") == [
        {"target": "cg S on 8 ranks of grid4x2", "error": "cg S on 8 ranks: deadlock <of all>"}
    ]


def test_an_interrupted_run_leaves_a_page_that_says_so(tmp_path, capsys):
    path, settings = tmp_path / "report.html", Settings()
    with (
        pytest.raises(KeyboardInterrupt),
        Reporter(str(path), Invocation(("python", "-m", "validation.run"))) as report,
        Runner(jobs=1) as runner,
    ):
        cases = tuple(Case(one, "block", settings) for one in (a_target(), a_target("is")))
        for _ in Series(cases, predictors(["hcf"])).outcomes(runner, witness=report.witness):
            raise KeyboardInterrupt
    page = html.document_fromstring(path.read_text("utf-8"))
    assert "Incomplete" in page.xpath('//p[@class="warning"]')[0].text_content()
    assert len(rows(page, "results")) == 1
    assert not page.xpath('//figure[starts-with(@id, "timeline")]')


def test_a_run_that_is_first_evidence_and_then_a_target_is_called_a_target(tmp_path, capsys):
    path, settings, whole = tmp_path / "report.html", Settings(), a_target()
    probe = replace(whole, placement=probe_placement(whole.platform))
    with Reporter(str(path), Invocation(("python", "-m", "validation.run"))) as report, Runner(jobs=1) as runner:
        cases = Case(whole, "block", settings), Case(probe, "cyclic", settings)  # the mappings come one by one
        list(Series(cases, predictors(["hcf"])).outcomes(runner, witness=report.witness))
    page = html.document_fromstring(path.read_text("utf-8"))
    names = page.xpath('//section[@id="repeat"]//summary/text()')
    assert [name.rpartition(": ")[2] for name in names] == ["the target"] * 2
    assert "1 prediction of 2 targets" in page.xpath('//p[@class="lede"]')[0].text  # a run is no evidence for itself
    assert len(rows(page, "refusals")) == 1


def a_target(app="cg"):
    platform = materialise(named_grid("grid4x2"))
    return Target(problem(app, "S"), platform, block(platform, 8))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "an empty name"),
        ("file/folder/report.html", "cannot be written"),
        ("report.pdf", "Name it .html"),
    ],
)
def test_a_place_where_no_page_can_be_written_is_refused_before_anything_runs(name, message, tmp_path, capsys):
    (tmp_path / "file").touch()
    path = name and str(tmp_path / name)
    assert main(["--scenario", "grid4x8", "--class", "D", "--report", path]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "--report" in error and message in error
