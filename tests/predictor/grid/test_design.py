"""The search for the best grid, checked by hand where possible and otherwise against an exhaustive evaluation."""

import json
import random
import sys
from itertools import combinations_with_replacement

import pytest

from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.store import Store
from predictor.grid import space
from predictor.grid.cli import main
from predictor.grid.graph_times import GraphTimes
from predictor.grid.request import read_request
from predictor.grid.search import GridTimes, NoAnswer, PredictorTimes, Search
from predictor.grid.space import candidates
from predictor.registry import predictor

# Round prices, so that budgets can be checked by hand.
SLOW = '[[nodes]]\nname = "slow"\nspeed_gflops = 40\nprice = 400\n'
FAST = '[[nodes]]\nname = "fast"\nspeed_gflops = 70\nprice = 650\n'
IDEAL = '[[networks]]\nname = "ideal"\n'
EP = '[[programs]]\napp = "ep"\nclass = "S"\n'
CG = '[[programs]]\napp = "cg"\nclass = "S"\n'


def silent(*_):
    pass


@pytest.fixture(scope="module")
def runner():
    with Store() as store, Runner(jobs=1, store=store) as made:
        yield made


def searched(path, runner, *, top=5, exhaustive=False, with_front=True, model=None, settings=None):
    """Return the finished search of a design file, by dpgraph:known's graphs or by a predictor grid by grid."""
    request, settings = read_request(path), settings or Settings()
    weights = [program.weight for program in request.programs]
    found = Search(candidates(request), weights, top=top, exhaustive=exhaustive, with_front=with_front)
    if model is None:
        times = GraphTimes(request, settings, runner)
    else:
        times = PredictorTimes(predictor(model), request, settings, runner)
    found.run(times, silent)
    return found


def row(one):
    return str(one.candidate), one.candidate.network.name, one.candidate.price, one.times_s, one.value_s


# Candidates.


def test_price_is_that_of_nodes_ports_backbones_rooms_and_wide_area_links(design):
    network = '[[networks]]\nname = "gigabit"\nnode_port_price = 10\nbackbone_price = 100\nwan_link_price = 1000\n'
    path = design(SLOW, network, EP, budget=1e6, clusters="least = 3\nmost = 3\nsizes = [2]\nprice = 7")
    (only,) = candidates(read_request(path))
    # 6 nodes of 400 and their ports, 3 clusters, and in a mesh of 3 clusters 3 links; by hand.
    assert only.price == 6 * (400 + 10) + 3 * (100 + 7) + 3 * 1000
    star = network.replace("\n", '\nwan = { shape = "star" }\n', 1)
    path = design(SLOW, star, EP, budget=1e6, clusters="least = 4\nmost = 4\nsizes = [1]")
    assert candidates(read_request(path))[0].price == 4 * 410 + 4 * 100 + 4 * 1000  # a star of 4 has 4 links


def test_a_lone_cluster_needs_no_wide_area_link(design):
    network = IDEAL + "wan_link_price = 1000000\n"
    path = design(SLOW, network, EP, budget=400, clusters="most = 3\nmost_nodes = 4")
    assert [str(one) for one in candidates(read_request(path))] == ["1 slow"]


def test_every_grid_of_the_lattice_stands_there_once(design):
    # Clusters: slow or fast with 1, 2 or 3 nodes, 6 in all; one of them, or an unordered pair: 6 + 6 * 7 / 2.
    path = design(SLOW, FAST, IDEAL, EP, budget=1e9, clusters="most = 2\nmost_nodes = 3")
    found = candidates(read_request(path))
    assert len(found) == len({str(one) for one in found}) == 27


def test_no_more_nodes_of_a_kind_than_there_are(design):
    path = design(SLOW + "most = 3\n", FAST, IDEAL, EP, budget=1e9, clusters="most = 2\nmost_nodes = 2")
    # Clusters of 2 and 2 slow nodes are too many: 4 + 4 * 5 / 2 - 1.
    found = [str(one) for one in candidates(read_request(path))]
    assert len(found) == 13
    assert "2 slow + 2 slow" not in found


