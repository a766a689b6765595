"""Kernels described in blocks, and the predictors that use the descriptions."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from apps.kernels.bt import traffic as bt
from apps.kernels.sp import traffic as sp
from apps.probes.plan import carry_out
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem, sized_problem
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic.steps import Exchange
from platforms.errors import UserError
from platforms.model.placement import block, cyclic, probe_placement
from platforms.options import PlatformOptions, platform_from_request
from predictor.answers.answers import predict
from predictor.base import OutOfRange
from predictor.blocks.application import Application
from predictor.blocks.evaluation.execution import Execution
from predictor.blocks.evaluation.process_by_process import ProcessByProcess
from predictor.blocks.machines.machine import Group, Posted
from predictor.blocks.predictor import describe, evaluate
from predictor.blocks.programs import Barrier, Broadcast, Compute, If, Label, Receive, Send
from predictor.blocks.stream.expand import expand
from predictor.blocks.stream.instructions import Send as Sent
from predictor.blocks.stream.instructions import executed
from predictor.evidence.broker import Broker
from predictor.registry import predictor


class Machine:
    """A message takes 1 ms + 8 ns per byte, an operation 1 ns (more on later groups); the calls are counted."""

    name, failure_rate_per_s, others_idle_w = "counting", None, 0.0
    posted = Posted(lambda source, target, size_bytes: 8e-9 * size_bytes)

    def __init__(self, ranks, in_group=1):
        starts = range(0, ranks, in_group)
        self.groups = tuple(Group("rank", i, 1, min(in_group, ranks - i), 1, 1, f"c{i}", i) for i in starts)
        self.messages, self.bytes, self.operations, self.collectives = Counter(), Counter(), Counter(), Counter()

    def compute_s(self, group, operations):
        self.operations[group.first] += operations
        return 1e-9 * operations * (1 + 0.1 * group.first)

    def message_s(self, source, target, size_bytes, *, same_node=False, traffic=None):
        self.messages[source.first] += 1
        self.bytes[source.first] += size_bytes
        return 1e-3 + 8e-9 * size_bytes

    def collective_s(self, block, size_bytes, members, root):
        self.collectives[block, size_bytes] += 1
        return 2e-3


def counted(application, ranks):
    machine = Machine(ranks)
    ProcessByProcess(application, machine).run()
    return machine


def one_iteration(app, ranks):
    """Messages, bytes, flops and collectives of one iteration by rank: those of two iterations less those of one."""
    description = describe(problem(app, "S"), ranks)
    one, two = (counted(description.of(count), ranks) for count in (1, 2))

    def more(ones, twos):
        return [twos[rank] - ones[rank] for rank in range(ranks)]

    return SimpleNamespace(
        messages=more(one.messages, two.messages),
        bytes=more(one.bytes, two.bytes),
        flops=more(one.operations, two.operations),
        collectives=two.collectives - one.collectives,
    )


@pytest.fixture(scope="module")
def platform():
    """Return ``platform(scenario)``, which generates a grid."""
    return lambda scenario: platform_from_request(PlatformOptions(scenario=scenario))


@pytest.fixture(scope="module")
def record(platform):
    """Return ``record(app, ranks)``, which simulates two iterations of class S."""
    grid = platform("grid3x12")

    def made(app, ranks):
        return simulate(RunSpec(Target(problem(app, "S"), grid, block(grid, ranks)), iterations=2))

    return made


# --- descriptions against the kernels' own traffic ---


@pytest.mark.parametrize(
    ("app", "ranks"),
    [
        *(("cg", 2), ("cg", 3), ("cg", 8), ("cg", 16), ("mg", 12), ("mg", 32), ("lu", 6), ("lu", 16)),
        *(("bt", 4), ("bt", 9), ("sp", 4), ("sp", 16), ("sp", 25)),
    ],
)
def test_an_iteration_has_the_messages_bytes_and_flops_of_the_kernel(app, ranks, record):
    described, real = one_iteration(app, ranks), record(app, ranks)
    between = [sent - own for sent, own in zip(real.iteration_messages, real.iteration_self_messages, strict=True)]
    assert described.messages == between
    bytes_ = [sent - own for sent, own in zip(real.iteration_bytes, real.iteration_self_bytes, strict=True)]
    # CG on 3 ranks: 1400 rows in 3 pieces, which differ by a row
    assert described.bytes == pytest.approx(bytes_, rel=0.004 if app == "cg" else 0)
    assert sum(described.flops) == pytest.approx(sum(real.iteration_flops), rel=1e-12)
    assert described.flops == pytest.approx(real.iteration_flops, rel=0.006 if app == "cg" else 1e-12)


@pytest.mark.parametrize(("app", "traffic"), [("bt", bt.traffic), ("sp", sp.traffic)])
def test_tiles_that_differ_on_many_ranks_have_the_bytes_that_the_kernel_declares(app, traffic):
    asked = problem(app, "W")  # 24 or 36 points in 10 tiles along each axis
    of_kernel = Counter()
    for step in traffic(dict(asked.params), 100).iteration:
        if isinstance(step, Exchange):
            for source, size_bytes in zip(step.source, step.size_bytes, strict=True):
                of_kernel[int(source)] += int(size_bytes)
    stream = expand(describe(asked, 100).of(1))
    described = [
        sum(times * one.size_bytes for one, times in executed(stream.programs[number]) if isinstance(one, Sent))
        for number in stream.program_of
    ]
    assert described == [of_kernel[rank] for rank in range(100)]


def test_cg_leaves_out_the_messages_of_one_row_where_pieces_and_columns_do_not_meet(record):
    # 1400 rows in 3 groups of 6 pieces against 6 parts of columns each, 18 ranks.
    described, real = one_iteration("cg", 18), record("cg", 18)
    left_out = sum(real.iteration_messages) - sum(real.iteration_self_messages) - sum(described.messages)
    assert 0 < left_out < 0.02 * sum(described.messages)
    assert sum(described.bytes) == pytest.approx(sum(real.iteration_bytes) - sum(real.iteration_self_bytes), rel=0.001)


@pytest.mark.parametrize(("app", "ranks"), [("ft", 6), ("ft", 8), ("is", 6)])
def test_an_iteration_has_the_collectives_of_the_kernel(app, ranks, record):
    described, real = one_iteration(app, ranks), record(app, ranks)
    # Bytes of rank 0's arguments: d for each process in an all-to-all, the vector in a reduction (which is a gather).
    kinds = {"gather": 1 / ranks, "alltoall": ranks}
    sent = {kind: 0.0 for kind in kinds}
    calls = Counter()
    for (kind, size_bytes), number in described.collectives.items():
        calls[kind] += number
        if kind in kinds:
            sent[kind] += number * size_bytes * kinds[kind]
    found = real.iteration_collectives
    alltoalls = [found[name] for name in ("alltoall", "alltoallv") if name in found]
    reductions = [found[name] for name in ("reduce", "allreduce") if name in found]
    assert calls["alltoall"] == sum(one["calls"] for one in alltoalls)
    assert calls["gather"] == sum(one["calls"] for one in reductions)
    assert calls["bcast"] == found.get("allreduce", {"calls": 0})["calls"]
    assert sent["gather"] == pytest.approx(sum(one["bytes"][0] for one in reductions))
    # Sizes are whole bytes.  FT: 64 planes among 6 ranks, of which rank 0 receives 11 and sends 64 / 6 columns' worth.
    uneven = 11 / (64 / 6) if (app, ranks) == ("ft", 6) else 1.0
    assert sent["alltoall"] == pytest.approx(uneven * sum(one["bytes"][0] for one in alltoalls), rel=1e-3)
    assert sum(described.flops) == pytest.approx(sum(real.iteration_flops), rel=1e-12)


def test_ep_has_its_operations_and_three_sums():
    machine = counted(describe(problem("ep", "S"), 3).application, 3)
    # 2^24 pairs in 256 batches, 86 of them on the first of 3 ranks; two numbers for each pair.
    assert [machine.operations[r] for r in range(3)] == [86 * 2**17, 85 * 2**17, 85 * 2**17]
    assert machine.collectives == {("gather", 24): 2, ("bcast", 8): 2, ("gather", 240): 1, ("bcast", 80): 1}


# --- process by process ---


@pytest.mark.parametrize(("app", "ranks"), [("lu", 6), ("mg", 4), ("is", 5), ("cg", 3), ("bt", 4), ("sp", 9)])
def test_processes_one_by_one_take_the_time_of_cohorts(app, ranks):
    application = describe(problem(app, "S"), ranks).of(1)
    alone, together = ProcessByProcess(application, Machine(ranks, 2)), Execution(application, Machine(ranks, 2))
    alone.run()
    together.run()
    assert max(alone.ended_s.values()) == pytest.approx(max(one.clock.most for one in together.ended), rel=1e-12)
    assert sum(alone.compute_s.values()) == pytest.approx(sum(together.compute_s.values()), rel=1e-12)


def both_ways(size_bytes):
    """Four processes in a ring; each exchanges messages with both neighbours at once."""
    up, down = "(index + 1) % 4", "(index - 1) % 4"
    sends = (Send("rank", size_bytes, up, buffered=True), Send("rank", size_bytes, down, buffered=True))
    return Application("ring", (Label("rank", 4, (*sends, Receive("rank", up), Receive("rank", down))),))


def test_messages_of_an_exchange_are_under_way_together_where_receives_are_posted_ahead():
    application = both_ways(125_000)  # 1 ms + 1 ms each
    plain = ProcessByProcess(application, Machine(4))
    posted = ProcessByProcess(application, Machine(4), posted=Machine.posted)
    plain.run()
    posted.run()
    assert list(plain.ended_s.values()) == pytest.approx([4e-3] * 4)  # one after the other
    assert list(posted.ended_s.values()) == pytest.approx([3e-3] * 4)  # the second leaves when the first has left


@pytest.mark.parametrize(("buffered", "first_s"), [(True, 2e-3), (False, 6e-3)])
def test_a_message_begins_when_both_have_reached_it(buffered, first_s):
    # Process 0 sends twice and computes 2 ms, process 1 computes 4 ms (1.1 ns each), receives twice.
    size = 0
    sends = (Send("rank", size, 1, buffered=buffered),) * 2
    first, second = (*sends, Compute("2e6")), (Compute("4e6 / 1.1"), Receive("rank", 0), Receive("rank", 0))
    program = (If("index == 0", first, second),)
    made = ProcessByProcess(Application("pair", (Label("rank", 2, program),)), Machine(2))
    made.run()
    # 4 + 1 + 1 ms.  The sender waits for both messages, or goes on at once; then it computes.
    assert made.ended_s["rank", 1] == pytest.approx(6e-3)
    assert made.ended_s["rank", 0] == pytest.approx(2e-3 + (0 if buffered else first_s))


def test_others_that_never_come_to_a_collective_are_named():
    program = (If("index == 0", (Barrier(),)),)
    with pytest.raises(UserError, match="process 0 of rank waits forever"):
        ProcessByProcess(Application("alone", (Label("rank", 2, program),)), Machine(2)).run()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ((Receive("rank", "1 - index"),), "waits forever"),
        ((Send("rank", 8, "1 - index", buffered=True),), "never receives"),
        ((Send("rank", 8, "index"),), "name another process"),
        ((Broadcast(bytes="8 * index"),), "same bytes"),
        ((Compute("-1"),), "below 0"),
    ],
)
def test_programs_that_cannot_end_are_refused(program, message):
    with pytest.raises(UserError, match=message):
        ProcessByProcess(Application("bad", (Label("rank", 2, program),)), Machine(2)).run()


@pytest.mark.parametrize(("app", "ranks"), [("lu", 6), ("mg", 12), ("cg", 8)])
def test_one_and_two_iterations_tell_all(app, ranks):
    description = replace(describe(problem(app, "S"), ranks), iterations=7)
    whole = ProcessByProcess(description.of(7), Machine(ranks), posted=Machine.posted if app != "lu" else None)
    whole.run()
    found = evaluate(description, Machine(ranks))
    assert found.time_s == pytest.approx(max(whole.ended_s.values()), rel=1e-12)
    assert found.compute_s == pytest.approx([s for _, s in sorted(whole.compute_s.items())], rel=1e-12)


# --- predictors ---


@pytest.fixture(scope="module")
def league(platform):
    """Return the answers of both predictors for class S on grid4x2, and the simulated times, by kernel."""
    grid = platform("grid4x2")
    measured, records = {}, {}

    def measure(plan):
        key = str(plan.identity())
        if key not in measured:
            measured[key] = carry_out(plan)
        return measured[key]

    def record(spec):
        if spec not in records:
            records[spec] = simulate(spec)
        return records[spec]

    targets = {app: Target(problem(app, "S"), grid, block(grid, 8)) for app in ("cg", "mg", "lu", "is", "ft", "ep")}
    targets["is, cyclic"] = replace(targets["is"], placement=cyclic(grid, 8))
    answers = {}
    for name in ("blocks", "blocks:simgrid"):
        broker = Broker(Settings(), list(targets.values()), record=record, measure=measure)
        found = predict(predictor(name), list(targets.values()), broker)
        answers |= {(name, what): answer for what, answer in zip(targets, found, strict=True)}
    truth = {what: simulate(Settings().spec(target)) for what, target in targets.items()}
    return SimpleNamespace(answers=answers, truth=truth, grid=grid)


# The shapes of SimGrid's algorithms are right; the remaining errors come from messages that share links.
@pytest.mark.parametrize(
    ("app", "most"),
    [("cg", 0.05), ("mg", 0.1), ("lu", 0.05), ("is", 0.05), ("ft", 0.05), ("ep", 0.05), ("is, cyclic", 0.05)],
)
def test_the_right_shapes_predict_the_kernels(app, most, league):
    predicted_s = league.answers["blocks:simgrid", app].prediction.time_s
    assert predicted_s == pytest.approx(league.truth[app].time_s, rel=most)


def test_the_papers_formulas_say_where_they_miss_their_own_calibration(league):
    flags = league.answers["blocks", "cg"].prediction.flags
    assert any(flag.startswith("Table 1's p2p misses its own calibration by") for flag in flags)
    assert not any("alltoall" in flag for flag in flags)  # CG has none
    assert league.answers["blocks:simgrid", "cg"].prediction.flags == ()


def test_the_slowest_node_decides_the_computation(league):
    # EP class S: 2^25 operations on 8 ranks, the slowest node has 40 Gflop/s, of which EP sustains 0.0017.
    part_s = league.answers["blocks", "ep"].prediction.parts["compute_s"]
    assert part_s == pytest.approx(2**25 / 8 / 40e9 / 0.0017, rel=1e-6)


def test_a_prediction_pays_for_probe_and_calibration(league):
    answer = league.answers["blocks", "cg"]
    probe, calibration = answer.evidence[0], answer.evidence[-1]
    assert probe.request.target.placement == probe_placement(league.grid)
    assert calibration.request.kind == "blocks"
    assert answer.prediction.cost == probe.cost + calibration.cost
    assert calibration.cost.node_s > 0


def test_energy_is_right_where_the_time_is(league):
    answer, truth = league.answers["blocks:simgrid", "ep"], league.truth["ep"]
    error = abs(answer.prediction.time_s / truth.time_s - 1)
    assert answer.prediction.energy_j == pytest.approx(truth.used_energy_j, rel=error + 0.01)


def test_what_has_no_description_is_out_of_range_and_asks_for_nothing(platform, tmp_path):
    grid = platform("grid4x2")
    source = tmp_path / "own.c"
    source.write_text("int main(void) { return 0; }\n")
    cases = [
        (own_problem(read_program(source)), block(grid, 4), "it has no description in blocks"),
        (sized_problem("himeno", 32), block(grid, 4), "Described: bt, cg"),
        (problem("cg", "S"), block(grid, 6), "k R^2"),
        (problem("mg", "S"), block(grid, 4) * 2, "one process on each node"),
    ]
    for asked, placement, message in cases:
        target = Target(asked, grid, placement)
        model = predictor("blocks")
        assert model.requests([target]) == []
        with pytest.raises(OutOfRange) as caught:
            model.fit([]).predict(target)
        assert message in str(caught.value)
