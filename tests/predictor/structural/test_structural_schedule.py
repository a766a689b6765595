"""Indices of links, collectives as messages, and programs as flat arrays: by hand, without a simulation."""

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.recording.events import Op
from apps.traffic import traffic
from apps.traffic.steps import AllToAll, Collective, Compute, Exchange, Sweep
from predictor.structural.collectives import exchanges
from predictor.structural.paths import PlaceOfLinks, no_paths
from predictor.structural.schedule import (
    COMPUTE,
    EXCHANGE,
    SWEEP,
    flattened,
    partners,
    rounds,
    schedule,
    sizes_to_measure,
)


def messages(exchange):
    """(source, destination, bytes) in their order."""
    columns = (exchange.source.tolist(), exchange.destination.tolist(), exchange.size_bytes.tolist())
    return list(zip(*columns, strict=True))


# Indices of links.


def test_every_link_of_a_platform_has_its_own_place():
    # Five hosts in two clusters: 5 links up, 5 down, 2 inside, 2 outside, 2 x 2 one way, 2 x 2 both ways (of which the
    # one below the diagonal is that above it).
    at = PlaceOfLinks(hosts=5, clusters=2)
    assert at.count == 22
    assert [at.inside(0), at.inside(1), at.outside(0), at.outside(1)] == [10, 11, 12, 13]
    assert [at.one_way(c, d) for c in (0, 1) for d in (0, 1)] == [14, 15, 16, 17]
    assert [at.both_ways(c, d) for c in (0, 1) for d in (0, 1)] == [18, 19, 19, 21]


def test_places_of_three_clusters_do_not_overlap():
    at = PlaceOfLinks(hosts=3, clusters=3)
    places = [*range(6)]  # from and to each host
    places += [place(c) for place in (at.inside, at.outside) for c in range(3)]
    places += [at.one_way(c, d) for c in range(3) for d in range(3)]
    places += [at.both_ways(c, d) for c in range(3) for d in range(c, 3)]
    assert len(places) == len(set(places)) == at.count - 3  # three pairs below the diagonal
    assert max(places) == at.count - 1


def test_hosts_that_send_nothing_have_paths_without_time_and_without_bounds():
    found = no_paths(np.array([0, 0, 1], np.int32), 1)
    assert found.cluster.tolist() == [0, 0, 1]
    assert found.row.tolist() == [[0, 0], [0, 0]] and found.self_row.tolist() == [0, 0]
    assert found.row.dtype == found.self_row.dtype == np.int32
    assert found.latency_s.tolist() == found.amount_bytes.tolist() == [[0.0]]
    assert found.bound_Bps.tolist() == found.penalty.tolist() == [1.0]
    assert found.capacity_Bps.tolist() == [np.inf] * (2 * 3 + 2 * 2 + 2 * 4)
    assert found.back.tolist() == [0, 0]
    assert found.self_shares.tolist() == [True, True] and found.self_shares.dtype == bool
    assert no_paths(np.array([0], np.int32), 1).self_row.tolist() == [0]


# Collectives.


def all_to_all(group, size_bytes, even=True):
    return AllToAll(np.array(group), np.array(size_bytes), np.array([even] * len(group)))


def numbered(members):
    """Distinct bytes for each pair of members: 20 a + b + 1 from the a-th to the b-th."""
    a, b = np.indices((members, members))
    return 20 * a + b + 1


def test_one_rank_alone_sends_nothing():
    assert exchanges(Collective(Op.ALLREDUCE, 8), 1) == ()
    assert exchanges(all_to_all([[0]], [[[5]]]), 1) == ()


def test_equal_calls_give_one_object():
    assert exchanges(Collective(Op.BARRIER, 0), 4)[0] is exchanges(Collective(Op.BARRIER, 0), 4)[0]
    step = all_to_all([[0, 1]], [[[1, 2], [3, 4]]])
    assert exchanges(step, 2)[0] is exchanges(step, 2)[0]


def test_a_barrier_gathers_at_rank_0_and_lets_all_go_at_once():
    gather, tell = exchanges(Collective(Op.BARRIER, 0), 4)
    assert messages(gather) == [(1, 0, 0), (2, 0, 0), (3, 0, 0)] and not gather.at_once
    assert messages(tell) == [(0, 1, 0), (0, 2, 0), (0, 3, 0)] and tell.at_once is True


def test_a_reduction_is_the_gathering_alone():
    (gather,) = exchanges(Collective(Op.REDUCE, 24), 3)
    assert messages(gather) == [(1, 0, 24), (2, 0, 24)] and not gather.at_once


