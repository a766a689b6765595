"""Distributions of run times on shared grids: their evaluation, the models' answers to load, and the command."""

import json
from dataclasses import dataclass, replace

import pytest

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.background.site import loaded_grid, loaded_platform
from platforms.background.statement import Availability, Draw
from platforms.grids.scenario import named_grid, read_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import fit
from predictor.background.cli import main
from predictor.background.forecast import time_under
from predictor.background.responses import AdditiveResponse, response, stretches
from predictor.base import HostLoad, OutOfRange, Prediction
from predictor.evidence.broker import Broker
from predictor.registry import predictor

GRID = named_grid("grid2x2", None, [30e9, 90e9])
QUIET_LINKS = dict.fromkeys((link.name for link in GRID.wan_links), 1.0)
ASKED = "--scenario grid2x2 --speeds 30,90 --app ep --class S --draws 10 --no-store".split()


@dataclass(frozen=True)
class Work:
    """Nodes that compute for 10 s each on a quiet grid, and wait this many times for one another."""

    waits: int

    def under(self, draw):
        return lambda shares: max(10.0 / share for share in shares)


def target(app="ep", grid=GRID):
    platform = materialise(grid)
    return Target(problem(app, "S"), platform, block(platform, len(platform.hosts)))


def test_the_time_of_a_run_is_that_in_which_its_work_is_done():
    # Every 3 s a node does 2 s of work: 10 s of work take 5 periods.
    nodes = {"c1-0": Availability((0.5, 1.0), (2.0, 1.0))}
    one = replace(target(), placement=("c1-0",))
    for waits in (1, 1000):
        assert time_under(Work(waits), one, Draw(nodes, {}, {})) == pytest.approx(15.0, rel=1e-3)


def test_nodes_that_wait_for_one_another_go_at_the_pace_of_the_slowest():
    # The nodes take turns at half the speed: each does 1.5 s of work in 2 s, but both together only 1 s.
    halves = Availability((0.5, 1.0), (1.0, 1.0)), Availability((1.0, 0.5), (1.0, 1.0))
    two, draw = replace(target(), placement=("c1-0", "c1-1")), Draw({"c1-0": halves[0], "c1-1": halves[1]}, {}, {})
    assert time_under(Work(1000), two, draw) == pytest.approx(20.0)
    assert time_under(Work(1), two, draw) == pytest.approx(13.5, abs=0.01)  # 6 periods make 9 s; the slower: 0.5 in 1 s


def test_hcf_divides_computation_by_the_shares_and_stretches_messages():
    one = target()
    loads = {
        host: HostLoad(time_s, time_s, time_s) for host, time_s in zip(one.placement, (3.0, 3.0, 2.0, 2.0), strict=True)
    }
    quiet = Prediction(3.5, parts={"compute_s": 3.0, "comm_s": 0.5}, loads=loads)
    answer = AdditiveResponse(one, GRID, quiet)
    assert answer.under(Draw({}, QUIET_LINKS, QUIET_LINKS))((1.0, 1.0, 0.5, 1.0)) == pytest.approx(4.0 + 0.5)
    # 50 + 50 + 100 + 50 + 50 us from end to end; the wide area then has 200 us more.
    slow = Draw({}, QUIET_LINKS, dict.fromkeys(QUIET_LINKS, 3.0))
    assert answer.under(slow)((1.0,) * 4) == pytest.approx(3.0 + 0.5 * 500 / 300)


def test_a_wide_area_link_counts_only_where_it_is_the_narrowest():
    # Node links have 1 Gbit/s, wide-area links 10.
    for left, slower in ((0.5, 1.0), (0.05, 2.0)):
        draw = Draw({}, dict.fromkeys(QUIET_LINKS, left), QUIET_LINKS)
        assert stretches(GRID, loaded_grid(GRID, draw))["c1", "c2"].rate == pytest.approx(slower)


def test_a_model_that_does_not_split_its_time_is_refused():
    with pytest.raises(OutOfRange, match="Use hcf, hcf:constant, dpgraph or dpgraph:known"):
        response(object(), target(), GRID, Prediction(1.0))


