"""Calls of programs that people write: pipelines, waits for some operations, any source, sizes that follow no rule."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.recording.events import EVENT, FROM_ANY, Kind, Mark, Op, Recording
from predictor.learned import skeleton
from predictor.learned.errors import CannotContinue
from predictor.learned.features import Space
from predictor.learned.generate import generate
from predictor.learned.grids import coordinates, most_cubic
from predictor.learned.learn import learn
from predictor.learned.loops import _period
from predictor.learned.matching import AS_SENT, by_source, difference, take_sizes_as_sent, without_finds
from predictor.learned.models import Notes
from predictor.learned.nest import loop_nest
from predictor.learned.noisy import fitted
from predictor.learned.rows import Rows
from tests.adversary.any_count import Rank, mixed


def recorded(body, nranks, axes=1):
    sides = most_cubic(nranks, axes)
    places = coordinates(sides, np.arange(nranks)).T.tolist()
    ranks = [Rank(r, nranks, sides, tuple(place)) for r, place in enumerate(places)]
    for rank in ranks:
        rank.add(Kind.MARK, 1, op=Mark.START)
        body(rank)
        rank.add(Kind.MARK, 2, op=Mark.STOP)
    events = tuple(np.array(rank.rows, EVENT) for rank in ranks)
    counts = tuple(np.array(getattr(rank, "looked", ()), np.int64) for rank in ranks)
    paths = tuple((address,) for address in range(1, 100))
    return Recording(events, counts, (tuple(range(nranks)),), paths=paths)


def check_exact(body, counts, nranks, axes=1, numbers=()):
    structure, notes = learn([recorded(body, count, axes) for count in counts], numbers), Notes()
    assert difference(generate(structure, nranks, notes=notes), recorded(body, nranks, axes)) is None
    assert not (structure.unconfirmed or structure.fitted or notes.differs or notes.assumed)


def neighbours(rank):
    for axis, side in enumerate(rank.sides):
        for step in (-1, 1):
            place = rank.at[axis] + step
            if 0 <= place < side:
                there = (*rank.at[:axis], place, *rank.at[axis + 1 :])
                yield 2 * axis + (step > 0), int(np.ravel_multi_index(there, rank.sides))


def front(rank):
    for tag in range(5):
        if rank.rank:
            rank.add(Kind.WAIT, 11, request=rank.start(Kind.RECV, 10, rank.rank - 1, tag, 8))
        if rank.rank < rank.nranks - 1:
            rank.add(Kind.WAIT, 13, request=rank.start(Kind.SEND, 12, rank.rank + 1, tag, 8))
    if rank.rank == rank.nranks - 1:
        rank.add(Kind.WAIT, 15, request=rank.start(Kind.SEND, 14, 0, 9, 8))
    if not rank.rank:
        rank.add(Kind.WAIT, 17, request=rank.start(Kind.RECV, 16, rank.nranks - 1, 9, 8))


def pipeline(rank):
    for _ in range(3):
        front(rank)


def test_a_pipeline_begins_again_on_ranks_that_do_not_show_it():
    check_exact(pipeline, (4, 6, 9), 20)


def wave_front(rank):
    for _ in range(3):
        for _ in range(4):
            before, behind = ([end for end in neighbours(rank) if end[0] % 2 == way] for way in (0, 1))
            for way, there in before:
                rank.add(Kind.WAIT, 11 + way, request=rank.start(Kind.RECV, 10 + way, there, way, 80))
            rank.add(Kind.COMPUTE, 0, amount=1000.0)
            for way, there in behind:
                rank.add(Kind.WAIT, 21 + way, request=rank.start(Kind.SEND, 20 + way, there, way - 1, 80))
        rank.add(Kind.COLLECTIVE, 30, op=Op.BARRIER, comm=0)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_wave_front_has_its_lines_where_a_barrier_ends_each_sweep(axes):
    # The first rank goes back from the barrier to its send, beside the lines that other ranks begin with a receive.
    check_exact(wave_front, (4, 9, 12, 16), 36, axes)


def test_the_lines_of_a_pipeline_are_a_loop_where_a_barrier_comes_once_for_all_of_them():
    # Places of the text: a barrier before the second iteration, a receive and a send of each line, the corner's two.
    barrier, receive, send, corner_sent, corner_received = range(5)
    lines = {0: [send], 1: [receive, send], 2: [receive, send], 3: [receive]}
    corner = {0: [corner_received], 3: [corner_sent]}
    rows = [
        [place for at in range(3) for place in [barrier] * (at == 1) + 6 * lines[rank] + corner.get(rank, [])]
        for rank in range(4)
    ]
    traces = [SimpleNamespace(nranks=4, symbols=np.array(row)) for row in rows]
    symbols = [SimpleNamespace(is_mark=lambda _: False)] * 5
    nest = loop_nest(traces, np.arange(5), symbols)

    def loops(node):
        return {(node.low, node.high)}.union(*(loops(child) for child in node.children if not child.leaf))

    assert (receive, send) in loops(nest)


def sweep(rank):
    for _ in range(3):
        for first, way in ((10, 1), (20, -1)):
            for _ in range(4):
                for site, kind, step in ((first, Kind.RECV, -way), (first + 2, Kind.SEND, way)):
                    for side, there in neighbours(rank):
                        if (side % 2 > 0) == (step > 0):
                            rank.add(Kind.WAIT, site + 1, request=rank.start(kind, site, there, 1, 8))
        rank.add(Kind.COLLECTIVE, 30, op=0, comm=0, size=8)


def test_ranks_at_the_corners_of_a_sweep_send_or_receive_alone_in_the_turns_of_the_others():
    check_exact(sweep, (4, 9, 12, 16), 30, axes=2)


def broadcast(rank, axis, root, sites):
    """Broadcast along an axis by a binomial tree."""
    side, place, bit = rank.sides[axis], (rank.at[axis] - root) % rank.sides[axis], 1

    def blocking(kind, site, place):
        at = (*rank.at[:axis], (place + root) % side, *rank.at[axis + 1 :])
        there = int(np.ravel_multi_index(at, rank.sides))
        rank.add(Kind.WAIT, site + 1, request=rank.start(kind, site, there, axis, 64))

    while bit < side and not place & bit:
        bit *= 2
    if place:
        blocking(Kind.RECV, sites, place - bit)
    while (bit := bit // 2) > 0:
        if place + bit < side:
            blocking(Kind.SEND, sites + 2, place + bit)


def panels(rank):
    for step in range(64):
        for axis in (0, 1):
            broadcast(rank, axis, step * rank.sides[axis] // 64, 10 * (axis + 1))


def test_roots_of_broadcasts_that_do_not_receive_go_on_with_the_turn_of_the_others():
    check_exact(panels, (4, 8, 16, 32), 64, axes=2)


def charged(rank):
    """Compute before one of two messages, as its turn and the place of the rank say."""
    share = 1024 / rank.nranks
    for turn in range(2):
        amount = 7 * share if turn and not rank.at[0] else 0
        if not turn and not rank.at[1]:
            amount = (9 if rank.rank else 21) * share
        if amount:
            rank.add(Kind.COMPUTE, 0, amount=amount)
        rank.add(Kind.WAIT, 11, request=rank.start(Kind.SEND, 10, (rank.rank + 1) % rank.nranks, turn, 8))
        rank.add(Kind.WAIT, 13, request=rank.start(Kind.RECV, 12, (rank.rank - 1) % rank.nranks, turn, 8))


def test_each_turn_has_its_own_cases_of_computation():
    check_exact(charged, (4, 8, 16, 32), 64, axes=2)


def rotation(rank):
    for _ in range(4):
        for phase in range(1, rank.nranks):
            begun = [
                rank.start(Kind.RECV, 10, (rank.rank + phase) % rank.nranks, phase, 8),
                rank.start(Kind.SEND, 11, (rank.rank - phase) % rank.nranks, phase, 8),
            ]
            for at, number in enumerate(begun):
                rank.add(Kind.WAIT, 12 + at, request=number)


def test_an_exchange_with_all_others_repeats():
    check_exact(rotation, (4, 6, 9, 12), 20)


@pytest.mark.parametrize(("row", "period"), [("abcabc", 3), ("abcab", 5), ("aaa", 1), ("abaaba", 3)])
def test_a_period_divides_the_length_of_its_row(row, period):
    assert _period(row) == period


def sends_first(rank):
    received = [rank.start(Kind.RECV, 10 + way, there, 1, 8) for way, there in neighbours(rank)]
    sent = [rank.start(Kind.SEND, 20 + way, there, 1, 8) for way, there in neighbours(rank)]
    for number in sent:
        rank.add(Kind.WAIT, 30, request=number)
    for (way, _), number in zip(neighbours(rank), received, strict=True):
        rank.add(Kind.WAIT, 40 + way, request=number)


def test_waits_for_all_sends_leave_the_receives_open():
    check_exact(sends_first, (4, 9, 12, 16), 30, axes=2)


def from_any_source(rank):
    ways = list(neighbours(rank))
    order = sorted(ways, key=lambda way: mixed(rank.rank, way[1], rank.nranks))  # as messages come
    begun = []
    for _, there in order:
        begun.append(rank.start(Kind.RECV, 10, there, 1, 8))
        rank.rows[-1] = (rank.rows[-1][0], FROM_ANY, *rank.rows[-1][2:])
    for _, there in ways:
        rank.add(Kind.WAIT, 21, request=rank.start(Kind.SEND, 20, there, 1, 8))
    for number in begun:
        rank.add(Kind.WAIT, 30, request=number)


def test_receives_from_any_source_that_follow_each_other_are_in_the_order_of_sources():
    check_exact(from_any_source, (4, 9, 12, 16), 30, axes=2)


def test_a_receive_from_any_source_that_is_answered_stays_where_it_is():
    rows = [
        (kind, mode, 0, 0, peer, 1, number, 8, 0.0, 0.0, 1)
        for kind, mode, peer, number in ((Kind.RECV, FROM_ANY, 2, 0), (Kind.SEND, 0, 2, 1), (Kind.RECV, FROM_ANY, 1, 2))
    ]
    events = np.array(rows, EVENT)
    assert by_source(events)["peer"].tolist() == [2, 2, 1]
    assert by_source(events[[0, 2]])["peer"].tolist() == [1, 2]


def with_looks(rank):
    """Exchange with both neighbours; a look before the wait has found the sends, and on some ranks a receive."""
    rank.looked = []
    for step in range(2):
        begun = []
        for way, there in neighbours(rank):
            begun += [rank.start(kind, 10 + 2 * way + kind, there, 1, 8) for kind in (Kind.SEND, Kind.RECV)]
        rank.add(Kind.POLL, 20, tag=5, request=len(rank.looked), size=len(begun))
        rank.looked += begun
        found = begun[0::2] if mixed(step, rank.rank, rank.nranks) % 3 or len(begun) < 4 else [*begun[:3]]
        found += [] if set(begun[0::2]) <= set(found) else begun[2::2]
        for number in dict.fromkeys(found):
            rank.add(Kind.WAIT, 20, request=number)
            rank.rows[-1] = (rank.rows[-1][0], 1, *rank.rows[-1][2:])
        for number in begun:
            if number not in found:
                rank.add(Kind.WAIT, 21, request=number)


def test_what_looks_find_leads_nowhere_if_all_is_waited_for_behind_them():
    made = [recorded(with_looks, count) for count in (4, 6, 9, 12)]
    structure, notes = learn(made, []), Notes()
    assert difference(generate(structure, 25, notes=notes), recorded(with_looks, 25)) is None
    assert not structure.unconfirmed
    assert {text for text in notes.assumed.values()} == {
        "that its polls for messages find nothing, as no recorded poll does"
    }


def test_a_look_that_finds_all_decides_what_comes_next():
    recording = recorded(with_looks, 4)
    events = recording.events[1].copy()
    events["mode"][events["kind"] == Kind.POLL] = 1
    with pytest.raises(CannotContinue, match="its control flow depends on the answer"):
        without_finds(events, recording.counts[1])


def test_a_fit_is_proportional_to_the_shares_that_lead_to_the_largest_recording():
    nranks = np.repeat([4, 6, 9, 12], [4, 6, 9, 12])
    rank, none = np.concatenate([np.arange(count) for count in (4, 6, 9, 12)]), np.zeros((len(nranks), 0), np.int64)
    rows = Rows(nranks, rank, none, none, none)
    values = 1000 / nranks * (1 + 0.01 * (rank % 3))
    model = fitted(Space("line", [1000]), rows, values)
    target = Rows(np.full(40, 40), np.arange(40), *[np.zeros((40, 0), np.int64)] * 3)
    assert model.middle(Space("line", [1000]), target).mean() == pytest.approx(25, rel=0.03)
    assert 0.97 < model.low < 1 < model.high < 1.03


def test_receives_of_messages_with_fitted_sizes_take_them_as_they_are_sent():
    rows = [
        (kind, 0, 0, 0, peer, 1, number, size, 0.0, 0.0, 1)
        for kind, peer, number, size in (
            (Kind.SEND, 1, 0, 30), (Kind.SEND, 1, 1, 50), (Kind.RECV, 0, 0, AS_SENT), (Kind.RECV, 0, 1, AS_SENT)
        )
    ]  # fmt: skip
    events, rank = np.array(rows, EVENT), np.array([0, 0, 1, 1])
    take_sizes_as_sent(events, rank)
    assert events["size_bytes"].tolist() == [30, 50, 30, 50]
    events["size_bytes"][2:], events["peer"][3] = AS_SENT, 1
    take_sizes_as_sent(events, rank)
    assert events["size_bytes"].tolist() == [30, 50, AS_SENT, AS_SENT]


def drawn_sizes(rank):
    """Send as many bytes to the next rank as follow no rule, about 1,000,000 over the ranks."""
    size = [1_000_000 // rank.nranks + 10 * ((7 * r * r + 3 * r + rank.nranks) % 11) for r in range(rank.nranks)]
    before = (rank.rank - 1) % rank.nranks
    rank.add(Kind.WAIT, 11, request=rank.start(Kind.SEND, 10, (rank.rank + 1) % rank.nranks, 0, size[rank.rank]))
    rank.add(Kind.WAIT, 13, request=rank.start(Kind.RECV, 12, before, 0, size[before]))


@pytest.mark.slow
def test_a_learned_program_receives_as_many_bytes_as_it_sends_where_sizes_are_fitted():
    structure = learn([recorded(drawn_sizes, nranks) for nranks in (4, 8, 12, 18)], (1_000_000,))
    assert structure.fitted
    parts = generate(structure, 40).events
    sent, received = (
        [int(part["size_bytes"][part["kind"] == kind][0]) for part in parts] for kind in (Kind.SEND, Kind.RECV)
    )
    assert received == [sent[-1], *sent[:-1]]
    assert all(size == pytest.approx(25_000, rel=0.1) for size in sent)


def cached(rank):
    """Compute 3 flops for each of 6,000 points, or half the time once a share has 500 points."""
    points = 6000 / rank.nranks
    rank.add(Kind.COMPUTE, 0, amount=3 * points * (0.5 if points <= 500 else 1) * (1 + mixed(rank.rank) % 10 / 1000))
    rank.add(Kind.COLLECTIVE, 10, op=0, comm=0, size=8)


def test_a_step_of_measured_computation_is_named_and_the_range_allows_for_another():
    made = [replace(recorded(cached, count), measured=True) for count in (4, 6, 8, 12, 15)]
    notes = Notes(lean=-1)
    structure = learn(made, [6000])
    low, middle = (
        sum(float(events["amount"].sum()) for events in generate(structure, 30, notes=each).events)
        for each in (notes, Notes())
    )
    assert [text.split(" times")[1] for text in notes.steps.values()] == [" as much from 12 ranks on"]
    assert middle == pytest.approx(3 * 6000 * 0.5, rel=0.01)
    assert low <= 0.51 * middle


def before_the_first_of_two(rank):
    n, noise = 6000, mixed(rank.rank, rank.nranks) % 100 / 10000
    for _ in range(5):
        for site, there in ((10, rank.rank - 1), (12, rank.rank + 1)):
            if 0 <= there < rank.nranks:
                first = site == 10 or not rank.rank
                rank.add(Kind.COMPUTE, site, amount=(n / rank.nranks if first else 1) * (1 + noise))
                rank.add(Kind.WAIT, site + 1, request=rank.start(Kind.SEND, site, there, 1, 8))
        for site, there in ((14, rank.rank - 1), (16, rank.rank + 1)):
            if 0 <= there < rank.nranks:
                rank.add(Kind.WAIT, site + 1, request=rank.start(Kind.RECV, site, there, 1, 8))


def test_measured_computation_that_ranks_have_at_different_calls_is_fitted_where_it_is():
    made = [replace(recorded(before_the_first_of_two, count), measured=True) for count in (3, 4, 6, 9)]
    structure = learn(made, [6000])
    amounts = [float(events["amount"].sum()) for events in generate(structure, 30).events]
    assert amounts == pytest.approx([5 * 200] * 30, rel=0.03)
    assert not structure.unconfirmed and structure.fitted


def test_copies_that_the_compiler_made_of_a_call_are_one(monkeypatch):
    calls = {(7,): "a.c:1", (8,): "a.c:1", (9,): "a.c:2"}
    monkeypatch.setattr(skeleton, "calls_of", lambda _, paths: tuple((calls[path],) for path in paths))
    none = np.zeros(0, EVENT)
    recording = Recording((none,), (np.zeros(0, np.int64),), ((0,),), paths=((8,), (9,), (7,)))
    (merged,), text = skeleton.with_calls_merged([recording], problem("cg", "S"))
    assert merged.paths == ((7,), (9,), (7,))
    assert text == {(7,): ("a.c:1",), (9,): ("a.c:2",)}