@pytest.mark.parametrize(
    ("nranks", "tree"),
    [
        (2, [[(0, 1)]]),
        (4, [[(0, 2)], [(0, 1), (2, 3)]]),
        (5, [[(0, 4)], [(0, 2)], [(0, 1), (2, 3)]]),
        (6, [[(0, 4)], [(0, 2)], [(0, 1), (2, 3), (4, 5)]]),
        (8, [[(0, 4)], [(0, 2), (4, 6)], [(0, 1), (2, 3), (4, 5), (6, 7)]]),
    ],
)
def test_what_is_reduced_goes_down_a_binomial_tree_half_of_the_ranks_away_first(nranks, tree):
    gather, *down = exchanges(Collective(Op.ALLREDUCE, 8), nranks)
    assert messages(gather) == [(rank, 0, 8) for rank in range(1, nranks)]
    assert [messages(one) for one in down] == [[(a, b, 8) for a, b in one] for one in tree]
    # Every rank except the first receives the result once.
    assert sorted(b for one in tree for _, b in one) == list(range(1, nranks))


def test_unequal_blocks_go_all_at_once_the_next_member_first():
    # MPI_Alltoallv of three members, which are the ranks 4, 0 and 7.
    (found,) = exchanges(all_to_all([[4, 0, 7]], [numbered(3)], even=False), 8)
    assert found.at_once
    assert messages(found) == [
        *[(4, 0, 2), (0, 7, 23), (7, 4, 41)],
        *[(4, 7, 3), (0, 4, 21), (7, 0, 42)],
    ]


def test_large_even_blocks_of_four_go_by_pairs():
    # SMPI takes pairs for blocks of 512 KiB to 1 MiB; in each round the numbers of partners differ in the same bits.
    size_bytes = [600_000 + numbered(4)]
    found = exchanges(all_to_all([[0, 1, 2, 3]], size_bytes), 4)
    assert len(found) == 3 and all(one.at_once for one in found)
    pairs = [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 2), (1, 3), (2, 0), (3, 1)], [(0, 3), (1, 2), (2, 1), (3, 0)]]
    for one, expected in zip(found, pairs, strict=True):
        assert messages(one) == [(a, b, 600_000 + 20 * a + b + 1) for a, b in expected]


def test_small_even_blocks_of_many_go_by_bruck():
    # 16 members, blocks of 1 to 15 bytes by distance: round k moves the blocks whose distance has bit k to the member
    # 2^k further on.  By hand the sums of the odd distances 1 + 3 + ... + 15 = 64, and so on.
    a, b = np.indices((16, 16))
    found = exchanges(all_to_all([range(16)], [(b - a) % 16]), 16)
    sums = {1: 64, 2: 2 + 3 + 6 + 7 + 10 + 11 + 14 + 15, 4: 4 + 5 + 6 + 7 + 12 + 13 + 14 + 15, 8: sum(range(8, 16))}
    assert len(found) == 4 and all(one.at_once for one in found)
    for one, (reach, total) in zip(found, sums.items(), strict=True):
        assert messages(one) == [(rank, (rank + reach) % 16, total) for rank in range(16)]


def test_bruck_needs_a_round_more_for_one_member_more():
    # Of 17 members the last is 16 away: a fifth round, which moves one block of each.
    found = exchanges(all_to_all([range(17)], [np.full((17, 17), 4)]), 17)
    assert [one.size_bytes.tolist() for one in found] == [[4 * blocks] * 17 for blocks in (8, 8, 8, 8, 1)]


def test_the_blocks_of_a_sender_are_those_that_bruck_moves_on():
    # Rank 3 of 16 sends in the first round its blocks for the distances 1, 3, ..., 15.
    first = exchanges(all_to_all([range(16)], [numbered(16)]), 16)[0]
    assert messages(first)[3] == (3, 4, sum(60 + (3 + d) % 16 + 1 for d in range(1, 16, 2)))


def test_groups_take_one_algorithm_or_all_at_once():
    # Two groups of 16: small blocks in both, and small ones beside large ones.
    small = np.full((16, 16), 4)
    groups = [range(16), range(16, 32)]
    assert len(exchanges(all_to_all(groups, [small, small]), 32)) == 4
    (mixed,) = exchanges(all_to_all(groups, [small, 1000 * small]), 32)
    assert sorted(messages(mixed)) == sorted(
        (a, b, size) for group, size in zip(groups, (4, 4000), strict=True) for a in group for b in group if a != b
    )
    # The largest block decides: one of 4000 bytes is above the threshold of Bruck's algorithm.
    uneven = small.copy()
    uneven[0, 1] = 4000
    assert len(exchanges(all_to_all([range(16)], [uneven]), 16)) == 1


# Schedules.


def test_the_order_in_rounds_has_the_first_message_of_every_source_first():
    # Sources 1 0 1 0 2 1: the first of 1, of 0, of 2, then the second of 1, of 0, then the third of 1.
    assert rounds(np.array([1, 0, 1, 0, 2, 1])).tolist() == [0, 1, 4, 2, 3, 5]
    assert rounds(np.array([], int)).tolist() == []
    # A hundred messages of ten sources in turn stand in rounds already; ten of each source in a row do not.
    assert rounds(np.tile(np.arange(10), 10)).tolist() == list(range(100))
    assert rounds(np.repeat(np.arange(10), 10)).tolist() == np.arange(100).reshape(10, 10).T.ravel().tolist()