@pytest.mark.parametrize("seed", range(4))
def test_the_lattice_is_all_multisets_of_clusters_that_can_be_paid(seed, design):
    (nodes, networks, _), budget = random_design(seed)
    nodes = nodes.replace("cores", "most = 5\ncores", 1)
    request = read_request(
        design(nodes, networks, EP, budget=budget, clusters="least = 2\nmost = 3\nsizes = [1, 2, 5]")
    )
    options = [(kind, size) for kind in request.nodes for size in (5, 2, 1)]
    wanted = {
        (network.name, parts)
        for network in request.networks
        for clusters in (2, 3)
        for parts in combinations_with_replacement(options, clusters)
        if space.price_of(request, network, parts) <= budget
        and sum(size for kind, size in parts if kind is request.nodes[0]) <= 5
    }
    found = [(one.network.name, one.parts) for one in candidates(request)]
    assert len(found) == len(wanted) > 10
    assert set(found) == wanted


def test_sizes_that_are_too_dear_take_no_time(design, monkeypatch):
    prices = []
    price_of = space.price_of
    monkeypatch.setattr(space, "price_of", lambda *args: prices.append(price_of(*args)) or prices[-1])
    found = [
        list(
            map(str, candidates(read_request(design(SLOW, FAST, IDEAL, EP, clusters=f"most = 3\nmost_nodes = {most}"))))
        )
        for most in (6, 100_000)  # 2600 buys 6 nodes
    ]
    assert found[0] == found[1]
    assert len(prices) < 40 * len(found[1])  # one and two bisections of 17 steps each, for a grid and those that follow


def test_more_clusters_than_python_has_levels_of_calls(design):
    most = 2 * sys.getrecursionlimit()
    ep = EP.replace('"S"', '"A"')  # 4096 batches; class S has 256
    path = design(SLOW, IDEAL, ep, budget=1e9, clusters=f"least = {most}\nmost = {most}\nsizes = [1]")
    assert [one.nodes for one in candidates(read_request(path))] == [most]


def test_a_lone_cluster_stands_there_once_for_all_wide_area_networks(design):
    # Gigabit and metro differ only in their wide-area links; infiniband differs in everything.
    networks = [f'[[networks]]\nname = "{name}"\n' for name in ("gigabit", "metro", "infiniband")]
    networks[0] += "backbone_price = 1\n"
    path = design(SLOW, *networks, EP, budget=1e9, clusters="most = 2\nsizes = [2]")
    found = [(len(one.parts), one.network.name) for one in candidates(read_request(path))]
    assert found == [(2, "gigabit"), (1, "metro"), (2, "metro"), (1, "infiniband"), (2, "infiniband")]


def test_a_budget_that_is_met_to_the_cent_is_enough(design):
    path = design(SLOW.replace("400", "0.1"), IDEAL, EP, budget=0.3, clusters="most = 1\nsizes = [3]")
    assert len(candidates(read_request(path))) == 1  # 3 * 0.1 is more than 0.3 in binary


def test_programs_have_their_say_on_the_number_of_ranks(design):
    fft = '[[programs]]\napp = "fft"\nsize = 4096\n'  # powers of two only
    path = design(SLOW, IDEAL, EP, fft, budget=1e9, clusters="most = 1\nmost_nodes = 8")
    assert [one.ranks for one in candidates(read_request(path))] == [8, 4, 2, 1]


