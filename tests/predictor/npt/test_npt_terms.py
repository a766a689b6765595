"""Estimation equations term by term: Table V of Ichikawa, Takahashi and Kawai, and those of the NAS kernels."""

import math

import numpy as np
import pytest

from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem
from platforms.errors import UserError
from predictor.npt.tables import class_size, equations, names_with_equations
from predictor.npt.terms import TERMS, Equations, columns, terms, without

CUBIC = [lambda N, P: N**3, lambda N, P: N**2, lambda N, P: N, lambda N, P: 1]
SUMS = [
    *[lambda N, P, f=f: f(N, P) / P for f in CUBIC],
    lambda N, P: N**2,
    lambda N, P: N,
    lambda N, P: 1,
    lambda N, P: math.log(P),
]
# Table V as printed, in the order of its coefficients k_0, k_1, ...
PRINTED_NT = {
    "himeno": CUBIC,
    "fem": CUBIC,
    "hpl": CUBIC,
    "fft": [lambda N, P: N * math.log(N), lambda N, P: N, lambda N, P: N ** (1 / 3), lambda N, P: 1],
}
PRINTED_PT = {
    "himeno": [lambda T, P: T / P, lambda T, P: 1, lambda T, P: math.log(P)],
    "fem": [lambda T, P: T / P, lambda T, P: 1, lambda T, P: math.log(P)],
    "hpl": [lambda T, P: P * T, lambda T, P: T / P, lambda T, P: 1],
    "fft": [lambda T, P: T / P, lambda T, P: P * T, lambda T, P: 1],
}
PRINTED_NPT = {
    "himeno": SUMS,
    "fem": SUMS,
    "hpl": [
        *[lambda N, P, f=f: f(N, P) / P for f in CUBIC],
        lambda N, P: P * N**2,
        lambda N, P: P * N,
        lambda N, P: P,
        lambda N, P: N**2,
        lambda N, P: N,
        lambda N, P: 1,
    ],
    "fft": [
        lambda N, P: N * math.log(N) / P,
        lambda N, P: N / P,
        lambda N, P: 1 / P,
        lambda N, P: P,
        lambda N, P: N,
        lambda N, P: N ** (1 / 3),
        lambda N, P: 1,
    ],
}


@pytest.mark.parametrize("benchmark", ["himeno", "fem", "hpl", "fft"])
def test_the_equations_are_those_of_table_v(benchmark):
    N, P, T = np.array([7.0, 64.0, 4096.0]), np.array([2.0, 3.0, 16.0]), np.array([0.5, 2.0, 7.0])
    for form, printed in ((equations(benchmark).nt, PRINTED_NT), (equations(benchmark).npt, PRINTED_NPT)):
        expected = [[f(n, p) for f in printed[benchmark]] for n, p in zip(N, P, strict=True)]
        assert columns(form, N, P) == pytest.approx(np.array(expected), rel=1e-14)
    expected = [[f(t, p) for f in PRINTED_PT[benchmark]] for t, p in zip(T, P, strict=True)]
    assert columns(equations(benchmark).pt, N, P, T) == pytest.approx(np.array(expected), rel=1e-14)


def test_names_are_those_of_the_table():
    assert [term.name for term in equations("hpl").npt[:6]] == ["N^3/P", "N^2/P", "N/P", "1/P", "P N^2", "P N"]
    assert [term.name for term in equations("fem").pt] == ["T/P", "1", "log P"]
    assert len({term.name for term in TERMS.values()}) == len(TERMS)


def test_terms_are_dropped_by_name_as_in_section_5_7():
    left = without(equations("fem").npt, frozenset({"log P"}))
    assert [term.name for term in left] == ["N^3/P", "N^2/P", "N/P", "1/P", "N^2", "N", "1"]
    with pytest.raises(UserError, match="not in this model"):
        without(equations("hpl").npt, frozenset({"log P"}))
    with pytest.raises(UserError, match="none is left"):
        without(terms("N"), frozenset({"N"}))
    with pytest.raises(UserError, match="no such term"):
        terms("N^5")


def test_equations_of_a_program_of_ones_own_are_checked():
    assert Equations(terms("N"), terms("T/P"), terms("N/P", "1")).npt[1].name == "1"
    with pytest.raises(UserError, match="depends on P"):
        Equations(terms("N/P"), terms("T/P"), terms("N/P"))
    with pytest.raises(UserError, match="Only P-T equations may"):
        Equations(terms("N"), terms("T/P"), terms("T/P"))
    with pytest.raises(UserError, match="one twice"):
        Equations(terms("N", "N"), terms("T/P"), terms("N/P"))


def test_the_nas_kernels_have_equations_and_sizes():
    with pytest.raises(UserError, match="declare the terms"):
        equations("mine")
    sizes = {name: class_size(problem(name, "A")) for name in names_with_equations() if named_kernel(name).classes}
    assert sizes == {"cg": 14000, "mg": 256, "lu": 64, "bt": 64, "sp": 64, "ft": 2**23, "is": 2**23, "ep": 2**28}
    with pytest.raises(UserError, match="expression '2 \\*\\* m': no name 'm'"):
        class_size(Problem("ep"))


def test_the_non_zeros_of_cg_grow_as_its_first_term_does():
    for preset in "SWABC":
        params = named_kernel("cg").classes[preset]
        non_zeros = (params["nonzer"] + 1) ** 2 * params["na"]
        assert non_zeros == pytest.approx(5 * params["na"] ** (4 / 3), rel=0.2), preset
