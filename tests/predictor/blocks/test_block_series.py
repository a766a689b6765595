"""Series of applications in blocks: grids of parameters, the pool, the store, rows, files."""

import csv
import json
import os
import signal

import pytest

from apps.store import Store
from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.blocks.series import evaluations
from predictor.series import pool
from predictor.series.grid import combinations, varied
from tests.verbs import blocks as main

# Each process computes its part of the work, without messages, on the fastest eight nodes of grid4x8, of one core each.
FASTEST = max((group.unit for group in system_named("grid4x8").groups), key=lambda unit: unit.speed_flops)
DIVIDED = """
name = "divided"
[variables]
work = 70e9
[labels.rank]
count = 4
program = [{ compute = "work / rank" }]
"""


@pytest.fixture
def divided(tmp_path):
    path = tmp_path / "divided.toml"
    path.write_text(DIVIDED)
    return f"run {path} --system grid4x8 --store {tmp_path / 'store'}"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=3", ["3"]),
        ("n=2,4,16", ["2", "4", "16"]),
        ("n=2:5", ["2", "3", "4", "5"]),
        ("n=0:100:40", ["0", "40", "80"]),
        ("n=2:16:x2", ["2", "4", "8", "16"]),
        ("n=1:20:x3,100", ["1", "3", "9", "100"]),
        ("system=a.toml,grid4x8", ["a.toml", "grid4x8"]),
    ],
)
def test_values_are_lists_and_ranges(text, values):
    assert list(varied("--vary", [text]).values()) == [values]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("n", "not of the form"),
        ("=1", "not of the form"),
        ("n=", "an empty value"),
        ("n=1,,2", "an empty value"),
        ("n=1:3,2", "the value 2 is given twice"),
        ("n=5:2", "holds no number"),
        ("n=0:8:x2", "has no end"),
        ("n=1:8:x1", "has no end"),
        ("n=1:8:0", "has no end"),
        ("n=1:999999999", "more than 10000 values"),
    ],
)
def test_wrong_values_are_one_line(text, problem):
    with pytest.raises(UserError, match=problem):
        varied("--vary", [text])


def test_a_grid_has_all_combinations():
    assert combinations({"a": ["1", "2"], "b": ["x"]}) == [{"a": "1", "b": "x"}, {"a": "2", "b": "x"}]
    with pytest.raises(UserError, match="more than 10000 combinations"):
        varied("--vary", ["a=1:200", "b=1:200"])


def test_a_series_has_time_speed_up_efficiency_and_energy(divided, capsys):
    assert main(f"{divided} --vary rank=1,4,8 --vary work=70e9,35e9 --json".split()) == 0
    rows = json.loads(capsys.readouterr().out)["series"]
    assert FASTEST.speed_flops == 70e9
    assert [(row["rank"], row["work"]) for row in rows[:3]] == [(1, 70e9), (1, 35e9), (4, 70e9)]
    for row in rows:
        ranks = row["rank"]
        assert row["processes"] == row["nodes"] == ranks
        assert row["time_s"] == pytest.approx(row["work"] / ranks / 70e9)
        assert row["speed_up"] == pytest.approx(ranks)
        assert row["efficiency"] == pytest.approx(1.0)
        assert row["energy_j"] == pytest.approx(FASTEST.power.full_w * row["work"] / 70e9)
    assert [row["on_front"] for row in rows] == [False, False, False, False, False, True]  # all of a work take as much


def test_speed_ups_are_over_the_name_that_is_asked_for(divided, capsys):
    assert main(f"{divided} --vary rank=1,4 --vary work=70e9,35e9 --over work --json".split()) == 0
    rows = json.loads(capsys.readouterr().out)["series"]
    assert [row["speed_up"] for row in rows] == pytest.approx([1, 2, 1, 2])


def test_evaluators_are_varied_and_agree_where_nothing_meets(divided, tmp_path, capsys):
    words = f"{divided} --vary evaluator=graph,cohorts,lazy"
    assert main(f"{words} --json --out {tmp_path / 'out'}".split()) == 2
    out, err = capsys.readouterr()
    graph, cohorts, lazy = json.loads(out)["series"]
    assert [row["evaluator"] for row in (graph, cohorts, lazy)] == ["graph", "cohorts", "lazy"]
    assert graph["time_s"] == cohorts["time_s"] == pytest.approx(0.25)
    assert lazy["time_s"] is None and err.startswith("error: evaluator = lazy: ")
    table = (tmp_path / "out" / "series.csv").read_text().splitlines()
    assert table[0].split(",").count("evaluator") == 1


def test_a_variable_with_the_name_of_an_option_is_not_varied(tmp_path, capsys):
    path = tmp_path / "divided.toml"
    path.write_text(DIVIDED.replace("work", "power"))
    assert main(["run", str(path), "--system", "grid4x8", "--vary", "power=1,2"]) == 2
    assert "--vary power=...: an option has this name too" in capsys.readouterr().err


