"""``gridval plan nodes``: its measurements and its choices.

Most runs are stubs whose times follow the NP-T equation of Himeno (Table V) with coefficients that are known here.
"""

import json
import math
from itertools import product
from types import SimpleNamespace

import pytest

from apps.programs.problem import problem, sized_problem
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import configured
from platforms.read.read import materialise
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.sizes import kernel_sizes
from predictor.base import OutOfRange, Prediction
from predictor.nodes import command
from predictor.nodes.cli import main
from predictor.nodes.sizes import usual_construction
from predictor.nodes.study import Study

SCENARIO = """
name = "ichikawa"
[[clusters]]
name = "slow"
nodes = 4
speed_gflops = 10
POWER
[[clusters]]
name = "fast"
nodes = 4
speed_gflops = 20
[wan]
shape = "mesh"
"""
SLABS = "--scenario ichikawa --app himeno --construction 8,10,12,14,16 --param niter=5 --param grid=slabs".split()
# By hand: 20 configurations at 5 sizes, but for the two of 8 slabs at N = 8, which has 6 inner planes.
RUNS = 20 * 5 - 2
HIMENO = [*SLABS, "--probe", "0"]
TABLE_VI = Limits((4, 4, 4), (2, 2, 1))


@pytest.fixture(scope="module")
def ichikawa():
    return materialise(named_grid("ichikawa"))


def share_time_s(speed_flops, N, P, M, *, alone):
    """Return T_i: M processes share a core; over the network 100 flops per point, halos, and sums."""
    if alone:
        return 100 * N**3 / speed_flops
    return 100 * M * N**3 / P / speed_flops + 1e-7 * N**2 + 1e-5 * math.log(P)


def time_s(target):
    """Return max_i T_i of a target that is a configuration."""
    P, N = target.nranks, target.problem.size
    return max(
        share_time_s(
            target.platform.host(host).speed_flops, N, P, target.placement.count(host), alone=target.nodes == 1
        )
        for host in set(target.placement)
    )


def by_hand(platform, N, limits=TABLE_VI):
    """Return the time of every configuration, computed independently of the code under test."""
    speeds = [cluster.speed_flops for cluster in platform.clusters]
    choices = [
        [(0, 0), *product(range(1, pes + 1), range(1, most + 1))]
        for pes, most in zip(limits.pes, limits.processes, strict=True)
    ]
    times_s = {}
    for shares in product(*choices):
        P, nodes = sum(p * m for p, m in shares), sum(p for p, _ in shares)
        if P:
            used = [(speed, m) for speed, (_, m) in zip(speeds, shares, strict=True) if m]
            times_s[shares] = max(share_time_s(speed, N, P, m, alone=nodes == 1) for speed, m in used)
    return times_s


