"""Fits, terms and equations of the N-T, P-T and NP-T models: messages, edge cases and numbers by hand."""

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.space import Limits, Space
from predictor.base import OutOfRange
from predictor.npt.fit import Fit, check_method, fit
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.terms import (
    RANKS,
    REFERENCE,
    SIZES,
    TERMS,
    Equations,
    Term,
    columns,
    ranks_part,
    size_part,
    terms,
    without,
)


def said(call):
    with pytest.raises(UserError) as error:
        call()
    return str(error.value)


# Fits.


def test_a_fit_is_written_as_its_equation():
    found = Fit(("N", "1"), np.array([2.0, 1 / 3]), np.zeros(2), "ls", "absolute")
    assert str(found) == "2 N + 0.3333 1"
    with pytest.raises(ValueError, match="zip"):
        str(Fit(("N", "1"), np.array([2.0]), np.zeros(2), "ls", "absolute"))


def test_a_fit_says_how_it_was_made_and_what_it_leaves_over():
    # The mean of 1 and 3: 2 - 1 and 2 - 3.  Relative, by hand: 1.2.
    ones = [[1], [1]]
    found = fit(ones, [1, 3], ["1"])
    assert (found.terms, found.method, found.weights) == (("1",), "ls", "absolute")
    assert found.residuals_s == pytest.approx([1, -1])
    weighted = fit(ones, [1, 3], ["1"], method="nnls", weights="relative")
    assert (weighted.method, weighted.weights) == ("nnls", "relative")
    assert weighted.residuals_s == pytest.approx([0.2, -1.8])


def test_weights_by_other_times_change_the_residuals_that_count():
    # (k - 1)^2 + (k - 3)^2 / 81: k = 84 / 82.
    assert fit([[1], [1]], [1, 3], ["1"], weights="relative", weigh_by_s=[1, 9]).coefficients == pytest.approx(
        [84 / 82]
    )
    assert fit([[1], [1]], [1, 3], ["1"], weights="absolute", weigh_by_s=[1, 9]).coefficients == pytest.approx([2])


def test_refusals_word_by_word():
    line = [[1, 1], [1, 2]]
    assert said(lambda: fit(line, [1, np.inf], ["1", "N"])) == (
        "fit: a time or term is not a number. Give finite sizes and times."
    )
    assert said(lambda: fit([[1, np.nan], [1, 2]], [1, 2], ["1", "N"], where="here")).startswith("here: a time or term")
    assert said(lambda: fit([[1, 2]], [1], ["1", "N"])) == (
        "fit: 1 measurements for the 2 terms 1, N. Measure more sizes or numbers of PEs, or drop terms."
    )
    assert said(lambda: fit([[1, 2], [1, 2]], [1, 1], ["1", "N"])) == (
        "fit: these measurements cannot tell the terms 1, N apart. Measure more sizes or numbers of PEs, or drop terms."
    )
    assert said(lambda: check_method("qr", "absolute")) == "fit 'qr': no such method. Known: ls, nnls."
    known = "Known: absolute, relative, local."
    assert said(lambda: check_method("ls", "huber")) == f"weights 'huber': no such weights. {known}"


def test_a_term_that_is_always_zero_cannot_be_told_from_nothing():
    # log P on single PEs alone.
    assert "cannot tell the terms log P apart" in said(lambda: fit([[1, 0], [2, 0]], [1, 2], ["N", "log P"]))


def test_names_are_as_many_as_columns():
    with pytest.raises(ValueError, match="zip"):
        fit([[1, 2], [1, 2]], [1, 1], ["1"])


def test_terms_with_a_small_part_in_what_vanishes_are_named_and_those_with_none_are_not():
    # The second column is the first and 2 % of the third: of columns of length one, parts 0.7, 0.7 and 0.01 of the
    # combination that vanishes, of which 1 % of the largest is the limit.  The fourth has no part.
    columns_ = np.array([[1, 0, 1, 0], [1, 0.02, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]]).T
    assert "cannot tell the terms a, b, c apart" in said(lambda: fit(columns_, np.ones(4), ["a", "b", "c", "d"]))
    # 1.2 %: 0.6 % of the combination, below the limit.
    columns_[1, 1] = 0.012
    assert "cannot tell the terms a, b apart" in said(lambda: fit(columns_, np.ones(4), ["a", "b", "c", "d"]))


