"""Parts of what is learned, by hand: grids, formulas, cases, matching."""

from dataclasses import replace

import numpy as np
import pytest

from apps.recording.events import EVENT, Kind, Recording
from predictor.learned import trees
from predictor.learned.branches import Branches
from predictor.learned.errors import CannotContinue
from predictor.learned.features import Space
from predictor.learned.grids import as_in_smpi, most_cubic, of_least_surface, rivals
from predictor.learned.matching import check_matched, difference
from predictor.learned.models import Formula, Notes, Numeric, evaluate, formula_bits
from predictor.learned.partners import Along, Exchanged, Stride, Tree
from predictor.learned.rows import Rows, keys_of
from predictor.learned.scatter import scatter_of


def rows_of(*counts):
    nranks = np.concatenate([np.full(count, count) for count in counts])
    rank = np.concatenate([np.arange(count) for count in counts])
    none = np.empty((len(rank), 0), np.int64)
    return Rows(nranks, rank, none, none, none)


@pytest.mark.parametrize("nranks", [4, 12, 60, 64, 96, 1000])
def test_the_sides_of_a_grid_multiply_to_its_ranks(nranks):
    for axes in (1, 2, 3):
        for sides in (most_cubic(nranks, axes), as_in_smpi(nranks, axes)):
            assert np.prod(sides) == nranks and list(sides) == sorted(sides, reverse=True)


def test_smpi_divides_differently_where_an_odd_square_is_left():
    assert (most_cubic(18, 2), as_in_smpi(18, 2)) == ((6, 3), (9, 2))
    assert rivals("2-D, long side slow", [4, 8, 12]) == ["2-D, as MPI_Dims_create of SMPI"]
    assert not rivals("2-D, long side slow", [4, 8, 12, 18])


def test_hpcg_divides_by_prime_factors():
    # Along z, y and x, as ComputeOptimalShapeXYZ of HPCG 3.1 prints them.
    sides = {2: (1, 1, 2), 4: (1, 2, 2), 12: (2, 3, 2), 16: (2, 2, 4), 18: (3, 3, 2), 30: (5, 3, 2), 36: (3, 3, 4)}
    sides |= {45: (3, 5, 3), 54: (6, 3, 3), 60: (5, 3, 4), 72: (6, 3, 4), 108: (6, 6, 3), 128: (4, 4, 8)}
    assert {nranks: of_least_surface(nranks) for nranks in sides} == sides


def test_shares_of_one_kind_are_likelier_than_a_mixture_that_is_the_same_on_all_recordings():
    space = Space("3-D, long side slow", [62, 64])  # the inner points of Himeno, and all
    alike = Formula(((34.0, ("e0:62", "e1:62", "e2:62")),))
    for other in ("u2:64", "e2-1:64", "s2:62"):
        assert formula_bits(Formula(((34.0, ("e0:62", "e1:62", other)),)), space) > formula_bits(alike, space) + 8


def test_a_rule_for_partners_leaves_the_coordinates_of_the_ranks_as_they_are():
    space, rows = Space("2-D, long side slow", []), rows_of(12)
    before = [array.tolist() for array in space.place(rows)]
    bit = Numeric((Formula((), 0.0),))
    for rule in (Stride(0, bit), Along(0, bit), Exchanged(0, bit), Tree(0, "0", "l", None)):
        rule.ranks(space, rows, Notes())
        assert [array.tolist() for array in space.place(rows)] == before


def learned_number(values_of, counts, held_out, numbers, grid="line"):
    space = Space(grid, numbers)
    rows = rows_of(*counts)
    return Branches(space, held_out).number(rows, values_of(rows)), space