@pytest.mark.parametrize("wan", ["", 'shape = "star"', "duplex = true"])
def test_the_graphs_follow_loaded_nodes_and_links(tmp_path, wan):
    (tmp_path / "grid.toml").write_text(
        f"wan = {{ {wan} }}\n" + "".join(f"[[clusters]]\nnodes = 2\nspeed_gflops = {speed}\n" for speed in (20, 40))
    )
    grid = read_grid(str(tmp_path / "grid.toml"))
    names = [link.name for link in grid.wan_links]
    draw = Draw({"c1-0": Availability((0.2,), ())}, dict.fromkeys(names, 0.06), dict.fromkeys(names, 4.0))
    one = target("mg", grid)
    with Runner(jobs=2) as runner:
        broker = Broker.of(Settings(), [one], runner)
        true_s = runner.record(Settings().spec(replace(one, platform=loaded_platform(grid, draw)))).time_s
        assert true_s > 1.5 * runner.record(Settings().spec(one)).time_s
        for name, most in (("dpgraph", 0.03), ("dpgraph:known", 1e-3)):
            model, _ = fit(predictor(name), [one], broker)
            found_s = time_under(response(model, one, grid, model.predict(one)), one, draw)
            assert found_s == pytest.approx(true_s, rel=most), name


def test_the_distribution_of_a_constant_load_is_its_time(tmp_path, capsys):
    (tmp_path / "half.toml").write_text("[nodes]\navailability = { kind = 'constant', value = 0.5 }\n")
    assert main([*ASKED, "--background", str(tmp_path / "half.toml"), "--predictor", "dpgraph:known", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["forecasts"]
    assert len(found["times_s"]) == 10
    assert min(found["times_s"]) == max(found["times_s"]) == found["interval_s"][0]
    assert found["times_s"][0] == pytest.approx(2 * found["quiet_s"], rel=0.05)  # all but its messages


def test_the_command_prints_quantiles_and_refusals(capsys):
    assert main([*ASKED, "--background", "bursts", "--predictor", "dpgraph:known,fit:log"]) == 0
    out = capsys.readouterr().out
    assert "quantiles of 10 draws of background bursts" in out
    assert "dpgraph:known" in out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--background", "none"], "no such background"),
        (["--background", "bursts", "--draws", "3"], "--draws 3: out of its range. Give 10 to 10000"),
        (["--background", "bursts", "--seed", "-1"], "--seed -1: out of its range"),
        (["--background", "bursts", "--predictor", "nobody"], "no such model"),
    ],
)
def test_wrong_options_are_one_line(more, said, capsys):
    assert main([*ASKED, *more]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_platform_file_gives_the_distribution_of_the_grid_that_it_is_made_of(tmp_path, capsys):
    # The file has the grid's hosts and links, so that equal draws give equal times.
    options = (
        "--app ep --class S --draws 10 --no-store --predictor hcf:constant --background workstations --json".split()
    )
    assert main([*ASKED, *options[4:]]) == 0
    of_grid = json.loads(capsys.readouterr().out)["forecasts"][0]["times_s"]
    file = materialise(GRID).path
    assert main(["--platform", str(file), *options]) == 0
    assert json.loads(capsys.readouterr().out)["forecasts"][0]["times_s"] == pytest.approx(of_grid, rel=1e-9)


def test_a_load_of_the_wide_area_needs_wide_area_links(tmp_path, capsys):
    load = tmp_path / "load.toml"
    load.write_text('[wan]\nbandwidth = { kind = "constant", value = 0.5 }\n')
    file = materialise(named_grid("kask")).path
    assert main(["--platform", str(file), "--background", str(load), "--app", "ep", "--no-store"]) == 2
    said = capsys.readouterr().err
    assert "no link is crossed between clusters alone. Tell the clusters with --clusters" in said
    assert said.count("\n") == 1


def test_a_program_of_ones_own_takes_longer_as_its_nodes_lose_shares(computing, capsys):
    asked = ["--background", "workstations", "--scenario", "grid2x2", "--speeds", "40,40", "--draws", "10"]
    asked += ["--program", str(computing), "--program-args", "16e11", "--predictor", "dpgraph:known", "--no-store"]
    assert main([*asked, "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["forecasts"]
    # By hand: 16e11 operations on 4 nodes of 40 Gflop/s; no load makes a run shorter.
    assert made["quiet_s"] == pytest.approx(10, rel=1e-2)
    assert min(made["times_s"]) >= made["quiet_s"]
    assert max(made["times_s"]) > 1.01 * made["quiet_s"]