def test_options_are_varied_too(divided, capsys):
    words = f"{divided} --vary system=grid4x2,grid4x8 --vary power=idle-waiting,paper --vary model=simgrid,hardware"
    assert main([*words.split(), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["series"]
    assert len(rows) == 8
    # Of the nodes of grid4x2 only two are the fastest; the next ones have 60 Gflop/s.
    assert {(row["system"], row["time_s"]) for row in rows} == {("grid4x8", 0.25), ("grid4x2", 17.5 / 60)}


def test_a_repeated_series_takes_no_evaluation(divided, capsys, monkeypatch):
    assert main(f"{divided} --vary rank=1,2,4 --json".split()) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(evaluations, "evaluate", None)
    assert main(f"{divided} --vary rank=1,2,4 --json".split()) == 0
    assert capsys.readouterr().out == first
    with pytest.raises(TypeError):
        main(f"{divided} --vary rank=1,2,4 --set work=1e9 --json".split())
    with pytest.raises(TypeError):
        main(f"{divided} --vary rank=1,2,4 --power paper --json".split())


def test_an_interrupted_series_goes_on(divided, capsys, monkeypatch):
    evaluate, done = evaluations.evaluate, []

    def interrupted(application, machine, **options):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(application.counts()["rank"])
        return evaluate(application, machine, **options)

    monkeypatch.setattr(evaluations, "evaluate", interrupted)
    assert main(f"{divided} --vary rank=1,2,4 --jobs 1".split()) == 130
    assert "2 of 3 are kept in the store" in capsys.readouterr().err
    done.clear()
    assert main(f"{divided} --vary rank=1,2,4 --jobs 1".split()) == 0
    assert done == [4]


def test_what_cannot_be_evaluated_has_an_error_line(divided, capsys):
    assert main(f"{divided} --vary rank=4,100 --json".split()) == 2
    out, err = capsys.readouterr()
    rows = json.loads(out)["series"]
    assert [row["time_s"] is None for row in rows] == [False, True]
    assert err.startswith("error: rank = 100: ")
    assert err.count("\n") == 1
    assert main(f"{divided} --vary rank=50,100".split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--out x", "--out: goes only with --vary"),
        ("--over rank", "--over: goes only with --vary"),
        ("--no-store", "--no-store: goes only with --vary"),
        ("--vary nodes=1", "no label or variable 'nodes'"),
        ("--vary costs=1,2", "--vary costs=...: costs is a list. Vary numbers"),
        ("--vary rank=1,2 --over work", "--over work: this is not varied"),
        ("--vary rank=1,2 --vary rank=4", "rank is varied twice"),
        ("--vary rank=1,2 --jobs 0", "--jobs 0: not positive"),
        ("--vary rank=1,2 --timeline x.json", "does not go with --vary"),
        ("--vary system=grid4x2,nowhere --system x", "no such"),
    ],
)
def test_wrong_options_are_one_line(tmp_path, words, message, capsys):
    path = tmp_path / "divided.toml"
    path.write_text(DIVIDED.replace("[variables]", "[variables]\ncosts = [1, 2]"))
    assert main(["run", str(path), "--system", "grid4x8", *words.split()]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_series_writes_a_table_and_figures(divided, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(f"{divided} --vary rank=1,2,4 --parts --failure-rate 1e-6 --out {folder}".split()) == 0
    names = {f"{name}.{ending}" for name in ("series", "pareto", "parts") for ending in ("png", "svg")}
    assert {path.name for path in folder.iterdir()} == {"series.csv", *names}
    with open(folder / "series.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        parts = [float(row[f"{name}_s"]) for name in ("computing", "sending", "waiting", "disk", "idle")]
        assert sum(parts) == pytest.approx(float(row["time_s"]))
    panels = (folder / "series.svg").read_text()
    assert panels.count('id="axes_') == 5  # time, speed-up, efficiency, energy, success
    assert "speed-up" in capsys.readouterr().out


def square(number):
    if number == 3:
        raise UserError("three", "not liked", "Take another")
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return evaluations.Result("squares", "none", (), float(number**2), os.getpid(), None, None)


def asked(numbers, **options):
    kept = pool.Kept("evaluation", evaluations.Result, options.pop("store", None))
    names = [str(one) for one in numbers]
    return pool.answers(numbers, square, [{"number": one} for one in numbers], kept, names=names, **options)


def test_a_pool_answers_in_order_and_keeps_errors_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "ALONE_S", 0.0)
    with Store(tmp_path) as store:
        found = asked([1, 2, 3, 4], jobs=2, store=store)
        assert [one.time_s for one in found if not isinstance(one, UserError)] == [1, 4, 16]
        assert str(found[2]) == "three: not liked. Take another."
        assert os.getpid() not in {one.nodes for one in found if not isinstance(one, UserError)}
        again = asked([1, 2, 4], jobs=2, store=store)
        assert [one.nodes for one in again] == [found[0].nodes, found[1].nodes, found[3].nodes]


def test_a_killed_process_is_one_line(monkeypatch):
    monkeypatch.setattr(pool, "ALONE_S", 0.0)
    with pytest.raises(UserError, match="--jobs 2: one of the processes was killed"):
        asked([13, 13, 13], jobs=2)
