"""``gridval plan grid``: its output files, and the design files of the documentation."""

import json
import re
import shutil
from pathlib import Path

import pytest

from platforms.files.writing import check_writable
from platforms.grids.scenario import read_grid
from platforms.grids.xml import platform_xml
from platforms.read.read import materialise
from predictor.base import Cost
from predictor.grid import cli
from predictor.grid.cli import main
from predictor.grid.graph_times import GraphTimes
from predictor.grid.output import scenario_text, text
from predictor.grid.request import read_request
from predictor.grid.search import Search
from predictor.grid.space import Refused, candidates
from validation.run import main as validate

ROOT = Path(__file__).parents[3]

SLOW = '[[nodes]]\nname = "slow"\nspeed_gflops = 40\nprice = 400\n'
FAST = '[[nodes]]\nname = "fast"\nspeed_gflops = 70\nprice = 650\n'
IDEAL = '[[networks]]\nname = "ideal"\n'
EP = '[[programs]]\napp = "ep"\nclass = "S"\n'
CG = '[[programs]]\napp = "cg"\nclass = "S"\n'


def test_the_best_grid_is_written_as_a_scenario_that_every_command_reads(design, tmp_path, capsys):
    network = """[[networks]]
name = "office"
network = "gigabit"
node = { bandwidth_gbit_s = 2.5 }
backbone = { latency_us = 7.3 }
wan = { shape = "star", duplex = true, bandwidth_gbit_s = 3 }
options = { "network/crosstraffic" = "no" }
"""
    power = "power = { idle_w = 55.5, full_w = 180 }\ncores = 2\n"
    path = design(FAST + power, network, CG, EP, budget=2600, clusters="most = 2\nleast = 2\nsizes = [2]")
    scenario, hosts = tmp_path / "best.toml", tmp_path / "hosts"
    emissions = ["--carbon", "500", "--pue", "1.2", "--embodied", "36"]
    assert main([str(path), "--json", "--write", str(scenario), "--write-hostfile", str(hosts), *emissions]) == 0
    best = json.loads(capsys.readouterr().out)["best"][0]
    # By hand: 720 W for the sum of the times at 500 g/kWh, and 4 nodes with 0.01 g each in a second.
    assert best["most_carbon_g"] == pytest.approx(best["weighted_sum_s"] * (720 / 3.6e6 * 1.2 * 500 + 4 * 0.01))
    assert best["clusters"] == [{"kind": "fast", "nodes": 2, "ranks_per_node": 2}] * 2
    assert best["price"] == 2600
    assert best["full_power_w"] == 4 * 180
    (candidate,) = candidates(read_request(path))
    read = read_grid(scenario)
    assert platform_xml(read) == platform_xml(candidate.grid())
    assert [cluster.node_power.full_w for cluster in read.clusters] == [180, 180]
    predicted = {program["app"]: program["predicted_s"] for program in best["programs"]}
    command = f"--scenario {scenario} --app cg,ep --class S --hostfile {hosts} --predictor dpgraph:known --json"
    assert validate(command.split()) == 0
    for result in json.loads(capsys.readouterr().out)["results"]:
        assert result["ranks"] == 8
        assert result["simulated_s"] == pytest.approx(predicted[result["app"]], rel=1e-3)


def test_a_scenario_says_only_what_its_network_does_not(design):
    path = design(SLOW, '[[networks]]\nname = "gigabit"\n', EP, clusters="most = 1\nsizes = [2]")
    (candidate,) = candidates(read_request(path))
    lines = ['source = "x"', 'network = "gigabit"', "", "[[clusters]]", 'name = "slow_1"', "nodes = 2"]
    assert scenario_text(candidate, "x").splitlines() == [*lines, "speed_gflops = 40", "cores = 1"]


@pytest.mark.parametrize("option", ["--write", "--write-hostfile"])
def test_a_place_that_cannot_be_written_is_refused_before_the_search(option, design, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "times_for", None)  # nothing gets so far
    for place in (tmp_path / "none" / "x.toml", tmp_path, ""):
        assert main([str(design(SLOW, IDEAL, EP)), option, str(place)]) == 2
        out, err = capsys.readouterr()
        assert not out and err.startswith(f"error: {option}") and err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["design.toml"]


