"""The command ``gridval series measured``: measured runs of a cluster, predicted from a few of them."""

import csv
import json
from pathlib import Path

import pytest

from validation.measured.cli import main
from validation.measured.runs import Run, filled_nodes

REAL = Path(__file__).parents[3] / "examples" / "real"
RUNS, CLUSTER = REAL / "npb-raspberry-pi.csv", REAL / "raspberry-pi.xml"


def command(*words, runs=RUNS):
    return main([str(runs), "--platform", str(CLUSTER), *words])


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr("builtins.print", lines.append)
        words = ["--evidence", "1,2,8@8,ft:64@16", "--apart", "cg:32@8"]
        assert command(*words, "--out", f"{folder}/runs.csv", "--picture", f"{folder}/runs.png", "--json") == 0
    return json.loads(lines[-1]), folder


def row(shown, app, preset, ranks, nodes):
    (found,) = [
        one
        for one in shown[0]["runs"]
        if (one["app"], one["class"], one["ranks"], one["nodes"]) == (app, preset, ranks, nodes)
    ]
    return found


def test_the_judged_runs_of_the_raspberry_pis_are_within_a_quarter(shown):
    judged = shown[0]["summary"]["judged"]
    assert judged["runs"] == 34
    assert judged["median_error"] < 0.15 and judged["largest_error"] < 0.25
    assert judged["within"] == 34


def test_runs_have_their_role_or_the_reason_why_they_have_none(shown):
    assert {role: one["runs"] for role, one in shown[0]["summary"].items()} == {
        "judged": 34, "apart": 1, "other class": 3, "left out": 16,
    }  # fmt: skip
    refused = {(one["app"], one["class"]) for one in shown[0]["runs"] if one["predicted_s"] is None}
    assert refused == {("bt", "D"), ("sp", "D"), ("ep", "F"), ("is", "D")}  # of IS, that of 8 ranks alone


