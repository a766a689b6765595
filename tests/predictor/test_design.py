"""Which grid to buy: by hand where arithmetic tells, against every grid evaluated where it does not."""

import json
import random
import re
import sys
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from apps.runner import Runner
from apps.spec import Settings
from apps.store import Store
from platforms.read import materialise
from platforms.scenario import read_grid
from platforms.xml import platform_xml
from predictor.design import cli, space
from predictor.design.cli import main
from predictor.design.graph_times import GraphTimes
from predictor.design.request import read_request
from predictor.design.scenario_file import scenario_text
from predictor.design.search import Search
from predictor.design.space import candidates
from predictor.design.times import NoAnswer, PredictorTimes, Told
from predictor.design.writing import check_writable
from predictor.registry import predictor
from validation.run import main as validate

ROOT = Path(__file__).parents[2]

# Prices of round figures, so that budgets are sums that a reader can do.
SLOW = '[[nodes]]\nname = "slow"\nspeed_gflops = 40\nprice = 400\n'
FAST = '[[nodes]]\nname = "fast"\nspeed_gflops = 70\nprice = 650\n'
IDEAL = '[[networks]]\nname = "ideal"\n'
EP = '[[programs]]\napp = "ep"\nclass = "S"\n'
CG = '[[programs]]\napp = "cg"\nclass = "S"\n'


@pytest.fixture
def write(tmp_path):
    """Writes a design file and returns its path."""

    def written(*parts, budget=2600, clusters="most = 1\nmost_nodes = 8", top="", name="design"):
        path = tmp_path / f"{name}.toml"
        path.write_text(f"budget = {budget}\n{top}\n" + "\n".join(parts) + f"\n[clusters]\n{clusters}\n")
        return path

    return written


def silent(*_):
    pass


@pytest.fixture(scope="module")
def runner():
    with Store() as store, Runner(jobs=1, store=store) as made:
        yield made


def searched(path, runner, *, top=5, exhaustive=False, with_front=True, model=None, settings=None):
    """The finished search of a design file, by dpgraph-known or by a predictor asked grid by grid."""
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


# What there is to buy.


def test_price_is_that_of_nodes_ports_backbones_rooms_and_wide_area_links(write):
    network = '[[networks]]\nname = "gigabit"\nnode_port_price = 10\nbackbone_price = 100\nwan_link_price = 1000\n'
    path = write(SLOW, network, EP, budget=1e6, clusters="least = 3\nmost = 3\nsizes = [2]\nprice = 7")
    (only,) = candidates(read_request(path))
    # 6 nodes of 400 and their ports, 3 clusters, and in a mesh of 3 clusters 3 links; by hand.
    assert only.price == 6 * (400 + 10) + 3 * (100 + 7) + 3 * 1000
    star = network.replace("\n", '\nwan = { shape = "star" }\n', 1)
    path = write(SLOW, star, EP, budget=1e6, clusters="least = 4\nmost = 4\nsizes = [1]")
    assert candidates(read_request(path))[0].price == 4 * 410 + 4 * 100 + 4 * 1000  # a star of 4 has 4 links


def test_a_lone_cluster_needs_no_wide_area_link(write):
    network = IDEAL + "wan_link_price = 1000000\n"
    path = write(SLOW, network, EP, budget=400, clusters="most = 3\nmost_nodes = 4")
    assert [str(one) for one in candidates(read_request(path))] == ["1 slow"]


def test_every_grid_of_the_lattice_stands_there_once(write):
    # Clusters: slow or fast with 1, 2 or 3 nodes, 6 in all; one of them, or an unordered pair: 6 + 6 * 7 / 2.
    path = write(SLOW, FAST, IDEAL, EP, budget=1e9, clusters="most = 2\nmost_nodes = 3")
    found = candidates(read_request(path))
    assert len(found) == len({str(one) for one in found}) == 27


def test_no_more_nodes_of_a_kind_than_there_are(write):
    path = write(SLOW + "most = 3\n", FAST, IDEAL, EP, budget=1e9, clusters="most = 2\nmost_nodes = 2")
    # Clusters of 2 and 2 slow nodes are too many: 4 + 4 * 5 / 2 - 1.
    found = [str(one) for one in candidates(read_request(path))]
    assert len(found) == 13
    assert "2 slow + 2 slow" not in found


