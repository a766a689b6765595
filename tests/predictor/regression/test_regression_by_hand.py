"""Results and messages of the regressions, checked by hand and word by word."""

import math
from fractions import Fraction

import numpy as np
import pytest

from apps.errors import KernelError
from apps.programs.problem import Problem, problem, sized_problem
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform
from predictor.base import Cost, Evidence, OutOfRange
from predictor.registry import predictor
from predictor.regression.fits import (
    AMDAHL,
    FIT_AMDAHL,
    FIT_LOG,
    FIT_LOGLINEAR,
    TERMS,
    Combination,
    LogLine,
    PowerLaw,
    fit_combination,
    fit_log_line,
    fit_power_law,
)
from predictor.regression.hcf_terms import HCF_GROWTH, HCF_NNLS, growth_exponent, probe_request
from predictor.regression.smaller_runs import FEW, extrapolation_flags, part, sizes, smaller_runs, time_flags

PROBLEM = problem("cg", "S")


def grid(*nodes, speeds=(40e9, 50e9, 60e9, 70e9), cores=1):
    clusters = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", speed, cores) for i in range(count)))
        for c, (count, speed) in enumerate(zip(nodes, speeds, strict=False), 1)
    )
    return Platform("grid", "/nowhere.xml", f"{nodes}", clusters)


def whole(*nodes, asked=PROBLEM):
    platform = grid(*nodes)
    return Target(asked, platform, tuple(host.name for host in platform.hosts))


# Lines.


def test_lines_have_values_names_and_words():
    power, line = PowerLaw(math.log(40), -0.5), LogLine(5.0, -1.5)
    assert power.parts(16) == {"a P^b": pytest.approx(10)} and str(power) == "40 P^-0.5"
    assert line.parts(8) == {"constant": 5.0, "log P": pytest.approx(-1.5 * math.log(8))}
    assert str(line) == "5 - 1.5 log P" and str(LogLine(5.0, 0.25)) == "5 + 0.25 log P"
    assert str(LogLine(-1.0, 0.0)) == "-1 + 0 log P" and str(LogLine(1.0, 0.5)) == "1 + 0.5 log P"


def test_least_squares_of_three_times_by_hand():
    # log2 P = 1, 2, 3 with T = 1, 2, 6: slope 5/2 per doubling, mean 3.
    line = fit_log_line([2, 4, 8], [1, 2, 6])
    assert (line.a, line.b) == (pytest.approx(-2), pytest.approx(2.5 / math.log(2)))
    # Of logarithms: 1, 4, 4: slope 1 per doubling, mean of log2 T 4/3.
    power = fit_power_law([2, 4, 8], [1, 4, 4])
    assert (power.a / math.log(2), power.b) == (pytest.approx(4 / 3 - 2), pytest.approx(1))
    assert fit_log_line([2, 4], [Fraction(1), Fraction(3)]).b == pytest.approx(2 / math.log(2))
    assert isinstance(line.a, float) and isinstance(power.b, float)


def test_words_for_times_and_distances_that_are_doubtful():
    assert time_flags(1e-300) == time_flags(1e300) == ()
    for time_s, text in ((0.0, "0"), (-2.5, "-2.5"), (math.inf, "inf"), (math.nan, "nan")):
        said = f"the predicted time is {text} s: the law is not valid this far from the measured runs"
        assert time_flags(time_s) == (said,)
    assert extrapolation_flags(whole(8, 8), [8, 2, 6]) == ("P = 16 is 2 times the largest measured one (2, 6, 8)",)
    assert extrapolation_flags(whole(8, 2), [4, 6]) == ("P = 10 is 1.67 times the largest measured one (4, 6)",)


# Combinations.


def test_a_combination_by_hand():
    law = Combination({"constant": 1.0, "log P": 2.0, "P": 0.5, "sqrt P": 3.0, "1/P": 40.0})
    assert law.parts(16) == pytest.approx(
        {"constant": 1, "log P": 2 * math.log(16), "P": 8, "sqrt P": 12, "1/P": 2.5}
    )  # fmt: skip
    assert str(law) == "1 + 2 log P + 0.5 P + 3 sqrt P + 40/P"
    assert str(Combination({})) == "0" and Combination({}).parts(4) == {}
    assert list(TERMS) == ["constant", "log P", "P", "sqrt P", "1/P"] and AMDAHL == ("constant", "1/P")


def test_of_terms_that_are_given_no_others_are_taken():
    # 2 P does not fall with P: the nearest constant, the mean of the times.
    found = fit_combination([2, 4, 8], [4.0, 8.0, 16.0], AMDAHL)
    assert found.coefficients == {"constant": pytest.approx(28 / 3)}
    assert fit_combination([2, 4, 8], [4, 8, 16], ("P", "1/P")).coefficients == {"P": pytest.approx(2)}


def test_on_one_rank_the_logarithm_has_no_column():
    assert fit_combination([1, 1], [3.0, 5.0], ("log P", "constant")).coefficients == {"constant": pytest.approx(4)}


