"""Copies of an iteration as a loop: the dates are those of the program that has every copy of its own, to the bit."""

import random

import numpy as np
import pytest

from apps.recording.events import EVENT, Elapse, Kind, Mark, Mode, Recording
from predictor.dpgraph.busy import BusyTime, watch_computation
from predictor.dpgraph.evaluate import estimate, execute
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Sections
from predictor.network.value import DirectedPath, Protocol, Timing

RANKS = 4
HOSTS = tuple(f"h{i}" for i in range(RANKS))
MARK = {"kind": Kind.MARK, "op": Mark.ITERATION}


def network(eager_below_bytes):
    """Two shared links, a latency, and rendezvous from 100 bytes on."""
    ways = {
        (a, b): DirectedPath(0, 200.0, 1.0 + 0.1 * i, {f"link{(i + j) % 2}": 1.0})
        for i, a in enumerate(HOSTS)
        for j, b in enumerate(HOSTS)
    }
    protocol = Protocol(detached_below_bytes=100, eager_below_bytes=eager_below_bytes, envelope_bytes=0)
    timing = Timing(np.array([-1.0]), np.full((1, 1), 0.01), np.ones((1, 1)))
    return NetworkModel(ways, {"link0": 300.0, "link1": 250.0}, timing, protocol)


class Writer:
    """The events of all ranks, and the numbers of their operations."""

    def __init__(self):
        self.rows = [[] for _ in range(RANKS)]
        self.used = [0] * RANKS

    def add(self, rank, **event):
        self.rows[rank].append(event)

    def post(self, rank, kind, peer, size_bytes=0, mode=Mode.STANDARD):
        request = self.used[rank]
        self.used[rank] += 1
        self.add(rank, kind=kind, peer=peer, size_bytes=size_bytes, request=request, mode=mode)
        return request

    def message(self, source, destination, size_bytes, mode=Mode.STANDARD):
        """A message whose ends are waited for at once."""
        for rank, kind, peer in ((source, Kind.SEND, destination), (destination, Kind.RECV, source)):
            self.add(rank, kind=Kind.WAIT, request=self.post(rank, kind, peer, size_bytes, mode))

    def everybody(self, **event):
        for rank in range(RANKS):
            self.add(rank, **event)

    def sections(self):
        events = []
        for rows in self.rows:
            table = np.zeros(len(rows), EVENT)
            for i, row in enumerate(rows):
                for name, value in row.items():
                    table[i][name] = value
            events.append(table)
        return Sections(Recording(tuple(events), (np.zeros(0, np.int64),) * RANKS, (tuple(range(RANKS)),)))


def drawn(seed, *, alike=True, ring=False):
    """A program of three iterations of drawn messages and computations, all alike, or but the first one.

    ``ring``: Every rank also sends to the next one, so that none runs far ahead.
    """
    writer, draw = Writer(), random.Random(seed)
    writer.everybody(kind=Kind.MARK, op=Mark.START)
    state = draw.getstate()
    for iteration in range(3):
        draw.setstate(state)
        if not alike and not iteration:
            draw.random()
        for rank in range(RANKS if ring else 0):
            writer.message(rank, (rank + 1) % RANKS, 50)
        for _ in range(draw.randint(4, 12)):
            source, destination = draw.sample(range(RANKS), 2)
            mode = draw.choice([Mode.STANDARD, Mode.BUFFERED, Mode.SYNCHRONOUS])
            writer.message(source, destination, draw.choice([1, 50, 99, 100, 1000]), mode)
            writer.add(draw.randrange(RANKS), kind=Kind.COMPUTE, amount=draw.random())
            writer.add(draw.randrange(RANKS), kind=Kind.ELAPSE, op=draw.choice(list(Elapse)), amount=draw.random())
        writer.everybody(**MARK)
    writer.everybody(kind=Kind.MARK, op=Mark.STOP)
    return writer.sections()


