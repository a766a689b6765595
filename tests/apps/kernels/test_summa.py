"""SUMMA: a matrix product on a grid of ranks (van de Geijn, Watts 1997)."""

import numpy as np
import pytest

from apps.errors import KernelError
from apps.kernels.summa import reference
from apps.kernels.summa.reference import references

# N, ranks, rows of the grid, nb, broadcast: sizes that are not multiples, more ranks than rows, various grids.
CASES = [
    (1, 3, 0, 64, "binomial"),
    (130, 1, 0, 64, "ring"),
    (5, 12, 0, 2, "binomial"),
    (97, 6, 0, 10, "ring"),
    (200, 7, 7, 16, "binomial"),
    (201, 12, 2, 300, "binomial"),
]
each_case = pytest.mark.parametrize(("size", "ranks", "grid_rows", "nb", "broadcast"), CASES)


def grid(ranks, rows):
    """Return rows and columns; 0 rows means as square as the ranks allow."""
    rows = rows or max(r for r in range(1, ranks + 1) if ranks % r == 0 and r * r <= ranks)
    return rows, ranks // rows


def parts(size, places):
    """Return the number of rows or columns of each place, as even as possible."""
    return [size // places + (place < size % places) for place in range(places)]


@each_case
def test_the_product_is_numpys(sized, size, ranks, grid_rows, nb, broadcast):
    how = {"grid_rows": grid_rows, "nb": nb, "broadcast": broadcast}
    record = sized("summa", size, ranks, mode="verify", **how)
    assert record.verified is True
    for computed, expected in record.checks.values():
        assert computed == pytest.approx(expected, rel=1e-11)


def test_the_reference_is_the_product_of_the_benchmarks_random_numbers():
    # Number k of the generator, NAS report RNR-94-007, 2.3: 5^(13 k) times the seed mod 2^46, here minus 1/2.
    n = 7

    def numbers(first, count):
        made = [314159265 * pow(5**13, k, 2**46) % 2**46 / 2**46 - 0.5 for k in range(first, first + count)]
        return np.array(made)

    a, b = (numbers(1 + start, n * n).reshape(n, n).T for start in (0, n * n))
    rows, columns = numbers(2 * n * n + 1, n), numbers(2 * n * n + n + 1, n)
    found = reference.references({"n": n}, 1)
    product = a @ b
    assert found["c_weighted"] == pytest.approx(rows @ product @ columns, rel=1e-12)
    assert found["c_first"] == pytest.approx(product[0, 0], rel=1e-12)
    assert found["c_inner"] == pytest.approx(product[2, 3], rel=1e-12)
    assert found["c_last"] == pytest.approx(product[6, 6], rel=1e-12)


@pytest.mark.parametrize("key", ["c_weighted", "c_first", "c_inner", "c_last"])
def test_a_wrong_reference_fails_the_verification(sized, monkeypatch, key):
    right = reference.references

    def wrong(params, nranks):
        values = right(params, nranks)
        return {**values, key: values[key] * (1 + 1e-9)}

    monkeypatch.setattr(reference, "references", wrong)
    assert sized.__wrapped__("summa", 40, 2, mode="verify").verified is False


@each_case
def test_a_skeleton_does_all_but_the_arithmetic(sized, size, ranks, grid_rows, nb, broadcast):
    how = {"compute": "injected", "efficiency": 0.01, "grid_rows": grid_rows, "nb": nb, "broadcast": broadcast}
    skeleton, verify = (sized("summa", size, ranks, mode=mode, **how) for mode in ("skeleton", "verify"))
    assert skeleton.time_s == pytest.approx(verify.time_s, rel=1e-9)
    for field in ("messages", "bytes", "rank_flops", "collectives"):
        assert getattr(skeleton, field) == getattr(verify, field)
    assert skeleton.verified is None


@each_case
def test_all_of_both_matrices_goes_to_all_other_columns_and_rows(sized, size, ranks, grid_rows, nb, broadcast):
    record = sized("summa", size, ranks, grid_rows=grid_rows, nb=nb, broadcast=broadcast)
    rows, columns = grid(ranks, grid_rows)
    # For a square grid of p ranks 2 n^2 (sqrt(p) - 1) numbers: the paper's #x except for the 1.
    assert sum(record.bytes) == 8 * size**2 * (columns - 1 + rows - 1)


def test_a_panel_ends_where_its_owner_does(sized):
    # 10 columns on 3 places: 4, 3, 3, in panels of 2: 2 2 2 1 2 1.  Three ranks in a row send each panel of A twice.
    assert parts(10, 3) == [4, 3, 3]
    assert sum(sized("summa", 10, 3, grid_rows=1, nb=2).messages) == 6 * 2


@pytest.mark.parametrize(("size", "ranks", "grid_rows"), [(1, 1, 0), (100, 7, 0), (301, 12, 0), (50, 6, 6)])
def test_flops_are_two_for_each_product_on_the_owner_of_the_sum(sized, size, ranks, grid_rows):
    record = sized("summa", size, ranks, grid_rows=grid_rows)
    rows, columns = grid(ranks, grid_rows)
    expected = [2 * size * i * j for i in parts(size, rows) for j in parts(size, columns)]
    assert record.rank_flops == pytest.approx(expected)
    assert record.flops == pytest.approx(2 * size**3)


@pytest.mark.parametrize(
    ("size", "ranks", "parameters", "reason"),
    [
        (100, 5, {"grid_rows": 2}, "5 ranks cannot make a grid of 2 rows"),
        (100, 2, {"nb": 0}, "nb is 0, not positive"),
        (100, 2, {"broadcast": "tree"}, "broadcast=tree is none of ring, binomial"),
        (2**21, 2, {}, "size 2097152: too large for summa. Give an integer from 1 to 2097151"),
        (2_000_000, 2, {"nb": 2000}, "panels of 2000 columns of 2000000 rows are too large"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(sized, size, ranks, parameters, reason):
    with pytest.raises(KernelError, match=reason):
        sized("summa", size, ranks, **parameters)


def test_matrices_that_memory_does_not_hold_are_said(monkeypatch):
    def none(*_, **__):
        raise MemoryError

    monkeypatch.setattr(np, "empty", none)
    with pytest.raises(KernelError, match="size 100000: the matrices, 160 GB, do not fit into memory"):
        references({"n": 100_000}, 4)
