"""Iterations found in hand-written recordings."""

from itertools import chain, pairwise

import numpy as np
import pytest

from apps.recording.events import EVENT, Kind, Mark, Op, Recording
from apps.recording.iterations import (
    _numbered,
    find_iterations,
    marked_iterations,
    split_iterations,
    with_marks,
    without_marks,
)


class Writer:
    """Events of one rank."""

    def __init__(self):
        self.rows = []
        self.operations = 0
        self.vectors = []
        self.mark(Mark.START)

    def add(self, kind, *, op=0, comm=-1, peer=-1, tag=-1, request=-1, size=0, amount=0.0):
        self.rows.append((kind, 0, op, comm, peer, tag, request, size, amount, float(len(self.rows)), 0))

    def mark(self, mark):
        self.add(Kind.MARK, op=mark)

    def compute(self, flops):
        self.add(Kind.COMPUTE, amount=flops)

    def message(self, kind, peer, *, size=8, tag=0):
        self.add(kind, comm=0, peer=peer, tag=tag, size=size, request=self.operations)
        self.add(Kind.WAIT, request=self.operations)
        self.operations += 1

    def collective(self, op=Op.ALLREDUCE, *, size=8, vector=None):
        request = -1
        if vector is not None:
            request = sum(map(len, self.vectors))
            self.vectors.append(vector)
        self.add(Kind.COLLECTIVE, op=op, comm=0, size=size, request=request)

    def events(self):
        self.mark(Mark.STOP)
        return np.array(self.rows, EVENT)


def recording(*ranks, measured=False):
    counts = tuple(np.array(list(chain(*rank.vectors)), np.int64) for rank in ranks)
    return Recording(tuple(rank.events() for rank in ranks), counts, (tuple(range(len(ranks))),), measured)


def pieces(events, starts):
    return [
        [tuple(event[name] for name in ("kind", "op", "peer", "size_bytes")) for event in events[begin:end]]
        for begin, end in pairwise(starts)
    ]


def pair(count, *, flops=lambda rank, i: 1e6, before=None, after=None, rarely=None):
    """Return two ranks: rank 0 computes and sends, rank 1 receives and computes, then both sum."""
    first, second = Writer(), Writer()
    for rank in (first, second):
        if before:
            before(rank)
    for i in range(count):
        first.compute(flops(0, i))
        first.message(Kind.SEND, 1)
        second.message(Kind.RECV, 0)
        second.compute(flops(1, i))
        for rank in (first, second):
            rank.collective()
            if rarely:
                rarely(rank, i)
    for rank in (first, second):
        if after:
            after(rank)
    return first, second


def test_no_iteration_ends_inside_a_call_that_sends_and_receives():
    ranks = Writer(), Writer()
    for rank, writer in enumerate(ranks):
        writer.collective(Op.BCAST)
        for _ in range(6):  # MPI_Sendrecv, and only then computation
            writer.add(Kind.SEND, comm=0, peer=1 - rank, tag=0, size=8, request=writer.operations)
            writer.add(Kind.RECV, comm=0, peer=1 - rank, tag=0, size=8, request=writer.operations + 1)
            for operation in (0, 1):
                writer.add(Kind.WAIT, request=writer.operations + operation)
            writer.operations += 2
            writer.compute(1e6)
    made = recording(*ranks)
    found = find_iterations(made)
    assert found.count == 6
    parts = pieces(made.events[0], found.starts[0])
    assert [[kind for kind, *_ in part] for part in parts] == 6 * [
        [Kind.SEND, Kind.RECV, Kind.WAIT, Kind.WAIT, Kind.COMPUTE]
    ]


@pytest.mark.parametrize("count", [3, 4, 10, 1000])
def test_plain_iterations_are_counted(count):
    made = recording(*pair(count))
    found = find_iterations(made)
    assert found.count == count
    for events, starts in zip(made.events, found.starts, strict=True):
        whole = pieces(events, starts)
        assert len(whole) == count and all(one == whole[0] for one in whole)
        assert len(whole[0]) == 4  # compute, message, its wait, sum: in this order or another


def test_what_precedes_and_follows_is_left_out():
    def before(rank):
        rank.compute(5e9)
        rank.collective(Op.BCAST, size=4000)
        rank.collective(Op.BARRIER, size=0)

    def after(rank):
        rank.collective(Op.GATHER, size=80)
        rank.compute(1e9)

    made = recording(*pair(6, before=before, after=after))
    found = find_iterations(made)
    assert found.count == 6
    ops = [events["op"][starts[0] : starts[-1]] for events, starts in zip(made.events, found.starts, strict=True)]
    assert all(not np.isin(one, [Op.BCAST, Op.GATHER]).any() for one in ops)


