"""The hierarchical model at the ends of its range, and its messages."""

import math
from fractions import Fraction

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.hierarchical import model
from predictor.hierarchical.allocation import Allocation, allocation, best, smallest_within
from predictor.hierarchical.model import BETAS, Beta, named_beta
from predictor.hierarchical.polynomial import Polynomial
from predictor.hierarchical.surface import (
    DISTANCES,
    FIRST_OF,
    FLAT,
    GROWS,
    NO_FORM,
    SATURATES,
    Optimum,
    Surface,
    Term,
    Terms,
    cores_optimum,
    distance,
    general,
    nodes_of,
    nodes_optimum,
    terms_of,
    within,
)

LN2 = math.log(2)


def said(call):
    with pytest.raises(UserError) as error:
        call()
    return str(error.value)


# Equations.


def test_the_factor_of_the_exchange_and_the_variants():
    assert model.exchange_factor(Fraction(3), 5, Fraction(2)) == Fraction(15, 2)
    assert model.exchange_factor(Fraction(3), 5, Fraction(2), variant=model.PRINTED) == Fraction(45, 2)
    assert said(lambda: model.exchange_factor(1, 1, 1, variant="corrected")) == (
        "variant 'corrected': no such variant. Known: printed, derived."
    )


def test_eq_5_by_hand():
    # x = 6, q = 3: s = 2/3; F = 3 4 / 2 = 6; v r x = 12: (2/3) / (1 + 6 (2/3) / 12) = 1/2; printed F = 18: 1/3.
    numbers = {"x": Fraction(6), "r": Fraction(4), "v": Fraction(1, 2), "beta": Fraction(2)}
    assert model.efficiency(3, 4, **numbers) == Fraction(1, 2)
    assert model.efficiency(3, 4, variant="printed", **numbers) == Fraction(1, 3)
    # Side by side: s(2) = 1, 1 / (1 + 6 / 12).
    assert float(model.efficiency(3, 4, s=model.overlap, **numbers)) == pytest.approx(2 / 3)


def test_shares_and_node_efficiency():
    assert model.hockney(Fraction(3)) == Fraction(3, 4)
    assert model.overlap(np.array([0.5, 1.0, 2.0])).tolist() == [0.5, 1.0, 1.0]
    assert model.node_efficiency(4.0, 8, model.overlap) == 0.5
    assert {"hockney": model.hockney, "overlap": model.overlap} == model.SCALING


# beta.


def test_betas_by_hand():
    half = Beta(Fraction(1, 2), scale=Fraction(3))
    assert float(half(4, 9)) == 2.25 and half([1, 2], [[4], [16]]).tolist() == [[6, 3], [12, 6]]
    alone = Beta(Fraction(1), per_core=False)
    assert alone([1, 2], 5).tolist() == [5, 5]  # broadcast over q too
    assert float(half(Fraction(4), Fraction(9))) == 2.25
    assert half.polynomial == 3 * Polynomial.symbol("p", Fraction(1, 2)) * Polynomial.symbol("q", -1)
    assert alone.polynomial == Polynomial.symbol("p")


@pytest.mark.parametrize(
    ("beta", "text"),
    [
        (Beta(), "1/q"), (Beta(per_core=False), "1"), (Beta(Fraction(1)), "p/q"),
        (Beta(Fraction(1, 2), per_core=False), "sqrt(p)"), (Beta(Fraction(2, 3)), "p^(2/3)/q"),
        (Beta(scale=Fraction(1, 2)), "1/2/q"), (Beta(Fraction(1), scale=Fraction(3), per_core=False), "3 p"),
    ],
)  # fmt: skip
def test_betas_are_written_as_they_are_named(beta, text):
    assert str(beta) == text


def test_betas_that_are_none_are_refused_in_these_words():
    assert said(lambda: named_beta("q")) == f"beta 'q': no such choice. Known: {', '.join(BETAS)}."
    for scale in (0, -1, math.inf, math.nan):
        assert said(lambda scale=scale: named_beta("1", scale)) == (
            f"beta_0 {scale}: not a positive number. Give one, such as 1."
        )
    for scale in (0.9e-12, 1.1e12):
        assert said(lambda scale=scale: named_beta("1", scale)) == (
            f"beta_0 {scale}: not a share of a network's bandwidth. Give one from 1e-12 to 1e+12."
        )
    assert named_beta("p", 1e12).scale == 10**12 and named_beta("p").scale == 1