def test_the_coefficients_are_those_of_least_squares_to_the_last_digits():
    P = np.array([2.0, 3, 5, 8, 13, 21])
    times_s = 1 + 40 / P + 1e-3 * np.array([1, -1, 1, -1, 1, -1])
    design = np.stack([np.ones(6), 1 / P], axis=1)
    expected = np.linalg.solve(design.T @ design, design.T @ times_s)
    found = fit_combination(P, times_s, AMDAHL).coefficients
    assert list(found.values()) == pytest.approx(expected.tolist(), rel=1e-12)


# Smaller runs.


def test_too_few_sizes_are_refused_in_these_words():
    with pytest.raises(OutOfRange) as error:
        sizes(whole(2), FEW, predictor="any")
    assert str(error.value) == (
        f"any, {PROBLEM} on 2 nodes of grid: it needs runs on 2 numbers of nodes of at most 1 on which every cluster "
        "takes part, and there are none. Use more nodes, or a predictor that needs no smaller runs."
    )
    with pytest.raises(OutOfRange, match="at most 2 on which every cluster takes part, and there is 1"):
        sizes(whole(2, 1), FEW, predictor="any")


@pytest.mark.parametrize(
    ("nodes", "points", "expected"),
    [
        ((16, 16), range(2, 3), (2, 16)),  # the smallest and half of the nodes
        ((16, 16), range(2, 4), (2, 8, 16)),
        ((16, 16), range(2, 5), (2, 6, 10, 16)),
        ((6, 6), range(2, 4), (2, 4, 6)),  # just as many as are wanted up to half of the nodes
        ((5, 5), range(2, 4), (2, 4, 6)),  # half of the nodes has two rounds: three quarters have three
        ((3, 3), range(2, 4), (2, 3, 4)),  # two rounds, and the number between them
        ((7,), range(2, 4), (2, 3, 5)),  # 2 and 3 up to half of the nodes; up to three quarters 2, 3, 4 and 5
        ((2, 6), range(2, 4), (2, 4, 6)),  # the smaller cluster gives all it has
    ],
)
def test_sizes_by_hand(nodes, points, expected):
    assert sizes(whole(*nodes), points, predictor="any") == expected


def test_where_full_rounds_do_not_fit_the_program_other_numbers_do():
    # FFTE takes powers of two (Ichikawa, Takahashi, Kawai, section 5.4): of 15 nodes in threes 4 and 8, of 27 16 too.
    asked = sized_problem("fft", 2**20)
    assert sizes(whole(5, 5, 5, asked=asked), FEW, predictor="any") == (4, 8)
    assert sizes(whole(9, 9, 9, asked=asked), FEW, predictor="any") == (4, 8, 16)
    assert sizes(whole(9, 9, 9, asked=asked), range(1, 2), predictor="any") == (4,)


def test_a_nas_kernel_that_would_refuse_a_number_of_ranks_is_not_run_on_it():
    # LU in class S has 12 planes along the longer side of the ranks' grid, two for each at least: not on 7 x 1.
    assert sizes(whole(14, asked=problem("lu", "S")), FEW, predictor="any") == (2, 4, 6)


def test_numbers_of_ranks_whose_iterations_are_not_known_are_left_out(monkeypatch):
    def only_fours(self, ranks):
        if ranks % 4:
            raise KernelError("fem", "no run has told", "Run it")
        return 10

    monkeypatch.setattr(Problem, "iterations_on", only_fours)
    assert sizes(whole(16), FEW, predictor="any") == (4, 8, 12)


def test_the_smaller_runs_are_requests_for_parts_of_the_target():
    target = whole(4, 4)
    found = smaller_runs(target, FEW, predictor="any")
    assert [(one.kind, one.target.nranks) for one in found] == [("run", 2), ("run", 4), ("run", 6)]
    assert found[1].target == part(target, 4) == Target(PROBLEM, target.platform, ("c1-0", "c1-1", "c2-0", "c2-1"))


# Predictors.


@pytest.fixture
def answered(record_of):
    """Return ``answered(predictor, target, time_s, compute_s)``: the model of runs with these times by P."""

    def made(model, target, time_s, compute_s=lambda ranks: (0.0,) * ranks):
        requests = model.requests([target])
        evidence = []
        for number, request in enumerate(requests):
            P = request.target.nranks
            record = record_of(request.target, time_s(P), 1.0, compute_s(P))
            evidence.append(Evidence(request, record, f"e{number}", Cost(P * time_s(P), 0.5)))
        return model.fit(evidence)

    return made


