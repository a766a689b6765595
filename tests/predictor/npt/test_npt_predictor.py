"""N-T, P-T and NP-T models as predictors: their measurements, their predictions, and their refusals.

Runs are stubs whose times follow known equations, which the models must recover.
"""

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from apps.errors import KernelError
from apps.programs.own_program import UserProgram
from apps.programs.problem import own_problem, problem, sized_problem
from apps.results.record import Extrapolation
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import accepts, traffic
from platforms.model.placement import block, cyclic
from platforms.model.platform import Cluster, Host, Platform
from predictor.answers.answers import predict
from predictor.base import Cost
from predictor.evidence.broker import Broker
from predictor.npt.predictor import MOST_NUMBERS_OF_PES, spread
from predictor.npt.smaller import smaller, time_of_iterations_s
from predictor.registry import predictor, predictors

SPEEDS = (4e9, 2e9)


def grid(nodes, speeds=SPEEDS, cores=1):
    clusters = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", speed, cores) for i in range(nodes)))
        for c, speed in enumerate(speeds, 1)
    )
    return Platform("grid", "/nowhere.xml", f"{nodes}{speeds}{cores}", clusters)


def himeno_s(target):
    """Return the time by the NP-T equation of Himeno, Table V, on each cluster; on a single PE by the N-T equation."""
    P, N = target.nranks, target.problem.size

    def share_s(host):
        speed, M = target.platform.host(host).speed_flops, target.placement.count(host)
        if target.nodes == 1:
            return 100 * N**3 / speed + 1e-3
        return 100 * M * N**3 / P / speed + 1e-8 * N**2 + 1e-3 * math.log(P)

    return max(share_s(host) for host in set(target.placement))


@pytest.fixture
def answer(record_of):
    """Return ``answer(name, target, time_s)``, which predicts one target from runs with these times."""

    def ask(name, target, time_s=himeno_s, others=()):
        broker = Broker(
            Settings(),
            [target, *others],
            record=lambda spec: record_of(spec.target, time_s(spec.target), 1.0),
            identify=lambda spec: spec.identity(),
        )
        return predict(predictor(name), [target, *others], broker)[0]

    return ask


def target_of(N, platform, ranks, ranks_per_host=1, place=block):
    return Target(sized_problem("himeno", N, grid="slabs"), platform, place(platform, ranks, ranks_per_host))


@pytest.mark.parametrize("name", ["npt", "npt:ls"])
@pytest.mark.parametrize("ranks_per_host", [1, 2])
def test_known_np_t_times_are_recovered(answer, name, ranks_per_host):
    target = target_of(256, grid(8, cores=2), 16 * ranks_per_host, ranks_per_host)
    said = answer(name, target).prediction
    assert said.time_s == pytest.approx(himeno_s(target), rel=1e-6)
    # By hand: the cluster of half the speed decides.
    assert said.parts["T_c2_s"] == said.time_s > said.parts["T_c1_s"]
    assert said.flags == (
        "N = 256 is 1.33 times the largest measured one",
        f"P = {16 * ranks_per_host} is beyond what was measured, {8 * ranks_per_host} on cluster c1",
    )


def test_clusters_are_measured_alone_at_smaller_sizes_and_charged(answer):
    target = target_of(160, grid(8), 16)
    asked = answer("npt", target)
    runs = [evidence.request.target for evidence in asked.evidence]
    # By hand: 7 of the paper's sizes are below 160; 6 of the numbers of nodes from 2 to 8; 2 clusters.
    assert len(runs) == 7 * 6 * 2
    assert {run.problem.size for run in runs} == {32, 48, 64, 80, 96, 112, 128}
    assert {run.nranks for run in runs} == {2, 3, 4, 5, 6, 8}
    assert all(len({run.platform.cluster_of(host).name for host in run.placement}) == 1 for run in runs)
    cost = Cost(sum(run.nodes * himeno_s(run) for run in runs), 0.25 * len(runs))
    assert asked.prediction.cost.node_s == pytest.approx(cost.node_s)
    assert asked.prediction.cost.wall_s == pytest.approx(cost.wall_s)
    assert len(asked.prediction.evidence) == len(runs)


def test_only_clusters_in_use_are_measured(answer):
    platform = grid(4)
    target = Target(
        sized_problem("himeno", 256, grid="slabs"), platform, tuple(host.name for host in platform.clusters[0].hosts)
    )
    asked = answer("npt", target)
    assert {evidence.request.target.placement[0] for evidence in asked.evidence} == {"c1-0"}
    assert asked.prediction.time_s == pytest.approx(himeno_s(target), rel=1e-6)