def test_a_share_that_is_not_even_is_told_from_one_that_is():
    def share(rows):
        return 8.0 * (1000 // rows.nranks + (rows.rank < 1000 % rows.nranks))

    found, space = learned_number(share, (3, 7, 9, 11), 11, [1000])
    assert found.confirmed
    there = rows_of(64)
    np.testing.assert_allclose(evaluate(found.model, space, there, Notes()), share(there))


def test_the_ends_of_a_line_are_cases():
    def cost(rows):
        return np.where((rows.rank == 0) | (rows.rank == rows.nranks - 1), 5.0, 7.0)

    found, space = learned_number(cost, (4, 6, 9), 9, [])
    assert found.confirmed
    assert evaluate(found.model, space, rows_of(12), Notes()) == pytest.approx([5.0, *[7.0] * 10, 5.0])


def in_turns(turns, *counts):
    """Return rows of ranks that have a loop of so many turns."""
    base = rows_of(*counts)
    index = np.tile(np.arange(turns), len(base))[:, None]
    every = np.repeat(np.arange(len(base)), turns)
    return Rows(base.nranks[every], base.rank[every], index, np.full_like(index, turns), index)


def test_the_update_behind_a_panel_is_for_the_own_columns_right_of_it():
    # Of 24 panels the rank of the j-th is j modulo P; counted one by one.  Rank 0 has a column more.
    def update(rows):
        panels = [[j for j in range(24) if j % p == r] for p, r in zip(rows.nranks, rows.rank, strict=True)]
        right = [sum(j > now for j in own) for own, now in zip(panels, rows.index[:, 0], strict=True)]
        below = 23 - rows.index[:, 0]
        return (1e9 / 3 * below + 1e8 / 7) * (np.array(right) + (rows.rank == 0))

    space, seen = Space("line", []), in_turns(24, 3, 4, 5, 6)
    found = Branches(space, 6).number(seen, update(seen))
    assert found.confirmed
    there = in_turns(24, 12)
    np.testing.assert_allclose(evaluate(found.model, space, there, Notes()), update(there), rtol=1e-9, atol=0)


def test_a_number_without_a_rule_has_no_model():
    values = {count: np.random.default_rng(count).integers(1, 1 << 30, count) for count in (4, 6, 9)}
    found, _ = learned_number(lambda rows: np.concatenate(list(values.values())), (4, 6, 9), 9, [])
    assert found.model is None and not found.confirmed


def test_formulas_that_agree_only_on_what_was_recorded_are_told():
    space = Space("line", [64])
    rows = rows_of(4, 8, 16)  # 64 is divided evenly on these
    found = Branches(space, 16).number(rows, 64.0 / rows.nranks)
    notes = Notes(call="a call")
    evaluate(found.model, space, rows_of(24), notes)
    assert notes.differs["a call"][0] > 0.1


def test_a_message_that_is_not_received_as_it_is_sent_is_refused():
    sent, received = np.zeros(1, EVENT), np.zeros(1, EVENT)
    sent["kind"], sent["peer"], sent["size_bytes"] = Kind.SEND, 1, 8
    received["kind"], received["peer"], received["size_bytes"] = Kind.RECV, 0, 8
    check_matched(np.concatenate([sent, received]), np.array([0, 1]))
    received["size_bytes"] = 16
    with pytest.raises(CannotContinue, match="do not match, as from rank 0 to 1"):
        check_matched(np.concatenate([sent, received]), np.array([0, 1]))


def test_rows_are_taken_with_their_loops():
    rows = rows_of(2, 3)
    assert replace(rows).take(rows.nranks == 3).rank.tolist() == [0, 1, 2]


def square_rows(*sides):
    """Return rows of squares of ranks in a loop over all layers but the last."""
    columns = [(q * q, rank, i, q - 1) for q in sides for rank in range(q * q) for i in range(q - 1)]
    nranks, rank, index, turns = np.array(columns).T
    return Rows(nranks, rank, index[:, None], turns[:, None], index[:, None])


@pytest.mark.parametrize("map_", ["++", "+-", "-+", "--"])
def test_the_cells_of_all_ranks_fill_the_cube_and_every_layer_of_it(map_):
    space, rows = Space("2-D, long side slow", [64]), square_rows(5)
    first = rows.index[:, 0] == 0
    assert space.value(f"T{map_}e:64", rows)[first].sum() == 64**3
    assert space.value(f"T{map_}u:64", rows)[first].sum() == 62**3  # without the boundary of the cube
    for axis in range(3):
        for layer, points in (("0", 13), ("-1", 12)):  # 64 = 4 * 13 + 12
            assert space.value(f"V{map_}{axis}({layer})e:64", rows)[first].sum() == points * 64**2
        assert space.value(f"V{map_}{axis}(i0+1)e:64", rows)[rows.index[:, 0] == 3].sum() == 12 * 64**2
        assert space.value(f"H{map_}{axis}<e:64", rows)[first].sum() == 4 * 64**2


def test_the_computation_of_a_cell_that_moves_with_the_layer_is_found():
    space, rows = Space("2-D, long side slow", [64]), square_rows(2, 3, 4, 5)
    flops = 670.5 * space.value("V+-0(i0+1)u:64", rows)
    found = Branches(space, 25).number(rows, flops)
    assert found.confirmed
    more = square_rows(11)
    expected = 670.5 * space.value("V+-0(i0+1)u:64", more)
    np.testing.assert_allclose(evaluate(found.model, space, more, Notes()), expected)


@pytest.mark.parametrize("kind", trees.KINDS)
@pytest.mark.parametrize("places", [2, 5, 8, 13])
def test_every_place_but_the_root_receives_once_from_the_sender_that_a_tree_names(kind, places):
    place, side = np.arange(places), np.full(places, places)
    rows = rows_of(places)
    receivers = trees.value(f"k{kind}0@0", rows, place[None], side[None])
    assert receivers.sum() == places - 1
    for far_first in (True, False):
        reached = [
            (int(trees.receiver(kind, place[[at]], side[[at]], np.array([turn]), far_first=far_first)[0]), at)
            for at in range(places)
            for turn in range(int(receivers[at]))
        ]
        assert sorted(to for to, _ in reached) == list(range(1, places))
        assert all(trees.sender(kind, np.array([to]))[0] == at for to, at in reached)


def test_the_receivers_of_a_root_that_moves_with_the_panel_are_found():
    def panels(*counts):
        columns = [(count, rank, i, 32) for count in counts for rank in range(count) for i in range(32)]
        nranks, rank, index, turns = np.array(columns).T
        return Rows(nranks, rank, index[:, None], turns[:, None], index[:, None])

    space, rows = Space("line", []), panels(4, 8, 16)
    found = Branches(space, 16).number(rows, space.value("kl0@o0", rows))
    assert found.confirmed
    more = panels(32)
    np.testing.assert_array_equal(evaluate(found.model, space, more, Notes()), space.value("kl0@o0", more))


def test_adjacent_computations_are_compared_as_their_sum():
    def of(*flops):
        events = np.zeros(len(flops), EVENT)
        events["kind"], events["amount"] = Kind.COMPUTE, flops
        return Recording((events,), (np.zeros(0, np.int64),), ((0,),))

    assert difference(of(3.0, 4.0), of(7.0)) is None
    assert difference(of(3.0, 4.0), of(8.0)) == "rank 0 computes 7 instead of 8 flops at once"


@pytest.mark.parametrize(("places", "bits"), [(5, 3), (8, 3), (9, 4)])
def test_bits_of_places_count_the_steps_of_a_scan(places, bits):
    space, rows = Space("line", []), rows_of(places)
    assert set(space.value("lp0", rows)) == {bits}
    reached = [sum(rank + 2**i < places for i in range(bits)) for rank in range(places)]
    np.testing.assert_array_equal(space.value("ld0", rows), reached)


@pytest.mark.parametrize("most", [10, 1 << 40])  # so large numbers do not fit into one key
def test_keys_of_rows_are_equal_where_rows_are_and_in_their_order(most):
    table = np.random.default_rng(1).integers(-3, most, (300, 7))
    table = np.concatenate([table, table[::2]])
    first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)[1:]
    _, first_key, group_of_key = np.unique(keys_of(table), return_index=True, return_inverse=True)
    assert first_key.tolist() == first.tolist() and group_of_key.tolist() == group.reshape(-1).tolist()


