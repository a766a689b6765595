"""Baselines by regression: the smaller runs that they ask for, the recovery of known laws, and their refusals.

Runs are stubs whose times follow known equations.
"""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem, sized_problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.placement import block, configured, cyclic
from platforms.model.platform import Cluster, Host, Platform, Power
from predictor.answers.answers import predict
from predictor.base import Cost, HostLoad
from predictor.evidence.broker import Broker
from predictor.registry import predictor
from predictor.regression.fits import AMDAHL, TERMS, fit_combination, fit_log_line, fit_power_law
from predictor.regression.smaller_runs import FEW, part, sizes

SPEEDS = (40e9, 50e9, 60e9, 70e9)  # grids of four clusters of Fanfakh's Table (1)
WORK_FLOPS = 1.6e12
PROBLEM = problem("cg", "S")
LAWS = ("fit:loglinear", "fit:log", "fit:amdahl")


def grid(*nodes, speeds=SPEEDS, cores=1, power=None):
    clusters = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", speed, cores, power) for i in range(count)))
        for c, (count, speed) in enumerate(zip(nodes, speeds, strict=False), 1)
    )
    return Platform("grid", "/nowhere.xml", f"{nodes}{speeds}{cores}", clusters)


def whole(platform, asked=PROBLEM, place=block):
    return Target(asked, platform, place(platform, len(platform.hosts)))


@pytest.fixture
def answer(record_of):
    """Return ``answer(name, target, comm_s)``: predicts from runs of shared work with communication times comm_s(P)."""

    def ask(name, target, comm_s):
        def record(spec):
            ranks = spec.target.nranks
            compute_s = [WORK_FLOPS / ranks / spec.target.platform.host(h).speed_flops for h in spec.target.placement]
            return record_of(spec.target, max(compute_s) + comm_s(ranks), WORK_FLOPS, compute_s)

        broker = Broker(Settings(), [target], record=record, identify=lambda spec: spec.identity())
        return predict(predictor(name), [target], broker)[0]

    return ask


def time_s(ranks, comm_s):
    """Return the time by hand: the slowest cluster decides."""
    return WORK_FLOPS / ranks / min(SPEEDS) + comm_s(ranks)


# Smaller runs.


@pytest.mark.parametrize(
    ("nodes", "wanted", "expected"),
    [
        ((8, 8, 8, 8), FEW, (4, 8, 16)),  # 1, 2, 4 of each: half of the nodes at most
        ((9, 9, 9), FEW, (3, 6, 12)),
        ((16, 16, 16), range(5, 6), (3, 6, 12, 18, 24)),  # 1, 2, 4, 6, 8 of each
        ((4, 4, 4, 4), FEW, (4, 8, 12)),  # two rounds are not enough
        ((2, 2, 2, 2), FEW, (4, 5, 6)),  # one full round; 7 would be nearly the run itself
        ((4, 4, 4, 4), range(5, 6), (4, 6, 8, 10, 12)),  # three rounds, and between them
        ((3, 6, 2), FEW, (3, 6, 8)),  # 1 of each, 2 of each, then the third has no more
        ((12,), FEW, (2, 4, 6)),  # one node has no partner
        ((2, 2), FEW, (2, 3)),
    ],
)
def test_smaller_runs_take_the_same_number_of_every_cluster(nodes, wanted, expected):
    assert sizes(whole(grid(*nodes)), wanted, predictor="any") == expected


@pytest.mark.parametrize("place", [block, cyclic])
def test_a_smaller_run_keeps_the_order_of_the_ranks(place):
    target = whole(grid(3, 3, 3), place=place)
    smaller = part(target, 6).placement
    assert set(smaller) == {f"c{c}-{i}" for c in (1, 2, 3) for i in (0, 1)}
    assert smaller == tuple(host for host in target.placement if host in smaller)


def test_all_ranks_of_a_node_come_along():
    platform = grid(4, 4, cores=2)
    target = Target(PROBLEM, platform, configured(platform, ((4, 2), (2, 1))))
    assert part(target, 3).placement == ("c1-0", "c1-0", "c1-1", "c1-1", "c2-0")


def test_clusters_that_the_target_leaves_out_are_left_out():
    platform = grid(4, 4, 4)
    target = Target(PROBLEM, platform, tuple(host.name for cluster in platform.clusters[1:] for host in cluster.hosts))
    assert sizes(target, FEW, predictor="any") == (2, 4, 6)
    assert set(part(target, 2).placement) == {"c2-0", "c3-0"}


def test_numbers_of_ranks_that_the_program_cannot_do_are_left_out():
    # FFTE takes powers of two; Ichikawa, Takahashi and Kawai, section 5.4.
    target = whole(grid(8, 8, 8, 8), sized_problem("fft", 2**20))
    assert sizes(target, FEW, predictor="any") == (4, 8, 16)


def test_no_run_is_asked_for_that_is_the_target_or_nearly_so():
    for nodes in range(2, 30):
        for clusters in (1, 2, 3):
            target = whole(grid(*[nodes] * clusters))
            for name in ("hcf:nnls", *LAWS):
                asked = [request.target.nodes for request in predictor(name).requests([target])]
                assert all(n <= 0.75 * target.nodes for n in asked)