def assert_same(sections, iterations, model, *, looped=True, **options):
    both = sections.program(iterations), sections.looped(iterations)
    assert (both[1].loop is not None) == looped
    if "watched" in options:
        watched = options.pop("watched")
        both = tuple(watch_computation(program, watched) for program in both)
    speeds = np.linspace(1.0, 2.0, RANKS)
    one, other = (execute(program, model, HOSTS, speeds, **options) for program in both)
    assert one.end_s.tolist() == other.end_s.tolist()
    assert one.marks.tolist() == other.marks.tolist()
    assert np.array_equal(one.marks_s, other.marks_s, equal_nan=True)
    return one


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs_have_the_dates_of_all_their_copies(seed):
    sections, model = drawn(seed), network(60 if seed % 2 else 0)
    for iterations in (4, 5, 6, 13, 40):
        run = assert_same(sections, iterations, model)
        assert run.iteration_s.shape == (RANKS, iterations)


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_a_first_iteration_like_the_others_is_a_copy_of_the_loop(seed):
    sections = drawn(seed, alike=False)
    for iterations in (4, 5, 13):
        assert_same(sections, iterations, network(60 if seed % 2 else 0))
    assert sections.looped(13).loop.copies == 11
    assert drawn(seed).looped(13).loop.copies == 12


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_iterations_that_are_known_to_repeat_take_as_long_as_all_of_them(seed, alike):
    sections, model, speeds = (
        drawn(seed, alike=alike, ring=True),
        network(60 if seed % 2 else 0),
        np.linspace(1.0, 2.0, RANKS),
    )
    full = execute(sections.looped(60), model, HOSTS, speeds)
    run = execute(sections.looped(60), model, HOSTS, speeds, may_end=1)
    assert run.left_out > 0
    short = run.marks_s[run.marks != -1].reshape(RANKS, -1)
    assert run.iteration_s.shape == (RANKS, 60 - run.left_out)
    assert short.shape[1] == 60 - run.left_out + 2  # the begin and the end of the timed section
    found = estimate(sections, 60, model, HOSTS, speeds)
    assert found.iterations <= 5
    assert found.time_s == pytest.approx((full.stop_s - full.start_s).max(), rel=1e-9)
    assert found.ends_s == pytest.approx(full.stop_s - full.start_s.min(), rel=1e-9)


def test_iterations_repeat_as_those_of_the_first_rank_where_others_are_under_the_influence_of_the_end(monkeypatch):
    monkeypatch.setitem(globals(), "RANKS", 6)
    monkeypatch.setitem(globals(), "HOSTS", tuple(f"h{i}" for i in range(6)))
    sections, model, speeds = drawn(116), network(0), np.linspace(1.0, 2.0, 6)
    full = watch_computation(sections.looped(60), range(6))
    full = execute(full, model, HOSTS, speeds)
    run = execute(sections.looped(60), model, HOSTS, speeds, may_end=1)
    latest_s = np.diff(run.iteration_s)[:, -2]
    assert latest_s.min() < 0.99 * latest_s.max()  # ranks that are behind have less to share the links with
    found = estimate(sections, 60, model, HOSTS, speeds, busy_hosts=HOSTS)
    assert found.iterations < 60
    assert found.time_s == pytest.approx((full.stop_s - full.start_s).max(), rel=1e-9)
    for rank, host in enumerate(HOSTS):
        assert found.busy_s[host] == pytest.approx(BusyTime.of(full, [rank]).total_s(), rel=1e-9)


def test_as_many_iterations_are_executed_as_asked_for():
    sections, model = drawn(0, ring=True), network(0)
    for least in (1, 2, 3, 7, 59):
        run = execute(sections.looped(60), model, HOSTS, np.ones(RANKS), may_end=least)
        assert 59 - run.left_out == max(2, least)


@pytest.mark.parametrize(("compute_s", "repeats"), [(1.0, True), (1.512, False)])
def test_iterations_do_not_repeat_while_messages_wait_longer_and_longer(compute_s, repeats):
    # Rank 0 takes 1 s + 0.01 s + 100 / 200 s in each iteration, since rank 2 waits for it.  Its message of 8 bytes to
    # rank 1 takes 0.05 s, and waits there if rank 1 computes for longer than those 1.51 s.
    writer = Writer()
    for _ in range(3):
        writer.add(0, kind=Kind.COMPUTE, amount=1.0)
        for source, destination, size_bytes in ((0, 1, 8), (0, 2, 100), (2, 3, 100)):
            writer.message(source, destination, size_bytes)
        writer.add(1, kind=Kind.COMPUTE, amount=compute_s)
        writer.everybody(**MARK)
    run = execute(writer.sections().looped(40), network(10), HOSTS, np.ones(RANKS), may_end=1)
    assert (run.left_out > 0) == repeats
    assert run.end_s[0] == pytest.approx(1.51 * (40 - run.left_out))
    if not repeats:
        assert run.end_s[1] == pytest.approx(1.05 + 40 * compute_s)


def test_messages_that_flood_the_network_from_the_start_are_all_evaluated():
    # Rank 0 sends buffered messages and never waits: all begin at once after 0.01 s, share the link of 250 bytes/s, and
    # come together.  Only the first iteration of rank 1 then takes time: the longer, the more there are.
    writer = Writer()
    for _ in range(3):
        writer.message(0, 1, 8)
        writer.everybody(**MARK)
    found = estimate(writer.sections(), 1000, network(10), HOSTS, np.ones(RANKS))
    assert found.time_s == pytest.approx(0.01 + 8 * 1000 / 250)


