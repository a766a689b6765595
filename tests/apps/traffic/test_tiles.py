"""Multipartitioning: the tiles of BT and SP on any number of ranks."""

import math

import numpy as np
import pytest

from apps.errors import KernelError
from apps.kernels.flow.tiles import cut_for
from apps.programs.problem import problem
from apps.traffic import accepts, traffic
from apps.traffic.steps import Exchange


@pytest.mark.parametrize("ranks", [*range(1, 65), 72, 96, 100, 125, 128, 210, 256])
def test_every_rank_has_equally_many_tiles_in_every_layer(ranks):
    # Darte et al., 2002: the balance that lets all ranks work on every layer at once.
    cut = cut_for(ranks)
    assert cut.nranks == ranks
    for axis in range(3):
        for layer in range(cut.cuts[axis]):
            tiles = np.bincount(cut.rank[cut.place[axis] == layer], minlength=ranks)
            assert len(set(tiles.tolist())) == 1


@pytest.mark.parametrize("ranks", [4, 6, 8, 12, 25, 30, 48])
def test_the_next_tiles_of_a_rank_belong_to_one_rank(ranks):
    cut = cut_for(ranks)
    owner = cut.rank.reshape(cut.cuts)
    for axis in range(3):
        before, after = (np.delete(owner, gone, axis).ravel() for gone in (-1, 0))
        assert (cut.neighbour(axis, True)[before] == after).all()
        assert (cut.neighbour(axis, False)[after] == before).all()


@pytest.mark.parametrize("side", range(1, 9))
def test_a_square_number_of_ranks_has_the_cubes_of_its_root(side):
    # NAS-95-020: each rank holds sqrt(P) cells, one in each layer across every axis.
    assert cut_for(side**2).cuts == (side,) * 3


@pytest.mark.parametrize(("ranks", "cuts"), [(2, (2, 2, 1)), (7, (7, 7, 1)), (8, (4, 4, 2)), (30, (15, 10, 6))])
def test_other_numbers_have_few_cuts_that_balance(ranks, cuts):
    # The number of ranks divides the tiles of every layer: 30 divides 15 x 10, 15 x 6 and 10 x 6.
    assert cut_for(ranks).cuts == cuts
    assert all(math.prod(cuts) // cut % ranks == 0 for cut in cuts)


def test_bt_on_four_ranks_by_hand():
    # Class A, 64 points, tiles of 32: 6 faces of 32 x 32 points, 2 layers, 5 doubles; room for 33 x 33 lines of 30 and
    # of 5 doubles along each axis.  Twelve messages.
    declared = traffic(problem("bt", "A"), 4).totals(1)
    assert declared.messages.tolist() == [12] * 4
    assert declared.bytes.tolist() == [6 * 32 * 32 * 2 * 5 * 8 + 3 * 33 * 33 * 35 * 8] * 4


def test_a_rank_computes_while_its_messages_are_on_their_way():
    steps = traffic(problem("sp", "S"), 4).iteration
    halo, *passes = (step for step in steps if isinstance(step, Exchange))
    assert halo.meanwhile is None
    assert len(passes) == 6
    assert all((step.meanwhile > 0).all() for step in passes)


def test_class_e_is_declared_on_many_ranks():
    # 1020 points have at most 510 cuts along an axis.
    assert [accepts(problem("bt", "E"), ranks) for ranks in (1024, 509, 521)] == [True, True, False]
    with pytest.raises(KernelError, match="521 x 521 x 1 tiles"):
        traffic(problem("sp", "E"), 521)