# Terms.


def test_functions_of_sizes_and_ranks_by_hand():
    N, P = np.array([8.0, 27.0]), np.array([2.0, 4.0])
    expected = {
        "1": [1, 1], "N": [8, 27], "N^2": [64, 729], "N^3": [512, 19683],
        "N log N": [8 * np.log(8), 27 * np.log(27)], "N^(1/3)": [2, 3], "N^(4/3)": [16, 81],
    }  # fmt: skip
    assert {name: f(N) for name, f in SIZES.items()} == {name: pytest.approx(v) for name, v in expected.items()}
    expected = {
        "1": [1, 1], "P": [2, 4], "1/P": [0.5, 0.25], "log P": [np.log(2), np.log(4)], "sqrt P": [2**0.5, 2],
        "P^(-1/2)": [2**-0.5, 0.5], "P^(-2/3)": [4 ** (-1 / 3), 16 ** (-1 / 3)],
    }  # fmt: skip
    assert {name: f(P) for name, f in RANKS.items()} == {name: pytest.approx(v) for name, v in expected.items()}


@pytest.mark.parametrize(
    ("size", "ranks", "name"),
    [("N^3", "1", "N^3"), ("N^3", "1/P", "N^3/P"), ("1", "1/P", "1/P"), ("1", "P", "P"), ("1", "1", "1"),
     ("N", "P", "P N"), ("1", "log P", "log P"), ("N", "log P", "log P N"), (REFERENCE, "1/P", "T/P"),
     (REFERENCE, "P", "P T"), (REFERENCE, "1", "T")],
)  # fmt: skip
def test_terms_are_called_as_in_table_v(size, ranks, name):
    assert Term(size, ranks).name == str(Term(size, ranks)) == name
    assert TERMS[name] == Term(size, ranks)


def test_parts_of_the_design_by_hand():
    form = terms("N^2/P", "T/P", "log P")
    assert size_part(form, [2, 3]) == pytest.approx(np.array([[4, 9], [1, 1], [1, 1]]))
    assert ranks_part(form, [1, 4]) == pytest.approx(np.array([[1, 0.25], [1, 0.25], [0, np.log(4)]]))
    design = columns(form, [2, 3], [1, 4], np.array([10.0, 20.0]))
    assert design == pytest.approx(np.array([[4, 10, 0], [2.25, 5, np.log(4)]]))
    assert columns(form, [2, 3], [1, 4]) == pytest.approx(np.array([[4, 1, 0], [2.25, 0.25, np.log(4)]]))


def test_terms_that_are_not_there_are_named_with_those_that_are():
    assert said(lambda: terms("N", "N^5")) == f"term 'N^5': no such term. Known: {', '.join(TERMS)}."
    form = terms("N", "1")
    assert said(lambda: without(form, frozenset({"P"}))) == "term 'P': not in this model. It has N, 1."
    assert said(lambda: without(form, frozenset({"N", "1"}))) == "terms: none is left. Drop fewer."
    assert without(form, frozenset()) == form and without(form, frozenset({"N"})) == terms("1")


# Equations.


@pytest.mark.parametrize(
    ("nt", "pt", "npt", "words"),
    [
        ((), ("T/P",), ("N/P",), "N-T equation: no terms, or one twice. Give each term once."),
        (("N",), ("T/P", "T/P"), ("N/P",), "P-T equation: no terms, or one twice. Give each term once."),
        (("N",), ("T/P",), ("N/P", "N/P"), "NP-T equation: no terms, or one twice. Give each term once."),
        (("N", "P"), ("T/P",), ("N/P",), "N-T equation: it depends on P. Give terms in N alone."),
        (("T",), ("T/P",), ("N/P",), "N-T or NP-T equation: it has T, a time. Only P-T equations may."),
        (("N",), ("T/P",), ("N/P", "T"), "N-T or NP-T equation: it has T, a time. Only P-T equations may."),
    ],
)
def test_equations_that_make_no_model_are_refused_in_these_words(nt, pt, npt, words):
    assert said(lambda: Equations(terms(*nt), terms(*pt), terms(*npt))) == words