def test_a_loop_of_nothing_but_collectives():
    ranks = [Writer() for _ in range(3)]
    for rank in ranks:
        for _ in range(7):
            rank.compute(1e6)
            rank.collective(Op.ALLTOALL, size=512)
    found = find_iterations(recording(*ranks))
    assert found.count == 7


def test_ranks_whose_own_part_repeats_faster_agree_with_the_others():
    # Rank 0 sends the same message twice per iteration; rank 1 receives the two at different points of its iteration.
    first, second = Writer(), Writer()
    for _ in range(8):
        for size in (8, 16):
            first.message(Kind.SEND, 1)
            second.message(Kind.RECV, 0)
            second.collective(Op.SCAN, size=size)  # for example on another communicator
    found = find_iterations(recording(first, second))
    assert found.count == 8
    assert [int(np.diff(starts)[0]) for starts in found.starts] == [4, 6]


def test_something_every_third_time_makes_three_one():
    found = find_iterations(
        recording(*pair(12, rarely=lambda rank, i: rank.collective(Op.REDUCE) if i % 3 == 2 else None))
    )
    assert found.count == 4


def test_flops_decide_too_unless_they_are_measured():
    def growing(rank, i):
        return 1e6 * 1.5**i

    assert find_iterations(recording(*pair(8, flops=growing))) is None
    assert find_iterations(recording(*pair(8, flops=growing), measured=True)).count == 8
    assert find_iterations(recording(*pair(8, flops=lambda rank, i: 1e6 * (1 + 0.004 * (i % 2))))).count == 8


def test_vectors_are_compared_by_content():
    def ranks(vector):
        made = [Writer(), Writer()]
        for rank in made:
            for i in range(6):
                rank.collective(Op.ALLTOALLV, size=24, vector=vector(i))
        return recording(*made)

    assert find_iterations(ranks(lambda i: (8, 16))).count == 6
    assert find_iterations(ranks(lambda i: (8 + i, 16 - i))) is None


def test_no_iterations_are_found_where_there_are_none():
    assert find_iterations(recording(*pair(2))) is None  # too few to tell
    assert find_iterations(recording(Writer(), Writer())) is None  # no calls at all
    lonely = Writer()
    for i in range(20):
        lonely.collective(size=8 * i)
    assert find_iterations(recording(lonely)) is None
    # Most of its calls do not repeat.
    mostly = pair(4, before=lambda rank: [rank.collective(Op.BCAST, size=i) for i in range(100)])
    assert find_iterations(recording(*mostly)) is None


def test_found_iterations_are_marked_as_a_program_would():
    made = recording(*pair(5, before=lambda rank: rank.collective(Op.BCAST)))
    found = find_iterations(made)
    assert marked_iterations(made) == 0
    marked = with_marks(made, found)
    assert marked_iterations(marked) == 5
    for before, after in zip(made.events, marked.events, strict=True):
        marks = after["kind"] == Kind.MARK
        assert after["op"][marks].tolist() == [Mark.START, Mark.FIRST_ITERATION, *[Mark.ITERATION] * 5, Mark.STOP]
        assert (after[~marks] == before[before["kind"] != Kind.MARK]).all()
        assert (np.diff(after["clock_s"]) >= 0).all()
    plain = without_marks(marked)
    assert all((one == other).all() for one, other in zip(plain.events, made.events, strict=True))


def test_a_known_number_of_iterations_is_told_apart_with_another_first_one():
    first = {0: 7e6, 1: 7e6}
    made = recording(*pair(6, flops=lambda rank, i: first[rank] if i == 0 else 1e6))
    found = split_iterations(made, 6)
    assert found.count == 6
    for events, starts in zip(made.events, found.starts, strict=True):
        assert len(starts) == 7 and starts[0] >= 1
        compute = [
            events["amount"][begin:end][events["kind"][begin:end] == Kind.COMPUTE].sum()
            for begin, end in pairwise(starts)
        ]
        assert compute[0] >= 7e6 and compute[2:5] == [1e6] * 3
    assert split_iterations(made, 11) is None
    assert split_iterations(made, 3).count == 3  # three iterations of two equal parts each


def test_what_precedes_the_loop_may_be_like_it():
    made = recording(*pair(7))  # one of them before the loop, as the known number shows
    assert split_iterations(made, 6).count == 6


def test_three_iterations_are_told_apart_when_the_first_is_another():
    made = recording(*pair(3, flops=lambda rank, i: 7e6 if i == 0 else 1e6))
    assert find_iterations(made) is None
    assert split_iterations(made, 3).count == 3


def test_equal_calls_have_equal_numbers_however_large_their_values():
    random = np.random.default_rng(7)
    few, wide = random.integers(-3, 3, (4, 500)), random.integers(-(1 << 61), 1 << 61, 9)[random.integers(0, 9, 500)]
    columns = [few[0], wide, few[1], -wide, few[2], few[3]]
    expected = np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1)
    assert np.array_equal(_numbered(columns), expected)