@pytest.mark.parametrize("name", ["npt", "npt:ls", "npt:pt", "npt:nt"])
def test_all_ranks_on_one_node_take_an_n_t_model_of_it(answer, name):
    # P = M_i, section 4.1.
    target = Target(sized_problem("himeno", 256, grid="slabs"), grid(4), ("c2-0",) * 3)
    asked = answer(name, target)
    assert asked.prediction.time_s == pytest.approx(himeno_s(target), rel=1e-6)
    assert {evidence.request.target.placement for evidence in asked.evidence} == {("c2-0",) * 3}


def test_an_n_t_model_measures_the_targets_own_hosts(answer):
    # Any placement is possible, even one that is not a configuration.  With P fixed, the time is a cubic function of N.
    target = Target(sized_problem("himeno", 256, grid="slabs"), grid(4), ("c1-0", "c1-1", "c1-1", "c2-2"))
    asked = answer("npt:nt", target)
    assert {evidence.request.target.placement for evidence in asked.evidence} == {target.placement}
    assert asked.prediction.time_s == pytest.approx(himeno_s(target), rel=1e-6)
    assert sum(asked.prediction.parts.values()) == pytest.approx(asked.prediction.time_s)


def test_a_p_t_model_is_exact_where_computation_is_all(answer):
    # T = W N^3 / P is k_0 T(N)|ref / P of Table V.
    def compute_s(target):
        slowest = min(target.platform.host(host).speed_flops for host in target.placement)
        return 100 * target.problem.size**3 / target.nranks / slowest

    target = target_of(256, grid(4), 8)
    assert answer("npt:pt", target, compute_s).prediction.time_s == pytest.approx(compute_s(target), rel=1e-6)


def test_a_p_t_model_to_the_letter_cannot_be_exact(answer):
    # Where T = W / P was measured on several P, one coefficient of T/P does not fit them all (test_npt_models.py).
    def compute_s(target):
        return target.problem.size**3 * 34 / target.nranks / min(SPEEDS)

    target = target_of(200, grid(6), 12)
    exact, literal = (answer(name, target, compute_s).prediction for name in ("npt:pt", "npt:pt-printed"))
    assert exact.time_s == pytest.approx(compute_s(target), rel=1e-6)
    assert literal.cost == exact.cost  # the same runs
    assert abs(literal.time_s / exact.time_s - 1) > 0.05


def test_a_wrecked_model_says_so(answer):
    # Times that fall with N: least squares goes on below zero, with non-negative coefficients it cannot (section 5.8).
    def falling_s(target):
        return 10 - 0.04 * target.problem.size

    target = target_of(1024, grid(4), 8)
    wrecked = answer("npt:ls", target, falling_s).prediction
    assert wrecked.time_s < 0
    assert "wrecked" in wrecked.flags[0]
    assert answer("npt", target, falling_s).prediction.time_s > 0


def test_other_orders_of_the_ranks_carry_a_caution(answer):
    target = target_of(256, grid(4), 8, place=cyclic)
    said = answer("npt", target).prediction
    assert said.time_s == pytest.approx(himeno_s(target), rel=1e-6)
    assert "order" in said.flags[-1]
    assert all("order" not in flag for flag in answer("npt", target_of(256, grid(4), 8)).prediction.flags)


def test_what_else_is_predicted_changes_nothing(answer):
    target, larger = (target_of(N, grid(4), 8) for N in (128, 256))
    alone = answer("npt", target).prediction
    assert answer("npt", target, others=[larger]).prediction == alone


def uneven(problem):
    return Target(problem, grid(4), ("c1-0", "c1-0", "c1-1", "c2-0"))


@pytest.mark.parametrize("name", ["npt", "npt:ls", "npt:pt", "npt:nt"])
@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (own_problem(UserProgram("mine", "0", (), None, Path("/mine.c"))), "are declared for its time"),
        (problem("sendmodes", "standard"), "are declared for its time"),
        (
            sized_problem("himeno", 80),
            "for the 4 terms|cannot tell the terms|too few sizes below N = 80",
        ),
        (problem("cg", "S"), "below N = 1400 to measure: none|0 measurements"),
    ],
    ids=str,
)
def test_programs_and_sizes_without_a_model_are_out_of_range(answer, name, problem, message):
    platform = grid(4)
    asked = answer(name, Target(problem, platform, block(platform, 8)))
    assert asked.prediction is None
    assert asked.evidence == ()  # nothing is measured in vain
    assert re.search(message, asked.refusal)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (uneven(sized_problem("himeno", 256, grid="slabs")), "1 ranks on some nodes of c1 and 2 on others"),
        (target_of(256, grid(2), 4), "cannot tell the terms"),  # P = 2 alone: 1 / P, 1 and log P are one
        (target_of(256, grid(1), 2), "one node"),
    ],
)
def test_placements_and_platforms_without_a_model_are_out_of_range(answer, target, message):
    asked = answer("npt", target)
    assert asked.prediction is None
    assert message in asked.refusal
    assert asked.evidence == ()


