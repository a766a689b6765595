"""The method of the Li paper as a predictor: known laws recovered, sums by hand, and refused targets."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apps.probes.network.measure import LateReceive, measure
from apps.probes.plan import Measurement
from apps.programs.own_program import read_program
from apps.programs.problem import Problem, own_problem, problem
from apps.recording.events import EVENT, Elapse, Kind, Mark, Mode, Op, Recording
from apps.runs.record_events import record_events
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.base import Cost, Evidence, OutOfRange
from predictor.evidence.broker import Broker
from predictor.graph.left_out import left_out
from predictor.graph.li_predictor import (
    DPGRAPH_LI,
    DPGRAPH_LI_DUPLEX,
    MODES,
    message_plan,
    mode_lines,
    mode_plan,
    recorded_counts,
    send_models,
)
from predictor.graph.scaling import Curve, MessageKind, work_of
from predictor.registry import predictors
from predictor.sends.send_model import Side
from predictor.sends.tables import sizes_bytes

ITERATIONS, RECORDED = 15, 3
PROBLEM = Problem("cg", (("niter", ITERATIONS),), "S")
SPEED_FLOPS = 1e9
C_S_PER_BYTE, K_S, COPY_S_PER_BYTE = 8e-8, 1e-4, 1e-9  # messages within c1
SENDER_S = 3e-5  # difference between the receiver's and the sender's k_l
SIZE_BYTES, FLOPS = 64e6, 32e9  # divided by the number of nodes: the message and the work of a node


def grid(clusters=1, nodes=16, speeds=None, cores=1):
    speeds = speeds or [SPEED_FLOPS] * clusters
    made = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", speed, cores) for i in range(nodes)))
        for c, speed in enumerate(speeds, 1)
    )
    return Platform("made", "/nowhere.xml", f"{clusters} {nodes} {speeds}", made)


def ring(P, *, mode=Mode.STANDARD, blocking=False):
    """P processes that compute FLOPS / P and then, P - 1 times, send SIZE_BYTES / P to the next one, each iteration.

    ``blocking``: one process sends first and then receives; else both at a time.
    """
    size = int(SIZE_BYTES) // P
    ranks = []
    for rank in range(P):
        rows, request = [(Kind.MARK, 0, Mark.START, 0, -1, 0, 0, 0, 0, 0, 0)], 0
        for _ in range(RECORDED):
            rows.append((Kind.COMPUTE, 0, 0, 0, -1, 0, 0, 0, FLOPS / P, 0, 0))
            for _ in range(P - 1):
                send = (Kind.SEND, mode, 0, 0, (rank + 1) % P, 0, request, size, 0, 0, 0)
                receive = (Kind.RECV, 0, 0, 0, (rank - 1) % P, 0, request + 1, size, 0, 0, 0)
                waits = [(Kind.WAIT, 0, 0, 0, -1, 0, request + i, 0, 0, 0, 0) for i in (0, 1)]
                if blocking:
                    rows += [send, waits[0], receive, waits[1]]
                else:
                    rows += [receive, send, *waits]
                request += 2
            rows.append((Kind.MARK, 0, Mark.ITERATION, 0, -1, 0, 0, 0, 0, 0, 0))
        rows.append((Kind.MARK, 0, Mark.STOP, 0, -1, 0, 0, 0, 0, 0, 0))
        ranks.append(np.array(rows, EVENT))
    return Recording(tuple(ranks), tuple(np.empty(0, np.int64) for _ in ranks), (tuple(range(P)),))


def measured(plan, factor=lambda a, b: 1.0, *, buffered=True, k_s=K_S):
    """The measurement of a network on which a message takes c n + k_l, and its sender SENDER_S less."""
    times = []
    for one in plan.experiments:
        message = one if isinstance(one, LateReceive) else one[0]
        line_s = factor(message.source[:2], message.destination[:2]) * (C_S_PER_BYTE * message.size_bytes + k_s)
        if not isinstance(one, LateReceive):
            times.append((2 * max(0.0, line_s),))
        elif one.late_us > 1:
            times.append((COPY_S_PER_BYTE * one.size_bytes if buffered else one.late_us * 1e-6, 0.0))
        else:
            times.append((line_s - SENDER_S, line_s))
    return Measurement(tuple(times), 1.0, 0.0)


def evidence_for(model, target, make=ring, **network):
    found = []
    for number, request in enumerate(model.requests([target])):
        answer = make(request.target.nranks) if request.kind == "recording" else measured(request.plan, **network)
        found.append(Evidence(request, answer, f"e{number}", Cost(1.0, 0.5)))
    return found


def predicted(model, target, make=ring, **network):
    return model.fit(evidence_for(model, target, make, **network)).predict(target)


def target_on(platform, P):
    return Target(PROBLEM, platform, block(platform, P))


# --- curves ---


@pytest.mark.parametrize(
    "law",
    [
        lambda P: 7.0,
        lambda P: 0.0,
        lambda P: P - 1,
        lambda P: 3 + 5 / P,
        lambda P: 2 * np.log2(P),
        lambda P: 1e9 / P**0.5,
        lambda P: 4 * P ** (-2 / 3) + 1,
        lambda P: 9 / P**2,
    ],
)
def test_least_squares_find_the_law_that_made_the_values(law):
    nodes = (2, 4, 8)
    assert Curve.fit(nodes, [law(P) for P in nodes]).value(64) == pytest.approx(law(64))


@pytest.mark.parametrize("power", [-2, -1, -0.5, 0, 1])
def test_sizes_follow_powers(power):
    assert Curve.fit_power((2, 3, 7), [5.0 * P**power for P in (2, 3, 7)]).value(50) == pytest.approx(5 * 50.0**power)


def test_two_points_are_met():
    curve = Curve.fit((1, 3), [12.0, 5.0])
    assert (curve.value(1), curve.value(3)) == (pytest.approx(12), pytest.approx(5))


def test_least_squares_are_least_by_hand():
    # y = a + b / P over P = 1, 2, 4 with y = 3, 2, 2: mean of 1/P 7/12, of y 7/3; b = sum dx dy / sum dx^2.
    dx, dy = np.array([5, -1, -4]) / 12, np.array([2, -1, -1]) / 3
    b = float(dx @ dy / (dx @ dx))
    curve = Curve.fit((1, 2, 4), [3, 2, 2])
    if curve.shape == "1/P":
        assert curve.b == pytest.approx(b)
    left = [3, 2, 2] - np.array([curve.value(P) for P in (1, 2, 4)])
    assert float(left @ left) <= float(((dy - b * dx) ** 2).sum()) + 1e-12


# --- a program's work ---


@pytest.mark.parametrize(
    ("nodes", "counts"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 3)), (4, (1, 2, 3)), (8, (1, 2, 4)), (16, (2, 4, 8)), (48, (6, 12, 24))],
)
def test_fewer_nodes_than_the_targets_are_recorded(nodes, counts):
    assert recorded_counts(PROBLEM, nodes) == counts


def test_a_program_that_needs_some_nodes_is_not_recorded_on_fewer():
    assert recorded_counts(problem("is", "D"), 16) == (4, 8, 12)  # min_procs = 4


@pytest.mark.parametrize("iterations", [RECORDED, 4, 100])
def test_work_grows_with_the_iterations(iterations):
    work = work_of(ring(4), iterations)
    kinds = [MessageKind(None, Mode.STANDARD, side, True) for side in Side]
    for process in work.processes:
        assert process.flops == pytest.approx(iterations * FLOPS / 4)
        assert process.messages == pytest.approx(dict.fromkeys(kinds, 3 * iterations))
        assert process.mean_bytes == pytest.approx(dict.fromkeys(kinds, 16e6))
    assert work.self_bytes == 0


def test_what_goes_both_ways_at_a_time_is_told_from_what_follows_each_other():
    assert {kind.both_ways for kind in work_of(ring(4), 3).processes[0].messages} == {True}
    assert {kind.both_ways for kind in work_of(ring(4, blocking=True), 3).processes[0].messages} == {False}


def test_variants_with_counts_are_the_same_collective():
    def one(op, counts):
        call = (Kind.COLLECTIVE, 0, op, 0, -1, 0, 0, 50, 0, 0, 0)
        events = tuple(np.array([call], EVENT) for _ in range(2))
        return Recording(events, (np.array(counts, np.int64),) * 2, ((0, 1),))

    plain, counted = work_of(one(Op.ALLTOALL, []), 1), work_of(one(Op.ALLTOALLV, [50, 50]), 1)
    assert plain == counted
    assert {kind.op for kind in plain.processes[0].messages} == {Op.ALLTOALL}


def test_messages_to_oneself_are_not_counted():
    rows = [
        (Kind.RECV, 0, 0, 0, 0, 0, 0, 80, 0, 0, 0),
        (Kind.SEND, 0, 0, 0, 0, 0, 1, 80, 0, 0, 0),
        (Kind.WAIT, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0),
        (Kind.WAIT, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0),
    ]
    work = work_of(Recording((np.array(rows, EVENT),), (np.empty(0, np.int64),), ((0,),)), 1)
    assert (work.self_bytes, dict(work.processes[0].messages)) == (80, {})


def test_seconds_and_polls_that_the_sums_leave_out_are_cautioned():
    rows = [
        (Kind.ELAPSE, 0, Elapse.ASLEEP, -1, -1, -1, -1, 0, 1.5, 0, 0),
        (Kind.ELAPSE, 0, Elapse.ON_CORE, -1, -1, -1, -1, 0, 0.5, 0, 0),
        (Kind.POLL, 0, 0, -1, -1, -1, 0, 1, 0, 0, 0),
    ]

    def said(*ranks):
        events = tuple(np.array(own, EVENT) for own in ranks)
        return " ".join(left_out([Recording(events, (np.empty(0, np.int64),) * len(ranks), ((0, 1),))]))

    assert "up to 2 s of a rank" in said(rows[:2], rows[:1])
    assert "MPI_Test" not in said(rows[:2], rows[:1])
    assert said([], rows[2:]).startswith("polls for messages (MPI_Test")
    assert said([], []) == ""


# --- lines ---


def test_lines_and_components_of_a_known_network():
    target = target_on(grid(), 16)
    plan = message_plan(target)
    model = send_models(target, measured(plan))["c1", "c1"]
    receiver, sender = (model.line(Mode.STANDARD, side) for side in (Side.RECEIVER, Side.SENDER))
    assert (receiver.c_s_per_byte, receiver.k_s) == (pytest.approx(C_S_PER_BYTE), pytest.approx(K_S))
    assert (sender.c_s_per_byte, sender.k_s) == (pytest.approx(C_S_PER_BYTE), pytest.approx(K_S - SENDER_S))
    made = DPGRAPH_LI.fit(evidence_for(DPGRAPH_LI, target)).components(target)["c1", "c1"]
    assert made.c1_s_per_byte == pytest.approx(COPY_S_PER_BYTE)
    assert made.k_b_s_per_byte == pytest.approx(C_S_PER_BYTE - COPY_S_PER_BYTE)
    assert made.c2_s_per_byte == pytest.approx(0, abs=1e-15)
    assert made.k_l_s == pytest.approx(K_S)


def test_where_no_send_is_buffered_the_copy_is_not_known():
    target = target_on(grid(), 4)
    model = DPGRAPH_LI.fit(evidence_for(DPGRAPH_LI, target, buffered=False))
    with pytest.raises(OutOfRange, match="buffered sender: its times were not measured"):
        model.components(target)


def test_the_simulated_wire_of_fast_ethernet_is_measured():
    # Full frames: 1538 byte times of 80 ns carry 1448 bytes.  Messages of 64 KiB and more pay 60 us three times.
    platform = materialise(named_grid("li-1"))
    target = Target(problem("is", "A"), platform, block(platform, 4))
    model = send_models(target, measure(message_plan(target)))["c1", "c1"]
    for side in Side:
        line = model.line(Mode.STANDARD, side)
        assert line.c_s_per_byte == pytest.approx(80e-9 * 1538 / 1448, rel=1e-4)
        assert line.k_s == pytest.approx(3 * 60e-6, rel=0.02)  # SimGrid adds an envelope of 16 bytes
    assert model.line(Mode.BUFFERED, Side.SENDER).c_s_per_byte == pytest.approx(0, abs=1e-12)


# --- predictions ---


@pytest.mark.parametrize("P", [2, 4, 8, 16])
def test_the_sum_of_segments_and_communications_by_hand(P):
    # Each iteration FLOPS / P, and P - 1 messages of SIZE_BYTES / P sent, and as many received.
    target = target_on(grid(), P)
    receive_s = C_S_PER_BYTE * SIZE_BYTES / P + K_S
    send_s = receive_s - SENDER_S
    compute_s = ITERATIONS * FLOPS / P / SPEED_FLOPS
    both = predicted(DPGRAPH_LI, target)
    assert both.parts["compute_s"] == pytest.approx(compute_s)
    assert both.parts["comm_s"] == pytest.approx(ITERATIONS * (P - 1) * (send_s + receive_s), rel=1e-5)
    assert both.time_s == pytest.approx(sum(both.parts.values()))
    longer = predicted(DPGRAPH_LI_DUPLEX, target)
    assert longer.time_s == pytest.approx(compute_s + ITERATIONS * (P - 1) * receive_s, rel=1e-5)


def test_a_process_that_sends_and_then_receives_pays_for_both_in_duplex_too():
    target = target_on(grid(), 8)
    blocking = [predicted(model, target, lambda P: ring(P, blocking=True)) for model in (DPGRAPH_LI, DPGRAPH_LI_DUPLEX)]
    assert blocking[0].time_s == pytest.approx(blocking[1].time_s)


def test_evidence_is_paid_for_and_named():
    target = target_on(grid(), 16)
    prediction = predicted(DPGRAPH_LI, target)
    assert prediction.cost == Cost(4.0, 2.0)  # three recordings and the messages
    assert prediction.evidence == ("e0", "e1", "e2", "e3")


def test_it_asks_for_no_run_and_for_no_recording_of_the_target():
    target = target_on(grid(4, 4), 16)
    requests = DPGRAPH_LI.requests([target, target])
    assert [request.kind for request in requests] == ["recording"] * 3 + ["exchange"]
    assert all(request.target.nranks < 16 for request in requests if request.kind == "recording")
    assert DPGRAPH_LI.further([target], evidence_for(DPGRAPH_LI, target)) == []


def test_one_node_computes_and_talks_to_nobody():
    target = target_on(grid(), 1)
    assert [request.kind for request in DPGRAPH_LI.requests([target])] == ["recording"]
    prediction = predicted(DPGRAPH_LI, target)
    assert prediction.time_s == pytest.approx(ITERATIONS * FLOPS / SPEED_FLOPS)
    assert prediction.flags == ()


def test_equal_nodes_and_long_messages_need_no_caution():
    assert predicted(DPGRAPH_LI, target_on(grid(), 16)).flags == ()  # of 4 MB


def test_unequal_nodes_count_as_the_slowest_and_are_flagged():
    equal, unequal = (predicted(DPGRAPH_LI, target_on(grid(2, 8, [1e9, fast]), 16)) for fast in (1e9, 2e9))
    assert unequal.time_s == pytest.approx(equal.time_s)
    assert any("1 to 2 Gflop/s" in flag for flag in unequal.flags)
    assert not any("Gflop/s" in flag for flag in equal.flags)


def test_on_a_grid_all_messages_take_the_slowest_path_and_it_is_flagged():
    target = target_on(grid(2, 8), 16)
    one, slow = (predicted(DPGRAPH_LI, target, factor=lambda a, b, f=f: f if a != b else 1.0) for f in (1.0, 3.0))
    assert slow.parts["comm_s"] > 2.9 * one.parts["comm_s"]
    said = "all messages count as messages between c1 and c2, the slowest path: the model assumes one cluster"
    assert said in slow.flags
    assert not any("path" in flag for flag in one.flags)


def test_messages_outside_the_fitted_sizes_are_flagged():
    short = predicted(DPGRAPH_LI, target_on(grid(), 16), lambda P: _resized(ring(P), 100))
    assert any(flag.startswith("100 % of the messages are outside the 0.4 to 4 MB") for flag in short.flags)
    assert (sizes_bytes()[0], sizes_bytes()[-1]) == (400_000, 4_000_000)


def test_negative_times_are_taken_as_nothing_and_flagged():
    # The line 8e-8 n - 0.01 is below zero for the 640,000 / 16 bytes of a message.
    target = target_on(grid(), 16)
    prediction = predicted(DPGRAPH_LI, target, lambda P: _resized(ring(P), 40_000), k_s=-0.01)
    assert prediction.parts["comm_s"] == 0
    assert any("100 % of the messages have a negative predicted time" in flag for flag in prediction.flags)


def test_a_fit_that_misses_what_it_was_made_of_is_flagged():
    def jumping(P):
        made = ring(P)
        for events in made.events:
            events["amount"] *= {2: 1, 4: 5, 8: 1}[P]
        return made

    flags = predicted(DPGRAPH_LI, target_on(grid(), 16), jumping).flags
    assert any(flag.startswith("the computation fitted over 2, 4, 8 nodes is up to") for flag in flags)


def test_measured_computation_is_flagged():
    flags = predicted(DPGRAPH_LI, target_on(grid(), 4), lambda P: replace(ring(P), measured=True)).flags
    assert any("vary from run to run" in flag for flag in flags)


def test_several_processes_per_node_are_out_of_range():
    platform = grid(nodes=4, cores=2)
    target = Target(PROBLEM, platform, block(platform, 8, 2))
    assert DPGRAPH_LI.requests([target]) == []
    with pytest.raises(OutOfRange, match="one process per node"):
        DPGRAPH_LI.fit([]).predict(target)


def test_a_send_mode_that_was_not_measured_is_out_of_range():
    with pytest.raises(OutOfRange, match="synchronous sender: its times were not measured"):
        predicted(DPGRAPH_LI, target_on(grid(), 4), lambda P: ring(P, mode=Mode.SYNCHRONOUS))


def test_is_on_the_papers_cluster_is_predicted_as_well_as_the_paper_says():
    # Section 4.3: "the largest difference [...] were less than 6%", IS classes A and B on cluster 1.
    platform = materialise(named_grid("li-1"))
    target, settings = Target(problem("is", "A"), platform, block(platform, 4)), Settings()
    true_s = simulate(settings.spec(target)).time_s
    broker = Broker(settings, [target], record=simulate, recording=record_events)
    (answer,) = predict(DPGRAPH_LI_DUPLEX, [target], broker)
    assert answer.prediction.time_s == pytest.approx(true_s, rel=0.06)
    (summed,) = predict(DPGRAPH_LI, [target], broker)
    assert summed.prediction.time_s > 1.06 * true_s  # simultaneous sends and receives are added up


def test_the_league_knows_both():
    assert {DPGRAPH_LI, DPGRAPH_LI_DUPLEX} <= set(predictors(["all"]))


def _resized(recording, size_bytes):
    for events in recording.events:
        events["size_bytes"][np.isin(events["kind"], (Kind.SEND, Kind.RECV))] = size_bytes
    return recording


# --- other send modes ---

FACTORS = {Mode.BUFFERED: 0.1, Mode.SYNCHRONOUS: 2.0, Mode.READY: 0.5}  # of the times of a standard message


def with_modes(model, target, make):
    """The prediction with the messages that the predictor asks for when it has seen the recordings."""
    evidence = evidence_for(model, target, make)
    for request in model.further([target], evidence):
        times = [
            tuple(FACTORS[one.mode] * time_s for time_s in found)
            for one, found in zip(
                [one if isinstance(one, LateReceive) else one[0] for one in request.plan.experiments],
                measured(request.plan).times_s,
                strict=True,
            )
        ]
        evidence.append(Evidence(request, Measurement(tuple(times), 1.0, 0.0), "modes", Cost(1.0, 0.5)))
    assert model.further([target], evidence) == []
    return model.fit(evidence).predict(target)


@pytest.mark.parametrize("mode", FACTORS)
def test_a_program_pays_the_lines_of_the_mode_that_it_uses(mode):
    # Each of 15 iterations: 3 messages of 16 MB sent, and as many received, on 4 nodes.
    line_s = FACTORS[mode] * (C_S_PER_BYTE * 16e6 + K_S)
    found = with_modes(DPGRAPH_LI, target_on(grid(), 4), lambda P: ring(P, mode=mode))
    expected_s = ITERATIONS * 3 * (2 * line_s - FACTORS[mode] * SENDER_S)
    assert found.parts["comm_s"] == pytest.approx(expected_s, rel=1e-6)
    assert "modes" in found.evidence


def test_a_program_in_standard_mode_asks_for_no_other():
    target = target_on(grid(), 4)
    assert DPGRAPH_LI.further([target], evidence_for(DPGRAPH_LI, target)) == []


def test_measured_modes_are_those_of_smpi():
    # Synchronous and ready messages of 0.4 to 4 MB are a rendezvous like standard ones; buffered sends return at once.
    platform = materialise(named_grid("li-1"))
    target = Target(PROBLEM, platform, block(platform, 2))
    plan = mode_plan(target, MODES)
    lines = mode_lines(target, plan, measure(plan))["c1", "c1"]
    standard = send_models(target, measure(message_plan(target)))["c1", "c1"]
    for mode in MODES:
        receiver = lines[mode, Side.RECEIVER]
        assert receiver.c_s_per_byte == pytest.approx(
            standard.line(Mode.STANDARD, Side.RECEIVER).c_s_per_byte, rel=1e-3
        )
    assert lines[Mode.BUFFERED, Side.SENDER].time_s(4e6) == pytest.approx(0, abs=1e-6)
    for mode in (Mode.SYNCHRONOUS, Mode.READY):
        sender = standard.line(Mode.STANDARD, Side.SENDER)
        assert lines[mode, Side.SENDER].c_s_per_byte == pytest.approx(sender.c_s_per_byte, rel=1e-3)


@pytest.mark.parametrize("mode", "byr")
def test_programs_in_other_modes_are_predicted(mode):
    platform = materialise(named_grid("li-1"))
    source = Path(__file__).parents[2] / "apps" / "data" / "send_modes.c"
    program = read_program(str(source), f"{mode} 2000000 4")
    target = Target(own_problem(program), platform, block(platform, 4))
    settings = Settings()
    with Runner(jobs=1) as runner:
        (answer,) = predict(DPGRAPH_LI, [target], Broker.of(settings, [target], runner))
        true_s = runner.record(settings.spec(target)).time_s
    # A receiver of a buffered message still waits for it, which no sum of the paper has.
    assert answer.prediction.time_s == pytest.approx(true_s, rel=0.06)