# Surfaces.


def test_terms_by_hand():
    assert float(Term(3.0, 2, 0.5, 1)(2, 4)) == 3 * 4 * 2 * 2
    assert float(Term(3.0, 2, 0.5)(2, 4)) == 24
    both = Terms((Term(1.0, cores=1), Term(2.0, nodes=1)))
    assert both([1, 2], [[3], [4]]).tolist() == [[7, 8], [9, 10]]
    assert Terms(())([1, 2], [[3], [4]]).tolist() == [[0, 0], [0, 0]]
    assert float(Term(2.0, 1, 1, 1)(Fraction(3), Fraction(4))) == 48


def test_a_polynomial_becomes_terms_that_are_sorted_and_added_up():
    q, p, n, log_p = (Polynomial.symbol(name) for name in ("q", "p", "n", "log2(p)"))
    # With n = 10: (2 n + 3 n^2) q + p log2 p / 4 + q^2.
    found = terms_of(2 * n * q + 3 * n * n * q + Fraction(1, 4) * p * log_p + q * q, 10.0)
    assert found == Terms((Term(0.25, 0.0, 1.0, 1), Term(320.0, 1.0, 0.0, 0), Term(1.0, 2.0, 0.0, 0)))
    assert terms_of(p * Fraction(3, 2)) == Terms((Term(1.5, 0.0, 1.0, 0),))


def test_efficiency_and_speedup_of_a_surface_by_hand():
    surface = Surface(Terms((Term(0.5, cores=1),)), Terms((Term(0.25, nodes=1),)))
    # 1 / eta = 1 + 0.5 q + 0.25 p; side by side max(1, 0.5 q) + 0.25 p.
    assert surface.efficiency([1, 4], [[2], [8]]) == pytest.approx(1 / np.array([[2, 3.5], [3.5, 5]]))
    assert float(surface.speedup(4, 2)) == pytest.approx(8 / 3.5)
    beside = Surface(surface.memory, surface.network, overlap=True)
    assert beside.efficiency([1, 4], 2) == pytest.approx([1 / 1.5, 1 / 2.5])
    assert float(surface.speedup(Fraction(4), Fraction(2))) == pytest.approx(8 / 3.5)


def test_the_general_surface_by_hand():
    # beta = 1/q: q / x + q^2 p d(p) / (v c x), with q^3 as printed; d(p) = log2 p at p = 4.
    derived = general(10.0, 0.5, c=4.0, d="log2(p)", beta=Beta().polynomial, printed=False)
    printed = general(10.0, 0.5, c=4.0, d="log2(p)", beta=Beta().polynomial, printed=True, overlap=True)
    assert float(derived.memory(3, 4)) == float(printed.memory(3, 4)) == pytest.approx(0.3)
    assert float(derived.network(3, 4)) == pytest.approx(9 * 4 * 2 / 20)
    assert float(printed.network(3, 4)) == pytest.approx(27 * 4 * 2 / 20)
    assert (derived.overlap, printed.overlap) == (False, True)
    assert said(lambda: distance("p^2")) == "d(p) = p^2: no such choice. Known: p, sqrt(p), log2(p)."
    assert list(DISTANCES) == ["p", "sqrt(p)", "log2(p)"]


# Optima.


def test_an_optimum_lies_above_one_and_below_what_is_none():
    assert within(1.0, "q") == Optimum(None, FIRST_OF["q"]) and within(0.5, "p") == Optimum(None, FIRST_OF["p"])
    assert within(1.5, "p") == Optimum(1.5) and within(1.5, "p").interior
    assert within(1e15, "p") == Optimum(None, GROWS) and not within(1e15, "p").interior


def test_the_words_for_no_optimum():
    assert FIRST_OF == {
        "q": "no interior optimum: one core per node is best", "p": "no interior optimum: one node is best"
    }  # fmt: skip


def surface(memory=(), network=(), overlap=False):
    return Surface(Terms(tuple(memory)), Terms(tuple(network)), overlap)


