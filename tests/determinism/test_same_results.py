"""The same command gives the same results, to the last bit: docs/validation/faults.md."""

import csv
import subprocess
import sys

import pytest

from platforms.errors import UserError
from validation.same import MACHINE_TIMES, differences
from validation.same import main as same

PREDICTORS = ["hcf", "hcf:constant", "structural", "fit:log"]
APPS = ["mg", "ep"]


def arguments(apps, predictors, store, out="{out}"):
    scenario = "--scenario grid4x2 --class S".split()
    return [*scenario, "--app", ",".join(apps), "--predictor", ",".join(predictors), "--store", store, "--out", out]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def first(repeat, plain, stores):
    return repeat(plain, "validation.run", arguments(APPS, PREDICTORS, str(stores / "first")), stopped=False)


def test_results_do_not_depend_on_order_jobs_store_or_surroundings(repeat, other, stores, first):
    # The store of the second command has half of its runs: those of one program.
    store = str(stores / "second")
    repeat(other, "validation.run", arguments(APPS[:1], PREDICTORS[:1], store), stopped=False)
    second = repeat(other, "validation.run", arguments(APPS[::-1], PREDICTORS[::-1], store), stopped=False)
    found = differences(first, second)
    assert found.keys() == {"results.csv", "summary.csv", "league.csv", "pareto.csv", "decisions.csv", "intervals.csv"}
    assert not any(found.values()), found


def test_rows_stand_in_the_order_in_which_they_are_asked_for(first):
    lines = [line.split(",") for line in (first / "results.csv").read_text().splitlines()]
    app, predictor = lines[0].index("app"), lines[0].index("predictor")
    assert [(line[app], line[predictor]) for line in lines[1:]] == [(a, p) for a in APPS for p in PREDICTORS]


def test_folders_that_are_the_same_are_said_to_be(first, capsys):
    assert same([str(first), str(first)]) == 0
    assert "results.csv: the same" in capsys.readouterr().out


def test_a_digit_of_a_result_is_a_difference_one_of_a_machine_time_is_none(first, tmp_path, capsys):
    names, values, *rest = csv.reader((first / "results.csv").read_text().splitlines())
    assert {"simulation_wall_s", "prediction_wall_s", "evidence_wall_s"} <= MACHINE_TIMES & set(names)

    def changed(name):
        folder = tmp_path / name
        folder.mkdir()
        row = [value + "1" if key == name else value for key, value in zip(names, values, strict=True)]
        with (folder / "results.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([names, row, *rest])
        (tmp_path / "kept").mkdir(exist_ok=True)
        (tmp_path / "kept" / "results.csv").write_bytes((first / "results.csv").read_bytes())
        return same([str(tmp_path / "kept"), str(folder)])

    assert changed("prediction_wall_s") == 0
    assert changed("simulated_s") == 1
    assert "results.csv: 1 difference\n" in capsys.readouterr().out


def test_a_missing_file_other_columns_and_other_rows_are_differences(tmp_path):
    for name, text in (("a", "x,y\n1,2\n"), ("b", "x,z\n1,2\n"), ("c", "x,y\n1,2\n1,2\n"), ("d", "y,x\n2,1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text(text)
    (tmp_path / "a" / "more.csv").write_text("x\n1\n")
    assert differences(tmp_path / "a", tmp_path / "b") == {
        "more.csv": [f"not in {tmp_path / 'b'}"],
        "t.csv": [f"columns only in {tmp_path / 'a'}: y", f"columns only in {tmp_path / 'b'}: z"],
    }
    assert differences(tmp_path / "a", tmp_path / "c")["t.csv"] == ["1 row and 2"]
    assert differences(tmp_path / "a", tmp_path / "d")["t.csv"] == ["the columns are in another order"]


def test_a_folder_without_tables_and_a_file_that_is_none_are_refused(tmp_path, refused):
    refused(same, [str(tmp_path), str(tmp_path)], "no CSV files")
    refused(same, [str(tmp_path / "nowhere"), str(tmp_path)], "nowhere: no such folder")
    refused(same, [__file__, str(tmp_path)], "not a folder")
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a table"):
        differences(tmp_path, tmp_path)


def test_a_folder_in_the_place_of_a_table_is_refused_in_words(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(UserError, match=r"t\.csv: not a table: [^\[]*\. Name a folder"):
        differences(tmp_path, tmp_path)


def test_control_characters_of_a_table_are_written_out(tmp_path):
    for name, value in (("a", "1"), ("b", "\0\x1b[2J")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text(f"x\n{value}\n")
    ((line,),) = differences(tmp_path / "a", tmp_path / "b").values()
    assert line.isprintable() and r"\x1b[2J" in line


def test_sums_of_a_polynomials_terms_do_not_depend_on_how_python_orders_sets():
    program = (
        "from predictor.hierarchical.polynomial import parse\n"
        "p = parse('2/3 n^3 p^(-1) + 3/7 n^2 p^(1/2) log2(p) + 1/3 n p^(1/3) + 5/11 n^(1/2) + log2(p)')\n"
        "print([float(p.evaluate(n=n, p=q)).hex() for n in (3.1, 7.0, 1e3) for q in (2.0, 3.0, 5.0, 7.0, 11.0)])\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": str(seed)}, capture_output=True, check=True
        ).stdout
        for seed in range(5)
    }
    assert len(said) == 1