def test_asking_whether_a_file_can_be_written_leaves_all_as_it_is(tmp_path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("mine")
    link.symlink_to(tmp_path / "new")
    for path in (there, link, tmp_path / "new"):
        check_writable("--write", str(path))
    assert there.read_text() == "mine"
    assert link.is_symlink() and not link.exists()


def test_results_are_shown_even_if_they_cannot_be_written_after_all(design, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "check_writable", lambda option, path: None)  # as if the disk filled up meanwhile
    path = design(SLOW, IDEAL, EP, clusters="most = 1\nsizes = [2]")
    assert main([str(path), "--write", str(tmp_path / "none" / "x.toml")]) == 2
    out, err = capsys.readouterr()
    assert "2 slow" in out
    assert "x.toml: cannot be written: No such file or directory" in err


def test_designed_grids_can_be_loaded_by_simgrid(design):
    path = design(SLOW, '[[networks]]\nname = "gigabit"\n', EP, budget=1e9, clusters="most = 2\nleast = 2\nsizes = [2]")
    platform = materialise(candidates(read_request(path))[0].grid())
    assert [cluster.name for cluster in platform.clusters] == ["slow_1", "slow_2"]


def test_tables_say_what_was_found_and_how(design, capsys):
    path = design(SLOW, FAST, IDEAL, EP, top='currency = "EUR"', clusters="most = 2\nmost_nodes = 4")
    assert main([str(path), "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "grids for at most 2600 EUR, by dpgraph:known" in out
    assert "ruled out by bounds" in " ".join(out.split())
    head, first = out[out.index("price ") :].splitlines()[:2]
    assert head.split() == "price grid network ranks full W ep S s sum s".split()
    assert first.split()[:5] == ["2600", "4", "fast", "ideal", "4"]
    assert main([str(path), "--budget", "649", "--no-front"]) == 0
    out = capsys.readouterr().out
    assert "1 slow" in out and "fast" not in out and "front" not in out


def test_an_interrupted_search_shows_what_it_has(design, capsys, monkeypatch):
    class Interrupted(GraphTimes):
        calls = 0

        def times(self, candidate):
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().times(candidate)

    monkeypatch.setattr(cli, "times_for", lambda name, *asked: Interrupted(*asked))
    path = design(SLOW, FAST, IDEAL, EP)
    assert main([str(path), "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert not found["complete"] and found["evaluated"] == 2
    assert main([str(path)]) == 130
    assert "caution: interrupted" in capsys.readouterr().out


def test_the_example_can_be_read():
    request = read_request(ROOT / "examples" / "grid-design.toml")
    assert [kind.name for kind in request.nodes] == ["slow", "middle", "fast"]
    assert len(candidates(request)) == 276


def test_the_documented_file_can_be_read(tmp_path):
    page = (ROOT / "docs" / "planning" / "grid-design.md").read_text()
    path = tmp_path / "documented.toml"
    path.write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    shutil.copytree(ROOT / "examples" / "jacobi", tmp_path / "jacobi")
    request = read_request(path)
    assert [str(program.problem) for program in request.programs] == ["cg A", "hpl 4000 nb=32", "jacobi-4000"]
    assert request.networks[0].node.bandwidth_Bps == 2.5e9 / 8


@pytest.mark.parametrize(
    ("top", "said"),
    [
        ("", "a rank on each core"),
        ("ranks_per_node = 1", "1 rank on each node"),
        ("ranks_per_node = 4", "4 ranks on each node"),
    ],
)
def test_a_design_says_how_many_ranks_it_is_for(top, said, design):
    request = read_request(design(SLOW + "cores = 4\n", IDEAL, EP, top=top))
    shown = text(request, Search([], [1.0], top=1), Refused(0, {}), predictor="dpgraph:known", cost=Cost())
    assert shown.splitlines()[1] == f"every program on all nodes of the grid, {said}; the sum is weighted"


def test_a_program_of_ones_own_chooses_the_grid_by_its_graph(design, computing, capsys):
    own = f'[[programs]]\nfile = "{computing.name}"\narguments = "28e11"\nname = "work"\nweight = 3\n'
    path = design(SLOW + FAST, IDEAL, own, budget=1300, clusters="most = 1\nmost_nodes = 3")
    assert main([str(path), "--json", "--no-store"]) == 0
    best = json.loads(capsys.readouterr().out)["best"][0]
    # By hand: 1300 buys 3 nodes of 40 Gflop/s, which take 28e11 / 120e9 = 23.3 s, or 2 of 70, which take 20 s.
    assert best["clusters"] == [{"kind": "fast", "nodes": 2, "ranks_per_node": 1}]
    (program,) = best["programs"]
    assert program["app"] == "work" and program["predicted_s"] == pytest.approx(20, rel=1e-3)
    assert main([str(path), "--json", "--no-store", "--program", str(computing), "--program-args", "56e11"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["best"][0]["programs"]
    assert program["app"] == "computing" and program["predicted_s"] == pytest.approx(40, rel=1e-3)


def test_the_design_file_says_which_keys_name_a_program(design, refused):
    path = design(SLOW, IDEAL, '[[programs]]\napp = "cg"\nfile = "halo.c"\n')
    refused(main, [str(path)], "'app' or 'file' is needed, and one of them only")
    path = design(SLOW, IDEAL, '[[programs]]\napp = "cg"\nclass = "S"\nflags = "-O2"\n')
    refused(main, [str(path)], "'flags' does not go with 'app'")
    refused(main, [str(path), "--class", "A"], "--class A: goes with --app")