@pytest.mark.parametrize(
    ("model", "law", "remark"),
    [
        (FIT_AMDAHL, lambda P: 2 + 100 / P, "T = 2 + 100/P s"),
        (FIT_LOG, lambda P: 30 - 2 * math.log(P), "T = 30 - 2 log P s"),
        (FIT_LOGLINEAR, lambda P: 40 * P**-0.5, "T = 40 P^-0.5 s"),
    ],
)
def test_a_fitted_law_tells_everything_that_it_rests_on(model, law, remark, answered):
    target = whole(8, 8, 8, 8)
    found = answered(model, target, law).predict(target)
    assert found.time_s == pytest.approx(law(32)) == pytest.approx(sum(found.parts.values()))
    assert all(term.endswith("_s") for term in found.parts)
    assert found.remarks == (remark,)
    assert found.flags == ("P = 32 is 2 times the largest measured one (4, 8, 16)",)
    assert found.evidence == ("e0", "e1", "e2")
    assert found.cost == Cost(pytest.approx(sum(P * law(P) for P in (4, 8, 16))), 1.5)
    assert model.further([target], []) == [] and predictor(model.name) is model


def test_times_below_a_second_are_times(answered):
    target = whole(8, 8, 8, 8)
    assert answered(FIT_AMDAHL, target, lambda P: 1e-3 / P).predict(target).time_s == pytest.approx(1e-3 / 32)


def test_names_of_parts_are_those_of_the_terms(answered):
    target = whole(8, 8, 8, 8)
    assert answered(FIT_AMDAHL, target, lambda P: 2 + 100 / P).predict(target).parts == pytest.approx(
        {"constant_s": 2, "1/P_s": 100 / 32}
    )


def test_runs_that_take_no_time_are_refused_in_these_words(answered):
    target = whole(8, 8)
    with pytest.raises(OutOfRange) as error:
        answered(FIT_LOG, target, lambda P: 0.0 if P == 4 else 1.0).predict(target)
    assert str(error.value) == (
        f"fit:log, {PROBLEM} on grid: a smaller run takes no time. Let the program compute or communicate."
    )


def test_hcf_nnls_tells_everything_that_it_rests_on(answered):
    # Clusters of 40 and 50 Gflop/s; 80 Gflop in all and 3 + 8 / P of communication: at P = 16, 80 / 16 / 40 s.
    target = whole(8, 8)

    def compute_s(ranks):
        return tuple(80 / ranks / (40 if rank < ranks // 2 else 50) for rank in range(ranks))

    model = answered(HCF_NNLS, target, lambda P: 80 / P / 40 + 3 + 8 / P, compute_s)
    found = model.predict(target)
    assert found.parts == pytest.approx({"compute_s": 80 / 16 / 40, "comm_s": 3.5})
    assert found.time_s == pytest.approx(3.625)
    assert found.remarks == ("communication 3 + 8/P s",)
    assert found.flags == ("P = 16 is 2 times the largest measured one (2, 4, 8)",)
    assert found.loads["c2-7"].core_s == pytest.approx(80 / 16 / 50)
    # The probe on a node of each cluster is the smallest run too.
    assert found.evidence == ("e0", "e1", "e2") and found.cost.wall_s == 1.5
    assert HCF_NNLS.further([target], []) == []
    assert probe_request(target).target.placement == ("c1-0", "c2-0")


def test_hcf_nnls_refuses_several_ranks_on_a_node_in_these_words():
    platform = grid(4, 4, cores=2)
    target = Target(PROBLEM, platform, tuple(host.name for host in platform.hosts for _ in range(2)))
    with pytest.raises(OutOfRange) as error:
        HCF_NNLS.runs(target)
    assert str(error.value) == (
        "hcf:nnls, 16 ranks on 8 nodes: HCF's computation assumes one rank per node. "
        "Use one rank per node, or another predictor."
    )
    assert HCF_NNLS.requests([target]) == []


def test_communication_grows_by_the_exponent_of_two_probes(answered):
    # Clusters of 40 and 50 Gflop/s, 80 Gflop in all.  Communication is 3 s on 2 nodes and 6 s on 4, so it grows as
    # equation (7) says: 24 s on 16.  Of sqrt P it is 3, 3 sqrt 2 and, on 16, 3 sqrt 8.
    target = whole(8, 8)

    def compute_s(ranks):
        return tuple(80 / ranks / (40 if rank < ranks // 2 else 50) for rank in range(ranks))

    for comm_s, expected_s in ((lambda P: 1.5 * P, 24.0), (lambda P: 3 * (P / 2) ** 0.5, 3 * 8**0.5)):
        found = answered(HCF_GROWTH, target, lambda P, comm_s=comm_s: 80 / P / 40 + comm_s(P), compute_s).predict(
            target
        )
        assert found.parts == pytest.approx({"compute_s": 80 / 16 / 40, "comm_s": expected_s})
        assert found.flags == ("16 nodes are 4 times those of the larger probe",)
    assert growth_exponent(first_s=8.0, second_s=1.0, nodes=(2, 4)) == pytest.approx(-3)
    assert [request.target.nodes for request in HCF_GROWTH.probes(target)] == [2, 4]
    # Four nodes are the larger probe itself.
    with pytest.raises(OutOfRange) as error:
        HCF_GROWTH.probes(whole(2, 2))
    assert "probes on 2 and 4 nodes tell no growth up to the target" in str(error.value)
    assert HCF_GROWTH.further([target], []) == []
