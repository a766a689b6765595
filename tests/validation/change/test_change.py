"""``gridval predict --against``: the change of a predicted time, and what has changed in the program."""

import json

import pytest

from platforms.files.reading import input_text
from validation.change import Case, Change, Changes, main

HEAT = "examples/ci/heat.c"
WHERE = "--scenario grid1x32 --speeds 40 --network infiniband --ranks 32"
RUN = f"--program {HEAT} --program-iterations 20 --recorded 4,8,16 {WHERE}"
ASKED = [*RUN.split(), "--program-args", "1e8 {iterations}"]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    path = tmp_path_factory.mktemp("baseline") / "baseline.json"
    assert main([*ASKED, "--predictor", "learned:known", "--against", str(path), "--update"]) == 0
    return path


def compared(baseline, capsys, *words):
    capsys.readouterr()
    status = main([*ASKED, "--against", str(baseline), "--json", *words])
    return status, json.loads(capsys.readouterr().out)["changes"][0]


def test_an_unchanged_program_has_not_changed_at_all(baseline, capsys):
    status, change = compared(baseline, capsys, "--fail-above", "0")
    assert (status, change["change_pct"], change["differences"]) == (0, 0.0, [])


@pytest.mark.parametrize(
    ("flag", "difference"),
    [
        # On 16 ranks, by hand: 30 messages of 8 KiB in each of the three recorded iterations; twice as many bytes.
        ("WIDE", "send in exchange: 737,280 -> 1,474,560 bytes, of one rank at most 49,152 -> 98,304"),
        ("BARRIER", "barrier in main: new, 48 calls, 0 bytes"),
        # Three steps of 7e8 flops, and 1e8 more of rank 0 in each.
        (
            "SERIAL",
            "computation: 2,100,000,000 -> 2,400,000,000 flops, of one rank at most 131,250,000 -> 431,250,000",
        ),
    ],
)
def test_a_regression_fails_and_its_cause_is_named(baseline, capsys, flag, difference):
    status, change = compared(baseline, capsys, "--program-flags", f"-D{flag}", "--fail-above", "0.5")
    assert status == 3 and change["failed"]
    assert change["differences"] == [difference]


def test_a_serial_loop_costs_its_time_on_the_first_rank(baseline, capsys):
    _, change = compared(baseline, capsys, "--program-flags", "-DSERIAL")
    # By hand: 1e8 flops more in each of 20 steps at 40 Gflop/s; all others wait at the reduction.
    more_s = change["now"]["time_s"] - change["before"]["time_s"]
    assert more_s == pytest.approx(20 * 1e8 / 40e9, rel=0.05)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "24"], "ranks 32 (now 24)"),
        (["--network", "gigabit"], "platform hash"),
        (["--fail-above", "nan"], "not a number"),
        (["--predictor", "hcf,dpgraph"], "one predictor"),
    ],
)
def test_another_question_is_refused(baseline, capsys, words, said):
    assert main([*ASKED, "--against", str(baseline), *words]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) <= 2


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"format": "gridval baseline 1", "cases": [{"what": 1}]}', "[" * 10**5]
)
def test_a_file_that_is_no_baseline_gets_one_line(tmp_path, capsys, content):
    path = tmp_path / "no.json"
    path.write_text(content)
    assert main([*ASKED, "--against", str(path)]) == 2
    assert "baseline" in capsys.readouterr().err


def test_timed_computation_fails_only_outside_its_interval():
    # The lower end now against the upper end before: 1.1 s against 1.2 s is none, 1.3 s are 8.3 % more.
    def case(low_s, time_s, high_s):
        return Case({"app": "a", "ranks": 2, "platform": "p", "predictor": "x"}, time_s, low_s, high_s, timed=True)

    before = case(0.9, 1.0, 1.2)
    for now, failed in ((case(1.1, 1.5, 2.0), False), (case(1.3, 1.5, 2.0), True)):
        changes = Changes([Change(now, before)], None, 5.0, None)
        assert (changes.status == 3) is failed


def test_recordings_on_other_numbers_of_ranks_are_not_compared():
    what = {"app": "a", "ranks": 64, "platform": "p", "predictor": "x"}
    now, before = (
        Case(what, time_s, time_s, time_s, False, recorded=ranks) for time_s, ranks in ((2.0, 32), (1.0, 16))
    )
    text = Changes([Change(now, before)], None, None, None).text()
    assert "recorded on 32 ranks, before on 16: calls are not compared" in text and "no call" not in text


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_the_templates_are_yaml_and_ask_for_a_comparison(name):
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(input_text(f"examples/ci/{name}.yml"))
    if name == "github":
        commands = [step["run"] for step in content["jobs"]["predict"]["steps"] if "run" in step]
    else:
        commands = [*content["predicted-run-time"]["before_script"], *content["predicted-run-time"]["script"]]
    words = commands[-1].split()
    assert words[:2] == ["gridval/.venv/bin/gridval", "predict"]
    assert words[-4:] == ["--against", "ci/baseline.json", "--fail-above", "5"]