@pytest.mark.parametrize("seed", range(4))
def test_the_lattice_is_all_multisets_of_clusters_that_can_be_paid(seed, write):
    (nodes, networks, _), budget = random_design(seed)
    nodes = nodes.replace("cores", "most = 5\ncores", 1)
    request = read_request(write(nodes, networks, EP, budget=budget, clusters="least = 2\nmost = 3\nsizes = [1, 2, 5]"))
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


def test_sizes_that_are_too_dear_take_no_time(write, monkeypatch):
    prices = []
    price_of = space.price_of
    monkeypatch.setattr(space, "price_of", lambda *args: prices.append(price_of(*args)) or prices[-1])
    found = [
        list(
            map(str, candidates(read_request(write(SLOW, FAST, IDEAL, EP, clusters=f"most = 3\nmost_nodes = {most}"))))
        )
        for most in (6, 100_000)  # 2600 buys 6 nodes
    ]
    assert found[0] == found[1]
    assert len(prices) < 40 * len(found[1])  # one and two bisections of 17 steps each, for a grid and those that follow


def test_more_clusters_than_python_has_levels_of_calls(write):
    most = 2 * sys.getrecursionlimit()
    path = write(SLOW, IDEAL, EP, budget=1e9, clusters=f"least = {most}\nmost = {most}\nsizes = [1]")
    assert [one.nodes for one in candidates(read_request(path))] == [most]


def test_a_lone_cluster_stands_there_once_for_all_wide_area_networks(write):
    # Gigabit and metro differ in their wide-area links alone; infiniband in everything.
    networks = [f'[[networks]]\nname = "{name}"\n' for name in ("gigabit", "metro", "infiniband")]
    networks[0] += "backbone_price = 1\n"
    path = write(SLOW, *networks, EP, budget=1e9, clusters="most = 2\nsizes = [2]")
    found = [(len(one.parts), one.network.name) for one in candidates(read_request(path))]
    assert found == [(2, "gigabit"), (1, "metro"), (2, "metro"), (1, "infiniband"), (2, "infiniband")]


def test_a_budget_that_is_met_to_the_cent_is_enough(write):
    path = write(SLOW.replace("400", "0.1"), IDEAL, EP, budget=0.3, clusters="most = 1\nsizes = [3]")
    assert len(candidates(read_request(path))) == 1  # 3 * 0.1 is more than 0.3 in binary


def test_programs_have_their_say_on_the_number_of_ranks(write):
    fft = '[[programs]]\napp = "fft"\nsize = 4096\n'  # powers of two only
    path = write(SLOW, IDEAL, EP, fft, budget=1e9, clusters="most = 1\nmost_nodes = 8")
    assert [one.ranks for one in candidates(read_request(path))] == [8, 4, 2, 1]


def test_there_is_a_rank_on_each_core_unless_told_otherwise(write):
    kinds = (SLOW + "cores = 4\n", FAST)
    path = write(*kinds, IDEAL, EP, budget=1e9, clusters="most = 2\nleast = 2\nsizes = [2]")
    mixed = next(one for one in candidates(read_request(path)) if str(one) == "2 slow + 2 fast")
    grid = mixed.grid()
    hosts = ["slow_1-0"] * 4 + ["slow_1-1"] * 4 + ["fast_2-0", "fast_2-1"]
    assert list(mixed.placement(grid)) == hosts
    path = write(*kinds, IDEAL, EP, budget=1e9, clusters="most = 1\nsizes = [2]", top="ranks_per_node = 1")
    assert {one.ranks for one in candidates(read_request(path))} == {2}


# Which is best.