def test_the_best_number_of_cores_by_hand():
    # N = g q^e: q = (1 / (g (e - 1)))^(1 / e).  g = 1/32 = p / 64 at p = 2, e = 3: (16)^(1/3).
    cubic = surface([Term(0.1, cores=1)], [Term(1 / 64, 3, 1)])
    assert cores_optimum(cubic, 2).value == pytest.approx(16 ** (1 / 3))
    # Two terms of one power add up: 1/64 and 3/64 at p = 1: (64 / 4 / 2)^(1/3) = 2.
    assert cores_optimum(surface(network=[Term(1 / 64, 3), Term(3 / 64, 3, 1)]), 1).value == pytest.approx(2)
    # Two powers have no closed form; nor has what is no sum of powers.
    assert cores_optimum(surface(network=[Term(1.0, 2), Term(1.0, 3)]), 1) == Optimum(None, NO_FORM)
    assert cores_optimum(Surface(Terms(()), lambda q, p: q), 1) == Optimum(None, NO_FORM)
    assert nodes_optimum(Surface(Terms(()), lambda q, p: q), 1) == Optimum(None, NO_FORM)


@pytest.mark.parametrize(
    ("memory", "network", "overlap", "why"),
    [
        ([], [], False, GROWS), ([Term(0.1, cores=1)], [], False, SATURATES), ([], [Term(0.1, 1)], False, SATURATES),
        ([], [], True, GROWS), ([Term(0.1, cores=1)], [], True, FLAT), ([], [Term(0.1, 1)], True, SATURATES),
        ([], [Term(0.1, 0.5)], False, SATURATES), ([], [Term(0.0, 2)], False, GROWS),
    ],
)  # fmt: skip
def test_where_there_is_no_best_number_of_cores(memory, network, overlap, why):
    assert cores_optimum(surface(memory, network, overlap), 3) == Optimum(None, why)


def test_side_by_side_the_memory_limits_the_cores():
    # sqrt(1 / g) = 10 by the network; memory is full with 4, or with 40; it grows with p: c p at p = 2.
    assert cores_optimum(surface([Term(0.25, cores=1)], [Term(0.01, 2)], True), 1).value == pytest.approx(4)
    assert cores_optimum(surface([Term(0.025, cores=1)], [Term(0.01, 2)], True), 1).value == pytest.approx(10)
    assert cores_optimum(surface([Term(0.125, 1, 1)], [Term(0.01, 2)], True), 2).value == pytest.approx(4)
    assert cores_optimum(surface([Term(0.25, cores=1)], [Term(0.01, 2)]), 1).value == pytest.approx(10)
    assert cores_optimum(surface([], [Term(0.01, 2)], True), 1).value == pytest.approx(10)


def test_the_best_number_of_nodes_by_hand():
    # G = 0.01 4 p^2 with q^1 = 4: p^2 0.04 = 1 + 0.5 4 = 3 in turn, max(1, 2) = 2 side by side.
    for overlap, right in ((False, 3), (True, 2)):
        found = nodes_optimum(surface([Term(0.5, cores=1)], [Term(0.01, 1, 2)], overlap), 4)
        assert found.value == pytest.approx(math.sqrt(right / 0.04))
    assert nodes_optimum(surface([Term(0.1, cores=1)], [Term(0.01, 1, 2)], True), 4).value == pytest.approx(5)
    assert nodes_optimum(surface([Term(0.5, 1, 1)], [Term(0.01, 1, 2)]), 4) == Optimum(None, NO_FORM)


def test_sums_of_powers_of_p():
    # G = 0.5 p^3: p G' - G = p^3 = 8.  A term in p alone adds nothing; p log2 p gives p / ln 2.
    assert nodes_of([Term(0.5, nodes=3)], 8.0).value == pytest.approx(2)
    assert nodes_of([Term(0.5, nodes=3), Term(7.0, nodes=1)], 8.0).value == pytest.approx(2)
    assert nodes_of([Term(1.0, nodes=1, logs=1)], 3.0).value == pytest.approx(3 * LN2)
    assert nodes_of([Term(0.25, nodes=3), Term(0.25, nodes=3)], 8.0).value == pytest.approx(2)
    # p^2 + 2 p^3 = 20 at p = 2: two powers, found by halving.
    assert nodes_of([Term(1.0, nodes=2), Term(1.0, nodes=3)], 20.0).value == pytest.approx(2, rel=1e-12)
    # p^2 (log2 p + 1 / ln 2) = 16 (2 + 1 / ln 2) at p = 4.
    assert nodes_of([Term(1.0, nodes=2, logs=1)], 16 * (2 + 1 / LN2)).value == pytest.approx(4, rel=1e-12)
    # A large one: p^2 + 2 p^3 = 1e24 + 2e36.
    assert nodes_of([Term(1.0, nodes=2), Term(1.0, nodes=3)], 2e36).value == pytest.approx(1e12, rel=1e-9)