def test_smaller_problems_keep_the_other_parameters():
    found = smaller(sized_problem("hpl", 800, nb=32, broadcast="binomial"))
    assert [one.N for one in found] == [400, 600]
    assert all(dict(one.problem.params)["nb"] == 32 for one in found)


@pytest.mark.parametrize(
    ("app", "preset", "expected"),
    [("cg", "B", [1400, 7000, 14000]), ("lu", "A", [12, 33]), ("mg", "B", [32, 128]), ("mg", "C", [32, 128, 256, 256])],
)
def test_smaller_classes_are_those_of_smaller_n(app, preset, expected):
    # MG A and B both have 256 points along an edge.
    assert [one.N for one in smaller(problem(app, preset))] == expected


def test_fem_is_measured_where_its_iterations_are_known():
    (n, *_), fem = [one.N for one in smaller(sized_problem("fem", 660))], smaller(sized_problem("fem", 660))
    assert n == 70
    assert fem[0].fits(2)
    assert not fem[0].fits(4)  # no divisor


@pytest.mark.parametrize("app", ["bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"])
def test_ranks_that_a_kernel_refuses_are_not_measured(app):
    # What the kernel takes is declared, and equal to what it does (apps/traffic); class S has the least room.
    asked = problem(app, "S")
    for ranks in (*range(1, 70), 96, 121, 127, 128, 192, 250, 256, 257):
        try:
            traffic(asked, ranks)
        except KernelError:
            assert not accepts(asked, ranks), ranks
        else:
            assert accepts(asked, ranks), ranks


def test_ranks_that_lu_refuses_are_not_measured():
    # 12 points, two for each rank along a side of the grid: 8 is 4 x 2, 7 is 7 x 1, 16 is 4 x 4.
    assert [ranks for ranks in range(1, 17) if accepts(problem("lu", "S"), ranks)] == [
        *(1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16)
    ]


@pytest.mark.parametrize(("preset", "rows"), [("S", 1400), ("W", 7000)])
def test_cg_has_a_row_for_every_rank(preset, rows):
    assert accepts(problem("cg", preset), rows)
    assert not accepts(problem("cg", preset), rows + 1)


@pytest.mark.parametrize(
    ("preset", "few", "many"),
    [("S", 1, 3120), ("D", 4, 102261126)],  # 2^16 and 2^31 keys, more than 20 for each: 21; 34 GB need four nodes
)
def test_is_has_keys_to_change_on_every_rank_and_room_for_them(preset, few, many):
    asked = problem("is", preset)
    found = [accepts(asked, ranks) for ranks in (few, many, many + 1)]
    assert found == [True, True, False]
    assert few == 1 or not accepts(asked, few - 1)


def test_classes_are_compared_at_equal_numbers_of_iterations(record_of):
    target = target_of(32, grid(4), 1)
    record = record_of(target, 7.0, 1.0)
    # 1 s before the first, 2 s each, and the last a second more: three more last as long as those between.
    whole = replace(record, iteration_s=((3.0, 5.0, 8.0),))
    assert time_of_iterations_s(whole, 3, 3) == 7.0
    assert time_of_iterations_s(whole, 3, 6) == 7.0 + 3 * 2.0
    # A period of two iterations takes 5 s.
    settled = replace(whole, extrapolation=Extrapolation(20, 5, 2, 5.0, 0.0))
    assert time_of_iterations_s(settled, 20, 16) == 7.0 - 4 * 2.5


def test_numbers_of_nodes_are_spread():
    assert MOST_NUMBERS_OF_PES == 6
    assert spread([2, 3, 4]) == [2, 3, 4]
    assert spread(range(2, 9)) == [2, 3, 4, 5, 6, 8]
    for most in (16, 64, 1000):
        found = spread(range(2, most + 1))
        assert len(found) == 6
        assert (found[0], found[-1]) == (2, most)
        steps = [after - before for before, after in pairwise(found)]
        assert steps == sorted(steps)


def test_the_family_is_among_all():
    assert {"npt", "npt:ls", "npt:pt", "npt:nt"} <= {model.name for model in predictors(["all"])}
