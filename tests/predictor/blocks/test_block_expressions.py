"""Expressions over numbers, and over the numbers of many processes at once."""

from math import ceil, floor, log2, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from platforms.errors import UserError
from predictor.blocks.expressions import Expression
from predictor.blocks.progression import Progression, Split

PYTHON = {"ceil": ceil, "floor": floor, "log2": log2, "sqrt": sqrt, "min": min, "max": max, "abs": abs}
EXPRESSIONS = """
index % 4 == 0 | index // 3 | index < 5 | index * 2 + 1 if index % 2 else index | min(index, 6) | max(index - 3, 2)
index % -3 | (-index) // 4 | (-index) % 5 | abs(index - 4) | index == 3 | index != 3 and index % 2 == 0
(index // 5) % 2 | 2 ** index | log2(index + 1) | ceil(index / 2) | 5 <= index < 9 | index > 2 or index == 0
not index % 3 | 10 - index | n - index > 0 | (7 - index) // 3 | (7 - index) // -3 | index % 8 == 4
(index % 6 == 3) + 2 | index % 12 != 7 and index % 4 == 0
 index % 5 | abs(index % 4 - 1) | ceil(index % 3) | (index % 4) // 2
index % 4 + index % 3 | min(index % 4, 2) | index % 4 < 2 | floor(sqrt(index)) | n / (index + 1) | index * index
index % 7 == index % 5 | -index % 6 == 5 | index % 6 == 9 | index % 3 == 1.5
max(index % 4, 2, index) | +index | index ** 1 | index ** 2 | ceil(index) | floor(-index) | n % (index + 1)
1 if index % 4 else 2 | index if index else 9 | index % 4 != 2 | index <= 3 | 3 >= index % 5 | index / 2 % 2
index / (index + 1) | index % 2 % 2 | 5 if index % 127 == 4 else 6 | index % 58 == 3 | index == n | (index / 2) // 1
""".replace("\n", "|")


def of_each(expression, first, step, count):
    """The expression's value for every index, found with as few evaluations as possible."""
    try:
        value = expression.value({"index": Progression.of(first, step, count), "n": 7}, "here")
    except Split as split:
        assert sum(part.count for part in split.parts) == count
        parts = [of_each(expression, first + step * p.first, step * p.stride, p.count) for p in split.parts]
        return {index: value for part in parts for index, value in part.items()}
    values = (value.first + value.step * j if isinstance(value, Progression) else value for j in range(count))
    return {first + step * j: value for j, value in enumerate(values)}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from([text.strip() for text in EXPRESSIONS.split("|") if text.strip()]),
    st.integers(0, 6), st.integers(1, 6), st.integers(1, 30),
)  # fmt: skip
def test_many_indices_at_once_have_the_values_that_python_gives_each(text, first, step, count):
    expected = {i: eval(text, PYTHON, {"index": i, "n": 7}) for i in range(first, first + step * count, step)}
    assert of_each(Expression.of(text), first, step, count) == pytest.approx(expected)


@pytest.mark.parametrize("text", sorted({text.strip() for text in EXPRESSIONS.split("|") if text.strip()}))
def test_no_expression_is_left_to_chance(text):
    for first, step, count in ((0, 1, 30), (3, 2, 17), (5, 6, 1), (0, 3, 2)):
        expected = {i: eval(text, PYTHON, {"index": i, "n": 7}) for i in range(first, first + step * count, step)}
        assert of_each(Expression.of(text), first, step, count) == pytest.approx(expected)


def test_a_million_indices_are_split_into_the_powers_of_two_that_differ():
    with pytest.raises(Split) as caught:
        Expression.of("index % 1024 == 0").value({"index": Progression.of(0, 1, 2**20)}, "here")
    # Multiples of 1024, and those of 2**k but not of 2**(k + 1) for k < 10.
    assert sorted(part.count for part in caught.value.parts) == sorted([2**10, *(2**k for k in range(10, 20))])