# Models.

SIMPLE = Equations(nt=terms("N"), pt=terms("T/P"), npt=terms("N/P"))


def measured(configurations, sizes=(10, 20)):
    """Return measurements in which sub-cluster i needs (i + 1) N / P s."""
    found = []
    for text in configurations:
        configuration = Configuration.parse(text)
        slowest = max(i + 1 for i, (pes, _) in enumerate(configuration.shares) if pes)
        found += [Measurement(configuration, N, slowest * N / configuration.total) for N in sizes]
    return Measurements.of(found)


ALONE = ("1,1,0,0", "2,1,0,0", "3,1,0,0", "0,0,1,1", "0,0,2,1", "0,0,3,1")


@pytest.fixture(scope="module")
def models():
    return fit_models(measured(ALONE), SIMPLE)


def test_the_slowest_sub_cluster_decides(models):
    time_s, each_s = models.predict(Configuration.parse("1,1,2,1"), 30)
    assert (time_s, each_s) == (pytest.approx(20), {0: pytest.approx(10), 1: pytest.approx(20)})
    assert models.predict(Configuration.parse("3,1,0,0"), 30) == (pytest.approx(10), {0: pytest.approx(10)})


def test_a_table_has_every_time_and_nothing_where_there_is_no_process(models):
    space = Space(Limits((2, 2), (1, 1)))
    times_s, table_s = models.times(space, 30)
    assert table_s.shape == (2, 2, 5)
    assert (table_s[:, 0] == -np.inf).all()
    assert table_s[0, 1, 1:] == pytest.approx([30, 15, 10, 7.5]) and table_s[1, 1, 1:] == pytest.approx(
        [60, 30, 20, 15]
    )
    assert np.isnan(table_s[:, 1, 0]).all()
    by_text = {str(space.configuration(row)): time_s for row, time_s in enumerate(times_s.tolist())}
    assert by_text["(2,1,2,1)"] == pytest.approx(15) and by_text["(1,1,0,0)"] == pytest.approx(30)
    np.testing.assert_array_equal(models.table_s(space, 30), table_s)


def test_refusals_of_models_word_by_word(models):
    space = Space(Limits((2,), (1,)))
    assert said(lambda: models.times(space, 30)) == (
        "configurations: 1 sub-clusters, 2 were measured. "
        "Give limits for the measured sub-clusters, zero for one left out."
    )
    two = Space(Limits((2, 2), (1, 1)))
    for size in (0, -1, np.inf):
        assert said(lambda size=size: models.times(two, size)) == f"size {size}: not a size. Give a positive number."
    with pytest.raises(OutOfRange) as error:
        models.predict(Configuration.parse("1,2,1,1"), 30)
    assert str(error.value) == (
        "configuration (1,2,1,1), P = 3: no npt model of sub-cluster 1 with 2 processes on a PE. "
        "Measure it, or use a form that reaches this P, such as npt."
    )
    whole = fit_models(measured((*ALONE, "1,1,1,1")), SIMPLE, form="npt:nt")
    assert said(lambda: whole.table_s(two, 30)) == (
        "N-T models: models of whole configurations have no times by sub-cluster. "
        "Search exhaustively, or use P-T or NP-T models."
    )


def test_sizes_beyond_the_measured_ones_are_flagged_in_these_words(models):
    assert models.flags(10) == models.flags(15) == models.flags(20) == ()
    assert models.flags(9) == ("N = 9 is outside of the measured sizes, 10 to 20",)
    assert models.flags(21) == ("N = 21 is outside of the measured sizes, 10 to 20",)
