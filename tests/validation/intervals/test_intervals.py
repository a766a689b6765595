"""Coverage of intervals, and the command that measures it."""

import json
import math

import pandas as pd
import pytest

from platforms.errors import UserError
from predictor.intervals.cases import read_cases
from validation.comparison.coverage import COVERAGE_COLUMNS, coverage, with_intervals
from validation.comparison.kept import read_results
from validation.comparison.rows import records
from validation.intervals.cases_file import cases_of, cases_text
from validation.intervals.cli import main
from validation.presentation.sentences import coverage_text, interval_sentence

NAN = math.nan


def results(count=40, *, predictor="p", wrong=(), app="cg"):
    """Predictions of 2 s with intervals from 1 to 3 s; the truth is 2 s, or 4 s where it is wrong."""
    rows = [
        {
            "predictor": predictor, "app": app, "class": "S", "scenario": f"grid-{number % 10}", "network": "gigabit",
            "predicted_s": 2.0, "simulated_s": 4.0 if number in wrong else 2.0, "interval_low_s": 1.0,
            "interval_high_s": 3.0, "feature_compute_share": 0.5, "feature_ratio": 2.0, "feature_fit_residual": NAN,
        }
        for number in range(count)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_coverage_by_hand():
    (row,) = coverage(results(wrong=(3, 7))).to_dict("records")
    assert tuple(row) == COVERAGE_COLUMNS
    assert (row["answers"], row["intervals"], row["inside"], row["below"], row["above"]) == (40, 40, 38, 0, 2)
    assert (row["coverage"], row["median_width_pct"]) == (0.95, 100.0)  # 2 s of 2 s
    # Clopper and Pearson's interval of 38 of 40: R, binom.test(38, 40), gives 0.8308 to 0.9939.
    assert (row["coverage_low"], row["coverage_high"]) == (
        pytest.approx(0.8308, abs=1e-4),
        pytest.approx(0.9939, abs=1e-4),
    )


def test_predictions_without_an_interval_do_not_count():
    table = results(4)
    table.loc[[0, 1], ["interval_low_s", "interval_high_s"]] = NAN
    table.loc[0, "predicted_s"] = NAN
    (row,) = coverage(table).to_dict("records")
    assert (row["answers"], row["intervals"], row["inside"]) == (3, 2, 2)
    assert (
        interval_sentence(records(table)) == "True times inside the 90 % intervals: 2 of 2 (p); 1 prediction had none."
    )
    nowhere = table.assign(interval_low_s=NAN, interval_high_s=NAN)
    assert interval_sentence(records(nowhere)) is None
    assert coverage_text(coverage(nowhere)) == "No intervals: p."


def test_coverage_by_a_column_has_a_row_for_each_value():
    table = pd.concat([results(4), results(4, app="lu", wrong=(0,))], ignore_index=True)
    assert coverage(table, ["app"])[["app", "inside"]].to_numpy().tolist() == [["cg", 4], ["lu", 3]]


def test_cases_that_are_written_make_the_intervals_anew(tmp_path):
    table = results(60)
    path = tmp_path / "cases.csv"
    path.write_text(cases_text(table, "the command"))
    assert read_cases(path) == cases_of(table)
    made = with_intervals(results(2), read_cases(path))
    assert made["interval_low_s"].to_list() == pytest.approx([2.0, 2.0], rel=2e-4)  # every error was 0
    few = with_intervals(results(2), read_cases(path)[:10])
    assert few["interval_low_s"].isna().all()


def test_results_of_earlier_versions_are_cases_of_generated_grids():
    assert {case.features.surroundings for case in cases_of(results(3))} == {"grid"}
    around = results(3).assign(feature_surroundings=["file", "unlike", "cores"])
    assert [case.features.surroundings for case in cases_of(around)] == ["file", "unlike", "cores"]


def test_the_command_reads_files_and_folders(tmp_path, capsys):
    results(60, wrong=(1,)).to_csv(tmp_path / "results.csv", index=False)
    assert main([str(tmp_path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["coverage"]
    assert (row["inside"], row["intervals"]) == (59, 60)
    written = tmp_path / "cases.csv"
    assert main([str(tmp_path / "results.csv"), "--by", "app", "--write-cases", str(written)]) == 0
    assert "59 of 60" in capsys.readouterr().out
    assert len(read_cases(written)) == 60
    assert main([str(tmp_path), "--cases", str(written), "--out", str(tmp_path / "coverage.csv")]) == 0
    assert pd.read_csv(tmp_path / "coverage.csv")["intervals"].to_list() == [60]


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "No columns to parse"), ("a,b\n1,2\n", "no columns predictor"), (None, "No such file")],
)
def test_a_file_that_holds_no_results_is_refused(tmp_path, text, problem):
    path = tmp_path / "results.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=problem):
        read_results(path)


def test_results_whose_numbers_are_words_are_refused(tmp_path, capsys):
    results(3).assign(predicted_s="soon").to_csv(tmp_path / "results.csv", index=False)
    assert main([str(tmp_path)]) == 2
    assert "column predicted_s has values that are no numbers" in capsys.readouterr().err
    results(3).assign(feature_ratio=0.0).to_csv(tmp_path / "results.csv", index=False)
    assert main([str(tmp_path)]) == 2
    assert "column feature_ratio has values that are not positive" in capsys.readouterr().err
    results(3).to_csv(tmp_path / "results.csv", index=False)
    assert main([str(tmp_path), "--by", "mapping"]) == 2
    assert "the results have no column 'mapping'" in capsys.readouterr().err
    assert main([str(tmp_path / "results.csv"), "--by", "colour"]) == 2
    assert "no column 'colour'" in capsys.readouterr().err
