"""Closed forms of the best q and p against searches over whole numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from predictor.hierarchical.allocation import Allocation, allocation, batch_lines, best, smallest_within, wall_time_s
from predictor.hierarchical.applications import application, applications
from predictor.hierarchical.model import BETAS, Beta, named_beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster, table_cluster
from predictor.hierarchical.surface import (
    DISTANCES,
    FIRST_OF,
    FLAT,
    GROWS,
    PRINTED_NODES,
    PRINTED_NODES_CONSTANT,
    PRINTED_TABLE,
    SATURATES,
    Surface,
    Term,
    Terms,
    cores_optimum,
    general,
    nodes_optimum,
    printed_cores,
    printed_nodes,
)

LN2 = math.log(2)
MOST = 4000  # the search's; optima beyond are left out
positive = st.floats(0.01, 1e5)
quick = settings(max_examples=60, deadline=None)


def searched_cores(surface, p):
    return 1 + int(np.argmax(surface.speedup(np.arange(1.0, MOST + 2), p)))


def searched_nodes(surface, q):
    return 1 + int(np.argmax(surface.speedup(q, np.arange(1.0, MOST + 2))))


def derived_cores(beta_1, v, r, x, p):
    """Return (beta_1(p) v r x / p)^(1/2)."""
    return math.sqrt(beta_1 * v * r * x / p)


def derived_nodes(d, *, beta_0, v, x, c, q):
    """Return p_E for W = beta_0 c v (x + q) / q^2."""
    W = beta_0 * c * v * (x + q) / q**2
    return {"p": math.sqrt(W), "sqrt(p)": (2 * W) ** (2 / 3), "log2(p)": W * LN2}[d]


@quick
@given(
    x=positive, v=st.floats(0.01, 1), c=positive, d=st.sampled_from(list(DISTANCES)), p=st.integers(1, 500),
    beta=st.sampled_from(list(BETAS)), printed=st.booleans(), overlap=st.booleans(),
)  # fmt: skip
def test_q_E_is_what_a_search_finds(x, v, c, d, p, beta, printed, overlap):
    surface = general(x, v, c=c, d=d, beta=BETAS[beta].polynomial, printed=printed, overlap=overlap)
    found = cores_optimum(surface, p)
    if found.interior:
        assume(found.value < MOST)
        assert abs(searched_cores(surface, p) - found.value) <= 1
    elif found.why == FIRST_OF["q"]:
        assert searched_cores(surface, p) == 1
    else:  # it never falls
        speedups = surface.speedup(np.arange(1.0, 200.0), p)
        assert (np.diff(speedups) >= -1e-9 * speedups[:-1]).all()


@quick
@given(
    x=positive, v=st.floats(0.01, 1), c=positive, d=st.sampled_from(list(DISTANCES)), q=st.integers(1, 64),
    beta=st.sampled_from(list(BETAS)), printed=st.booleans(), overlap=st.booleans(),
)  # fmt: skip
def test_p_E_is_what_a_search_finds(x, v, c, d, q, beta, printed, overlap):
    surface = general(x, v, c=c, d=d, beta=BETAS[beta].polynomial, printed=printed, overlap=overlap)
    found = nodes_optimum(surface, q)
    if found.interior:
        assume(found.value < MOST)
        assert abs(searched_nodes(surface, q) - found.value) <= 1
    elif found.why == FIRST_OF["p"]:
        assert searched_nodes(surface, q) == 1
    else:  # it grows in the end: four times as many nodes bring more
        p = np.array([1e6, 4e6, 16e6, 64e6])
        assert (np.diff(surface.speedup(q, p)) > -1e-9).all()


@quick
@given(
    l_c=st.floats(1, 100), b_m=st.floats(1, 500), b_cl=st.floats(0.1, 50), n=st.integers(50, 10**6),
    name=st.sampled_from(list(applications())), q=st.integers(1, 64), p=st.integers(1, 1000), overlap=st.booleans(),
)  # fmt: skip
def test_optima_of_programs_are_what_a_search_finds(l_c, b_m, b_cl, n, name, q, p, overlap):
    gflops, memory, network = (Fraction(value) * 10**9 for value in (l_c, b_m, b_cl))
    system = MulticoreCluster("random", gflops, memory, network, 64, 1000)
    surface = application(name).surface(n, system, variant="derived", overlap=overlap)
    cores, nodes = application(name).optima(n, system, q, p, variant="derived", overlap=overlap)
    if cores.interior and cores.value < MOST:
        assert abs(searched_cores(surface, p) - cores.value) <= 1
    if nodes.interior and nodes.value < MOST:
        assert abs(searched_nodes(surface, q) - nodes.value) <= 1


@quick
@given(x=positive, v=st.floats(0.01, 1), c=positive, p=st.integers(1, 500), d=st.sampled_from(list(DISTANCES)))
def test_the_derived_formulas_are_the_general_ones(x, v, c, p, d):
    q = 3
    surface = general(x, v, c=c, d=d, beta=Beta().polynomial, printed=False)
    if (nodes := nodes_optimum(surface, q)).interior:
        assert nodes.value == pytest.approx(derived_nodes(d, beta_0=1, v=v, x=x, c=c, q=q), rel=1e-9)
    distance = float(DISTANCES[d].evaluate(p=p))
    if distance and (cores := cores_optimum(surface, p)).interior:
        assert cores.value == pytest.approx(derived_cores(1, v, c / distance, x, p), rel=1e-9)


def test_q_E_by_hand():
    # v r x / p = 0.25 (400 / 4) 100 / 4 = 625: 25 cores derived; (625 / 2)^(1/3) = 6.786 printed.
    assert derived_cores(1, 0.25, 100, 100, 4) == 25
    assert printed_cores(1, 0.25, 100, 100, 4) == pytest.approx(6.786, abs=1e-3)
    surface = general(100.0, 0.25, c=400.0, d="p", beta=Beta().polynomial, printed=False)
    assert cores_optimum(surface, 4).value == pytest.approx(25)
    assert searched_cores(surface, 4) == 25
    # The printed q_E belongs to the surface of eq. (5) by its letters.
    letters = general(100.0, 0.25, c=400.0, d="p", beta=Beta().polynomial, printed=True)
    assert cores_optimum(letters, 4).value == pytest.approx(printed_cores(1, 0.25, 100, 100, 4))


def test_p_E_by_hand():
    # W = c v (x + q) / q^2 = 400 0.25 (96 + 4) / 16 = 625: sqrt(W), (2 W)^(2/3), W ln 2.
    values = {d: derived_nodes(d, beta_0=1, v=0.25, x=96, c=400, q=4) for d in DISTANCES}
    assert values == pytest.approx({"p": 25, "sqrt(p)": 116.04, "log2(p)": 433.2}, abs=0.02)
    # Printed: W = v (x / q) c / q^2 = 150, and the exponent 3/2.
    printed = {d: printed_nodes(d, beta_0=1, v=0.25, x=96, c=400, q=4) for d in DISTANCES}
    assert printed == pytest.approx({"p": 12.247, "sqrt(p)": 5196.2, "log2(p)": 103.97}, abs=0.05)


def test_side_by_side_no_more_cores_than_x_are_of_use():
    # g = 1e-6: 1000 cores by the network, but memory is full with x = 12.
    surface = Surface(Terms((Term(1 / 12, cores=1),)), Terms((Term(1e-6, cores=2),)), overlap=True)
    assert cores_optimum(surface, 1).value == pytest.approx(12)
    assert searched_cores(surface, 1) == 12


def test_no_optimum_is_said_and_why():
    memory = Terms((Term(0.1, cores=1),))
    per_node = Surface(memory, Terms((Term(0.01, cores=1, nodes=1),)))
    assert cores_optimum(per_node, 4).why == SATURATES
    assert nodes_optimum(per_node, 4).why == SATURATES
    assert nodes_optimum(Surface(memory, Terms((Term(0.01, cores=2, nodes=0.5),))), 4).why == GROWS
    assert nodes_optimum(Surface(memory, Terms((Term(9.0, cores=2, nodes=2),))), 4).why == FIRST_OF["p"]
    assert cores_optimum(Surface(memory, Terms((Term(9.0, cores=2, nodes=2),))), 4).why == FIRST_OF["q"]
    assert cores_optimum(Surface(memory, Terms((Term(0.01, cores=1, nodes=1),)), overlap=True), 4).why == FLAT
    assert cores_optimum(Surface(Terms(()), Terms(())), 4).why == GROWS


def test_the_programs_of_the_table_without_a_best_number_of_nodes():
    # mm: 1 / (beta_1 r) = p^(-1/2); FFT: log2(p) / p: the exchange shrinks as fast as, or faster than, links are added.
    system = table_cluster("bwUniCluster")
    why = {name: application(name).optima(10**5, system, 4, 8, variant="derived")[1].why for name in applications()}
    assert why == {"scalar-product": "", "matrix-product": GROWS, "hpl": "", "fft": GROWS, "fftw": ""}


def test_printed_optima_are_the_printed_formulas():
    # fftw on bwUniCluster: x = log2(n) / 8 / 0.20, c = n, d = log2 p, beta_0 = 1, v = 0.070.
    n, q, p = 2**14, 2, 8
    cores, nodes = application("fftw").optima(n, table_cluster("bwUniCluster"), q, p, variant="printed")
    x = 14 / 8 / 0.2
    assert cores.value == pytest.approx(printed_cores(1, 0.07, n / 3, x, p))
    assert nodes.value == pytest.approx(printed_nodes("log2(p)", beta_0=1, v=0.07, x=x, c=n, q=q))


def printed_nodes_of(name, n, system, q, beta=None):
    asked = application(name).optima(n, table_cluster(system), q, 8, variant="printed", beta=beta and named_beta(*beta))
    return asked[1]


def test_p_E_as_the_table_prints_it_for_all_three_d():
    # By hand, W = (beta_0 / q^2) v (x / q) c.
    # d = p: scalar product on bwGRiD, x = 1/8/1.41, c = 2e6: W = 0.233 0.088652 2e6 / 512 = 80.688.
    one = printed_nodes_of("scalar-product", 10**6, "bwGRiD", 8)
    assert (one.value, one.formula) == (pytest.approx(8.983, abs=1e-3), "p_E = W^(1/2), W = (beta_0 / q^2) w(x)")
    # d = sqrt(p): matrix product on bwUniCluster with beta = 1/q, x = 20000/8/0.20, c = 1: W = 0.07 12500 / 64 = 13.67.
    one = printed_nodes_of("matrix-product", 20_000, "bwUniCluster", 4, ("1/q",))
    assert (one.value, one.formula) == (pytest.approx(142.98, abs=0.01), PRINTED_TABLE["sqrt(p)"])
    half = printed_nodes_of("matrix-product", 20_000, "bwUniCluster", 4, ("1/q", 0.5))
    assert half.value == pytest.approx(142.98 / 2**1.5, abs=0.01)
    # d = log2(p): FFTW, x = log2(n)/8/0.20 = 8.75, c = n: W = 0.07 8.75 16384 / 8 = 1254.4; W ln 2 = 869.5.
    one = printed_nodes_of("fftw", 2**14, "bwUniCluster", 2)
    assert (one.value, one.formula) == (pytest.approx(869.5, abs=0.1), PRINTED_TABLE["log2(p)"])


def test_p_E_as_printed_where_the_table_does_not_have_it():
    # beta_1 = sqrt(p): 1 / (beta_1 r) = sqrt(p) / (2 n), p^2 (...)' = p^(3/2) / (4 n) = v (x + q) / q^3, with the x + q
    # that the table lacks: v (x + q) / q^3 = 0.233 8.088652 / 512 = 0.00368097.
    one = printed_nodes_of("scalar-product", 10**6, "bwGRiD", 8, ("sqrt(p)/q",))
    assert (one.value, one.formula) == (pytest.approx((4e6 * 0.00368097) ** (2 / 3), rel=1e-5), PRINTED_NODES)
    # Linpack: 1 / r = 1/3 + log2(p) / 36, p^2 d' = p / (36 ln 2) = (1 / q^2) v x / q: 0.07 6250 / 8 = 54.69.
    one = printed_nodes_of("hpl", 30_000, "bwUniCluster", 2)
    assert (one.value, one.formula) == (pytest.approx(54.6875 * 36 * LN2), PRINTED_NODES_CONSTANT)
    # On links of its own the matrix product's exchange shrinks: the printed condition has no root.
    assert printed_nodes_of("matrix-product", 20_000, "bwUniCluster", 4).why == GROWS


def test_the_table_s_programs_have_no_best_q_and_p_together():
    # Both conditions at once need p G' = 2 G + q / x with N = q^2 G(p), more than G = p^2 and less ever have: more
    # nodes of fewer cores are always better, as far as there are nodes.
    system = table_cluster("bwUniCluster")
    for name in applications():
        surface = application(name).surface(5000, system, variant="derived")
        top = best(surface, range(1, 17), range(1, 3000))
        cores, nodes = application(name).optima(5000, system, top.cores_per_node, top.nodes, variant="derived")
        assert top.cores_per_node == 1 or top.nodes == 2999
        assert not (cores.interior and nodes.interior and 1 < nodes.value < 2998 and 1.5 < cores.value < 16)


def test_the_best_is_the_largest_of_all():
    surface = general(100.0, 0.25, c=400.0, d="sqrt(p)", beta=Beta().polynomial, printed=False)
    every = {(q, p): float(surface.speedup(q, p)) for q in range(1, 9) for p in range(1, 41)}
    top = best(surface, range(1, 9), range(1, 41))
    assert (top.cores_per_node, top.nodes) == max(every, key=every.get)
    assert top.speedup == pytest.approx(top.cores * top.efficiency)
    small = smallest_within(surface, range(1, 9), range(1, 41), of=top, share=0.05)
    enough = [q * p for (q, p), speedup in every.items() if speedup >= 0.95 * top.speedup]
    assert small.cores == min(enough) < top.cores
    # Whole nodes of 8 cores: as few nodes as will do.
    whole = smallest_within(surface, range(1, 9), range(1, 41), of=top, share=0.05, charged=8)
    assert whole.nodes == min(p for (_, p), speedup in every.items() if speedup >= 0.95 * top.speedup)


def test_an_allocation_has_speedup_and_efficiency():
    surface = Surface(Terms((Term(0.5, cores=1),)), Terms((Term(0.25, nodes=1),)))
    # 1 / eta = 1 + 0.5 2 + 0.25 4 = 3.
    one = allocation(surface, 2, 4)
    assert (one.efficiency, one.speedup, one.cores) == (pytest.approx(1 / 3), pytest.approx(8 / 3), 8)


def test_p_log_p_is_solved_by_halving_where_no_form_is_closed():
    # G = p^2 log2 p: p G' - G = p^2 (log2 p + 1 / ln 2) = right.
    surface = Surface(Terms(()), Terms((Term(1e-4, nodes=2, logs=1),)))
    found = nodes_optimum(surface, 1).value
    assert 1e-4 * found**2 * (math.log2(found) + 1 / math.log(2)) == pytest.approx(1)
    assert abs(searched_nodes(surface, 1) - found) <= 1


def test_the_scale_of_beta_moves_the_optimum_by_its_root():
    one, four = (application("hpl").optima(
        10**5, table_cluster("bwUniCluster"), 4, 8, variant="derived", beta=named_beta("1/q", scale))[0].value
        for scale in (1, 4))  # fmt: skip
    assert four == pytest.approx(2 * one)


def test_batch_lines_and_wall_time():
    one = Allocation(cores_per_node=8, nodes=4, speedup=20.0, efficiency=0.625)
    # 3000 s and a fifth more is an hour; 3001 s a minute more.
    assert (wall_time_s(3000, 0.2), wall_time_s(3001, 0.2), wall_time_s(0.1, 0.2)) == (3600, 3660, 60)
    assert batch_lines("slurm", one, 90_000, exclusive=False) == [
        "#SBATCH --nodes=4", "#SBATCH --ntasks-per-node=8", "#SBATCH --time=1-01:00:00",
    ]  # fmt: skip
    assert batch_lines("moab", one, 3660, exclusive=True) == [
        "#MSUB -l nodes=4:ppn=8", "#MSUB -l walltime=01:01:00", "#MSUB -l naccesspolicy=singlejob",
    ]  # fmt: skip