def drawn(nranks, seed):
    """Return rows of three iterations on all ranks, and shares of 2^20 items that fall to them at random."""
    rank, turn = (part.reshape(-1) for part in np.meshgrid(np.arange(nranks), np.arange(3), indexing="ij"))
    items = np.random.default_rng(seed).multinomial(1 << 20, np.full(nranks, 1 / nranks))
    turns = np.full((len(rank), 1), 3)
    return Rows(np.full(len(rank), nranks), rank, turn[:, None], turns, turn[:, None]), items[rank].astype(float)


def test_shares_that_fall_to_ranks_at_random_keep_their_sum_and_spread():
    few = [drawn(nranks, 7) for nranks in (4, 8, 16, 32, 64)]
    names = ("nranks", "rank", "index", "turns", "turn")
    rows = Rows(*(np.concatenate([getattr(some, name) for some, _ in few]) for name in names))
    values = np.concatenate([values for _, values in few])
    scatter = scatter_of(rows, values, values * rows.nranks / (1 << 20), by_member=False)
    many, _ = drawn(256, 8)
    made = scatter.ratios(many, 0)
    assert made.mean() == pytest.approx(1, rel=1e-9)
    ends = [float(scatter.ratios(many, lean).std()) for lean in (-1, 1)]
    assert ends[0] <= made.std() <= ends[1]
    assert ends[0] / 1.5 < (1 - 1 / 256) ** 0.5 / 64 < ends[1]  # of a binomial distribution of 4,096 items, by hand
    assert (made.reshape(256, 3) == made.reshape(256, 3)[:, :1]).all()  # the iterations are alike
