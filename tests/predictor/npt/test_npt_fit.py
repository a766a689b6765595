"""Least squares and non-negative least squares, by hand and on designs of many orders of magnitude."""

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.npt.fit import fit
from predictor.npt.tables import equations
from predictor.npt.terms import columns

LINE = ("1", "N")


def line(*sizes):
    return np.array([[1.0, size] for size in sizes])


def test_a_falling_line_turns_negative_and_its_non_negative_fit_does_not():
    falling = fit(line(1, 2), [2, 1], LINE)
    assert falling.coefficients == pytest.approx([3, -1])
    assert line(4) @ falling.coefficients == pytest.approx([-1])  # wrecked, as in Figure 10
    level = fit(line(1, 2), [2, 1], LINE, method="nnls")
    assert level.coefficients.tolist() == pytest.approx([1.5, 0])
    assert level.residuals_s == pytest.approx([-0.5, 0.5])


def test_relative_weights_by_hand():
    # Times 1 and 3 of one constant: absolute (1 + 3) / 2.  Relative: (k - 1)^2 + (k/3 - 1)^2, k = (4/3) / (10/9).
    ones = np.ones((2, 1))
    assert fit(ones, [1, 3], ["1"]).coefficients == pytest.approx([2])
    assert fit(ones, [1, 3], ["1"], weights="relative").coefficients == pytest.approx([1.2])
    assert fit(ones, [1, 3], ["1"], weights="relative", method="nnls").coefficients == pytest.approx([1.2])
    # Divided by other times, 1 and 9: (k - 1)^2 + (k - 3)^2 / 81, k = (81 + 3) / (81 + 1).
    other = fit(ones, [1, 3], ["1"], weights="relative", weigh_by_s=[1, 9])
    assert other.coefficients == pytest.approx([84 / 82])


@pytest.mark.parametrize("method", ["ls", "nnls"])
@pytest.mark.parametrize("weights", ["absolute", "relative"])
def test_coefficients_of_many_orders_of_magnitude_are_recovered(method, weights):
    N, P = (axis.reshape(-1) for axis in np.meshgrid([400, 800, 1600, 3200, 6400.0], [2, 3, 4.0]))
    form = equations("hpl").npt
    k = np.array([2e-10, 3e-8, 1e-6, 2e-2, 4e-9, 2e-7, 1e-4, 5e-9, 3e-6, 1e-2])
    design = columns(form, N, P)
    fitted = fit(design, design @ k, [term.name for term in form], method=method, weights=weights)
    assert fitted.coefficients == pytest.approx(k, rel=1e-6)
    far = columns(form, np.array([9600.0]), np.array([20.0]))
    assert far @ fitted.coefficients == pytest.approx(far @ k, rel=1e-9)


def test_a_non_negative_fit_is_the_best_there_is():
    # Kuhn and Tucker: the gradient is zero where k > 0 and points outwards where k = 0.
    random = np.random.default_rng(5)
    N, P = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(32, 192, 9), [2, 3, 4.0]))
    form = equations("himeno").npt
    design = columns(form, N, P)
    zeros = 0
    for _ in range(20):
        times = (1e-7 * N**3 / P + 1e-5 * N**2) * np.exp(0.1 * random.standard_normal(len(N)))
        fitted = fit(design, times, [term.name for term in form], method="nnls")
        scaled = design / np.linalg.norm(design, axis=0)
        gradient = scaled.T @ fitted.residuals_s / np.linalg.norm(times)
        assert (fitted.coefficients >= 0).all()
        assert gradient[fitted.coefficients > 0] == pytest.approx(0, abs=1e-9)
        assert (gradient > -1e-9).all()
        zeros += (fitted.coefficients == 0).sum()
    assert zeros > 20


@pytest.mark.parametrize("method", ["ls", "nnls"])
def test_what_cannot_be_fitted_is_refused_with_the_terms(method):
    with pytest.raises(UserError, match="here: 1 measurements for the 2 terms 1, N"):
        fit(line(3), [1], LINE, method=method, where="here")
    with pytest.raises(UserError, match="cannot tell the terms 1, N apart"):
        fit(line(3, 3, 3), [1, 1, 1], LINE, method=method)
    # Two numbers of PEs for 1/P, 1 and log P; N is not to blame.
    N, P = (axis.reshape(-1) for axis in np.meshgrid([1.0, 2, 3, 4], [2.0, 4]))
    form = equations("himeno").npt
    with pytest.raises(UserError, match=r"tell the terms 1/P, 1, log P apart"):
        fit(columns(form, N, P), N, [term.name for term in form], method=method)
    with pytest.raises(UserError, match="not a number"):
        fit(line(1, 2), [1, np.nan], LINE, method=method)


def test_unknown_methods_are_refused():
    with pytest.raises(UserError, match="Known: ls, nnls"):
        fit(line(1, 2), [1, 2], LINE, method="lasso")
    with pytest.raises(UserError, match="Known: absolute, relative"):
        fit(line(1, 2), [1, 2], LINE, weights="huber")