def test_computations_that_share_cores_belong_to_the_loop():
    sections = drawn(3)
    same_host = NetworkModel(
        {("h0", "h0"): DirectedPath(0, 200.0, 1.0, {})}, {}, network(0).timing, Protocol(100, 0, envelope_bytes=0)
    )
    both = sections.program(20), sections.looped(20)
    one, other = (execute(program, same_host, ("h0",) * RANKS, np.ones(RANKS), [1] * RANKS) for program in both)
    assert one.end_s.tolist() == other.end_s.tolist()
    apart = execute(both[1], same_host, ("h0",) * RANKS, np.ones(RANKS), [4] * RANKS)
    assert (one.end_s >= apart.end_s).all()
    assert (one.end_s > apart.end_s).any()


def test_marks_around_computations_are_repeated_too():
    assert_same(drawn(5), 20, network(0), watched=[0, 2])


def test_seconds_in_the_loop_are_the_same_at_every_speed_and_those_on_a_core_are_shared():
    writer = Writer()
    writer.everybody(kind=Kind.MARK, op=Mark.START)
    for _ in range(3):
        writer.everybody(kind=Kind.ELAPSE, op=Elapse.ON_CORE, amount=0.5)
        writer.everybody(kind=Kind.ELAPSE, op=Elapse.ASLEEP, amount=0.25)
        writer.everybody(**MARK)
    sections, same_host = writer.sections(), ("h0",) * RANKS
    own = assert_same(sections, 100, network(0), watched=range(RANKS))
    assert own.end_s == pytest.approx([75.0] * RANKS)
    assert BusyTime.of(own, [0]).total_s() == pytest.approx(50.0)
    looped = sections.looped(100)
    for cores, each_s in ((RANKS, 0.5), (2, 1.0)):  # four ranks on two cores
        run = execute(looped, network(0), same_host, np.full(RANKS, 4.0), [cores] * RANKS)
        assert run.end_s == pytest.approx([100 * (each_s + 0.25)] * RANKS)


def test_a_rank_that_runs_far_ahead_gets_room_for_its_copies():
    # Rank 0 sends buffered messages and never waits; rank 1 computes 1 s in each iteration.  By hand: eager messages
    # all begin at once, share the link of 250 bytes/s and come together; rank 1 then computes for n seconds.
    writer = Writer()
    for _ in range(3):
        writer.message(0, 1, 8)
        writer.add(1, kind=Kind.COMPUTE, amount=1.0)
        writer.everybody(**MARK)
    sections = writer.sections()
    for iterations in (4, 7, 100, 1000):
        assert_same(sections, iterations, network(0))
    run = execute(sections.looped(1000), network(10), HOSTS, np.ones(RANKS), may_end=1)
    end_s = run.end_s
    assert run.left_out == 0  # messages pile up
    assert end_s[0] == 0.0
    assert end_s[1] == pytest.approx(0.01 + 8 * 1000 / 250 + 1000)


def test_messages_that_cross_iterations_are_in_no_loop():
    # Rank 0 sends one message ahead of the first iteration, so that every iteration receives that of the one before.
    writer = Writer()
    writer.add(0, kind=Kind.WAIT, request=writer.post(0, Kind.SEND, 1, 8))
    for iteration in range(3):
        if iteration < 2:
            writer.add(0, kind=Kind.WAIT, request=writer.post(0, Kind.SEND, 1, 8))
        writer.add(1, kind=Kind.WAIT, request=writer.post(1, Kind.RECV, 0))
        writer.everybody(**MARK)
    assert_same(writer.sections(), 9, network(0), looped=False)


def test_messages_that_nobody_waits_for_are_in_no_loop():
    writer = Writer()
    for _ in range(3):
        writer.add(0, kind=Kind.WAIT, request=writer.post(0, Kind.SEND, 1, 8))
        writer.post(1, Kind.RECV, 0)
        writer.everybody(**MARK)
    assert_same(writer.sections(), 9, network(0), looped=False)


def test_a_loop_takes_no_more_memory_for_more_copies():
    sections = drawn(7)
    few, many = sections.looped(5), sections.looped(5000)
    for name in ("code", "argument", "value", "source", "size_bytes"):
        assert getattr(few, name) is getattr(many, name)
    assert sections.looped(5000) is many
    assert len(sections.program(6).code) > len(few.code)
