"""The hierarchical model's equations, checked by hand, and surfaces, checked against the equations."""

from fractions import Fraction

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.hierarchical import model
from predictor.hierarchical.applications import application, applications
from predictor.hierarchical.model import BETAS, Beta, named_beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster, table_cluster
from predictor.hierarchical.surface import general

# 1 Gflop/s cores, 2 GB/s of memory, 0.5 GB/s of network.
SYSTEM = MulticoreCluster("by hand", Fraction(10**9), Fraction(2 * 10**9), Fraction(5 * 10**8), cores=8, nodes=64)


def simplified_efficiency(q, p, *, x, r, v, beta, variant="derived"):
    """Return eta by the line above the hardware table; printed: without the second beta, and with q^2 p."""
    if variant == "printed":
        return beta * r * v * x / (beta * r * v * x + r * v * q + q**2 * p)
    return beta * r * v * x / (beta * r * v * x + beta * r * v * q + q * p)


def test_eq_1_adds_computing_and_memory():
    # 8e9 flop on 4 cores of 1 Gflop/s, and 4e9 bytes at 2 GB/s.
    assert model.node_time_s(8e9, 4e9, 4, 1e9, 2e9) == 2 + 2


def test_node_performance_is_that_of_eq_1():
    # a = 2, a* = 1/2, x = 4: 8e9 flop in 4 s, 4 cores.
    assert model.node_performance(4, Fraction(4), 10**9) == 2 * 10**9
    assert model.node_efficiency(Fraction(4), 4) == Fraction(1, 4) * 5 / 2  # (1 + x) / (q (1 + x / q))


def test_side_by_side_the_slower_of_the_two_decides():
    # x / q = 1/2: memory takes twice as long as computing.
    assert model.node_performance(8, 4.0, 1e9, model.overlap) == 4e9
    assert model.node_performance(2, 4.0, 1e9, model.overlap) == 2e9


def test_eq_3_adds_the_network():
    assert model.cluster_time_s(8e9, 3e9, 4, 2e9, 1.5e9) == 1 + 2


@pytest.mark.parametrize("beta", [Beta(), Beta(Fraction(1)), Beta(Fraction(1, 2), per_core=False, scale=Fraction(3))])
def test_eq_5_derived_is_eq_1_and_3_put_together(beta):
    q, p, op, b, x_bytes = 4, 9, 10**12, 10**11, 10**9
    l_c, b_m, b_cl = 10**9, 2 * 10**9, 5 * 10**8
    value = float(beta(q, p))
    time_s = model.cluster_time_s(op, x_bytes, p, op / model.node_time_s(op, b, q, l_c, b_m), value * b_cl)
    x, r, v = (op / b) / (l_c / b_m), b / x_bytes, b_cl / b_m
    eta = model.efficiency(q, p, x=x, r=r, v=v, beta=value)
    assert eta == pytest.approx(op / time_s / (q * p * l_c), rel=1e-13)
    assert simplified_efficiency(q, p, x=x, r=r, v=v, beta=value) == pytest.approx(eta, rel=1e-13)


def test_eq_5_as_printed_is_derived_where_its_beta_is_beta_1():
    # q^2 p / beta_1 = q p / (beta_1 / q).
    numbers = {"x": Fraction(7, 2), "r": Fraction(40), "v": Fraction(1, 4)}
    printed = model.efficiency(3, 5, beta=Fraction(5), variant="printed", **numbers)
    assert printed == model.efficiency(3, 5, beta=Fraction(5, 3), variant="derived", **numbers)
    # Simplified as printed, memory is divided by beta too: by hand 7/2 / (7/2 + 3 / 5 + 45 / (5 10)) = 35 / 50.
    assert simplified_efficiency(3, 5, beta=Fraction(5), variant="printed", **numbers) == Fraction(35, 50)


def test_an_unknown_variant_is_refused():
    with pytest.raises(UserError, match="Known: printed, derived"):
        model.efficiency(1, 1, x=1, r=1, v=1, beta=1, variant="corrected")


@pytest.mark.parametrize("name", list(applications()))
@pytest.mark.parametrize("overlap", [False, True])
def test_a_program_s_surface_is_eq_5_with_its_numbers(name, overlap):
    one, n, q, p = application(name), 4096, 5, 12
    op, b = float(one.op.evaluate(n=n)), float(one.b.evaluate(n=n))
    exchanged = float(one.x.evaluate(n=n, p=p))
    x, r = op / b / float(SYSTEM.a_star), b / exchanged
    eta = model.efficiency(
        q, p, x=x, r=r, v=float(SYSTEM.v), beta=float(one.beta(q, p)), s=model.overlap if overlap else model.hockney
    )
    assert one.surface(n, SYSTEM, variant="derived", overlap=overlap).efficiency(q, p) == pytest.approx(eta, rel=1e-12)


