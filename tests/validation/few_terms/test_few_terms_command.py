"""The command ``gridval series measured --terms``: published runs, predicted from small ones."""

import csv
import json
from pathlib import Path

import pytest

from validation.few_terms.cli import main
from validation.few_terms.judge import judged, read_table

ROOT = Path(__file__).parents[3]
DATA = ROOT / "examples" / "real" / "published"
H3 = [str(DATA / "h3.csv"), "--series", "system,app,build", "--evidence", "4,8"]
ALLREDUCES = ["--allreduces", str(DATA / "allreduce.csv")]


def answer(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys, *words):
    assert main([*words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("error: ")
    return said


def errors(shown, **chosen):
    rows = [row for row in shown["runs"] if all(row[name] == value for name, value in chosen.items())]
    return {row["nodes"]: row["error"] for row in rows}


def test_minife_and_lammps_on_16_and_32_nodes_are_within_15_percent_from_4_and_8(capsys):
    shown = answer(capsys, *H3, *ALLREDUCES)
    for app in ("minife", "lammps"):
        assert {16, 32} == set(errors(shown, app=app, build=""))
        assert all(abs(error) < 0.15 for error in errors(shown, app=app, build="").values())


def test_kripke_and_amg_on_128_nodes_of_aws_are_within_10_percent_from_32_and_64(capsys):
    words = [str(DATA / "clouds.csv"), "--series", "system,app", "--evidence", "32,64", *ALLREDUCES]
    shown = answer(capsys, *words)
    for system in ("aws-eks", "aws-parallel-cluster"):
        for app in ("kripke", "amg"):
            assert abs(errors(shown, system=system, app=app)[128]) < 0.10
    assert [series for one in shown["refused"] for series in one["series"]] == ["aws-eks", "minife"]


def test_intervals_hold_most_rows_of_a_table(capsys):
    shown = answer(capsys, str(DATA / "alaska.csv"), "--series", "app,case", "--evidence", "1,2,4")["summary"]
    assert shown["rows"] == 10 and shown["within"] >= 8
    assert shown["median_error"] < shown["naive_median_error"] / 2


def test_no_prediction_sees_the_time_that_it_is_compared_with(tmp_path):
    text = (DATA / "opensbli-512.csv").read_text()
    (tmp_path / "other.csv").write_text(text.replace("65.8537", "7.0"))
    times = [
        [row.time_s for row in judged(read_table(str(file), ("system",), {}), (1, 2), ()).judged]
        for file in (DATA / "opensbli-512.csv", tmp_path / "other.csv")
    ]
    assert "65.8537" in text and times[0] == times[1]


def test_columns_of_other_names_parts_and_further_nodes(tmp_path, capsys):
    (tmp_path / "runs.csv").write_text("program,n,elapsed,solve\nx,1,10.0,8.0\nx,2,5.0,4.0\nx,2,5.0,4.0\nx,4,2.5,2.0\n")
    words = [str(tmp_path / "runs.csv"), "--series", "program", "--nodes", "8"]
    words += ["--columns", "nodes=n,time_s=elapsed,part_solve=solve", "--out", str(tmp_path / "out.csv")]
    shown = answer(capsys, *words, "--picture", str(tmp_path / "p.svg"))
    assert [row["nodes"] for row in shown["runs"]] == [4, 8]
    assert shown["runs"][0]["naive_s"] == 2.5 and shown["runs"][1]["measured_s"] is None
    assert 1.2 < shown["runs"][1]["predicted_s"] < 1.7
    assert len(list(csv.DictReader((tmp_path / "out.csv").open()))) == 2
    assert (tmp_path / "p.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("app,nodes\na,1\n", [], "no column time_s"),
        ("app,nodes,time_s\na,1,0\n", [], "runs.csv:2: time_s is '0'"),
        ("app,nodes,time_s\na,1,3\n", [], "its evidence has runs on fewer than two"),
        ("app,nodes,time_s\na,1,3\na,2,2\n", [], "no run on more nodes than its evidence"),
        ("app,nodes,time_s,least_s\na,1,3,4\n", [], "least_s is larger than time_s"),
        ("app,nodes,time_s,part_x_s\na,1,3,4\n", [], "its parts take longer than time_s"),
        ("app,nodes,time_s\na,1,3\n", ["--evidence", "x"], "'x' is no number of nodes"),
        ("app,nodes,time_s\na,1,3\n", ["--columns", "speed=x"], "names no column"),
    ],
)
def test_what_cannot_be_predicted_is_said_in_one_line(tmp_path, capsys, text, words, said):
    (tmp_path / "runs.csv").write_text(text)
    assert said in refusal(capsys, str(tmp_path / "runs.csv"), *words)


def test_times_of_several_systems_are_not_mixed(capsys):
    said = refusal(capsys, str(DATA / "h3.csv"), "--series", "app,build", "--evidence", "4,8", *ALLREDUCES)
    assert "Add system to --series" in said