@pytest.mark.parametrize("name", ["hcf:nnls", *LAWS])
@pytest.mark.parametrize("nodes", [(1, 1, 1, 1), (1, 2), (2,), (1,)])
def test_too_small_a_target_is_out_of_range_and_costs_nothing(name, nodes, answer):
    refused = answer(name, whole(grid(*nodes)), lambda P: 1.0)
    assert refused.prediction is None
    assert refused.evidence == ()
    assert "smaller" in refused.refusal or "numbers of nodes" in refused.refusal


def test_a_large_platform_is_quick():  # seconds, should the choice ever be quadratic
    target = whole(grid(20_000, 20_000), problem("cg", "C"))
    assert sizes(target, FEW, predictor="any") == (2, 10_000, 20_000)


# Known laws.


@pytest.mark.parametrize(
    ("time_s", "expected"),
    [
        (lambda P: 1 + 40 / P, {"constant": 1, "1/P": 40}),
        (lambda P: 40 / P, {"1/P": 40}),
        (lambda P: 3.0, {"constant": 3}),
        (lambda P: 2 * P, {"P": 2}),
        (lambda P: math.sqrt(P), {"sqrt P": 1}),
        (lambda P: 2 + math.log(P), {"constant": 2, "log P": 1}),
        (lambda P: 0.0, {}),
    ],
)
def test_known_combinations_are_recovered(time_s, expected):
    ranks = (4, 8, 12)
    assert fit_combination(ranks, [time_s(P) for P in ranks]).coefficients == pytest.approx(expected)


def test_five_times_determine_five_terms():
    ranks, expected = (2, 4, 9, 20, 45), dict(zip(TERMS, (1.0, 2.0, 0.1, 3.0, 50.0), strict=True))
    times_s = [1 + 2 * math.log(P) + 0.1 * P + 3 * math.sqrt(P) + 50 / P for P in ranks]
    assert fit_combination(ranks, times_s).coefficients == pytest.approx(expected, rel=1e-6)


def test_fewer_times_than_terms_leave_as_many_terms_as_times_at_most():
    # 2 + P / 10 is met at all three, by other terms too: which law it is, three times do not tell.
    ranks = (4, 8, 12)
    found = fit_combination(ranks, [2 + P / 10 for P in ranks])
    assert 1 <= len(found.coefficients) <= 3
    assert [sum(found.parts(P).values()) for P in ranks] == pytest.approx([2 + P / 10 for P in ranks])


@pytest.mark.parametrize("times_s", [(1.0, 3.0, 2.0), (3.0, 1.0, 2.0), (9.0, 2.0, 0.1), (0.0, 0.0, 5.0)])
def test_coefficients_are_never_negative(times_s):
    found = fit_combination((4, 8, 12), times_s)
    assert all(c > 0 for c in found.coefficients.values())
    assert all(sum(found.parts(P).values()) >= 0 for P in range(1, 1000))


def test_the_unit_of_time_changes_nothing():
    found, in_ms = (fit_combination((4, 8, 12), [scale * s for s in (5.0, 3.1, 2.9)]) for scale in (1, 1000))
    assert in_ms.parts(32) == pytest.approx({term: 1000 * s for term, s in found.parts(32).items()})


def test_amdahls_law_has_two_terms():
    assert set(fit_combination((4, 8, 12), (9.0, 5.0, 4.5), AMDAHL).coefficients) <= {"constant", "1/P"}


def test_a_power_law_is_recovered():
    law = fit_power_law((4, 8, 12), [40 * P**-0.7 for P in (4, 8, 12)])
    assert (math.exp(law.a), law.b) == pytest.approx((40, -0.7))
    assert str(law) == "40 P^-0.7"


def test_a_line_in_log_p_is_recovered():
    law = fit_log_line((4, 8, 12), [5 - 1.5 * math.log(P) for P in (4, 8, 12)])
    assert (law.a, law.b) == pytest.approx((5, -1.5))


# Predictions.


@pytest.mark.parametrize(
    "comm_s", [lambda P: 0.5, lambda P: 8 / P, lambda P: 0.2 + 8 / P, lambda P: 0.1 * math.log(P), lambda P: 0.0]
)
@pytest.mark.parametrize("place", [block, cyclic])
def test_hcf_nnls_is_exact_where_work_is_shared_and_communication_is_such_a_law(comm_s, place, answer):
    said = answer("hcf:nnls", whole(grid(8, 8, 8, 8), place=place), comm_s).prediction
    # By hand: 1.6e12 flop over 32 nodes at 40 Gflop/s are 1.25 s.
    assert said.parts == pytest.approx({"compute_s": 1.25, "comm_s": comm_s(32)})
    assert said.time_s == pytest.approx(1.25 + comm_s(32))