@pytest.mark.parametrize(
    ("terms", "right", "why"),
    [
        ([], 1.0, GROWS),
        ([Term(3.0, nodes=1)], 1.0, SATURATES),
        ([Term(3.0, nodes=0.5)], 1.0, GROWS),
        ([Term(1.0, nodes=2), Term(1.0, nodes=0.5)], 1.0, NO_FORM),
        ([Term(1.0, nodes=0.5), Term(1.0)], 1.0, GROWS),
        ([Term(1.0, nodes=1), Term(1.0, nodes=0.5)], 1.0, NO_FORM),
        ([Term(LN2, nodes=2, logs=1)], 1.0, FIRST_OF["p"]),  # p G' - G is 1 at p = 1
        ([Term(1.0, nodes=2, logs=1)], 1.0, FIRST_OF["p"]),  # and 1 / ln 2
        ([Term(1.0, nodes=2), Term(1.0, nodes=3)], 3.0, FIRST_OF["p"]),
        ([Term(1e-40, nodes=2), Term(1e-55, nodes=3)], 1.0, GROWS),  # beyond 10^15 nodes
    ],
)
def test_where_there_is_no_best_number_of_nodes(terms, right, why):
    assert nodes_of(terms, right) == Optimum(None, why)


# Allocations.


def test_the_best_of_equals_has_the_fewest_cores():
    # N = q p: the speed-up q p / (1 + q p) depends on the cores alone; with none it is q p.
    flat = surface(network=[])
    assert best(flat, range(1, 4), range(1, 5)) == Allocation(3, 4, 12.0, 1.0)
    peak = surface(network=[Term(1 / 16, 2, 2)])  # q p / (1 + (q p)^2 / 16): largest with 4 cores in all
    assert best(peak, range(1, 9), range(1, 9)) == Allocation(1, 4, 2.0, 0.5)
    assert best(peak, range(2, 9), range(1, 9)) == Allocation(2, 2, 2.0, 0.5)
    assert best(peak, range(4, 9), range(1, 9)) == Allocation(4, 1, 2.0, 0.5)
    assert best(peak, range(1, 2), range(5, 9)).nodes == 5


def test_of_equal_speed_ups_the_one_with_fewer_cores_is_taken_though_it_has_more_of_them_on_a_node():
    # q p / (1 + N): 2 with 8 cores on as many nodes and with 4 on two, less elsewhere.
    low = {(1, 8): 3.0, (2, 2): 1.0}
    chosen = Surface(Terms(()), np.vectorize(lambda q, p: low.get((int(q), int(p)), 99.0)))
    assert best(chosen, range(1, 3), range(1, 9)) == Allocation(2, 2, 2.0, 0.5)


def test_the_smallest_allocation_that_is_nearly_as_good():
    # q p / (1 + (q p)^2 / 16): 2 with 4 cores, 1.92 with 3, 1.6 with 2, 0.94 with 1.
    peak = surface(network=[Term(1 / 16, 2, 2)])
    top = allocation(peak, 1, 4)
    found = {
        s: smallest_within(peak, range(1, 5), range(1, 9), of=top, share=s).cores for s in (0.0, 0.039, 0.041, 0.9)
    }
    assert found == {0.0: 4, 0.039: 4, 0.041: 3, 0.9: 1}
    assert smallest_within(peak, range(1, 5), range(1, 9), of=top, share=0.2) == allocation(peak, 1, 2)  # 1.6, just so
    assert smallest_within(peak, range(1, 5), range(3, 9), of=top, share=0.5).nodes == 3
    # Nodes of 4 cores cost them all: one node of 3 or 4 is nearly as good, and 4 are better than 3.
    assert smallest_within(peak, range(1, 5), range(1, 9), of=top, share=0.05, charged=4) == allocation(peak, 4, 1)


def test_a_share_that_is_none_is_refused_in_these_words():
    peak = surface(network=[Term(1 / 16, 2, 2)])
    for share in (-0.01, 1.0, 1.5, math.nan):
        text = said(lambda s=share: smallest_within(peak, range(1, 5), range(1, 9), of=allocation(peak, 1, 4), share=s))
        assert text == f"--within {share:g}: not a share. Give 0 or more and less than 1, such as 0.05."
