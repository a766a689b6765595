"""``gridval scale``: points that agree with gridval predict, are kept, and fail one by one."""

import json
from pathlib import Path

import pytest

from predictor import predict
from predictor.scale import points
from predictor.scale.cli import COMMAND, main

ROOT = Path(__file__).parents[3]
JACOBI = f"--program {ROOT}/examples/jacobi/jacobi.c --program-iterations 10".split()
GRID = "--scenario grid2x4 --speeds 40,50".split()


def answered(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_each_point_is_what_predict_says_and_a_second_time_comes_from_the_store(capsys, tmp_path, monkeypatch):
    words = [*JACOBI, "--program-args", "256 {iterations} charged", *GRID, "--store", str(tmp_path / "store")]
    found = answered(capsys, *words, "--ranks", "1:8", "--jobs", "1", "--out", str(tmp_path / "out"))
    assert [row["ranks"] for row in found["rows"]] == [1, 2, 4, 8]
    single = answered_by_predict(capsys, *words, "--ranks", "4", "--predictor", "dpgraph:known")
    assert found["rows"][2]["time_s"] == pytest.approx(single, rel=1e-12)
    assert found["rows"][0]["critical_part"] == "computation on c1" and found["rows"][0]["critical_share"] == 1
    assert found["rows"][2]["call"].startswith("allreduce at jacobi.c:")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"scale.csv", "scale.png", "scale.svg"}

    def never(asked):
        raise AssertionError("predicted again")

    monkeypatch.setattr(points, "predicted", never)
    assert answered(capsys, *words, "--ranks", "1:8")["rows"] == found["rows"]


def answered_by_predict(capsys, *words):
    assert predict.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["predictions"][0]["prediction"]["time_s"]


def test_a_number_of_ranks_that_the_predictor_refuses_stops_no_other(capsys, tmp_path):
    # HCF's probe on one node of each cluster would be the run itself on two ranks.
    words = ["--app", "cg", "--class", "S", *GRID, "--predictor", "hcf", "--store", str(tmp_path)]
    assert main([*words, "--ranks", "2,8", "--json"]) == 2
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert "run of the target itself" in rows[0]["refused"] and rows[0]["time_s"] is None
    assert rows[1]["time_s"] > 0 and rows[1]["refused"] is None


def test_the_argument_that_grows_is_replaced_in_the_program_s_arguments(capsys, tmp_path):
    words = [*JACOBI, "--program-args", "{size} {iterations} charged", *GRID, "--store", str(tmp_path)]
    found = answered(capsys, *words, "--ranks", "1,4", "--weak", "size=64:2")
    assert [row["value"] for row in found["rows"]] == [64, 128]
    alone = ["--program-args", "128 {iterations} charged", "--ranks", "4", *JACOBI, *GRID]
    assert found["rows"][1]["time_s"] == answered(capsys, *alone, "--store", str(tmp_path))["rows"][0]["time_s"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--scenario grid2x4 --speeds 1,2", "program: none is given. Give --program FILE or --app NAME."),
        ("--scenario grid2x4 --speeds 1,2 --app cg,mg", "--app cg,mg: several kernels. Name one."),
        ("--scenario grid2x4 --speeds 1,2 --app cg --ranks 4:16", "grid2x4"),
        ("--scenario grid2x4 --speeds 1,2 --app hpl --weak size", "--weak size: no first value of size is given"),
        ("--scenario grid2x4 --speeds 1,2 --app hpl --weak si-ze", "--weak si-ze: not of the form NAME"),
        ("--scenario grid2x4 --speeds 1,2 --app cg --predictor hfc", "predictor 'hfc': no such model"),
        (
            f"--scenario grid2x4 --speeds 1,2 --program {ROOT}/examples/jacobi/jacobi.c --program-args 8 --weak n=8",
            "--weak n=8: --program-args has no {n}. Write {n} there",
        ),
    ],
)
def test_wrong_input_is_refused_in_a_line(refused, words, said):
    refused(main, [*words.split(), "--no-store"], said)


def test_the_python_face_gives_the_same_rows(tmp_path):
    made = COMMAND.ask(app="ep", problem_class="S", scenario="grid2x4", speeds="1,2", ranks="2,4", store=str(tmp_path))
    assert [row.ranks for row in made.rows] == [2, 4]
    assert made.rows[1].efficiency == pytest.approx(made.rows[1].speed_up / 2)


def test_a_curve_without_computation_is_one_of_communication_time(capsys):
    scaled = ["--scenario", "grid4x2", "--program", f"{ROOT}/tests/apps/data/turns.c", "--program-args", "4 2 100"]
    more = ["--compute", "none", "--ranks", "4", "--no-store"]
    found = answered(capsys, *scaled, *more)
    assert found["rows"][0]["communication_time_s"] > 0 and "time_s" not in found["rows"][0]
