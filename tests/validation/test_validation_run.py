"""The main command, on class S to be fast."""

import csv
import json
import math
import subprocess
import sys

import pandas as pd
import pytest

from predictor.registry import PREDICTORS, predictors
from validation.comparison.metrics import published_errors, summarise, summary_rows
from validation.comparison.rows import records
from validation.presentation.tables import summary_text
from validation.run import main

RESULT_COLUMNS = [
    *("scenario", "network", "platform_hash", "app", "class", "ranks", "mapping", "predictor"),
    *("probe_cp_s", "probe_cm_s", "compute_share", "predicted_s", "simulated_s", "error_pct", "abs_error_pct"),
    *("evidence_node_s", "evidence_share", "simulation_wall_s", "prediction_wall_s"),
]
SUMMARY_COLUMNS = [
    *("predictor", "app", "cases", "n", "mean_error_pct", "mean_abs_error_pct"),
    *("mean_abs_error_low_pct", "mean_abs_error_high_pct", "median_abs_error_pct", "max_abs_error_pct", "r2"),
    *("mean_abs_energy_error_pct", "max_abs_energy_error_pct"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Standard output, standard error and folder of one run with all options."""
    folder = tmp_path_factory.mktemp("out")
    command = "-m validation.run --scenario grid4x4 --class S --app cg,mg --json --no-store --predictor".split()
    command += ["hcf:printed,hcf,hcf:constant", "--out"]
    done = subprocess.run([sys.executable, *command, str(folder)], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr, folder


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_json_is_all_that_stands_on_standard_output(run):
    data = json.loads(run[0])
    assert set(data) == {"results", "summary", "cautions"}
    assert set(RESULT_COLUMNS) <= set(data["results"][0])
    assert set(data["summary"][0]) == set(SUMMARY_COLUMNS)


def test_a_quick_run_says_nothing_of_its_progress_on_a_pipe(run):
    assert all(line.startswith("caution: ") for line in run[1].splitlines())


def test_tables_hold_the_documented_columns(run):
    assert list(rows(run[2] / "results.csv")[0])[: len(RESULT_COLUMNS)] == RESULT_COLUMNS
    assert list(rows(run[2] / "summary.csv")[0]) == SUMMARY_COLUMNS


def test_each_predictor_meets_every_app(run):
    found = [(row["app"], row["predictor"]) for row in rows(run[2] / "results.csv")]
    assert found == [(app, name) for app in ("cg", "mg") for name in ("hcf:printed", "hcf", "hcf:constant")]


def test_errors_are_relative_to_the_simulated_time(run):
    for row in json.loads(run[0])["results"]:
        error_pct = 100 * (row["predicted_s"] / row["simulated_s"] - 1)
        assert row["error_pct"] == pytest.approx(error_pct, rel=1e-12)
        assert row["abs_error_pct"] == abs(row["error_pct"])


def test_predictions_follow_from_the_probe_by_eq_8(run):
    for row in json.loads(run[0])["results"]:
        growth = {"hcf:printed": 16 / 4, "hcf": 16 / 4, "hcf:constant": 1}[row["predictor"]]
        factor = {"hcf:printed": 70 / 40, "hcf": 1, "hcf:constant": 1}[row["predictor"]]
        expected_s = row["probe_cp_s"] * 4 / 16 * factor + row["probe_cm_s"] * growth
        # The layout rounds: the probe's share of CG is not exactly a quarter on each node.
        assert row["predicted_s"] == pytest.approx(expected_s, rel=1e-3)


def test_evidence_is_charged_in_node_seconds(run):
    for row in json.loads(run[0])["results"]:
        probe_s = row["probe_cp_s"] + row["probe_cm_s"]
        # The ranks of the probe end at almost the same time; the last one determines the cost.
        assert row["evidence_node_s"] == pytest.approx(4 * probe_s, rel=2e-2)
        assert row["evidence_share"] == pytest.approx(row["evidence_node_s"] / (16 * row["simulated_s"]), rel=1e-12)


def test_a_figure_per_app_is_drawn(run):
    for app in ("cg", "mg"):
        assert (run[2] / f"times-{app}.png").read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in (run[2] / f"times-{app}.svg").read_text()


def test_the_same_command_gives_the_same_numbers_one_at_a_time(run):
    arguments = "-m validation.run --scenario grid4x4 --class S --app mg --json --no-store --jobs 1 --predictor"
    arguments = [*arguments.split(), "hcf:printed,hcf,hcf:constant"]
    again = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    before = [row for row in json.loads(run[0])["results"] if row["app"] == "mg"]
    for old, new in zip(before, json.loads(again.stdout)["results"], strict=True):
        assert {k: v for k, v in old.items() if "wall" not in k} == {k: v for k, v in new.items() if "wall" not in k}


def table(**columns):
    return pd.DataFrame(columns)


def test_summary_takes_means_over_scenarios():
    # By hand: -10 and +30 %: mean +10, mean absolute 20, largest 30; of the energy -4 and +8 %: 6 and 8.
    results = table(
        predictor=["p", "p", "q"], app=["cg"] * 3, error_pct=[-10.0, 30.0, math.nan], predicted_s=[9, 13, math.nan],
        simulated_s=[10, 10, 10], energy_error_pct=[-4.0, 8.0, math.nan],
    )  # fmt: skip
    summary = summarise(results).set_index(["predictor", "app"])
    found = summary.loc["p", "cg"]
    assert found[["mean_error_pct", "mean_abs_error_pct", "max_abs_error_pct"]].to_list() == pytest.approx([10, 20, 30])
    assert found[["mean_abs_energy_error_pct", "max_abs_energy_error_pct"]].to_list() == [6, 8]
    assert summary.loc[("q", "cg"), "n"] == 0


def test_published_errors_stand_beside_their_own_cases_only():
    scenarios = ["grid4x2", "grid4x4", "grid4x8", "grid3x9", "grid3x12", "grid3x16"]
    ranks = [8, 16, 32, 27, 36, 48]  # Fanfakh 2019, Table (1)
    # Section 4-2.
    published = {"cg": 4.36, "mg": 5.79, "lu": 6.81}
    assert published_errors(records(table(scenario=scenarios, ranks=ranks, **{"class": "B"}))) == published
    assert published_errors(records(table(scenario=scenarios, ranks=ranks, **{"class": "A"}))) == {}
    assert published_errors(records(table(scenario=scenarios, ranks=[8] * 6, **{"class": "B"}))) == {}
    assert published_errors(records(table(scenario=scenarios[:5], ranks=ranks[:5], **{"class": "B"}))) == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--scenario grid5x5", "--speeds"),
        ("--scenario grid4x8 --app cg,xx", "Known: bt"),
        ("--scenario grid4x8 --class Z", "Known: S, W, A, B, C, D"),
        ("--scenario grid4x8 --predictor oracle", "Known: structural"),
        ("--scenario grid4x8 --predictor ,", "an empty list"),
        ("--scenario grid4x8 --network avian", "gigabit"),
        ("--scenario grid4x8 --mapping diagonal", "block"),
        ("--scenario grid4x8 --efficiency 2", "(0, 1]"),
        ("--scenario grid4x8 --iterations few", "full"),
        ("--scenario grid4x8 --iterations 1000", "between 1 and"),
        ("--scenario grid4x8 --ranks 33", "do not fit"),
        ("--scenario grid4x8 --jobs 0", "not positive"),
        ("--scenario grid4x8 --store /tmp --no-store", "Drop one"),
        ("--scenario grid4x8 --cfg smpi/os", "KEY:VALUE"),
        ("--scenario grid4x8 --cfg network/model:CM02", "set by the engine"),
        ("--scenario all --speeds 1,2,3", "--scenario all"),
        ("", "Give --scenario NAME or --platform FILE"),
        ("--scenario grid4x8 --out /proc/nowhere", "cannot be written"),
    ],
)
def test_bad_input_gets_one_line_and_status_2(arguments, message, capsys):
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("error: ")
    assert message in captured.err


def test_a_choice_that_there_is_not_gets_one_line_and_status_2(capsys):
    with pytest.raises(SystemExit) as ended:
        main("--scenario grid4x8 --compute some".split())
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: argument --compute") and "injected, measured, none" in line


def test_a_target_that_cannot_run_does_not_lose_the_others(capsys, tmp_path):
    # LU S has 12 points per direction: 8x6 ranks would leave some of the 48 with one.
    arguments = f"--scenario grid3x16 --app lu,mg --class S --predictor hcf --out {tmp_path}".split()
    assert main(arguments) == 2
    assert "points" in capsys.readouterr().err
    assert [row["app"] for row in rows(tmp_path / "results.csv")] == ["mg"]


def test_a_failed_simulation_gives_status_1(capsys):
    assert (
        main(["--scenario", "grid4x2", "--app", "mg", "--class", "S", "--no-store", "--cfg", "smpi/bw-factor:none"])
        == 1
    )
    errors = capsys.readouterr().err
    assert "Invalid factor" in errors or "parse error at 'none'" in errors  # messages of SimGrid 3.32 and 4.1


def test_an_unknown_simgrid_option_is_bad_input(capsys):
    assert main(["--scenario", "grid4x2", "--app", "mg", "--class", "S", "--cfg", "no/such-option:1"]) == 2
    assert "--cfg no/such-option: SimGrid has no such option" in capsys.readouterr().err


def test_all_stands_for_every_predictor(capsys):
    arguments = "--scenario grid4x2 --app mg --class S --no-store --json --predictor"
    assert main([*arguments.split(), "hcf,all"]) == 0
    found = {row["predictor"]: row["abs_error_pct"] for row in json.loads(capsys.readouterr().out)["results"]}
    assert list(found) == ["hcf", *(name for name in PREDICTORS if name != "hcf")]
    # The truth is a simulation, and the predictor knows the simulator's constants.
    assert found["dpgraph:known"] < 1


def test_a_predictor_has_the_name_it_is_found_by():
    assert [model.name for model in predictors(list(PREDICTORS))] == list(PREDICTORS)


def test_published_errors_stand_beside_hcf_only():
    results = table(
        predictor=["hcf", "dpgraph"] * 2, app=["cg"] * 4, error_pct=[1.0] * 4, predicted_s=[1.01] * 4,
        simulated_s=[1] * 4, energy_error_pct=[math.nan] * 4,
    )  # fmt: skip
    *_, hcf, dpgraph = summary_text(summary_rows(records(results)), {"cg": 4.36}).splitlines()
    assert hcf.endswith("4.36")
    assert dpgraph.endswith("-")


def loaded(*arguments):
    """The slow packages that a command has imported when it ends."""
    heavy = {"numpy", "pandas", "matplotlib", "matplotlib.pyplot", "scipy", "lxml"}
    script = (
        "import sys\nfrom validation.run import main\n"
        "try:\n    main(sys.argv[1:])\n"
        f"finally:\n    print(*sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()[-1].split())


def test_help_is_shown_without_what_is_slow_to_import():
    assert loaded("--help") == set()


def test_known_results_are_shown_without_what_is_slow_to_import(tmp_path):
    arguments = f"--scenario grid4x2 --app mg --class S --predictor hcf --store {tmp_path}".split()
    assert main(arguments) == 0
    assert loaded(*arguments) <= {"lxml", "numpy", "pandas"}  # of the platform file and the tables


def test_a_predictor_whose_evidence_would_be_the_truth_leaves_the_others_their_answers(capsys):
    # HCF's probe of one cluster of one node is the target's run; the graph predictor records it elsewhere.
    command = "--app ep --class S --scenario grid1x1 --speeds 50 --predictor hcf,dpgraph:known --no-store --json"
    assert main(command.split()) == 0
    hcf, known = json.loads(capsys.readouterr().out)["results"]
    assert hcf["predicted_s"] is None and "run of the target itself" in hcf["flags"]
    assert known["error_pct"] == pytest.approx(0, abs=0.05)


def test_the_run_of_a_single_target_has_a_timeline(tmp_path, capsys):
    file = tmp_path / "cg.json"
    words = ["--scenario", "grid4x2", "--app", "cg", "--class", "S", "--predictor", "hcf", "--timeline", str(file)]
    assert main([*words, "--store", str(tmp_path / "store")]) == 0
    assert f"timeline: {file}" in capsys.readouterr().err.replace("\n", " ")
    # Eight ranks, one on every node of 4 clusters of 2.
    events = json.loads(file.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    assert len({(one["pid"], one["tid"]) for one in events if one["ph"] == "B"}) == 8


def test_a_timeline_needs_one_simulated_target(tmp_path, refused):
    words = ["--scenario", "grid4x2", "--class", "S", "--timeline", str(tmp_path / "cg.json")]
    refused(main, [*words, "--app", "cg,mg"], "it shows one run, but there are 2 targets")
    refused(main, [*words, "--app", "cg", "--truth", "times.csv"], "times from a file have no timeline")


def test_a_report_is_quiet_on_a_pipe(tmp_path, capsys):
    words = ["--scenario", "grid4x2", "--app", "ep", "--class", "S", "--predictor", "hcf", "--no-store"]
    assert main([*words, "--report", str(tmp_path / "r.html")]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith(("report:", "["))]
    assert len(said) == 1 and "kB" in said[0]
