"""Limits of a report: what it leaves out and how it says so."""

from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from lxml import html

from apps.errors import SimulationError
from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.timelines.timeline import Timeline
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform
from validation.comparison.compare import COLUMNS
from validation.comparison.metrics import summarise
from validation.report import facts, pictures, runs
from validation.report.errors import costs_table
from validation.report.gather import Gathered, Invocation, ListedRun, PredictionNote, ReportedTarget
from validation.report.lede import lede
from validation.report.tables import number
from validation.report.timelines import timelines
from validation.run import main


@pytest.fixture(scope="module")
def grid():
    return materialise(named_grid("grid2x40", speeds_flops=[1e10, 2e10]))


def a_case(platform, *, app="ep", ranks=4, messages=10, iterations=1):
    target = Target(problem(app, "S"), platform, block(platform, ranks))
    run = ListedRun(Settings().spec(target), iterations, 2.0, messages, ("gridval", "program", "run"), "")
    return ReportedTarget(target, "block", False, 2.0, 1.0, None, run)


def measured(case):
    """The same run with measured computation, as for a user's program."""
    return replace(case, run=replace(case.run, spec=SimpleNamespace(target=case.target, compute="measured")))


def whole_run(ranks):
    """Each rank computes from 0 to 3 s and communicates until the end at 4 s."""
    clock_s, activity = np.array([0.0, 3.0, 4.0]), np.array([0, 1, -1])
    return Timeline(None, 1, (clock_s,) * ranks, (activity,) * ranks, np.zeros(ranks), np.full(ranks, 4.0))


def pictures_of(cases, monkeypatch, record):
    monkeypatch.setattr(timelines, "record_timeline", record)
    return list(timelines.timeline_pictures(Gathered(Invocation(()), cases=cases), progress=lambda what: None))


def test_a_timeline_of_many_ranks_is_told_by_cluster(monkeypatch, grid):
    case = a_case(grid, ranks=70)
    (made,) = pictures_of([case], monkeypatch, lambda *_, **__: whole_run(70))
    assert made.caption.startswith("ep S on 70 ranks of grid2x40: the whole run, 4 s. Ranks compute for 75.0 %")
    rows = [[getattr(cell, "text", cell) for cell in row] for row in made.data.rows]
    assert rows == [["c1", "35", "3000", "1000", "0"], ["c2", "35", "3000", "1000", "0"]]


def test_a_timeline_of_measured_computation_is_of_another_run(monkeypatch, grid):
    case = measured(a_case(grid))
    (made,) = pictures_of([case], monkeypatch, lambda *_, **__: whole_run(4))
    assert made.caption.endswith("Recorded in a separate run: measured computation varies from run to run.")


def test_timelines_that_are_not_there_have_their_reasons(monkeypatch, grid):
    def record(spec, **_):
        raise SimulationError("it hangs") if spec.target.problem.name == "cg" else UserError("cg", "unknown", "Fix it")

    monkeypatch.setattr(timelines, "MOST_TIMELINES", 3)
    cases = [
        a_case(grid, app="cg"),
        a_case(grid, app="mg"),
        a_case(grid, app="ep", messages=10**9),
        a_case(grid, app="is"),
    ]
    said = pictures_of(cases, monkeypatch, record)
    # By hand: 1e9 messages at 1e5 per second, (1 + 4 / 250) times as long on 4 ranks.
    assert said == [
        "Not drawn: is.",
        "cg S on 4 ranks of grid2x40: could not be recorded: it hangs",
        "mg S on 4 ranks of grid2x40: could not be recorded: cg: unknown. Fix it.",
        "ep S on 4 ranks of grid2x40: not recorded, because recording would take about 10,160 s.",
    ]


def test_platforms_that_are_not_drawn_are_counted(monkeypatch, grid):
    def figure(platform):
        raise UserError("picture", "too many hosts", "Take fewer")

    other = materialise(named_grid("grid4x2"))
    monkeypatch.setattr(facts, "MOST_PLATFORMS", 1)
    monkeypatch.setattr("platforms.picture.platform_figure", figure)
    said = list(facts.platform_pictures(Gathered(Invocation(()), cases=[a_case(grid), a_case(other)])))
    assert said == ["grid2x40: no picture: picture: too many hosts. Take fewer.", "Not drawn: 1 more platform."]


def test_commands_that_repeat_runs_are_bounded_and_have_their_reasons(monkeypatch, grid):
    def commands(run, file):
        if run.spec.target.problem.name == "mg":
            raise UserError("program", "it is gone", "Give it again")
        return ()

    monkeypatch.setattr(runs, "commands", commands)
    monkeypatch.setattr(runs, "MOST_RUNS", 2)
    made, left_out = runs.repeated([a_case(grid, app=app).run for app in ("mg", "ep", "cg")], {})
    assert [one.note for one in made] == [
        "No command: program: it is gone. Give it again.",
        "No command line can describe this run.",
    ]
    assert left_out == 1


def test_a_run_by_s4u_is_repeated_by_its_record_s_command(grid):
    run = a_case(grid).run
    own = replace(run, spec=replace(run.spec, engine="s4u"))
    assert runs.commands(own, None)[-1] == "gridval program run"
    assert runs.commands(replace(own, command=()), None) == ()


def test_a_measured_computation_is_said_to_vary(monkeypatch, grid):
    monkeypatch.setattr(runs, "commands", lambda run, file: ("smpirun",))
    made, _ = runs.repeated([measured(a_case(grid, app="cg", iterations=5)).run], {})
    assert made[0].note == (
        "Simulates 5 of 15 iterations; the whole run was extrapolated to 2 s. "
        "Computation is measured during the run, so times vary."
    )