def test_placements_by_filling_nodes_are_found_from_the_times_of_other_programs(shown):
    filled = {(one["ranks"], one["nodes"]): one["filled_nodes"] for one in shown[0]["runs"] if one["filled_nodes"]}
    assert filled == {(16, 8): 4, (32, 16): 8, (25, 8): 7, (25, 16): 7}
    for app, preset, spread in (("cg", "C", (16, 8)), ("ft", "C", (16, 8)), ("is", "D", (32, 16))):
        on_fewer = row(shown, app, preset, spread[0], spread[0] // 4)
        assert row(shown, app, preset, *spread)["predicted_s"] == pytest.approx(on_fewer["predicted_s"], rel=1e-6)


def test_the_times_of_a_run_itself_do_not_tell_its_placement():
    # MG slows down on busy cores, and takes as long on 8 nodes as on 4; of CG, the target, any time may be given.
    times = {("mg", 4): 50, ("mg", 8): 50, ("mg", 16): 20, ("cg", 4): 300, ("cg", 8): 300, ("cg", 16): 90}
    for other_s in (150, 300):
        times["cg", 8] = other_s
        runs = [Run(app, "C", 16, nodes, time_s) for (app, nodes), time_s in times.items()]
        filled = filled_nodes(runs, cores=4)
        assert filled.get(Run("cg", "C", 16, 8, other_s)) == 4
        assert (Run("mg", "C", 16, 8, 50) in filled) == (other_s == 300)
        assert not [run for run in filled if run.nodes != 8]


def test_one_run_with_many_all_to_all_messages_tells_of_those_of_another_program(shown):
    # FT on 64 ranks is evidence; IS on 64 and 32 ranks was -40 and -48 % without it.
    assert abs(row(shown, "is", "D", 64, 16)["error"]) < 0.25
    assert abs(row(shown, "is", "D", 32, 16)["error"]) < 0.25
    assert row(shown, "is", "D", 64, 16)["within"] and row(shown, "is", "D", 32, 16)["within"]


def test_ep_divides_the_work_of_the_evidence(shown):
    # By hand: EP has hardly any messages: 16 ranks on 16 nodes do what 8 on 8 do in half of their 465.23 s.
    assert row(shown, "ep", "D", 16, 16)["predicted_s"] == pytest.approx(465.23 / 2, rel=1e-3)
    # With four busy cores, the geometric mean of 4 x 960.64 and 8 x 644.95 core-seconds.
    mean = (4 * 960.64 * 8 * 644.95) ** 0.5
    assert row(shown, "ep", "D", 64, 16)["predicted_s"] == pytest.approx(mean / 64, rel=1e-3)
    assert row(shown, "ep", "D", 32, 16)["predicted_s"] == pytest.approx(mean / 32, rel=1e-3)  # they fill 8 nodes


def test_a_table_and_a_picture_are_written(shown):
    rows = list(csv.DictReader((shown[1] / "runs.csv").open()))
    assert len(rows) == len(shown[0]["runs"]) == 68
    assert (shown[1] / "runs.png").stat().st_size > 20_000


def test_other_times_of_judged_runs_change_no_prediction(tmp_path, capsys):
    lines = [line for line in RUNS.read_text().splitlines() if line.startswith(("app", "cg,C", "mg,C"))]
    predicted = []
    for other in ("106.64", "5"):
        content = "\n".join(lines).replace("cg,C,64,16,106.64", f"cg,C,64,16,{other}")
        (tmp_path / "runs.csv").write_text(content + "\n")
        assert command("--json", runs=tmp_path / "runs.csv") == 0
        predicted.append([one["predicted_s"] for one in json.loads(capsys.readouterr().out)["runs"]])
    assert predicted[0] == predicted[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--evidence 8x8", "'8x8' is no choice. Write for example 1,2,8@8"),
        ("--evidence 5", "it has no run of a known program"),
        ("--picture runs.txt", "--picture runs.txt"),
        ("--out nowhere/runs.csv", "nowhere/runs.csv: cannot be written"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(capsys, words, said):
    assert command(*words.split()) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("app,class,ranks,time_s\n", "no column nodes"),
        ("app,class,ranks,nodes,time_s\n", "no runs"),
        ("app,class,ranks,nodes,time_s\ncg,C,0,1,2\n", "runs.csv:2: ranks is '0'"),
        ("app,class,ranks,nodes,time_s\ncg,C,4,1,soon\n", "runs.csv:2: time_s is 'soon'"),
        ("app,class,ranks,nodes,time_s\ncg,,4,1,2\n", "runs.csv:2: no class"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, capsys, text, said):
    (tmp_path / "runs.csv").write_text(text)
    assert command(runs=tmp_path / "runs.csv") == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_runs_that_do_not_fit_the_cluster_are_left_out_with_the_reason(tmp_path, capsys):
    file = tmp_path / "runs.csv"
    lines = ["ep,S,1,1,2", "ep,S,32,2,1", "ep,S,2,3,1", "ep,S,17,17,1", "ep,S,4,4,0.6"]
    file.write_text("\n".join(["app,class,ranks,nodes,time_s", *lines]) + "\n")
    assert command(runs=file) == 0
    out = capsys.readouterr().out
    for said in ("16 ranks share the 4 cores", "fewer ranks than nodes", "raspberry-pi has 16 nodes"):
        assert said in out
    assert "judged: 1 run, median error 16." in out  # by hand: a quarter of 2 s is 0.5 and not 0.6, and some messages


def test_runs_of_a_program_of_ones_own_are_predicted_from_its_recordings(computing, tmp_path, capsys):
    # By hand: on a machine that takes 3/2 of the time of the platform's cores, 48e11 operations take 180 s on one node
    # of 40 Gflop/s, 90 s on two and 45 s on four; one run is another time, which no prediction may know.
    platform, runs = tmp_path / "cluster.toml", tmp_path / "runs.csv"
    platform.write_text('network = "ideal"\n[[clusters]]\nname = "c"\nnodes = 4\nspeed_gflops = 40\n')
    shown = []
    for last_s in (45, 99):
        rows = [
            "app,class,ranks,nodes,time_s",
            "computing,x,1,1,180",
            "computing,x,2,2,90",
            f"computing,x,4,4,{last_s}",
        ]
        runs.write_text("\n".join(rows) + "\n")
        words = ["--program", str(computing), "--program-args", "48e11", "--evidence", "1,2", "--json"]
        assert main([str(runs), "--platform", str(platform), *words]) == 0
        shown.append({row["ranks"]: row for row in json.loads(capsys.readouterr().out)["runs"]})
    for found in shown:
        assert found[4]["predicted_s"] == pytest.approx(45, rel=1e-3)
    assert shown[0][4]["error"] == pytest.approx(0, abs=1e-3)