def test_for_computation_alone_the_best_grid_is_known_by_arithmetic(write, runner):
    # EP S has 256 batches of equal work, and the rank with most of them on the slowest node decides.  For 2600 there
    # are 4 fast nodes, 64 batches at 70 Gflop/s; 6 slow ones, 43 at 40; 2 fast and 3 slow, 52 at 40.
    path = write(SLOW, FAST, IDEAL, EP, clusters="most = 2\nmost_nodes = 8")
    best = searched(path, runner, top=1000).best
    assert str(best[0].candidate) == "4 fast"
    batches_per_flops = {
        "4 fast": 64 / 70, "2 fast + 2 fast": 64 / 70, "6 slow": 43 / 40, "3 slow + 2 fast": 52 / 40, "4 slow": 64 / 40,
        "2 fast": 128 / 70, "1 slow + 1 fast": 128 / 40, "1 slow": 256 / 40,
    }  # fmt: skip
    value_s = {str(one.candidate): one.value_s for one in best}
    for name, expected in batches_per_flops.items():
        assert value_s[name] / value_s["4 fast"] == pytest.approx(expected / (64 / 70), rel=1e-3), name


def test_a_program_of_many_small_messages_stays_in_one_cluster(write, runner):
    # LU S waits for small messages: nodes in another town, 1 ms away, cost nothing here and are still not taken.
    lu = '[[programs]]\napp = "lu"\nclass = "S"\n'
    metro = '[[networks]]\nname = "metro"\n'
    path = write(SLOW, metro, lu, budget=1e9, clusters="most = 2\nsizes = [2, 4]")
    found = searched(path, runner, top=2)
    assert found.left_out > 0
    assert [len(one.candidate.parts) for one in found.best] == [1, 1]
    apart = searched(path, runner, top=10, exhaustive=True).best
    # Each of the 50 iterations sweeps twice: at least two messages in turn of 1 ms times SimGrid's factor 1.95.
    assert apart[2].value_s - apart[0].value_s > 50 * 2 * 1.95e-3


def test_a_better_network_is_bought_where_its_price_pays(write, runner):
    networks = ('[[networks]]\nname = "gigabit"\n', '[[networks]]\nname = "infiniband"\nnode_port_price = 200\n')
    path = write(SLOW, *networks, CG, budget=2400, clusters="most = 1\nmost_nodes = 6")
    assert row(searched(path, runner).best[0])[:2] == ("4 slow", "infiniband")  # not 6 on Ethernet
    path = write(SLOW, *networks, EP, budget=2400, clusters="most = 1\nmost_nodes = 6")
    assert row(searched(path, runner).best[0])[:2] == ("6 slow", "gigabit")


def test_times_are_weighted(write, runner):
    path = write(SLOW, IDEAL, CG + "weight = 3\n", EP, clusters="most = 1\nsizes = [2]")
    (one,) = searched(path, runner).best
    assert one.value_s == pytest.approx(3 * one.times_s[0] + one.times_s[1], rel=1e-12)


def test_the_front_gets_quicker_as_it_gets_dearer_and_ends_at_the_best(write, runner):
    networks = ('[[networks]]\nname = "gigabit"\n', '[[networks]]\nname = "infiniband"\nnode_port_price = 200\n')
    path = write(SLOW, FAST, *networks, CG, budget=4000, clusters="most = 2\nmost_nodes = 4")
    found = searched(path, runner)
    prices = [one.candidate.price for one in found.front]
    values = [one.value_s for one in found.front]
    assert prices == sorted(set(prices))
    assert values == sorted(set(values), reverse=True)
    assert found.front[-1] == found.best[0]
    assert prices[0] == 400  # the cheapest grid of all


# That nothing is lost.


def random_design(seed):
    """Kinds, networks and prices such that neither computation nor any network decides alone."""
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
def test_what_the_bounds_rule_out_is_neither_among_the_best_nor_on_the_front(seed, write, runner):
    parts, budget = random_design(seed)
    path = write(*parts, budget=budget, clusters="most = 3\nsizes = [1, 2, 4]")
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
def test_bounds_are_below_times_and_get_tighter(seed, write, runner):
    parts, budget = random_design(seed)
    request = read_request(write(*parts, budget=budget, clusters="most = 3\nsizes = [1, 2, 4]"))
    some = candidates(request)[::5]
    times = GraphTimes(request, Settings(), runner)
    times.prepare(some, silent)
    for candidate in some:
        levels = [times.bounds_s(candidate, level) for level in range(1, times.levels + 1)]
        for *bounds, time_s in zip(*levels, times.times(candidate).times_s, strict=True):
            assert 0 < bounds[0] <= bounds[1] <= bounds[2] <= time_s


