"""The predictor that learns programs: its evidence, its options, and its times beside those of a recording."""

import json
from pathlib import Path

import pytest

from apps.programs.problem import problem, sized_problem
from platforms.errors import UserError
from predictor.learned.numbers import counts_to_record, next_counts, numbers_of, parse_known, problem_on, sizes_by_count
from validation.entrance.main import main

CG = ("predict", "--scenario", "bwUniCluster", "--app", "cg", "--class", "S", "--json")
CG_64 = ("--ranks", "64", "--ranks-per-host", "4")


def predicted(capsys, *more):
    assert main([*CG, *CG_64, *more]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    return made


@pytest.mark.slow
def test_a_learned_program_takes_the_time_of_the_recorded_one(capsys):
    learned = predicted(capsys, "--predictor", "learned:known", "--recorded", "4,8,16,32")
    known = predicted(capsys, "--predictor", "dpgraph:known")
    assert learned["prediction"]["time_s"] == pytest.approx(known["prediction"]["time_s"], rel=1e-9)
    recorded = [len(piece["host"]) for piece in learned["evidence"] if piece["kind"] == "recording"]
    assert sorted(recorded) == [4, 8, 16, 32]
    assert learned["prediction"]["low_s"] is None
    assert any("exact" in remark for remark in learned["prediction"]["remarks"])


@pytest.mark.slow
def test_iterations_that_end_without_a_collective_are_learned(capsys):
    # Where an iteration ends, the text begins again; the mark of the end is the last place of the body.
    halo = str(Path(__file__).parent / "data" / "halo3d.c")
    options = ["--scenario", "grid4x8", "--network", "infiniband", "--program", halo, "--program-iterations", "9"]
    options += ["--program-args", "8 {iterations} plain", "--ranks", "32", "--json"]
    times_s = []
    for words in (["learned:known", "--recorded", "8,12,18,27"], ["dpgraph:known"]):
        assert main(["predict", *options, "--predictor", *words]) == 0
        (made,) = json.loads(capsys.readouterr().out)["predictions"]
        times_s.append(made["prediction"]["time_s"])
    assert times_s[0] == pytest.approx(times_s[1], rel=1e-9)


@pytest.mark.slow
def test_recordings_of_other_sizes_take_the_time_of_a_recorded_run(capsys):
    halo = str(Path(__file__).parent / "data" / "halo3d.c")
    options = ["--scenario", "grid4x12", "--network", "infiniband", "--speeds", "40,50,60,70", "--program", halo]
    options += ["--program-args", "20 3", "--ranks", "48", "--json"]
    sizes = [f"--known=n{at}={n}" for at, n in (("", 20), ("@8", 9), ("@12", 11), ("@18", 10), ("@27", 12))]
    times_s = []
    for words in (["learned:known", "--recorded", "8,12,18,27", *sizes], ["dpgraph:known"]):
        assert main(["predict", *options, "--predictor", *words]) == 0
        (made,) = json.loads(capsys.readouterr().out)["predictions"]
        times_s.append(made["prediction"]["time_s"])
    assert times_s[0] == pytest.approx(times_s[1], rel=1e-9)


def test_a_recording_of_another_size_is_one_of_the_same_program():
    asked, known = sized_problem("fft", 4096), parse_known(["n@8=512"])
    assert problem_on(asked, known, 8) == sized_problem("fft", 512)
    assert problem_on(asked, known, 16) == asked
    assert sizes_by_count(asked, known) == {8: (512,)}
    for wrong, error in ((["rows@8=512"], "fft has no size rows"), (["n@0=4"], "not of the form NAME=VALUE")):
        with pytest.raises(UserError, match=error):
            problem_on(asked, parse_known(wrong), 8)


def test_too_few_smaller_numbers_of_ranks_are_no_answer(capsys):
    options = ["--scenario", "grid4x2", "--app", "cg", "--class", "S", "--predictor", "learned:known"]
    assert main(["predict", *options, "--ranks", "8"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "no answer" in out and "at least 3 smaller numbers of ranks" in out


def test_a_refusal_names_the_line_of_the_call(capsys):
    program = str(Path(__file__).parent / "data" / "random_graph.c")
    options = ["--scenario", "grid4x4", "--program", program, "--predictor", "learned:known", "--recorded", "4,6,8,9"]
    assert main(["predict", *options]) == 0
    assert "at random_graph.c:" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--predictor", "learned", "--recorded", "4,8"], "not a list of at least three numbers of ranks"),
        (["--predictor", "learned", "--known", "n"], "not of the form NAME=VALUE"),
        (["--predictor", "hcf", "--recorded", "4,8,16"], "goes with a predictor that learns from recordings"),
        (["--known", "n=4"], "goes with a predictor that learns from recordings"),
    ],
)
def test_options_that_cannot_be_are_one_line(options, error, capsys):
    assert main([*CG, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert error in line


def test_a_comparison_takes_the_options_of_learning_too(capsys):
    words = ["run", "--scenario", "grid1x8", "--speeds", "40", "--app", "ep", "--class", "S", "--no-store"]
    assert main([*words, "--recorded", "2,3,4"]) == 2
    assert "goes with a predictor that learns from recordings" in capsys.readouterr().err
    assert main([*words, "--predictor", "learned:known", "--recorded", "2,3,4", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert abs(row["error_pct"]) < 0.01  # its random numbers are shares of 2^24, and no message has a size that changes


def test_further_recordings_are_asked_for_step_by_step():
    cg = problem("cg", "A")
    steps = counts_to_record(cg, 100)
    assert next_counts(cg, 100, ()) == steps[0]
    assert next_counts(cg, 100, steps[0]) == steps[1]
    assert next_counts(cg, 100, [count for step in steps for count in step]) == ()
    assert all(count < 16 for step in counts_to_record(cg, 16) for count in step)


def test_sizes_are_those_that_the_user_knows_and_those_of_the_problem():
    assert parse_known(["rows=12"]) == {"rows": 12}
    assert numbers_of(problem("cg", "S"), {"rows": 12})[:2] == (12, 1400)


@pytest.mark.slow
def test_a_doubtful_answer_says_which_further_recording_may_settle_it(capsys):
    made = predicted(capsys, "--predictor", "learned:known", "--recorded", "4,8,16")
    assert made["prediction"]["low_s"] <= made["prediction"]["time_s"] <= made["prediction"]["high_s"]
    assert made["prediction"]["flags"]
    # On 32 ranks the formulas differ: there lg p is 3 for a side of 8, and p / 2 is 4.
    assert any("--recorded 4,8,16,32" in remark for remark in made["prediction"]["remarks"])
    assert {(call["state"], call["settled_by"]) for call in made["prediction"]["calls"]} == {
        ("exact", None), ("ambiguous", 32),
    }  # fmt: skip


def test_numbers_of_ranks_on_which_the_program_stops_are_done_without(capsys):
    program = str(Path(__file__).parent / "data" / "powers_only.c")
    options = ["--scenario", "bwUniCluster", "--ranks", "64", "--ranks-per-host", "4", "--program", program, "--json"]
    assert main(["predict", *options, "--predictor", "learned:known"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    recorded = [len(piece["host"]) for piece in made["evidence"] if piece["kind"] == "recording"]
    assert sorted(recorded) == [4, 8, 16, 32]  # neither 9 nor 12
    assert made["prediction"]["flags"]
