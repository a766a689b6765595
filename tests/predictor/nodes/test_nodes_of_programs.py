"""``gridval plan nodes`` by the graph of a program: which models are asked, and what the search finds."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apps.options.runner import RunnerOptions
from apps.programs.problem import problem
from apps.spec.settings import Settings
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.platform import Cluster, Host, Platform
from platforms.prices.carbon import Carbon, Site, profile_of
from platforms.prices.options import CostQuestion
from platforms.prices.price import Price, Prices, read_prices
from platforms.read.read import materialise
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.space import ListedSpace, Space
from predictor.nodes import graph_driver
from predictor.nodes.alternatives import alternatives, gaining
from predictor.nodes.choice import chosen_models, split_network
from predictor.nodes.cli import main
from predictor.nodes.drivers import Estimates
from predictor.nodes.graph_driver import GraphDriver, first_configurations
from predictor.nodes.graph_groups import GroupEstimates
from predictor.nodes.options import NodesRequest
from predictor.nodes.study import Study
from predictor.series.front import pareto_front

ROOT = Path(__file__).parents[3]
JACOBI = f"--program {ROOT}/examples/jacobi/jacobi.c --program-iterations 20".split()


def test_one_switch_is_no_split_and_two_are():
    # The clusters of ichikawa-two-switches are on two switches, which one link of 1 Gbit/s joins.
    assert split_network(materialise(named_grid("ichikawa"))) is None
    said = split_network(materialise(named_grid("ichikawa-two-switches")))
    assert said == "between clusters xeon and celeron 8 nodes with 1.00 Gbit/s each share a link of 1.00 Gbit/s"


@pytest.mark.parametrize(
    ("app", "size", "processes", "name", "said"),
    [
        ("himeno", 64, (2, 2, 1), "npt", "like the one inside them"),
        # Panels: a Celeron computes its own only, but T_i of the Celerons has them compute all.
        ("hpl", 1600, (2, 2, 1), "dpgraph:known", "ranks of hpl compute panels one after another"),
        ("fft", 65536, (2, 2, 1), "npt:messages", "fft exchanges everything"),
        # FFT runs on powers of two, and no number of nodes times three is one.
        (
            "fft",
            65536,
            (3, 2, 1),
            "dpgraph:known",
            "no number of nodes that have 3 processes each",
        ),
        ("dot", 65536, (2, 2, 1), "npt", "like the one inside them"),
    ],
)
def test_the_default_is_the_model_that_sees_what_matters(app, size, processes, name, said):
    study = Study(app, materialise(named_grid("ichikawa")), Limits((8, 8, 8), processes))
    chosen = chosen_models(NodesRequest(app=app, size=size), study)
    assert chosen.name == name and said in chosen.why


def test_panels_in_turn_do_not_matter_where_all_nodes_are_alike():
    grid = named_grid("ichikawa")
    alike = replace(grid, clusters=tuple(replace(cluster, speed_flops=5e9) for cluster in grid.clusters))
    study = Study("hpl", materialise(alike), Limits((4, 4, 4), (2, 2, 1)))
    assert chosen_models(NodesRequest(app="hpl", size=1600), study).name == "npt"


def asked(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_choice_on_two_switches_does_not_rest_on_models_that_cannot_see_the_link(capsys, tmp_path):
    words = "--scenario ichikawa-two-switches --app fft --size 65536 --store".split()
    found = asked(capsys, *words, str(tmp_path))
    assert found["predictor"] == "dpgraph:known" and "share a link" in found["predictor_chosen_because"]


def test_the_program_of_a_user_gets_the_best_of_all_predictions_and_its_files(capsys, tmp_path):
    words = [*JACOBI, "--program-args", "512 {iterations} charged", "--scenario", "grid2x2", "--speeds", "40,80"]
    words += ["--store", str(tmp_path / "store"), "--write-hostfile", str(tmp_path / "hosts")]
    found = asked(capsys, *words)
    every = asked(capsys, *words, "--predictor", "dpgraph")
    assert found["predictor_chosen_because"].startswith("dpgraph:known was asked because it takes any program")
    assert found["chosen"] == every["chosen"]
    assert found["estimated_s"] == pytest.approx(every["estimated_s"], rel=0.01)
    assert (tmp_path / "hosts").read_text().split() == found["hostfile"]
    assert found["sbatch"][0].startswith("#SBATCH --partition=c")
    assert found["second_s"] >= found["estimated_s"] == min(one["time_s"] for one in found["front"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--scenario grid2x2 --speeds 1,2 --program examples/jacobi/jacobi.c --predictor npt",
            "its models need runs at several sizes, which jacobi has not",
        ),
        ("--scenario grid2x2 --speeds 1,2 --app hpl", "--size: not given"),
        ("--scenario grid2x2 --speeds 1,2 --app cg --class Q", "no such class"),
    ],
)
def test_what_does_not_fit_is_refused(refused, words, said):
    refused(main, [*words.split(), "--no-store"], said)


CLUSTERS = (
    Cluster("a", tuple(Host(f"a{n}", 1e9, 16) for n in range(8))),
    Cluster("b", tuple(Host(f"b{n}", 2e9, 4) for n in range(6))),
)
LIMITS = Limits((8, 6), (16, 4))
WORK_FLOPS = 64e9


def time_s(configuration):
    """The slowest rank's even share of the work, and 1 ms times the ranks for messages."""
    slowest = min(speed for (nodes, _), speed in zip(configuration.shares, (1e9, 2e9), strict=True) if nodes)
    return WORK_FLOPS / configuration.total / slowest + 1e-3 * configuration.total


