"""The recurrence over the steps of a program, and the sharing of links, against hand calculation."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from apps.recording.events import Op
from apps.traffic.collectives import Call, all_to_all_algorithm, steps
from apps.traffic.steps import AllToAll, Collective, Compute, Exchange, Sweep
from predictor.structural import followed as meeting
from predictor.structural.collectives import exchanges
from predictor.structural.contention import share
from predictor.structural.followed import FollowedProgram
from predictor.structural.measured import BUFFERED, EAGER, SYNCHRONOUS
from predictor.structural.paths import Paths, PlaceOfLinks
from predictor.structural.recurrence import runs
from predictor.structural.schedule import flattened

RATE_BPS = 100.0  # of every path
NEAR_S, FAR_S = 1.0, 5.0  # latency in a cluster and between the two


def two_clusters(schedule, *, nodes=2, back=0.0, inside_Bps=np.inf, wan_Bps=np.inf, node_Bps=np.inf):
    """Paths between hosts 0 .. nodes - 1 of one cluster and as many of another."""
    places = PlaceOfLinks(2 * nodes, 2)
    capacity = np.full(places.count, np.inf)
    capacity[: 4 * nodes] = node_Bps
    capacity[[places.inside(0), places.inside(1)]] = inside_Bps
    capacity[places.both_ways(0, 1)] = wan_Bps
    sizes = len(schedule.size_bytes)
    return Paths(
        cluster=np.repeat(np.arange(2, dtype=np.int32), nodes),
        row=np.array([[0, 1], [1, 0]], np.int32),
        self_row=np.zeros(2, np.int32),
        latency_s=np.repeat([[NEAR_S], [FAR_S]], sizes, axis=1),
        amount_bytes=np.tile(schedule.size_bytes, (2, 1)),
        bound_Bps=np.full(2, RATE_BPS),
        penalty=np.ones(2),
        capacity_Bps=capacity,
        back=np.full(2, back),
        self_shares=np.ones(2, bool),
    )


@pytest.fixture(params=["step by step", "through all steps"])
def time_of(request):
    """The time of a program, by the recurrence over its steps and by following its messages through all of them."""
    return partial(step_by_step, whole=request.param == "through all steps")


def step_by_step(steps, nranks, *, mode=BUFFERED, s_per_flop=1.0, iterations=None, flows=True, whole=False, **network):
    """The time of a program that executes these steps once, or in each iteration; ranks are hosts, in their order."""
    segments = [[], steps, [], [], []] if iterations is None else [[], [], steps, steps, []]
    schedule = flattened(segments, nranks)
    paths = two_clusters(schedule, **network)
    host = np.arange(nranks, dtype=np.int32)[None]
    protocol = np.full(len(schedule.size_bytes), mode, np.uint8)
    shares = share(schedule, paths, host, protocol)
    speeds = np.broadcast_to(np.asarray(s_per_flop, float), (1, nranks)).copy()
    if whole and flows:
        found = FollowedProgram(schedule, protocol).evaluate(paths, host[0], speeds[0], iterations or 1)
        assert found[1] <= 1e-9 * found[0]
        return found[0]
    placed = (paths, host) if flows else None
    times_s, _, _ = runs(schedule, shares, protocol, speeds, iterations or 1, network=placed)
    return float(times_s[0])


def test_a_message_takes_its_latency_and_its_bytes_over_the_rate(time_of):
    assert time_of([Exchange.of([(0, 1, 300)])], 2) == NEAR_S + 300 / RATE_BPS
    assert time_of([Exchange.of([(0, 2, 300)])], 4) == FAR_S + 300 / RATE_BPS


def test_a_buffered_message_waits_for_its_receive_and_an_eager_one_does_not(time_of):
    steps = [Compute(np.array([0.0, 10.0])), Exchange.of([(0, 1, 300)])]
    assert time_of(steps, 2, mode=BUFFERED) == 10 + 4
    assert time_of(steps, 2, mode=EAGER) == 10


def test_a_sender_of_a_synchronous_message_waits_until_it_has_arrived(time_of):
    # Rank 0 sends to rank 1, then to rank 3: the second begins when the first has arrived.
    steps = [Exchange.of([(0, 1, 300), (0, 3, 300)])]
    assert time_of(steps, 4, mode=BUFFERED) == FAR_S + 3
    assert time_of(steps, 4, mode=SYNCHRONOUS) == (NEAR_S + 3) + (FAR_S + 3)
    at_once = [Exchange.of([(0, 1, 300), (0, 3, 300)], at_once=True)]
    assert time_of(at_once, 4, mode=SYNCHRONOUS) == FAR_S + 3


@pytest.mark.parametrize(("computing_s", "time_s", "then_s"), [(2, NEAR_S + 3, 4 + 1 + 7), (10, 10, 10 + 1 + 4)])
def test_computation_while_a_message_is_on_its_way_costs_what_it_lasts_longer(time_of, computing_s, time_s, then_s):
    messages = Exchange.of([(0, 1, 300), (1, 0, 300)], at_once=True)
    overlapped = replace(messages, meanwhile=np.array([0.0, computing_s], float))
    assert time_of([overlapped], 2) == time_s
    # Another exchange has a computation of its own, 7 s on rank 0, which either ends last or is over before rank 1 is
    # ready for the messages.
    other = replace(messages, meanwhile=np.array([7.0, 0.0]))
    assert time_of([overlapped, Compute(np.array([1.0, 1.0])), other], 2) == then_s


def test_flows_that_are_alike_share_a_link_equally(time_of):
    # Four messages of 300 bytes over a link of 200 bytes/s, which alone would take 3 s each.
    steps = [Exchange.of([(r, 4 + r, 300) for r in range(4)])]
    assert time_of(steps, 8, nodes=4, wan_Bps=200) == FAR_S + 4 * 300 / 200


@pytest.mark.parametrize("at_once", [True, False])
def test_flows_share_a_link_only_while_they_meet(time_of, at_once):
    # 300 bytes from ranks 0 and 1, which comes 2 s later, over a link of 100 bytes/s.  The first moves 200 bytes alone,
    # then both have half of the link for 2 s, and the second has 200 bytes left.
    late = Compute(np.array([0.0, 2.0, 0.0, 0.0]))
    steps = [late, Exchange.of([(0, 2, 300), (1, 3, 300)], at_once=at_once)]
    assert time_of(steps, 4, wan_Bps=100) == pytest.approx(FAR_S + 2 + 2 + 2)
    # Without the network, both are taken to begin together: 6 s for 600 bytes, after the later one begins.
    assert time_of(steps, 4, wan_Bps=100, flows=False) == pytest.approx(2 + FAR_S + 6)


@pytest.mark.parametrize(("messages", "together"), [(1 << 14, False), ((1 << 14) + 1, True)])
def test_very_many_messages_are_taken_to_begin_together(messages, together):
    # As above, with the link's 600 bytes sent by all ranks of a cluster: half of the messages begin 2 s later.
    nodes = messages
    late = Compute(np.concatenate([np.tile([0.0, 2.0], nodes)[:nodes], np.zeros(nodes)]))
    sent = Exchange(np.arange(nodes, dtype=np.int32), np.arange(nodes, 2 * nodes, dtype=np.int32), np.full(nodes, 1))
    found = step_by_step([late, sent], 2 * nodes, nodes=nodes, wan_Bps=nodes / 6)
    assert found == pytest.approx(FAR_S + (2 + 6 if together else 6), abs=0.05)


@pytest.mark.parametrize(
    ("mode", "other_bytes", "time_s"),
    [
        # All three share the link of 100 bytes/s from 5 s on: 900 bytes.
        (BUFFERED, 300, FAR_S + 9),
        # The first two have half of it each, until 11 s; the last one then goes alone.
        (SYNCHRONOUS, 300, FAR_S + 6 + FAR_S + 3),
        # The other rank's 100 bytes end after 2 s, and the first message, with 200 bytes left, after 2 s more.
        (SYNCHRONOUS, 100, FAR_S + 4 + FAR_S + 3),
    ],
)
def test_a_flow_whose_sender_waits_for_an_earlier_one_begins_when_that_has_arrived(time_of, mode, other_bytes, time_s):
    steps = [Exchange.of([(0, 2, 300), (0, 3, 300), (1, 3, other_bytes)])]
    assert time_of(steps, 4, mode=mode, wan_Bps=100) == pytest.approx(time_s)


def test_flows_get_their_fair_shares_of_several_links(time_of):
    # Rank 0 sends 600 bytes to ranks 1 and 2, rank 3 sends 1200 to rank 4, all over a link inside their cluster.  One
    # of 90 bytes/s is shared in three: after 20 s rank 3 has the link alone, for 600 bytes.
    steps = [Exchange.of([(0, 1, 600), (0, 2, 600), (3, 4, 1200)], at_once=True)]
    assert time_of(steps, 5, nodes=5, node_Bps=90, inside_Bps=90) == pytest.approx(NEAR_S + 20 + 600 / 90)
    # One of 150: the link of rank 0's node, 90, is tighter, so that its messages get 45 each and the third 60 for
    # 13.33 s; then the third gets the 90 of its node for its last 400 bytes.
    assert time_of(steps, 5, nodes=5, node_Bps=90, inside_Bps=150) == pytest.approx(NEAR_S + 600 / 45 + 400 / 90)


def test_acknowledgements_take_their_part_of_a_node_link(time_of):
    # Two opposite messages: each link carries one message and 5 % of the other.
    steps = [Exchange.of([(0, 1, 300), (1, 0, 300)])]
    assert time_of(steps, 2, back=0.05, node_Bps=RATE_BPS) == pytest.approx(NEAR_S + 1.05 * 3)


def test_flows_that_do_not_meet_do_not_share(time_of):
    # The near message ends after 1 + 3 s, before the far one begins after 5 s, although they use the same link.
    steps = [Exchange.of([(0, 1, 300), (0, 2, 300)])]
    assert time_of(steps, 4, node_Bps=RATE_BPS) == FAR_S + 3


def test_a_link_that_clusters_share_moves_no_more_than_it_can_over_several_steps(time_of):
    # Ranks 0 and 4, then 1 and 5, ...: no pair waits for the others, but all cross a link that takes 30 s per message.
    steps = [Exchange.of([(r, 4 + r, 300)]) for r in range(4)]
    assert time_of(steps, 8, nodes=4, wan_Bps=10) == FAR_S + 4 * 300 / 10


def late_beside_early():
    """Rank 0 sends 600 bytes; rank 1 computes for 2 s and sends 300, after which its receiver computes for 5 s."""
    computes = (np.array(flops, float) for flops in ([0, 2, 0, 0], [0, 0, 0, 5]))
    first, last = map(Compute, computes)
    return [Exchange.of([(0, 2, 600)]), first, Exchange.of([(1, 3, 300)]), last]


def test_messages_of_different_steps_share_a_link():
    # The first has the link of 100 bytes/s alone for 2 s, then half of it for 6 s, in which the second is through; the
    # receiver of the second then computes, while the last 100 bytes of the first take 1 s.
    assert step_by_step(late_beside_early(), 4, wan_Bps=100, whole=True) == FAR_S + 2 + 6 + 5


@pytest.mark.parametrize(("wan_Bps", "met_s"), [(np.inf, 0), (200, 0), (199, 3)])
def test_messages_of_different_steps_meet_where_a_link_has_less_than_they_ask_for(wan_Bps, met_s):
    # Each asks for 100 bytes/s; the second is in flight from 2 to 5 s after the first has begun, which takes 6 s.
    schedule = flattened([[], late_beside_early(), [], [], []], 4)
    paths, host = two_clusters(schedule, wan_Bps=wan_Bps), np.arange(4, dtype=np.int32)[None]
    protocol = np.full(len(schedule.size_bytes), EAGER, np.uint8)
    shares = share(schedule, paths, host, protocol)
    *_, found_s = runs(schedule, shares, protocol, np.ones((1, 4)), 1, network=(paths, host))
    assert found_s.tolist() == [pytest.approx(met_s)]


def test_iterations_that_settle_stand_for_the_others():
    # The link of 10 bytes/s is never idle: 30 s for each iteration's 300 bytes, whose sender continues at once.
    steps = [Compute(np.array([1.0, 0.0])), Exchange.of([(0, 1, 300)])]
    for iterations in (2, 5, 1000):
        found = step_by_step(steps, 2, inside_Bps=10, iterations=iterations, whole=True)
        assert found == pytest.approx(1 + (NEAR_S + 30) * iterations)


def test_too_many_messages_are_not_followed(monkeypatch):
    monkeypatch.setattr(meeting, "MOST_MESSAGES", 5)
    steps = [Exchange.of([(0, 1, 300), (1, 0, 300)])]
    schedule = flattened([[], [], steps, steps, []], 2)
    paths, host = two_clusters(schedule, nodes=1), np.arange(2, dtype=np.int32)
    program = FollowedProgram(schedule, np.zeros(len(schedule.size_bytes), np.uint8))
    assert program.evaluate(paths, host, np.ones(2), 2) is not None  # four messages
    assert program.evaluate(paths, host, np.ones(2), 3) is None


def test_the_slowest_of_those_that_exchange_decides(time_of):
    # Rank 1 computes twice as long for as much: 4 s, then the exchange of 0 bytes.
    steps = [Compute(np.array([2.0, 2.0])), Exchange.of([(0, 1, 0), (1, 0, 0)])]
    assert time_of(steps, 2, s_per_flop=[1.0, 2.0]) == 4 + NEAR_S
    assert time_of(steps, 2, s_per_flop=[1.0, 2.0], iterations=100) == pytest.approx(100 * 5)


def sweep_of(width, height, planes, flops, *, forward=True):
    size = np.full(width * height, 100)
    return Sweep(width, height, forward, planes, np.array(flops, float), size, size)


def test_a_pipeline_takes_its_fill_and_a_stage_for_each_further_plane(time_of):
    # Four ranks in a row, 2 s of work, messages of 1 + 1 s: the first stage is 2 s, the others 4 s.  Ten planes: the
    # last rank has its first plane after 2 + 3 x 4 s, and then one every 4 s.
    assert time_of([sweep_of(4, 1, 10, [2, 2, 2, 2])], 4, nodes=4) == 2 + 3 * 4 + 9 * 4


def test_the_slowest_stage_decides_how_often_a_plane_comes(time_of):
    # Stages 2, 9, 4, 4 s.
    assert time_of([sweep_of(4, 1, 10, [2, 7, 2, 2])], 4, nodes=4) == 2 + 9 + 4 + 4 + 9 * 9


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("mode", [BUFFERED, EAGER])
def test_a_sweep_in_closed_form_is_that_plane_by_plane(time_of, forward, mode):
    width, height, planes = 4, 3, 17
    flops = np.random.default_rng(5).uniform(0.1, 9, width * height)
    late = np.random.default_rng(6).uniform(0, 50, width * height)
    steps = [Compute(late), sweep_of(width, height, planes, flops, forward=forward)]
    found = time_of(steps, 12, nodes=6, mode=mode)
    assert found == pytest.approx(plane_by_plane(width, height, planes, flops, late, forward, mode))


def plane_by_plane(width, height, planes, flops, late, forward, mode):
    """The end of the last rank, found by following every message; six ranks in each cluster."""
    order = range(width * height) if forward else range(width * height - 1, -1, -1)
    step = 1 if forward else -1
    now, sent = late.copy(), {}
    for plane in range(planes):
        for rank in order:
            x, y = rank % width, rank // width
            for before, exists in (
                (rank - step, x > 0 if forward else x < width - 1),
                (rank - step * width, y > 0 if forward else y < height - 1),
            ):
                if exists:
                    took = (NEAR_S if before // 6 == rank // 6 else FAR_S) + 1
                    at = sent[before, plane]
                    now[rank] = max(now[rank], at + took) if mode == EAGER else max(now[rank], at) + took
            now[rank] += flops[rank]
            sent[rank, plane] = now[rank]
    return now.max()


def test_an_allreduce_is_a_gathering_at_rank_0_and_a_binomial_tree():
    # SMPI's default: all to rank 0, which has 5 others, then 0 -> 4; 0 -> 2; 0 -> 1, 2 -> 3, 4 -> 5.
    gather, *tree = exchanges(Collective(Op.ALLREDUCE, 8), 6)
    assert gather.source.tolist() == [1, 2, 3, 4, 5]
    assert set(gather.destination) == {0}
    pairs = [list(zip(step.source.tolist(), step.destination.tolist(), strict=True)) for step in tree]
    assert pairs == [[(0, 4)], [(0, 2)], [(0, 1), (2, 3), (4, 5)]]


def test_a_link_that_all_planes_cross_does_one_in_no_less_than_its_load():
    # Three messages of 100 bytes a plane, along y from one cluster to the other, over 10 bytes/s: 30 s, which is more
    # than any stage.  The last rank's first plane: ranks 0 and 3, then 4 and 5, which receive along x and then along y.
    steps = [sweep_of(3, 2, 10, [2] * 6)]
    fill = 2 + (FAR_S + 1 + 2) + 2 * (NEAR_S + 1 + FAR_S + 1 + 2)
    assert step_by_step(steps, 6, nodes=3, wan_Bps=10) == pytest.approx(fill + 9 * 30)
    # This is a bound: the link is idle while receivers that wait for one message have not asked for the next one.
    assert step_by_step(steps, 6, nodes=3, wan_Bps=10, whole=True) > fill + 9 * 30


@pytest.mark.parametrize(
    ("ranks", "size_bytes", "algorithm"), [(8, 500, "linear"), (18, 100, "bruck"), (4, 600_000, "pairwise")]
)
def test_an_all_to_all_sends_what_the_graph_of_a_recording_has(ranks, size_bytes, algorithm):
    # Two groups of as many; the other expansion (apps/traffic/collectives.py) goes rank by rank.
    assert all_to_all_algorithm(ranks, size_bytes) == algorithm
    groups = np.arange(2 * ranks).reshape(2, ranks)
    step = AllToAll(groups, np.full((2, ranks, ranks), size_bytes), np.array([True, True]))
    found = exchanges(step, 2 * ranks)
    for group in (0, ranks):
        for place in range(ranks):
            phases = [sent_by(group + place, exchange) for exchange in found]
            call = Call(Op.ALLTOALL, place, ranks, -1, size_bytes, ())
            expected = [
                sorted((group + to, size) for is_send, to, size in step.operations if is_send) for step in steps(call)
            ]
            assert phases == expected


def sent_by(rank, exchange):
    """(destination, bytes) of a rank's sends."""
    own = exchange.source == rank
    return sorted(zip(exchange.destination[own].tolist(), exchange.size_bytes[own].tolist(), strict=True))
