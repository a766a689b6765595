"""Rare cases of the fits of regressions and N-T models: a solver that gives up or rounds, and tiny times."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.frequency import Frequencies
from platforms.model.platform import Cluster, Host, Platform
from predictor.allocation.configuration import Configuration
from predictor.allocation.space import Limits, Space
from predictor.base import OutOfRange
from predictor.blocks.published.formulas import success, whole_units
from predictor.hierarchical.model import Beta
from predictor.npt.fit import Fit, fit
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.terms import Equations, ranks_part, size_part, terms
from predictor.regression.fits import AMDAHL, FIT_LOG, fit_combination
from predictor.regression.hcf_terms import HCF_NNLS
from predictor.regression.smaller_runs import FEW, smaller_runs
from predictor.sends.send_model import Line


@pytest.fixture
def solver(monkeypatch):
    """Return ``solver(change)``, which changes the results of scipy's nnls and returns the step limits of its calls."""
    steps, found = [], scipy.optimize.nnls

    def use(change):
        def nnls(A, b, maxiter):
            steps.append(maxiter)
            return change(found(A, b, maxiter=maxiter)[0]), 0.0

        monkeypatch.setattr(scipy.optimize, "nnls", nnls)
        return steps

    return use


def rounded(k):
    return k * (1 + 1e-7)


def test_what_the_solver_rounds_is_solved_again(solver):
    # 1/8 + 1/2 / P: exact to the last digits though the solver keeps seven.
    steps = solver(rounded)
    P = np.array([2.0, 4, 8])
    found = fit_combination(P, 0.125 + 0.5 / P, AMDAHL).coefficients
    assert found == {"constant": pytest.approx(0.125, rel=1e-13), "1/P": pytest.approx(0.5, rel=1e-13)}
    again = fit(np.stack([np.ones(3), 1 / P], axis=1), 0.125 + 0.5 / P, ["1", "1/P"], method="nnls")
    assert again.coefficients == pytest.approx([0.125, 0.5], rel=1e-13)
    assert steps == [200, 200]  # a hundred for each term


def test_a_term_that_is_left_out_stays_out_when_it_is_solved_again(solver):
    # Times that rise: 1/P is left out of the constant and it, whose best constant is the mean.
    solver(rounded)
    found = fit(np.array([[1, 0.5], [1, 0.25], [1, 0.125]]), [1.0, 2.0, 6.0], ["1", "1/P"], method="nnls")
    assert found.coefficients == pytest.approx([3.0, 0.0], rel=1e-13)
    assert fit_combination([2, 4, 8], [1, 2, 6], AMDAHL).coefficients == {"constant": pytest.approx(3.0, rel=1e-13)}


def test_a_solver_that_gives_up_is_told_in_these_words(monkeypatch):
    def gives_up(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(scipy.optimize, "nnls", gives_up)
    with pytest.raises(UserError) as error:
        fit([[1, 1], [1, 2]], [1, 2], ["1", "N"], method="nnls", where="here")
    assert str(error.value) == (
        "here: non-negative least squares does not come to an end. Drop terms that the times hardly depend on."
    )


def test_coefficients_that_are_rounding_are_none(solver):
    # Beside 1 a coefficient of 1e-13 is left out; the others do not change.
    solver(lambda k: np.array([k.max(), 1e-13 * k.max()]))
    assert list(fit_combination([2, 4, 8], [3.0, 3.0, 3.0], AMDAHL).coefficients) == ["constant"]


@pytest.mark.parametrize("unit", [1e-13, 1.0, 1e13])
def test_tiny_and_huge_times_have_laws(unit):
    found = fit_combination([2, 4, 8], [unit * (1 + 40 / P) for P in (2, 4, 8)], AMDAHL)
    assert found.coefficients == {"constant": pytest.approx(unit), "1/P": pytest.approx(40 * unit)}


def test_fractions_are_times_and_sizes_too():
    half = Fraction(1, 2)
    assert fit_combination([2, 4], [half, half], ("constant",)).coefficients == {"constant": pytest.approx(0.5)}
    line = [[Fraction(1), Fraction(1)], [Fraction(1), Fraction(3)]]
    for weights in ("absolute", "relative"):
        found = fit(line, [half, Fraction(1)], ["1", "N"], weights=weights, weigh_by_s=[half, half])
        assert found.coefficients == pytest.approx([0.25, 0.25])
    assert Line.fit([Fraction(1), Fraction(3)], [Fraction(2), Fraction(6)]).c_s_per_byte == pytest.approx(2)
    assert (
        Beta()([Fraction(2)], [Fraction(1)]).dtype == Beta(per_core=False)([Fraction(2)], [Fraction(1)]).dtype == float
    )
    assert success([Fraction(10)], 5, 0.02).dtype == float
    assert whole_units([Fraction(10)], 2048).tolist() == [2048]
    assert size_part(terms("N", "1"), [2, 3]).dtype == ranks_part(terms("P", "1"), [2, 3]).dtype == float


def grid(*nodes):
    clusters = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", 40e9, 1) for i in range(count))) for c, count in enumerate(nodes)
    )
    return Platform("grid", "/nowhere.xml", f"{nodes}", clusters)


def test_who_needs_smaller_runs_is_named_where_there_are_too_few():
    platform = grid(2)
    target = Target(problem("cg", "S"), platform, ("c0-0", "c0-1"))
    asks = {
        "fit:log": lambda: FIT_LOG.runs(target),
        "hcf:nnls": lambda: HCF_NNLS.runs(target),
        "who": lambda: smaller_runs(target, FEW, predictor="who"),
    }
    for name, ask in asks.items():
        with pytest.raises(OutOfRange) as error:
            ask()
        assert str(error.value).startswith(f"{name}, {target.problem} on 2 nodes of grid: it needs runs on 2 numbers")


def test_models_of_whole_configurations_come_first_wherever_they_stand():
    runs = [Measurement(Configuration(((P, 1),)), N, N / P) for P in (1, 2) for N in (10.0, 20.0)]
    fitted = fit_models(Measurements.of(runs), Equations(terms("N"), terms("T/P"), terms("N/P")), form="npt:nt")
    space = Space(Limits((2,), (1,)))
    for row in range(2):
        whole = {space.configuration(row): Fit(("N",), np.array([7.0]), np.zeros(1), "ls", "absolute")}
        times_s, _ = replace(fitted, whole=whole).times(space, 30.0)
        assert times_s[row] == 210 and times_s[1 - row] == pytest.approx(30.0 / space.configuration(1 - row).total)
    assert fitted.times(space, 0.5)[0] == pytest.approx([0.5 / space.configuration(row).total for row in range(2)])


def test_a_clock_may_be_slow_and_a_frequency_just_near_enough():
    assert Frequencies(0.8, 0.4, 0.4).levels_hz == (0.8, 0.4)
    assert Frequencies(2e9, 1e9, 0.5e9).level_hz(2.01e9, "here") == 2e9  # 0.5 %