def test_times_are_those_that_the_predictor_has_by_itself(write, runner):
    networks = ('[[networks]]\nname = "gigabit"\nwan = { shape = "star", duplex = true }\n',)
    kinds = (SLOW + "cores = 2\n", FAST)
    path = write(*kinds, *networks, CG, EP, budget=1e9, clusters="most = 2\nsizes = [2]")
    settings = Settings(efficiency="0.1", options=(("network/crosstraffic", "no"),))
    quick, slow = (
        sorted(map(row, searched(path, runner, top=99, exhaustive=True, settings=settings, model=model).best))
        for model in (None, "dpgraph-known")
    )
    assert len(quick) == 5
    for ours, theirs in zip(quick, slow, strict=True):
        assert ours[:3] == theirs[:3]
        assert ours[3] == pytest.approx(theirs[3], rel=1e-6)


class Table:
    """Times that are what a test says, and no bounds."""

    levels = 0

    def __init__(self, value_s):
        self.value_s = value_s

    def prepare(self, some, report):
        pass

    def times(self, candidate):
        return Told((self.value_s(candidate),))


def test_equally_quick_grids_come_in_order_of_price(write):
    grids = candidates(read_request(write(SLOW, IDEAL, EP, budget=1200)))
    found = Search(grids, [1.0], top=3)
    found.run(Table(lambda candidate: 1.0), silent)
    assert [one.candidate.price for one in found.best] == [400, 800, 1200]
    assert [one.candidate.price for one in found.front] == [400]


def test_grids_without_an_answer_are_counted(write):
    def refuse(candidate):
        if candidate.nodes > 1:
            raise NoAnswer("too many")
        return 1.0

    found = Search(candidates(read_request(write(SLOW, IDEAL, EP, budget=1200))), [1.0], top=3)
    found.run(Table(refuse), silent)
    assert dict(found.unanswered) == {"too many": 2}
    assert found.complete and len(found.best) == 1


def test_a_program_that_refuses_so_many_ranks_rules_those_grids_out(write, runner):
    path = write(SLOW, IDEAL, EP, budget=1e9, clusters="most = 1\nsizes = [2, 257]")
    found = searched(path, runner)
    assert [one.candidate.ranks for one in found.best] == [2]
    (reason,) = found.unanswered
    assert "257 ranks, but there are only 256 batches" in reason


def test_any_predictor_can_be_asked(write, runner):
    gigabit = '[[networks]]\nname = "gigabit"\n'
    path = write(SLOW, FAST, gigabit, EP, budget=2600, clusters="most = 2\nleast = 2\nsizes = [1, 2]")
    found = searched(path, runner, model="hcf")
    # A grid of one node per cluster is HCF's own probe: to predict it would be to simulate it.
    reason = "the evidence asked for is a run of the target itself"
    assert all(reason in text for text in found.unanswered)
    assert found.unanswered.total() == 3  # slow and slow, slow and fast, fast and fast
    assert str(found.best[0].candidate) == "2 fast + 2 fast"
    assert found.complete