def test_numbers_of_ranks_that_a_kernel_refuses_are_left_out_with_one_caution(design, capsys):
    # LU S has 12 points along an axis and each rank needs two: 7 ranks make a row of 7.  HCF's probe of one node would
    # not notice.
    lu = '[[programs]]\napp = "lu"\nclass = "S"\n'
    path = design(SLOW, '[[networks]]\nname = "gigabit"\n', lu, budget=1e9, clusters="most = 1\nmost_nodes = 8")
    assert [one.ranks for one in candidates(read_request(path))] == [8, 6, 5, 4, 3, 2, 1]
    assert main([str(path), "--predictor", "hcf", "--top", "9"]) == 0
    out = capsys.readouterr().out
    assert "7 slow" not in out and "8 slow" in out
    assert out.count("does not run") == 1
    assert "caution: 1 grid within the budget is left out: lu S does not run on 7 ranks\n" in out
    assert main([str(path), "--predictor", "hcf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refused"] == {"grids": 1, "ranks": {"lu S": [7]}}


def test_every_program_that_refuses_is_named_and_long_lists_of_ranks_are_cut(design):
    lu, fft = '[[programs]]\napp = "lu"\nclass = "S"\n', '[[programs]]\napp = "fft"\nsize = 4096\n'
    path = design(SLOW, IDEAL, lu, fft, budget=1e9, clusters="most = 1\nmost_nodes = 16")
    found = space.affordable(read_request(path))
    assert [one.ranks for one in found.candidates] == [16, 8, 4, 2, 1]
    assert found.refused.grids == 11
    assert str(found.refused) == (
        "fft 4096 does not run on 3, 5, 6, 7, 9, 10, 11, 12 and 3 other numbers of ranks; "
        "lu S does not run on 7, 11, 13, 14 ranks"
    )


def test_where_no_number_of_ranks_runs_the_error_says_which_program_refuses(design, capsys):
    lu = '[[programs]]\napp = "lu"\nclass = "S"\n'
    path = design(SLOW, IDEAL, lu, budget=1e9, clusters="most = 1\nsizes = [7, 11]")
    assert main([str(path), "--predictor", "hcf"]) == 2
    expected = "a number of ranks on which all programs run: lu S does not run on 7, 11 ranks. Give other sizes"
    assert expected in capsys.readouterr().err


def test_is_needs_keys_for_every_rank(design):
    keys = '[[programs]]\napp = "is"\nclass = "S"\n'  # 2^16 keys, more than 20 for each rank
    path = design(SLOW, IDEAL, keys, budget=1e9, clusters="most = 1\nsizes = [3120, 3121]")
    assert [one.ranks for one in candidates(read_request(path))] == [3120]


def test_there_is_a_rank_on_each_core_unless_told_otherwise(design):
    kinds = (SLOW + "cores = 4\n", FAST)
    path = design(*kinds, IDEAL, EP, budget=1e9, clusters="most = 2\nleast = 2\nsizes = [2]")
    mixed = next(one for one in candidates(read_request(path)) if str(one) == "2 slow + 2 fast")
    grid = mixed.grid()
    hosts = ["slow_1-0"] * 4 + ["slow_1-1"] * 4 + ["fast_2-0", "fast_2-1"]
    assert list(mixed.placement(grid)) == hosts
    path = design(*kinds, IDEAL, EP, budget=1e9, clusters="most = 1\nsizes = [2]", top="ranks_per_node = 1")
    assert {one.ranks for one in candidates(read_request(path))} == {2}


# The best grids.


def test_for_computation_alone_the_best_grid_is_known_by_arithmetic(design, runner):
    # EP S has 256 batches of equal work, and the rank with most of them on the slowest node decides.  For 2600 there
    # are 4 fast nodes, 64 batches at 70 Gflop/s; 6 slow ones, 43 at 40; 2 fast and 3 slow, 52 at 40.
    path = design(SLOW, FAST, IDEAL, EP, clusters="most = 2\nmost_nodes = 8")
    best = searched(path, runner, top=1000).best
    assert str(best[0].candidate) == "4 fast"
    batches_per_flops = {
        "4 fast": 64 / 70, "2 fast + 2 fast": 64 / 70, "6 slow": 43 / 40, "3 slow + 2 fast": 52 / 40, "4 slow": 64 / 40,
        "2 fast": 128 / 70, "1 slow + 1 fast": 128 / 40, "1 slow": 256 / 40,
    }  # fmt: skip
    value_s = {str(one.candidate): one.value_s for one in best}
    for name, expected in batches_per_flops.items():
        assert value_s[name] / value_s["4 fast"] == pytest.approx(expected / (64 / 70), rel=1e-3), name


def test_a_program_of_many_small_messages_stays_in_one_cluster(design, runner):
    # LU S waits for small messages: nodes in another town, 1 ms away, cost nothing here and are still not taken.
    lu = '[[programs]]\napp = "lu"\nclass = "S"\n'
    metro = '[[networks]]\nname = "metro"\n'
    path = design(SLOW, metro, lu, budget=1e9, clusters="most = 2\nsizes = [2, 4]")
    found = searched(path, runner, top=2)
    assert found.left_out > 0
    assert [len(one.candidate.parts) for one in found.best] == [1, 1]
    apart = searched(path, runner, top=10, exhaustive=True).best
    # Each of the 50 iterations sweeps twice: at least two messages in turn of 1 ms times SimGrid's factor 1.95.
    assert apart[2].value_s - apart[0].value_s > 50 * 2 * 1.95e-3


def test_a_better_network_is_bought_where_its_price_pays(design, runner):
    networks = ('[[networks]]\nname = "gigabit"\n', '[[networks]]\nname = "infiniband"\nnode_port_price = 200\n')
    path = design(SLOW, *networks, CG, budget=2400, clusters="most = 1\nmost_nodes = 6")
    assert row(searched(path, runner).best[0])[:2] == ("4 slow", "infiniband")  # not 6 on Ethernet
    path = design(SLOW, *networks, EP, budget=2400, clusters="most = 1\nmost_nodes = 6")
    assert row(searched(path, runner).best[0])[:2] == ("6 slow", "gigabit")


def test_times_are_weighted(design, runner):
    path = design(SLOW, IDEAL, CG + "weight = 3\n", EP, clusters="most = 1\nsizes = [2]")
    (one,) = searched(path, runner).best
    assert one.value_s == pytest.approx(3 * one.times_s[0] + one.times_s[1], rel=1e-12)


def test_the_front_gets_quicker_as_it_gets_dearer_and_ends_at_the_best(design, runner):
    networks = ('[[networks]]\nname = "gigabit"\n', '[[networks]]\nname = "infiniband"\nnode_port_price = 200\n')
    path = design(SLOW, FAST, *networks, CG, budget=4000, clusters="most = 2\nmost_nodes = 4")
    found = searched(path, runner)
    prices = [one.candidate.price for one in found.front]
    values = [one.value_s for one in found.front]
    assert prices == sorted(set(prices))
    assert values == sorted(set(values), reverse=True)
    assert found.front[-1] == found.best[0]
    assert prices[0] == 400  # the cheapest grid of all


# Completeness of the search.


def random_design(seed):
    """Return random kinds of nodes, networks and prices for which neither computation nor one network decides alone."""
    draw = random.Random(seed)
    nodes = "".join(
        f'[[nodes]]\nname = "n{i}"\nspeed_gflops = {draw.randint(1, 60)}\nprice = {draw.randint(200, 900)}\n'
        f"cores = {draw.choice([1, 1, 2])}\n"
        for i in range(2)
    )
    networks = "".join(
        f'[[networks]]\nname = "{name}"\nnode_port_price = {draw.randint(0, 400)}\n'
        f"backbone_price = {draw.randint(0, 300)}\nwan_link_price = {draw.randint(0, 300)}\n"
        f'wan = {{ shape = "{draw.choice(["mesh", "star"])}", latency_us = {draw.randint(1, 300)}, duplex = true }}\n'
        for name in draw.sample(["gigabit", "infiniband", "fast-ethernet"], 2)
    )
    programs = "".join(
        f'[[programs]]\napp = "{app}"\nclass = "S"\nweight = {draw.randint(1, 5)}\n'
        for app in draw.sample(["cg", "mg", "is", "ft", "ep"], 2)
    )
    return (nodes, networks, programs), draw.randint(2500, 6000)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_bounds_rule_out_is_neither_among_the_best_nor_on_the_front(seed, design, runner):
    parts, budget = random_design(seed)
    path = design(*parts, budget=budget, clusters="most = 3\nsizes = [1, 2, 4]")
    pruned, complete = searched(path, runner), searched(path, runner, exhaustive=True)
    assert list(map(row, pruned.best)) == list(map(row, complete.best))
    assert list(map(row, pruned.front)) == list(map(row, complete.front))
    assert complete.left_out == 0 and len(complete.evaluated) == len(complete.candidates)
    assert len(pruned.evaluated) + pruned.left_out == len(pruned.candidates)
    assert pruned.left_out > 0
    without = searched(path, runner, with_front=False)
    assert list(map(row, without.best)) == list(map(row, complete.best))
    assert len(without.evaluated) <= len(pruned.evaluated)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_below_times_and_get_tighter(seed, design, runner):
    parts, budget = random_design(seed)
    request = read_request(design(*parts, budget=budget, clusters="most = 3\nsizes = [1, 2, 4]"))
    some = candidates(request)[::5]
    times = GraphTimes(request, Settings(), runner)
    times.prepare(some, silent)
    for candidate in some:
        levels = [times.bounds_s(candidate, level) for level in range(1, times.levels + 1)]
        for *bounds, time_s in zip(*levels, times.times(candidate).times_s, strict=True):
            assert 0 < bounds[0] <= bounds[1] <= bounds[2] <= time_s


def test_times_are_those_that_the_predictor_has_by_itself(design, runner):
    networks = ('[[networks]]\nname = "gigabit"\nwan = { shape = "star", duplex = true }\n',)
    kinds = (SLOW + "cores = 2\n", FAST)
    path = design(*kinds, *networks, CG, EP, budget=1e9, clusters="most = 2\nsizes = [2]")
    settings = Settings(efficiency="0.1", options=(("network/crosstraffic", "no"),))
    quick, slow = (
        sorted(map(row, searched(path, runner, top=99, exhaustive=True, settings=settings, model=model).best))
        for model in (None, "dpgraph:known")
    )
    assert len(quick) == 5
    for ours, theirs in zip(quick, slow, strict=True):
        assert ours[:3] == theirs[:3]
        assert ours[3] == pytest.approx(theirs[3], rel=1e-6)


class Table:
    """Times given by a test, without bounds."""

    levels = 0

    def __init__(self, value_s):
        self.value_s = value_s

    def prepare(self, some, report):
        pass

    def times(self, candidate):
        return GridTimes((self.value_s(candidate),))


def test_equally_quick_grids_come_in_order_of_price(design):
    grids = candidates(read_request(design(SLOW, IDEAL, EP, budget=1200)))
    found = Search(grids, [1.0], top=3)
    found.run(Table(lambda candidate: 1.0), silent)
    assert [one.candidate.price for one in found.best] == [400, 800, 1200]
    assert [one.candidate.price for one in found.front] == [400]


def test_grids_without_an_answer_are_counted(design):
    def refuse(candidate):
        if candidate.nodes > 1:
            raise NoAnswer("too many")
        return 1.0

    found = Search(candidates(read_request(design(SLOW, IDEAL, EP, budget=1200))), [1.0], top=3)
    found.run(Table(refuse), silent)
    assert dict(found.unanswered) == {"too many": 2}
    assert found.complete and len(found.best) == 1


def test_a_program_of_unknown_iterations_on_so_many_ranks_rules_those_grids_out(design, runner):
    fem = '[[programs]]\napp = "fem"\nsize = 24\nparams = { layers = 24 }\n'
    path = design(SLOW, IDEAL, fem, budget=1e9, clusters="most = 1\nsizes = [2, 24]")
    found = searched(path, runner)
    assert [one.candidate.ranks for one in found.best] == [2]
    (reason,) = found.unanswered
    assert "fem 24 layers=24 on 24 ranks" in reason and "iterations" in reason


def test_any_predictor_can_be_asked(design, runner):
    gigabit = '[[networks]]\nname = "gigabit"\n'
    path = design(SLOW, FAST, gigabit, EP, budget=2600, clusters="most = 2\nleast = 2\nsizes = [1, 2]")
    found = searched(path, runner, model="hcf")
    # A grid of one node per cluster is HCF's probe itself, so its prediction would need a run of the target.
    reason = "the requested evidence is a run of the target itself"
    assert all(reason in text for text in found.unanswered)
    assert found.unanswered.total() == 3  # slow and slow, slow and fast, fast and fast
    assert str(found.best[0].candidate) == "2 fast + 2 fast"
    assert found.complete


def test_what_a_predictor_distrusts_is_passed_on(design, capsys):
    path = design(SLOW, '[[networks]]\nname = "gigabit"\n', CG, clusters="most = 1\nsizes = [4]")
    assert main([str(path), "--predictor", "hcf"]) == 0
    out = capsys.readouterr().out
    assert "caution: grid 1, 4 slow: cg S: compute share" in out
    assert main([str(path), "--predictor", "hcf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"][0]["flags"]