def test_a_platform_that_its_options_do_not_describe_keeps_its_path(tmp_path, grid):
    path = tmp_path / "own.xml"
    path.write_bytes(grid.path.read_bytes())
    own = read_platform(path)
    assert runs.scenario_words(own) == ()
    for words in (("--scenario", "nowhere"), ("--no-such-option",)):
        assert runs.platform_file(own, words).command is None
    gathered = Gathered(Invocation((), platform_words=("--scenario", "nowhere")), cases=[a_case(own)])
    (file,) = runs.platform_files(gathered)[0].values()
    assert (file.name, file.command) == (str(path), None)


def test_bars_that_find_no_room_are_counted(monkeypatch, grid):
    monkeypatch.setattr(pictures, "MOST_BARS", 6)
    cases = [replace(a_case(grid), mapping=f"m{number}") for number in range(5)]
    rows = [
        {"app": "ep", "scenario": "g", "class": "S", "ranks": 4, "mapping": case.mapping, "predictor": "p",
         "predicted_s": 1.0, "simulated_s": 2.0, "truth": "simulation"}
        for case in cases
    ]  # fmt: skip
    notes = [PredictionNote(number, {}, None, ()) for number in range(len(cases))]
    (picture,) = pictures.parts_pictures(Gathered(Invocation(()), rows=rows, notes=notes, cases=cases))
    assert "Not drawn: 2 more targets." in picture.caption  # two bars for each


def test_evidence_is_listed_by_kind(grid):
    row = dict.fromkeys(("ranks", "evidence_node_s", "evidence_share", "evidence_wall_s", "prediction_wall_s"), 1.0)
    row |= {
        "scenario": "g",
        "app": "ep",
        "class": "S",
        "predictor": "p",
        "simulation_wall_s": 1.0,
        "truth": "simulation",
    }
    note = PredictionNote(0, {}, None, ("run", "run", "recording", "declared"))
    made = costs_table(Gathered(Invocation(()), rows=[row], notes=[note], cases=[a_case(grid)]))
    cells = dict(zip((column.title for column in made.columns), made.rows[0], strict=True))
    assert cells["evidence"].text == "2 runs, 1 recording, declarations of the user"


def test_infinite_numbers_have_a_sign_of_their_own():
    assert number(float("inf")).text == "∞" and number(float("-inf")).text == "-∞"


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    def version(package):
        if package == "scipy":
            raise PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr(facts, "version", version)
    found = dict(facts.version_facts())
    assert (found["scipy"], found["numpy"]) == ("not installed as a package", "1.0")


def summed(name, error_pct):
    return {
        "predictor": name, "app": "all", "cases": 2, "n": 2, "mean_abs_error_pct": error_pct,
        "mean_abs_error_low_pct": 0.001, "mean_abs_error_high_pct": 9.0, "max_abs_error_pct": error_pct,
    }  # fmt: skip


def test_a_self_check_is_not_called_the_most_accurate(made):
    gathered = SimpleNamespace(answered=1, targets=1, rows=[], notes=[], failures=[])
    rows = [summed("dpgraph:known", 1e-9), summed("hcf", 7.0), summed("structural", 4.0)]
    said = "with a mean absolute error of 4.00 % (95 % interval <0.01 to 9.00 %) and a largest one of 4.00 %"
    assert (
        lede(gathered, made.results, pd.DataFrame(rows))[1] == f"Most accurate: structural, {said}, over 2 of 2 cases."
    )
    assert lede(gathered, made.results, pd.DataFrame(rows[:2]))[1].startswith("Errors: hcf, with")
    assert lede(gathered, made.results, pd.DataFrame(rows[:1]))[1].startswith("Errors: dpgraph:known, with")


def test_targets_that_failed_are_counted_in_the_first_lines(made):
    gathered = SimpleNamespace(
        answered=1,
        targets=1,
        rows=[{"predicted_s": None, "interval_low_s": None}],
        notes=[SimpleNamespace(refusal=None)],
        failures=[("cg", "why")] * 2,
    )
    assert lede(gathered, made.results, made.summary)[-1] == "2 targets failed."


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page of a run with energies and special settings, and its results and summary."""
    path = tmp_path_factory.mktemp("bounds") / "report.html"
    options = "--scenario grid4x2 --app is --class S --predictor hcf:constant --energy --memory-bus 20 --no-store"
    assert main([*options.split(), "--cfg", "network/optim:Full", "--json", "--report", str(path)]) == 0
    page = html.document_fromstring(path.read_text("utf-8"))
    rows = [{"app": "is", "scenario": "grid4x2", "predictor": "hcf:constant", "predicted_s": 1.0, "simulated_s": 1.0,
             "abs_error_pct": 0.0, "error_pct": 0.0, "truth": "simulation"}]  # fmt: skip
    results = pd.DataFrame(rows, columns=list(COLUMNS))
    return SimpleNamespace(page=page, results=results, summary=summarise(results))


def test_energies_and_settings_stand_in_the_page(made):
    titles = [heading.text_content() for heading in made.page.xpath('//table[@id="results-table"]/thead/tr/th')]
    cells = [cell.text_content() for cell in made.page.xpath('//table[@id="results-table"]/tbody/tr[1]/*')]
    row = dict(zip(titles, cells, strict=True))
    energies = [float(row[name].replace(",", "")) for name in titles if name.endswith(" J")]
    assert len(energies) == 2 and all(0 < one < 1e6 for one in energies)
    text = made.page.text_content()
    assert "20 GB/s" in text and "network/optim:Full" in text