def program():
    """Segments of a program of six ranks: one of each kind of step, the first computation twice."""
    one, two = Compute(np.arange(6.0)), Compute(np.full(6, 7.0))
    sent = Exchange.of([(0, 1, 300), (0, 2, 50), (3, 4, 50)], at_once=True)
    rank = np.arange(6)
    sweep = Sweep(3, 2, True, 9, 2.0 * rank, 10 * (rank > 2), np.full(6, 300))
    return [[one], [sent, one], [two, sweep], [], [Exchange.of([(5, 0, 0)])]]


def test_a_program_is_flattened_step_by_step():
    flat = flattened(program(), 6)
    assert flat.size_bytes.tolist() == [0, 10, 50, 300] and flat.size_bytes.dtype == float
    assert flat.segment.tolist() == [0, 1, 3, 5, 5, 6]
    assert flat.kind.tolist() == [COMPUTE, EXCHANGE, COMPUTE, COMPUTE, SWEEP, EXCHANGE]
    assert flat.item.tolist() == [0, 0, 0, 1, 0, 1]  # the first computation is one item in both places
    assert flat.flops.tolist() == [[0, 1, 2, 3, 4, 5], [7] * 6]
    assert flat.first.tolist() == [0, 3, 4]
    assert flat.at_once.tolist() == [True, False]
    # In rounds: the first of rank 0, the first of rank 3, the second of rank 0.
    assert flat.source.tolist() == [0, 3, 0, 5]
    assert flat.destination.tolist() == [1, 4, 2, 0]
    assert [flat.size_bytes[place] for place in flat.size] == [300, 50, 50, 0]
    assert flat.shape.tolist() == [[3, 2, 1, 9]]
    assert flat.plane_flops.tolist() == [[0, 2, 4, 6, 8, 10]]
    assert flat.size_bytes[flat.plane_size].tolist() == [[[0, 0, 0, 10, 10, 10], [300] * 6]]
    types = {"kind": np.uint8, "item": np.int64, "at_once": bool, "source": np.int32, "destination": np.int32}
    types |= {"size": np.int32, "shape": np.int64, "plane_size": np.int32}
    assert {name: getattr(flat, name).dtype for name in types} == types


def test_a_program_without_steps_is_flattened_to_nothing():
    flat = flattened([[], [], [], [], []], 4)
    assert flat.size_bytes.tolist() == [0]
    assert (flat.flops.shape, flat.shape.shape, flat.plane_flops.shape) == ((0, 4), (0, 4), (0, 4))
    assert (flat.plane_size.shape, flat.first.tolist(), len(flat.source)) == ((0, 2, 4), [0], 0)
    assert (flat.kind.dtype, flat.item.dtype, flat.at_once.dtype, flat.shape.dtype) == (np.uint8, int, bool, int)


def test_the_schedule_of_a_program_begins_with_a_barrier_and_has_collectives_as_messages():
    # EP: computation, then sums over all ranks.
    asked = problem("ep", "S")
    found, declared = schedule(asked, 4), traffic(asked, 4)
    assert messages_of(found)[:6] == [(1, 0, 0), (2, 0, 0), (3, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0)]
    assert found.segment[:2].tolist() == [0, 2]
    parts = (declared.before, declared.iteration, declared.last, declared.after)
    expected = [sum(len(exchanges(s, 4)) if isinstance(s, Collective) else 1 for s in part) for part in parts]
    assert np.diff(found.segment).tolist() == [2, *expected]
    assert schedule(asked, 4) is found


def messages_of(flat):
    return [
        (int(a), int(b), int(flat.size_bytes[s]))
        for a, b, s in zip(flat.source, flat.destination, flat.size, strict=True)
    ]


def test_sizes_to_measure_are_those_that_are_sent():
    asked = problem("mg", "S")
    both = set(schedule(asked, 2).size_bytes) | set(schedule(asked, 8).size_bytes)
    every = sizes_to_measure(asked, [2, 8])
    assert every == both and len(every) > 6 and all(type(size) is int for size in every)
    assert sizes_to_measure(asked, [1]) == set()
    assert sizes_to_measure(asked, [1, 2]) == set(schedule(asked, 2).size_bytes)


def test_partners_are_those_of_messages_and_the_neighbours_of_a_wavefront():
    # A 3 x 2 grid: to the right within a row, and to the row below; and what the exchanges have.
    right, below = [(0, 1), (1, 2), (3, 4), (4, 5)], [(0, 3), (1, 4), (2, 5)]
    assert partners(flattened(program(), 6)) == sorted({*right, *below, (0, 2), (5, 0)})
    rank = np.zeros(6)
    back = Sweep(3, 2, False, 1, rank, rank.astype(int), rank.astype(int))
    assert partners(flattened([[back], [], [], [], []], 6)) == sorted((b, a) for a, b in (*right, *below))