@pytest.fixture
def searched(monkeypatch):
    """Return a driver whose estimates are ``time_s``, its space, and the configurations that were estimated."""
    seen = []

    def estimated(groups, pool):
        made = []
        for group in groups:
            shares = [shares_of(target.placement) for target in group.targets]
            seen.extend(shares)
            times = tuple(time_s(one) for one in shares)
            none = (None,) * len(times)
            made.append(GroupEstimates(times, none, ((),) * len(times), none, WORK_FLOPS, 1000, 0.0, 0.0, ()))
        return made

    monkeypatch.setattr(graph_driver, "estimates", estimated)
    platform = Platform("by hand", "/nowhere.xml", "", CLUSTERS)
    study = Study("ep", platform, LIMITS, fixed=problem("ep", "S"))
    driver = GraphDriver(study, Settings(), RunnerOptions(no_store=True))
    return driver, study.space(0), seen


def shares_of(placement):
    counts = {name: [host[0] for host in placement].count(name) for name in "ab"}
    nodes = {name: len({host for host in placement if host[0] == name}) for name in "ab"}
    return Configuration(tuple((nodes[name], counts[name] // nodes[name] if nodes[name] else 0) for name in "ab"))


def test_a_large_space_is_searched_near_the_best_and_its_optimum_found(searched):
    driver, space, seen = searched
    listed = driver.examined(space, 0)
    found = driver.estimate(listed, 0).choose(listed).configuration
    best = min(map(space.configuration, range(len(space))), key=time_s)
    assert time_s(found) == pytest.approx(time_s(best), rel=0.03)
    assert len(seen) == len(set(seen)) == len(listed) < len(space) / 10
    assert str(len(seen)) in driver.searched_text(space)


def test_all_of_a_space_are_examined_where_their_evaluation_is_short(searched, monkeypatch):
    driver, space, seen = searched
    monkeypatch.setattr(graph_driver, "MOST_RECORDINGS", len(space.ranks))
    driver.examined(space, 0)
    # By hand: 2.5 ms for each configuration, and 0.25 us for each of its 1000 messages.
    assert 2.75e-3 * len(space) < graph_driver._REST_S
    assert len(seen) + len(driver._bounded) == len(space)


def test_what_is_left_out_because_of_its_operations_is_slower_than_the_best(searched):
    driver, space, _ = searched
    listed = driver.examined(space, 0)
    best_s = driver.estimate(listed, 0).times_s.min()
    assert driver._bounded and all(time_s(one) > best_s for one in driver._bounded)


def test_the_first_configurations_hold_all_nodes_with_all_cores_and_each_cluster_alone():
    first = set(first_configurations(Space(LIMITS)))
    assert {
        Configuration(((8, 16), (6, 4))),
        Configuration(((8, 16), (0, 0))),
        Configuration(((0, 0), (1, 1))),
    } <= first


def test_fronts_knee_and_second_best_by_hand():
    space = Space(Limits((3,), (1,)))
    # T = 8, 5, 4.5 s on 1, 2, 3 nodes: 8, 10, 13.5 node-seconds; the least product is 10 * 5 = 50 on two nodes.
    estimates = Estimates(np.array([8.0, 5.0, 4.5]), energies_j=np.array([80.0, 110.0, 100.0]))
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", (Host("a", 1e9, 1),)),))
    # 3600 per node hour is 1 per node-second; 1200 g/kWh and 100 J are 1/30 g, 36 g per node hour 0.01 per node-second.
    site = Site(profile_of([1200.0], ""), embodied_g_per_node_hour=36.0)
    costs = CostQuestion(read_prices("3600USD"), Carbon(every=site))
    made = alternatives(space, estimates, platform, costs)
    assert [(str(one.configuration), one.best_of) for one in made.front] == [
        ("(3,1)", ("node-seconds", "energy", "cost", "carbon")),
        ("(2,1)", ("node-seconds", "cost", "carbon")),
        ("(1,1)", ("node-seconds", "energy", "cost", "carbon")),
    ]
    assert str(made.knee) == "(2,1)" and str(made.second) == "(2,1)"
    assert made.front[0].cost == pytest.approx(13.5)
    assert made.front[0].carbon_g == pytest.approx(100 / 3.6e6 * 1200 + 0.135)
    assert any("cost, USD" in line and "g CO2e" in line for line in made.lines(4.5))
    unknown = alternatives(space, estimates, platform, CostQuestion(Prices("USD", {"d": Price(1.0, "USD")}), None))
    assert unknown.front[0].cost is None and any("unknown" in line for line in unknown.lines(4.5))
    assert "the second best, (2,1), takes 11.1 % longer: 5.00 s" in made.lines(4.5)


def test_a_listed_space_has_its_configurations_in_the_order_of_the_whole():
    space = Space(LIMITS)
    some = [Configuration(((2, 3), (0, 0))), Configuration(((0, 0), (1, 1)))]
    listed = ListedSpace(space, some)
    assert [listed.configuration(row) for row in range(len(listed))] == some[::-1]
    assert listed.rows([*some, Configuration(((1, 1), (0, 0)))]).tolist() == [1, 0, -1]
    assert listed.count == space.count and listed.total.tolist() == [1, 6]


def test_a_problem_without_a_size_is_the_same_at_all_sizes():
    study = Study("ep", Platform("p", "/no", "", CLUSTERS), LIMITS, fixed=problem("ep", "S"))
    assert study.problem(0) == study.problem(100) == problem("ep", "S")
    with pytest.raises(UserError):
        Study("ep", Platform("p", "/no", "", CLUSTERS), Limits((9, 6), (1, 1)), fixed=problem("ep", "S"))


def test_a_front_leaves_out_what_gains_next_to_nothing():
    # Time and energy: 40 % more time for 0.1 % less energy is no alternative; for 10 % less it is one.
    points = [(1.0, 10.0), (1.4, 9.99), (1.5, 9.0), (2.0, 8.99), (3.0, 4.0)]
    assert gaining(points, pareto_front(points)) == [0, 2, 4]