def test_the_million_is_not_asked_one_by_one():
    with pytest.raises(UserError, match="processes would have to be evaluated one by one"):
        Expression.of("2 ** index").value({"index": Progression.of(0, 1, 10**6)}, "here")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os')", "not allowed"),
        ("n.real", "'n.real' is not allowed"),
        ("n[0][1]", "'n[0][1]' is not allowed"),
        ("n[0:1]", "not allowed"),
        ("lambda: 1", "not allowed"),
        ("'text'", "not allowed"),
        ("sum(1)", "Write for example sum(k ** 2 for k in range(n)), or sum(costs)"),
        ("sum(k for k in n)", "sum over something else than the numbers of one range"),
        ("max(k for k in range(3) if k)", "max over something else than the numbers of one range"),
        ("sum(index for index in range(3))", "sum over 'index', which has a meaning"),
        ("sum(k * j for k in range(3) for j in range(3))", "sum over something else than the numbers of one range"),
        ("len(3)", "Write for example len(costs)"),
        ("log2(1, 2)", "log2 with 2 arguments"),
        ("n +", "not an arithmetic expression"),
        ("(" * 300 + ")" * 300, "not an arithmetic expression"),
        ("1 + " * 300 + "1", "longer than"),
    ],
)
def test_what_is_no_arithmetic_is_refused(text, words):
    with pytest.raises(UserError, match="expression") as caught:
        Expression.of(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log3(2)", "no function 'log3'. Near: log2"),
        ("__import__(1)", "no function '__import__'"),
        ("n[0]", "no list 'n'. Add a variable n = [1, 2]"),
        ("len(n)", "no list 'n'"),
        ("max(n)", "no list 'n'"),
        ("sum(k for k in range(k))", "no name 'k'"),
    ],
)
def test_functions_and_lists_that_nobody_gives_are_unknown_names(text, words):
    with pytest.raises(UserError, match="expression") as caught:
        Expression.of(text).check_names({"n": 7}, "app.toml")
    assert words in str(caught.value)


def test_sums_minima_and_maxima_go_over_a_range_as_in_python():
    for text, expected in (
        ("sum(k * n for k in range(n))", 147),  # 7 * 21
        ("max(k % 4 for k in range(2, n))", 3),
        ("min(abs(k - 3.5) for k in range(n))", 0.5),
        ("sum(k for k in range(n, 3))", 0),
    ):
        assert Expression.of(text).value({"n": 7}, "") == expected
    # 0 + 0 + 1 + 3 + 6 + 10 + 15
    assert Expression.of("sum(sum(j for j in range(k)) for k in range(n))").value({"n": 7}, "") == 35
    assert Expression.of("sum(k + index for k in range(n))").names == {"n", "index"}
    # A sum over equal processes together, which have indices 0, 1, 2: 3 index + 3.
    found = Expression.of("sum(k + index for k in range(3))").value({"index": Progression.of(0, 1, 3)}, "")
    assert (found.first, found.step, found.count) == (3, 3, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sum(k for k in range(n / 2))", "a range with an end of 3.5"),
        ("sum(k for k in range(10 ** n))", "sum of 10000000 terms"),
        ("min(k for k in range(n, n))", "min of no terms"),
        ("sum(1 / (k - 1) for k in range(n))", "division by zero"),
        ("1 / (n - 7)", "division by zero (n = 7)"),
        ("2 ** 10 ** n", "too large"),
        ("(-8) ** 0.5", "not a number"),
        ("1e308 * 10", "too large"),
        ("log2(0)", "not a number"),
    ],
)
def test_what_has_no_value_is_said_with_its_place(text, words):
    with pytest.raises(UserError, match=r"app\.toml, label a, step 2") as caught:
        Expression.of(text).value({"n": 7}, "app.toml, label a, step 2")
    assert words in str(caught.value)