def test_what_a_predictor_distrusts_is_passed_on(write, capsys):
    path = write(SLOW, '[[networks]]\nname = "gigabit"\n', CG, clusters="most = 1\nsizes = [2]")
    assert main([str(path), "--predictor", "hcf"]) == 0
    out = capsys.readouterr().out
    assert "caution: grid 1, 2 slow: cg S: the probe is one node, which has nobody to talk to" in out
    assert main([str(path), "--predictor", "hcf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"][0]["flags"]


# What a user sees.


def test_the_best_grid_is_written_as_a_scenario_that_every_command_reads(write, tmp_path, capsys):
    network = """[[networks]]
name = "office"
network = "gigabit"
node = { bandwidth_gbit_s = 2.5 }
backbone = { latency_us = 7.3 }
wan = { shape = "star", duplex = true, bandwidth_gbit_s = 3 }
options = { "network/crosstraffic" = "no" }
"""
    power = "power = { idle_w = 55.5, full_w = 180 }\ncores = 2\n"
    path = write(FAST + power, network, CG, EP, budget=2600, clusters="most = 2\nleast = 2\nsizes = [2]")
    scenario, hosts = tmp_path / "best.toml", tmp_path / "hosts"
    assert main([str(path), "--json", "--write", str(scenario), "--write-hostfile", str(hosts)]) == 0
    best = json.loads(capsys.readouterr().out)["best"][0]
    assert best["clusters"] == [{"kind": "fast", "nodes": 2, "ranks_per_node": 2}] * 2
    assert best["price"] == 2600
    assert best["full_power_w"] == 4 * 180
    (candidate,) = candidates(read_request(path))
    read = read_grid(scenario)
    assert platform_xml(read) == platform_xml(candidate.grid())
    assert [cluster.node_power.full_w for cluster in read.clusters] == [180, 180]
    predicted = {program["app"]: program["predicted_s"] for program in best["programs"]}
    command = f"--scenario {scenario} --app cg,ep --class S --hostfile {hosts} --predictor dpgraph-known --json"
    assert validate(command.split()) == 0
    for result in json.loads(capsys.readouterr().out)["results"]:
        assert result["ranks"] == 8
        assert result["simulated_s"] == pytest.approx(predicted[result["app"]], rel=1e-3)


def test_a_scenario_says_only_what_its_network_does_not(write):
    path = write(SLOW, '[[networks]]\nname = "gigabit"\n', EP, clusters="most = 1\nsizes = [2]")
    (candidate,) = candidates(read_request(path))
    lines = ['source = "x"', 'network = "gigabit"', "", "[[clusters]]", 'name = "slow_1"', "nodes = 2"]
    assert scenario_text(candidate, "x").splitlines() == [*lines, "speed_gflops = 40", "cores = 1"]


@pytest.mark.parametrize("option", ["--write", "--write-hostfile"])
def test_a_place_that_cannot_be_written_is_refused_before_the_search(option, write, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "times_for", None)  # nothing gets so far
    for place in (tmp_path / "none" / "x.toml", tmp_path, ""):
        assert main([str(write(SLOW, IDEAL, EP)), option, str(place)]) == 2
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


def test_results_are_shown_even_if_they_cannot_be_written_after_all(write, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli, "check_writable", lambda option, path: None)  # as if the disk filled up meanwhile
    path = write(SLOW, IDEAL, EP, clusters="most = 1\nsizes = [2]")
    assert main([str(path), "--write", str(tmp_path / "none" / "x.toml")]) == 2
    out, err = capsys.readouterr()
    assert "2 slow" in out
    assert "x.toml: cannot be written: No such file or directory" in err


def test_designed_grids_can_be_loaded_by_simgrid(write):
    path = write(SLOW, '[[networks]]\nname = "gigabit"\n', EP, budget=1e9, clusters="most = 2\nleast = 2\nsizes = [2]")
    platform = materialise(candidates(read_request(path))[0].grid())
    assert [cluster.name for cluster in platform.clusters] == ["slow_1", "slow_2"]


def test_tables_say_what_was_found_and_how(write, capsys):
    path = write(SLOW, FAST, IDEAL, EP, top='currency = "EUR"', clusters="most = 2\nmost_nodes = 4")
    assert main([str(path), "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "grids for at most 2600 EUR, by dpgraph-known" in out
    assert "ruled out by bounds" in out
    head, first = out.splitlines()[3:5]
    assert head.split() == "price grid network ranks full W ep S s weighted sum s".split()
    assert first.split()[:5] == ["2600", "4", "fast", "ideal", "4"]
    assert main([str(path), "--budget", "649", "--no-front"]) == 0
    out = capsys.readouterr().out
    assert "1 slow" in out and "fast" not in out and "front" not in out


def test_an_interrupted_search_shows_what_it_has(write, capsys, monkeypatch):
    class Interrupted(GraphTimes):
        calls = 0

        def times(self, candidate):
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().times(candidate)

    monkeypatch.setattr(cli, "_QUICK", {"dpgraph-known": Interrupted})
    path = write(SLOW, FAST, IDEAL, EP)
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
    page = (ROOT / "docs" / "grid-design.md").read_text()
    path = tmp_path / "documented.toml"
    path.write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    request = read_request(path)
    assert [str(program.problem) for program in request.programs] == ["cg A", "hpl 4000 nb=32"]
    assert request.networks[0].node.bandwidth_Bps == 2.5e9 / 8


HIMENO = '[[programs]]\napp = "himeno"\nsize = 64\n'
GOOD = {"nodes": SLOW, "networks": IDEAL, "programs": EP}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": ""}, r"no \[\[nodes\]\]"),
        ({"networks": ""}, r"no \[\[networks\]\]"),
        ({"programs": ""}, r"no \[\[programs\]\]"),
        ({"nodes": SLOW + SLOW}, "'slow' is given twice"),
        ({"programs": EP + EP}, "'ep S' is given twice"),
        ({"nodes": SLOW.replace("400", "-1")}, "nodes 1: price = -1. Give 0 or more"),
        ({"nodes": SLOW.replace("400", "nan")}, "nodes 1: price = nan"),
        ({"nodes": SLOW.replace("price", "prize")}, "unknown key 'prize'"),
        ({"nodes": SLOW.replace("price = 400", "")}, "'price' is missing"),
        ({"nodes": SLOW.replace("40\n", "0\n")}, "speed is 0.0 flop/s"),
        ({"nodes": SLOW.replace('"slow"', '"no way"')}, "not a name that SimGrid can use"),
        ({"nodes": SLOW + "most = 0\n"}, "most = 0. Give at least 1"),
        ({"nodes": SLOW + "cores = 0\n"}, "0 cores per node"),
        ({"nodes": SLOW + "power = { idle_w = 9, full_w = 3 }\n"}, "9.0 W idle and 3.0 W at full load"),
        (
            {"networks": IDEAL.replace("ideal", "carrier-pigeon")},
            "networks 1: network 'carrier-pigeon': no such network",
        ),
        ({"networks": IDEAL + 'wan = { shape = "ring" }\n'}, "no shape 'ring'"),
        ({"networks": IDEAL + "node = { latency_us = -1 }\n"}, "latency is -1e-06 s"),
        ({"networks": IDEAL + "wan = { bandwidth_gbit_s = 0 }\n"}, "bandwidth is 0.0 byte/s"),
        ({"networks": IDEAL + "backbone_price = inf\n"}, "backbone_price = inf"),
        ({"programs": EP.replace("ep", "epp")}, "programs 1: app 'epp': no such program"),
        ({"programs": EP.replace('"S"', '"Z"')}, "programs 1: class 'Z': ep has no such class"),
        ({"programs": EP + "weight = 0\n"}, "weight = 0. Give a positive one"),
        ({"programs": EP + "size = 10\n"}, "'class' or 'size' is needed"),
        ({"programs": EP + "params = { a = 1 }\n"}, "'params' goes with 'size'"),
        ({"programs": '[[programs]]\napp = "hpl"\nsize = 100\nparams = { nbb = 1 }\n'}, "no such parameter"),
        ({"programs": '[[programs]]\napp = "hpl"\nsize = 100\nparams = 3\n'}, "params = 3 is not a table"),
        (
            {"programs": '[[programs]]\napp = "hpl"\nsize = 100\nparams = { nb = [1] }\n'},
            "params: nb = [1]. Give a number",
        ),
        ({"programs": HIMENO + 'params = { niter = "x" }\n'}, "programs 1: parameter niter=x: not an integer"),
        ({"programs": HIMENO + "params = { niter = -3 }\n"}, "programs 1, params: niter = -3. Give at least 1"),
        (
            {"programs": HIMENO + "params = { size = 3 }\n"},
            "programs 1: parameter 'size': himeno has no such parameter",
        ),
        ({"programs": HIMENO.replace("64", "0")}, "programs 1: size 0: not a size"),
        ({"programs": HIMENO.replace("size = 64", 'class = "S"')}, "himeno has no classes. Give its 'size'"),
        ({"top": "ranks_per_node = 2"}, "ranks_per_node = 2, but a node of kind slow has 1 core"),
        ({"top": "ranks_per_node = 0"}, "ranks_per_node = 0"),
        ({"top": 'ranks_per_node = "all"'}, "is not a whole number"),
        ({"clusters": "most_nodes = 4"}, "'most' is missing"),
        ({"clusters": "most = 1"}, "'sizes' or 'most_nodes' is needed"),
        ({"clusters": "most = 1\nsizes = [2]\nmost_nodes = 4"}, "'sizes' or 'most_nodes' is needed"),
        ({"clusters": "most = 1\nsizes = [2]\nstep = 2"}, "'step' goes with 'most_nodes'"),
        ({"clusters": "most = 1\nsizes = [0, 2]"}, "clusters of 0 nodes"),
        ({"clusters": "most = 1\nsizes = []"}, "clusters of no nodes"),
        ({"clusters": "most = 1\nsizes = [10000000]"}, "clusters of 10000000 nodes"),
        ({"clusters": "most = 1\nmost_nodes = 4\nstep = 0"}, "step = 0"),
        ({"clusters": "most = 1\nmost_nodes = 1000000000000"}, "clusters: clusters of 1000000000000 nodes"),
        ({"clusters": "least = 3\nmost = 2\nsizes = [2]"}, "3 to 2 clusters"),
        ({"clusters": "most = 1\nsizes = [2]\nprice = -3"}, "price = -3"),
        ({"budget": "-5"}, "design.toml: budget -5: not an amount"),
        ({"budget": "inf"}, "budget inf: not an amount"),
        ({"budget": "399"}, "a budget of 399 buys no grid"),
        (
            {"programs": '[[programs]]\napp = "fft"\nsize = 4096\n', "clusters": "most = 1\nsizes = [3]"},
            "no grid within the budget has a number of ranks that all programs allow",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(change, message, write, capsys):
    parts = [change.get(key, part) for key, part in GOOD.items()]
    others = {key: value for key, value in change.items() if key not in GOOD}
    path = write(*parts, **others)
    assert main([str(path)]) == 2
    error = capsys.readouterr().err
    assert str(path) in error or "grid" in message  # the space belongs to the design, not to a key
    assert error.count("\n") == 1 and error.startswith("error: ")
    assert message.replace("\\", "") in error


def test_a_space_that_is_too_large_is_refused_and_says_how_to_make_it_smaller(write, capsys, monkeypatch):
    monkeypatch.setattr(space, "MOST_CANDIDATES", 26)  # there are 27
    assert main([str(write(SLOW, FAST, IDEAL, EP, budget=1e9, clusters="most = 2\nmost_nodes = 3"))]) == 2
    assert "more than 26 grids are within the budget. Give fewer sizes" in capsys.readouterr().err
    monkeypatch.setattr(space, "MOST_AFFORDABLE", 100)
    fft = '[[programs]]\napp = "fft"\nsize = 4096\n'  # allows none of these
    assert main([str(write(SLOW, FAST, IDEAL, fft, budget=1e9, clusters="most = 1\nsizes = [67]"))]) == 2
    assert "no grid within the budget has a number of ranks" in capsys.readouterr().err
    clusters = f"most = 1\nsizes = {[size for size in range(65, 165) if size != 128]}"
    assert main([str(write(SLOW, FAST, IDEAL, fft, budget=1e9, clusters=clusters))]) == 2
    assert "more than 100 grids are within the budget. Give fewer sizes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "0"], "--top 0: below one"),
        (["--budget", "0"], "budget 0: not an amount"),
        (["--predictor", "oracle"], "predictor 'oracle': no such model"),
        (["--cfg", "smpi/coll-selector:mpich"], "no answer for any grid: smpi/coll-selector"),
        (["--efficiency", "2"], "not in (0, 1]"),
    ],
)
def test_what_is_wrong_with_an_option_is_said_in_one_line(options, message, write, capsys):
    assert main([str(write(SLOW, IDEAL, EP, clusters="most = 1\nsizes = [2]")), *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error


def test_a_missing_file_is_said_in_one_line(capsys):
    assert main(["nowhere.toml"]) == 2
    assert "nowhere.toml: cannot be read" in capsys.readouterr().err