def test_eq_8_by_hand_printed_and_derived():
    # n = 20000, q = 4, p = 8: 24/5 q = 19.2, 308/9 q^2 p = 4380.44; log2 p = 3: 77/17 384 = 1739.29 or 77/27 384.
    hpl, system = application("hpl"), table_cluster("bwUniCluster")
    for variant, last in (("printed", 1739.294), ("derived", 1095.111)):
        eta = hpl.surface(20000, system, variant=variant).efficiency(4, 8)
        assert eta == pytest.approx(20000 / (20000 + 19.2 + 4380.444 + last), rel=1e-6)


@pytest.mark.parametrize(
    ("app", "system"), [("scalar-product", "bwGRiD"), ("matrix-product", "bwGRiD"), ("fftw", "bwUniCluster")]
)
def test_6_7_and_9_printed_are_derived(app, system):
    q, p = np.arange(1, 9)[:, None], np.arange(1, 33)
    printed, derived = (application(app).surface(10_000, table_cluster(system), variant=v) for v in model.VARIANTS)
    np.testing.assert_allclose(printed.efficiency(q, p), derived.efficiency(q, p), rtol=1e-12)


def test_where_the_paper_has_no_equation_the_printed_values_are_put_in():
    # hpl on bwGRiD: x = n / 24 / 1.41, 1 / r = gamma / 3, v = 0.233, beta = 1; q = 2, p = 4, gamma = 7/6.
    x = 6000 / 24 / 1.41
    eta = application("hpl").surface(6000, table_cluster("bwGRiD"), variant="printed").efficiency(2, 4)
    assert eta == pytest.approx(x / (x + 2 + 16 * (7 / 18) / 0.233), rel=1e-12)


def test_efficiency_falls_with_q_and_with_p():
    # "The derivatives show no extrema": for d(p) that grows and beta_1 constant.
    for d in ("p", "sqrt(p)", "log2(p)"):
        for printed in (False, True):
            surface = general(30.0, 0.25, c=50.0, d=d, beta=Beta().polynomial, printed=printed)
            eta = surface.efficiency(np.arange(1, 20)[:, None], np.arange(1, 40))
            assert (np.diff(eta, axis=0) < 0).all()
            assert (np.diff(eta, axis=1) < 0).all()


def test_one_core_has_less_than_x_over_1_plus_x():
    surface = general(30.0, 0.25, c=50.0, d="p", beta=Beta().polynomial, printed=False)
    # By hand: 1 / eta = 1 + 1 / 30 + 1 / (0.25 50 30).
    assert surface.efficiency(1, 1) == pytest.approx(1 / (1 + 1 / 30 + 1 / 375))
    assert surface.efficiency(1, 1) < 30 / 31


@pytest.mark.parametrize("name", list(BETAS))
def test_betas_are_what_they_are_called(name):
    q, p = 4, 9
    assert named_beta(name, 2)(q, p) == pytest.approx(2 * eval(name, {"q": q, "p": p, "sqrt": np.sqrt}))
    value = named_beta(name, 2).polynomial.evaluate(q=q, p=p)
    assert float(value) == pytest.approx(float(named_beta(name, 2)(q, p)))


def test_beta_0_is_the_decimal_that_was_given():
    assert [named_beta("1/q", scale).scale for scale in (0.1, 1e-12, 3, Fraction(1, 3))] == [
        Fraction(1, 10), Fraction(1, 10**12), 3, Fraction(1, 3),
    ]  # fmt: skip
    # The exchange takes 10^8 times as long: 1 / eta - 1 - q / x.
    hpl, inverse = application("hpl"), []
    for scale in (1, 1e-8):
        surface = hpl.surface(6000, SYSTEM, variant="derived", beta=named_beta("1/q", scale))
        inverse.append(float(surface.network(2, 4)))
    assert inverse[1] / inverse[0] == pytest.approx(1e8, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "scale"), [("q/p", 1), ("1/q", 0), ("1/q", float("nan")), ("1/q", 1e-13), ("1/q", 1e300)]
)
def test_other_betas_are_refused(name, scale):
    with pytest.raises(UserError, match="beta"):
        named_beta(name, scale)


@pytest.mark.parametrize("n", [0, -5, 10**13])
def test_sizes_without_meaning_are_refused(n):
    with pytest.raises(UserError, match=f"n = {n}"):
        application("hpl").surface(n, SYSTEM, variant="derived")


def test_a_transform_of_one_point_has_no_operations():
    with pytest.raises(UserError, match="no operations"):
        application("fft").surface(1, SYSTEM, variant="derived")