def chosen(capsys, arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# Measurements


def test_homogeneous_runs_of_table_vi_are_twenty_for_each_size(ichikawa):
    # By hand: 4 PEs x 2, 4 x 2, 4 x 1.
    runs = list(Study("himeno", ichikawa, TABLE_VI).homogeneous([32, 48, 64]))
    assert len(runs) == len(set(runs)) == 20 * 3
    assert all(len(configuration.used) == 1 for configuration, _ in runs)


@pytest.mark.parametrize(("N", "count"), [(12, 18), (70, 8), (24, 20), (7, 3)])
def test_fem_is_measured_where_its_ranks_divide_n(ichikawa, N, count):
    # By hand.  P of G1 and G2: 1, 2, 3, 4 with M = 1, and 2, 4, 6, 8 with M = 2; of G3: 1, 2, 3, 4.
    # 12: all but 8, twice.  70: 1, 2, 2 and 1, 2, 2 and 1, 2.  24: all.  7: 1, 1, 1.
    runs = list(Study("fem", ichikawa, TABLE_VI).homogeneous([N]))
    assert len(runs) == count
    assert all(N % configuration.total == 0 for configuration, _ in runs)


def test_spaces_have_the_sizes_of_tables_vi_and_vii(ichikawa):
    assert Study("hpl", ichikawa, TABLE_VI).space(9600).count == 404
    assert Study("fft", ichikawa, Limits((8, 8, 8), (2, 2, 1))).space(2**20).count == 285


def test_a_target_has_the_hosts_of_its_configuration(ichikawa):
    target = Study("himeno", ichikawa, TABLE_VI).target(Configuration(((2, 2), (0, 0), (1, 1))), 32)
    assert target.placement == ("pentium4-0", "pentium4-0", "pentium4-1", "pentium4-1", "celeron-0")


@pytest.mark.parametrize("N", [24, 40, 160])
@pytest.mark.parametrize("predictor", ["npt", "npt --fit ls"])
def test_the_choice_is_the_optimum_where_the_model_is_exact(pretend, ichikawa, capsys, N, predictor):
    pretend(time_s, command)
    data = chosen(capsys, [*HIMENO, "--size", str(N), "--predictor", *predictor.split()])
    times_s = by_hand(ichikawa, N)
    assert data["configurations"] == len(times_s) == 404
    assert data["estimated_s"] == pytest.approx(min(times_s.values()), rel=1e-6)
    assert times_s[Configuration.parse(data["chosen"]).shares] == pytest.approx(min(times_s.values()), rel=1e-6)


def test_all_that_is_measured_is_homogeneous_and_charged(pretend, capsys):
    done = pretend(time_s, command)
    data = chosen(capsys, [*HIMENO, "--size", "40"])
    assert len(done.targets) == RUNS
    assert {target.problem.size for target in done.targets} == {8, 10, 12, 14, 16}
    clusters = [{target.platform.cluster_of(host).name for host in target.placement} for target in done.targets]
    assert all(len(used) == 1 for used in clusters)
    node_s = sum(target.nodes * time_s(target) for target in done.targets)
    assert data["evidence"] == {"node_s": pytest.approx(node_s), "wall_s": pytest.approx(0.25 * RUNS)}


def test_the_host_file_is_the_configuration(pretend, ichikawa, capsys, tmp_path):
    pretend(time_s, command)
    path = tmp_path / "hosts"
    data = chosen(capsys, [*HIMENO, "--size", "160", "--write-hostfile", str(path)])
    shares = Configuration.parse(data["chosen"]).shares
    assert tuple(data["hostfile"]) == configured(ichikawa, shares) == tuple(path.read_text().split())
    assert data["ranks"] == len(data["hostfile"])
    assert data["nodes"] == len(set(data["hostfile"]))


def test_json_has_the_documented_keys(pretend, capsys):
    pretend(time_s, command)
    data = chosen(capsys, [*HIMENO, "--size", "20", "--then", "1"])
    one = {
        *("chosen", "ranks", "estimated_s", "value", "configurations", "examined", "search_s", "gather_s", "flags"),
        *("nodes", "hostfile", "probed", "probability_best"),
        *("searched", "front", "knee", "second", "second_s", "sbatch", "break_even", "currency"),
    }
    asked = {
        *("app", "size", "params", "platform", "platform_hash", "most_nodes", "most_processes", "predictor"),
        *(
            "objective",
            "slack",
            "search",
            "unit",
            "fit",
            "weights",
            "drop",
            "glitches",
            "outliers",
            "bootstrap",
            "probe",
            "measurements",
            "construction",
            "noise",
            "seed",
        ),
    }
    about = {"then", "ended", "evidence", "cautions", "predictor_chosen_because", "rank_orders"}
    assert set(data) == one | asked | about
    assert set(data["then"][0]) == one


def test_later_searches_take_nodes_that_remain(pretend, capsys):
    done = pretend(time_s, command)
    data = chosen(capsys, [*HIMENO, "--size", "20", "--then", "9"])
    turns = [data, *data["then"]]
    hosts = [set(turn["hostfile"]) for turn in turns]
    assert len(set().union(*hosts)) == sum(len(some) for some in hosts)
    left = [12]
    for turn in turns:
        left.append(left[-1] - turn["nodes"])
    assert min(left) >= 0
    # It ends before the tenth where no node is left; nothing is measured twice.
    assert len(turns) == 10 or left[-1] == 0
    assert len(done.targets) == RUNS
    # By hand: P_i M_i + 1 choices of each sub-cluster that still has nodes, but for the empty one.
    P = [list(pair) for pair in Configuration.parse(data["chosen"]).shares]
    rest = [4 - pes for pes, _ in P]
    assert turns[1]["configurations"] == math.prod(n * m + 1 for n, m in zip(rest, (2, 2, 1), strict=True)) - 1


def test_text_names_what_json_says(pretend, capsys):
    pretend(time_s, command)
    arguments = [*HIMENO, "--size", "20", "--then", "1"]
    data = chosen(capsys, arguments)
    assert main(arguments) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"chosen {data['chosen']}" in text
    assert f"then {data['then'][0]['chosen']}" in text
    assert "host file: " + " ".join(data["hostfile"]) in text
    assert "NP-T/NNLS, relative weights; noise: none" in text


@pytest.mark.parametrize("objective", ["time", "energy", "edp", "cost --price 3,2,1", "cheapest --price 3,2,1"])
def test_branch_and_bound_chooses_as_the_exhaustive_search_does(pretend, capsys, objective):
    pretend(time_s, command)
    arguments = [*HIMENO, "--size", "160", "--objective", *objective.split()]
    everything = chosen(capsys, arguments)
    bounded = chosen(capsys, [*arguments, "--search", "branch-and-bound"])
    same = ("chosen", "estimated_s", "value", "unit", "hostfile", "configurations")
    assert [bounded[key] for key in same] == [everything[key] for key in same]
    assert bounded["examined"] <= everything["examined"]


def test_objectives_are_those_of_section_8(pretend, ichikawa, capsys):
    pretend(time_s, command)
    N, times_s = 160, by_hand(ichikawa, 160)
    prices = (3.0, 2.0, 1.0)
    watts = [cluster.hosts[0].power.full_w for cluster in ichikawa.clusters]

    def total(rates, shares):
        return sum(rate * pes for rate, (pes, _) in zip(rates, shares, strict=True)) * times_s[shares]

    arguments = [*HIMENO, "--size", str(N), "--objective"]
    energy = chosen(capsys, [*arguments, "energy"])
    assert (energy["unit"], energy["value"]) == ("J", pytest.approx(min(total(watts, c) for c in times_s), rel=1e-6))
    cost = chosen(capsys, [*arguments, "cost", "--price", "3,2,1"])
    assert cost["value"] == pytest.approx(min(total(prices, c) for c in times_s) / 3600, rel=1e-6)
    quick = [c for c in times_s if times_s[c] <= 1.3 * min(times_s.values())]
    cheapest = chosen(capsys, [*arguments, "cheapest", "--price", "3,2,1", "--slack", "0.3"])
    assert cheapest["value"] == pytest.approx(min(total(prices, c) for c in quick) / 3600, rel=1e-6)
    assert cheapest["estimated_s"] <= 1.3 * min(times_s.values()) * (1 + 1e-9)


def test_noise_is_reproducible_and_changes_the_estimate(pretend, capsys):
    pretend(time_s, command)
    arguments = [*HIMENO, "--size", "160"]
    seeds = ("1", "1", "2")
    quiet, *noisy = (
        chosen(capsys, [*arguments, *more])["estimated_s"]
        for more in ([], *(["--noise", "0.02", "--seed", seed] for seed in seeds))
    )
    assert noisy[0] == noisy[1] != noisy[2]
    assert quiet not in noisy


def test_any_predictor_drives_the_search(pretend, capsys):
    # HCF takes one rank per node: 124 = 5^3 - 1 configurations.  Its probe, a rank on a node of each cluster, is one of
    # them and has no answer, since the evidence would be a run of the target itself.
    done = pretend(time_s, command)
    data = chosen(capsys, "--scenario ichikawa --app himeno --size 40 --predictor hcf".split())
    (probe,) = done.targets
    assert probe.placement == ("pentium4-0", "xeon-0", "celeron-0")
    assert (data["configurations"], data["examined"]) == (404, 123)
    assert data["flags"][0] == "281 of 404 configurations have no model"
    assert data["fit"] is data["noise"] is data["construction"] is None


@pytest.fixture
def predicts(pretend, monkeypatch):
    """Return ``predicts(answer)``: makes the predictor "own" ask for no evidence and predict ``answer(target)``."""

    class Own(SimpleNamespace):
        name = "own"

        def requests(self, targets):
            return []

        def further(self, targets, evidence):
            return []

        def fit(self, evidence):
            return self

    pretend(time_s, command)
    return lambda answer: monkeypatch.setattr(command, "predictor", lambda name: Own(predict=answer))


OWN = "--scenario ichikawa --app himeno --size 40 --predictor own --nodes 4,0,0 --processes 1,0,0".split()


def test_where_no_configuration_has_an_answer_the_commonest_reason_is_said(predicts, refused):
    def refuse(target):
        parity = "even" if target.nranks % 2 == 0 else "odd"
        raise OutOfRange(f"{target.nranks} ranks", f"an {parity} number", "Use others")

    predicts(refuse)
    refused(main, [*OWN, "--nodes", "3,0,0"], "no answer for any of 3 configurations; for 2 of them: an odd number")


def test_the_cautions_of_the_chosen_prediction_stay_with_the_choice(predicts, capsys):
    predicts(lambda target: Prediction(float(target.nranks), flags=("alone",) if target.nranks == 1 else ("many",)))
    data = chosen(capsys, OWN)
    assert (data["ranks"], data["flags"]) == (1, ["alone"])


def test_a_later_search_without_an_answer_leaves_the_first_ones(predicts, capsys):
    def three_only(target):
        if target.nranks != 3:
            raise OutOfRange("ranks", "not three", "Use three")
        return Prediction(1.0)

    predicts(three_only)
    data = chosen(capsys, [*OWN, "--then", "2"])
    assert (data["ranks"], data["then"]) == (3, [])
    assert "not three" in data["ended"]
    assert main([*OWN, "--then", "2"]) == 0
    assert "then nothing: search: no answer for any of 1 configurations" in capsys.readouterr().out


@pytest.mark.parametrize("search", ["exhaustive", "branch-and-bound"])
def test_sizes_beyond_the_measured_ones_carry_a_caution(pretend, capsys, search):
    pretend(time_s, command)
    outside = "N = 40 is outside of the measured sizes, 8 to 16"
    assert outside in chosen(capsys, [*HIMENO, "--size", "40", "--search", search])["flags"]
    assert chosen(capsys, [*HIMENO, "--size", "12", "--search", search])["flags"] == []


def test_json_says_how_it_was_asked(pretend, capsys):
    pretend(time_s, command)
    more = "--size 20 --fit ls --weights relative --noise 0.02 --seed 3 --drop N^2 --glitches 0.5"
    data = chosen(capsys, [*HIMENO, *more.split()])
    asked = {
        "app": "himeno",
        "size": 20,
        "params": {"niter": 5, "grid": "slabs"},
        "platform": "ichikawa",
        "predictor": "npt",
    }
    asked |= {"fit": "ls", "weights": "relative", "noise": 0.02, "seed": 3, "drop": ["N^2"], "glitches": 0.5}
    asked |= {"construction": [8, 10, 12, 14, 16], "objective": "time", "search": "exhaustive"}
    assert {key: data[key] for key in asked} == asked


def test_later_searches_end_where_no_node_is_left(pretend, capsys):
    # By hand: 3 of the 4 nodes (6 is no multiple of 4), then the fourth, then none.
    pretend(lambda target: target.problem.size**3 / target.nranks, command)
    arguments = "--scenario ichikawa --app fem --param niter=5 --size 6 --nodes 4,0,0 --processes 1,0,0 --then 3"
    data = chosen(capsys, [*arguments.split(), "--construction", "12,24,36,48,60"])
    assert [data["ranks"], *(turn["ranks"] for turn in data["then"])] == [3, 1]
    assert data["ended"] == "no node is left"


@pytest.mark.parametrize(("table", "caution"), [("", True), ("power = { idle_w = 4, full_w = 24 }", False)])
def test_energy_by_default_watts_carries_a_caution(pretend, capsys, tmp_path, table, caution):
    pretend(time_s, command)
    (tmp_path / "own.toml").write_text(SCENARIO.replace("POWER", table))
    arguments = f"--scenario {tmp_path}/own.toml --app himeno --size 20 --construction 8,10,12,14,16 --objective energy"
    assert main(arguments.split()) == 0
    said = capsys.readouterr().err
    assert ("the watts of the nodes are the default" in said) is caution
    assert "models of npt do not distinguish computing from waiting" in said


def test_a_file_of_the_name_of_the_papers_cluster_has_its_own_limits(pretend, capsys, tmp_path):
    # By hand: 4 nodes of "slow" with one process, 4 of "fast" with up to two: 5 x 9 - 1.
    pretend(time_s, command)
    (tmp_path / "own.toml").write_text(SCENARIO.replace("POWER", ""))
    data = chosen(
        capsys,
        f"--scenario {tmp_path}/own.toml --app himeno --size 20 --construction 8,10,12,14,16".split(),
    )
    assert (data["platform"], data["configurations"]) == ("ichikawa", 44)


def test_a_real_choice(tmp_path, capsys):
    arguments = "--scenario ichikawa --app himeno --param niter=5 --construction 8,10,12,14 --size 24".split()
    arguments += f"--nodes 4,0,0 --processes 1,0,0 --store {tmp_path}".split()
    first = chosen(capsys, arguments)
    again = chosen(capsys, arguments)
    assert first["configurations"] == 4
    assert set(first["hostfile"]) <= {f"pentium4-{i}" for i in range(4)}
    for wall in ("search_s", "gather_s"):
        del first[wall], again[wall]
    assert again == first


# Sizes of the paper, probes, outliers, bootstrap


def test_the_papers_benchmarks_have_their_sizes_of_construction():
    assert usual_construction("hpl", sized_problem("hpl", 9600), 9600) == kernel_sizes("hpl").construction
    # Of other programs N is halved, and of kernels with classes the smaller ones are taken: S, W and A of CG.
    assert usual_construction("dot", sized_problem("dot", 6400), 6400) == (200, 400, 800, 1600, 3200)
    assert usual_construction("cg", problem("cg", "B"), 75_000) == (1400, 7000, 14_000)
    with pytest.raises(UserError, match="--construction: 1 size below cg W to measure"):
        usual_construction("cg", problem("cg", "W"), 7000)


def test_probes_are_a_few_iterations_of_the_three_best_of_distinct_ranks(pretend, capsys):
    done = pretend(time_s, command)
    arguments = [*SLABS, "--size", "160", "--param", "niter=40"]
    data = chosen(capsys, arguments)
    probes = done.targets[RUNS:]
    assert [target.iterations for target in probes] == [5, 5, 5]
    assert {target.problem.size for target in probes} == {160}
    assert len({target.nranks for target in probes}) == data["probe"] == len(data["probed"]) == 3
    probed_s = [probe["probed_s"] for probe in data["probed"]]
    assert probed_s == sorted(probed_s)
    assert (data["chosen"], data["estimated_s"]) == (data["probed"][0]["configuration"], probed_s[0])
    # Every run is charged, the probes too.
    node_s = sum(target.nodes * time_s(target) for target in done.targets)
    assert data["evidence"]["node_s"] == pytest.approx(node_s)
    assert main(arguments) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"the second best, {data['probed'][1]['configuration']}, is within" in text


def test_a_probe_corrects_a_model_that_orders_two_numbers_of_ranks_wrongly(pretend, capsys):
    # At the size of the choice alone, 20 processes take ten times as long as at any measured size.
    def uneven(target):
        return time_s(target) * (10 if target.problem.size == 160 and target.nranks == 20 else 1)

    pretend(uneven, command)
    assert chosen(capsys, [*HIMENO, "--size", "160"])["ranks"] == 20
    assert chosen(capsys, [*SLABS, "--size", "160"])["ranks"] != 20


def test_a_program_without_iterations_is_probed_only_if_asked(pretend, capsys):
    done = pretend(lambda target: target.problem.size / target.nranks + 1e3 * target.nranks, command)
    arguments = "--scenario ichikawa --app fft --size 4096 --construction 256,512,1024,2048,8192".split()
    assert chosen(capsys, arguments)["probe"] == 0
    assert 4096 not in {target.problem.size for target in done.targets}
    assert len(chosen(capsys, [*arguments, "--probe", "2"])["probed"]) == 2


def test_outliers_and_bootstrap_of_noisy_measurements(pretend, capsys):
    pretend(time_s, command)
    arguments = [*HIMENO, "--size", "14", "--noise", "0.02", "--seed", "3", "--bootstrap", "5"]
    data = chosen(capsys, [*arguments, "--outliers", "reject", "--weights", "local"])
    assert any("left out of the fit as outliers" in flag for flag in data["flags"])
    assert 0 <= data["probability_best"] <= 1
    # By hand: measurements that the model fits exactly give the same choice again and again.
    assert chosen(capsys, [*HIMENO, "--size", "14", "--bootstrap", "5"])["probability_best"] == 1