def test_hcf_nnls_knows_that_a_target_leaves_out_the_slowest_cluster(answer):
    platform = grid(8, 8, 8, 8)
    fast = Target(PROBLEM, platform, tuple(host.name for c in platform.clusters[1:] for host in c.hosts))
    said = answer("hcf:nnls", fast, lambda P: 3 / P).prediction
    assert said.parts == pytest.approx({"compute_s": WORK_FLOPS / 24 / 50e9, "comm_s": 3 / 24})


def test_hcf_nnls_says_what_every_host_computes(answer):
    target = whole(grid(8, 8, 8, 8, power=Power(100.0, 200.0, 100.0)))
    said = answer("hcf:nnls", target, lambda P: 0.5).prediction
    # By hand, in the cluster of 50 Gflop/s: 1 s.
    assert said.loads["c2-3"] == HostLoad(*[pytest.approx(1.0)] * 3)
    # 1.75 s of 100 W, and 100 W more while a node computes.
    assert said.energy_j == pytest.approx(
        32 * 175 + 100 * 8 * 0.05 * (1 / 40e9 + 1 / 50e9 + 1 / 60e9 + 1 / 70e9) * 1e12
    )


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("fit:loglinear", lambda P: 40 * P**-0.7),
        ("fit:log", lambda P: 30 - 2 * math.log(P)),
        ("fit:amdahl", lambda P: 2 + 100 / P),
    ],
)
def test_a_fitted_law_is_exact_where_it_holds(name, law, answer):
    def comm_s(P):
        return law(P) - time_s(P, lambda _: 0.0)

    said = answer(name, whole(grid(8, 8, 8, 8)), comm_s).prediction
    assert said.time_s == pytest.approx(law(32))
    assert sum(said.parts.values()) == pytest.approx(said.time_s)
    assert said.loads is None
    assert said.flags[0] == "P = 32 is 2 times the largest measured one (4, 8, 16)"


def test_a_law_that_falls_below_zero_says_so(answer):
    said = answer("fit:log", whole(grid(8, 8, 8, 8)), lambda P: 0.0).prediction
    assert said.time_s < 0
    assert "the law is not valid this far" in said.flags[0]


@pytest.mark.parametrize("name", ["hcf:nnls", *LAWS])
def test_the_smaller_runs_are_charged(name, answer):
    said = answer(name, whole(grid(8, 8, 8, 8)), lambda P: 0.5)
    assert [one.request.target.nodes for one in said.evidence] == [4, 8, 16]  # the probe of HCF is the first
    node_s = sum(P * time_s(P, lambda _: 0.5) for P in (4, 8, 16))
    assert said.prediction.cost == Cost(pytest.approx(node_s), pytest.approx(3 * 0.25))
    assert len(said.prediction.evidence) == 3


def test_several_ranks_on_a_node_are_out_of_hcfs_range_but_not_of_a_laws(answer):
    platform = grid(8, 8, cores=2)
    target = Target(PROBLEM, platform, block(platform, 32, 2))
    refused = answer("hcf:nnls", target, lambda P: 0.5)
    assert refused.evidence == ()
    assert "one rank per node" in refused.refusal
    said = answer("fit:amdahl", target, lambda P: 0.5)
    assert [one.request.target.nranks for one in said.evidence] == [4, 8, 16]
    assert said.prediction.time_s == pytest.approx(time_s(32, lambda _: 0.5))


def test_one_predictor_answers_for_several_targets(record_of):
    def record(spec):
        return record_of(spec.target, 1 + 40 / spec.target.nranks, 1.0)

    targets = [whole(grid(*[nodes] * 4), asked) for nodes in (1, 4, 8) for asked in (PROBLEM, problem("mg", "S"))]
    broker = Broker(Settings(), targets, record=record, identify=lambda spec: spec.identity())
    answers = predict(predictor("fit:amdahl"), targets, broker)
    assert [one.prediction and one.prediction.time_s for one in answers] == pytest.approx(
        [None, None, 1 + 40 / 16, 1 + 40 / 16, 1 + 40 / 32, 1 + 40 / 32]
    )


def test_a_program_of_ones_own_will_do(answer):
    source = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"
    target = whole(grid(8, 8), own_problem(read_program(source, "100 1", None)))
    assert answer("hcf:nnls", target, lambda P: 2 / P).prediction.parts["comm_s"] == pytest.approx(2 / 16)


def test_runs_that_take_no_time_make_no_law(record_of):
    target = whole(grid(8, 8))
    broker = Broker(
        Settings(),
        [target],
        record=lambda spec: record_of(spec.target, 0.0, 0.0),
        identify=lambda spec: spec.identity(),
    )
    assert "takes no time" in predict(predictor("fit:loglinear"), [target], broker)[0].refusal


def test_the_target_is_never_run(record_of):
    target = whole(grid(8, 8, 8))
    run = []

    def record(spec):
        run.append(spec.target)
        return record_of(spec.target, 1.0, 1.0)

    for name in ("hcf:nnls", *LAWS):
        # Nothing is refused: nothing forbids it here but the predictor itself.
        broker = Broker(Settings(), [], record=record, identify=lambda spec: spec.identity())
        predict(predictor(name), [target], broker)
    assert run
    assert all(one.nodes < target.nodes and one == replace(target, placement=one.placement) for one in run)
