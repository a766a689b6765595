"""The predictor ``contention``: run times from a few measured runs."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apps.programs.problem import problem, sized_problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic.steps import AllToAll
from platforms.read.read import read_platform
from predictor.answers.answers import fit
from predictor.base import OutOfRange
from predictor.contention.core_times import CoreTimes, Observed, UnknownCoreTimeError
from predictor.contention.crowding import Crowding, Slowdown, messages_of, traffic_of
from predictor.contention.predictor import Contention, busy_cores, relative_times
from predictor.contention.structure import operations
from predictor.evidence.broker import Broker, RefusedEvidence

CLUSTER = read_platform(Path(__file__).parents[3] / "examples" / "real" / "raspberry-pi.xml")


def target(name, ranks, nodes, preset="S"):
    hosts = [host.name for host in CLUSTER.hosts[:nodes]]
    return Target(problem(name, preset), CLUSTER, tuple(host for host in hosts for _ in range(ranks // nodes)))


def core_times(*rows):
    return CoreTimes(tuple(Observed(app, "C", busy, s_per_op) for app, busy, s_per_op in rows))


def fitted(runner, runs, targets, record=None):
    broker = Broker(Settings(), targets, record=record or runner.record, measure=runner.measure)
    return fit(Contention(tuple(runs)), targets, broker)[0]


def test_the_time_of_an_operation_is_a_line_in_the_busy_cores():
    # By hand: c + b = 1 and c + 4 b = 4 ns, so that b = 1 and c = 0; and 2 and 5, so that b = 1 and c = 1.
    times = core_times(("cg", 1, 1e-9), ("cg", 4, 4e-9), ("mg", 1, 2e-9), ("mg", 4, 5e-9))
    assert times.of("cg", "C", 2).s_per_op == pytest.approx(2e-9)
    assert times.of("mg", "C", 3).s_per_op == pytest.approx(4e-9)
    assert times.of("mg", "C", 4).s_per_op == pytest.approx(5e-9)
    assert times.of("mg", "C", 4).flags == ()


def test_repeated_runs_are_averaged_in_logarithms_and_show_the_scatter():
    times = core_times(("ep", 4, 2e-9), ("ep", 4, 8e-9), ("ep", 1, 1e-9))
    assert times.of("ep", "C", 4).s_per_op == pytest.approx(4e-9)
    # By hand: deviations from the mean are -ln 2 and ln 2, one degree of freedom; t for 90 % is 6.314.
    deviation = math.sqrt(2) * math.log(2)
    assert times.scatter == (pytest.approx(deviation), 1)
    assert math.log(times.of("ep", "C", 4).factor) == pytest.approx(6.314 * deviation * math.sqrt(1.5), rel=1e-3)
    assert math.log(times.of("ep", "C", 1).factor) == pytest.approx(6.314 * deviation * math.sqrt(2), rel=1e-3)


def test_without_repeated_runs_there_is_no_interval():
    assert core_times(("cg", 1, 1e-9), ("cg", 4, 4e-9)).of("cg", "C", 1).factor is None


def test_a_program_measured_at_one_number_of_cores_borrows_the_ratio_of_the_others():
    times = core_times(("cg", 1, 1e-9), ("cg", 4, 4e-9), ("ep", 1, 5e-9), ("ep", 4, 5e-9), ("lu", 1, 3e-9))
    found = times.of("lu", "C", 4)
    assert found.s_per_op == pytest.approx(3e-9 * math.sqrt(4 * 1))  # the geometric mean of 4 and 1
    assert "measured with 1 busy core of a node only" in found.flags[0]
    assert "measured with class C only" in times.of("lu", "D", 1).flags[0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [([("cg", 1, 1e-9)], "no measured run of mg"), ([("mg", 1, 1e-9)], "compares 4 busy cores with 1 busy core")],
)
def test_runs_that_tell_nothing_are_no_basis(rows, said):
    with pytest.raises(UnknownCoreTimeError, match=said):
        core_times(*rows).of("mg", "C", 4)


@pytest.mark.parametrize("name", ["cg", "mg", "lu", "ft", "is"])
def test_a_simulated_cluster_without_contention_is_met(name):
    """The simulator's truth: cores do not disturb each other, and messages take what the platform says."""
    preset = "S" if name == "lu" else "W"
    evidence, asked = target(name, 4, 4, preset), [target(name, 8, 8, preset), target(name, 16, 16, preset)]
    with Runner(jobs=1) as runner:
        model = fitted(runner, [evidence], asked)
        for one in asked:
            simulated_s = runner.record(Settings().spec(one)).time_s
            assert model.predict(one).time_s == pytest.approx(simulated_s, rel=0.1), one


def test_the_keys_of_a_sort_are_spread_as_by_the_kernel():
    asked = target("is", 8, 8, "W")
    with Runner(jobs=1) as runner:
        record = runner.record(Settings().spec(asked))
    steps = [step for step in traffic_of(asked.problem, 8).iteration if isinstance(step, AllToAll)]
    sent = np.sum([step.size_bytes[0].sum(axis=1) for step in steps], axis=0) * asked.iterations
    moved = sum(np.array(record.collectives[name]["bytes"]) for name in ("alltoall", "alltoallv"))
    assert sent == pytest.approx(moved, rel=0.01)
    assert operations(asked.problem, 8) == pytest.approx(max(record.rank_flops), rel=0.02)


def test_the_time_of_a_target_is_never_seen():
    runs = [target("ep", 4, 1), target("ep", 8, 8), target("ep", 16, 4)]
    asked = runs[2]
    with Runner(jobs=1) as runner:

        def record(spec):
            assert spec.target != asked
            return replace(runner.record(spec), time_s=1.0, source="measurement")

        model = fitted(runner, runs, [asked], record)
        # By hand: EP has hardly any messages; a rank of 16 has a quarter of the work of a rank of 4.
        assert model.predict(asked).time_s == pytest.approx(0.25, rel=0.02)
        broker = Broker(Settings(), [asked], record=record, measure=runner.measure)
        with pytest.raises(RefusedEvidence):
            fit(Contention((asked,)), [target("ep", 8, 8)], broker)


def test_a_run_shorter_than_its_messages_leaves_a_caution():
    evidence, asked = target("is", 8, 8, "W"), target("is", 16, 16, "W")
    with Runner(jobs=1) as runner:

        def record(spec):
            return replace(runner.record(spec), time_s=1e-4, source="measurement")

        found = fitted(runner, [evidence], [asked], record).predict(asked)
    assert "the platform's network is too slow" in found.flags[0]


def test_more_ranks_than_cores_are_out_of_range():
    with pytest.raises(OutOfRange, match="5 ranks share the 4 cores"):
        busy_cores(Target(problem("ep", "S"), CLUSTER, ("pi-0",) * 5))


def test_ranks_on_nodes_with_fewer_of_them_compute_faster():
    # By hand: an operation takes 1 ns alone and 4 with four busy cores, so 3 with three; the slowest node decides.
    times = core_times(("ep", 1, 1e-9), ("ep", 4, 4e-9))
    uneven = Target(problem("ep", "S"), CLUSTER, ("pi-0",) * 4 + ("pi-1",) * 3 + ("pi-2",))
    assert relative_times(times, uneven) == pytest.approx([1.0] * 4 + [0.75] * 3 + [0.25])
    with Runner(jobs=1) as runner:
        alone = replace(target("ep", 4, 1), problem=problem("ep", "S"))

        def record(spec):
            return replace(runner.record(spec), time_s=2.0, source="measurement")

        made = fitted(runner, [alone], [uneven], record).predict(
            replace(uneven, placement=("pi-0",) * 4 + ("pi-1",) * 4)
        )
    assert made.time_s == pytest.approx(1.0, rel=0.02)


def test_crowded_messages_take_longer_by_a_power_of_their_number():
    # By hand: g is 1 at 16 messages and 4 at 256, so that ln g is half of ln(x / 16).
    crowding = Crowding((Slowdown(256, 16, 4.0, 2.0, 8.0),))
    assert crowding.factors(256) == pytest.approx((4.0, 2.0, 8.0))
    assert crowding.factors(64) == pytest.approx((2.0, 2**0.5, 8**0.5))
    assert crowding.factors(16)[0] == crowding.factors(7)[0] == 1.0
    assert crowding.factors(1000)[0] == pytest.approx(4.0)
    assert Crowding().factors(256) == (1.0, 1.0, 1.0)
    # A node with 4 of 64 ranks exchanges messages with 60 others.
    assert messages_of(target("ft", 64, 16)) == 240
    assert messages_of(target("cg", 64, 16)) == 0


def test_programs_without_a_structure_are_out_of_range():
    with pytest.raises(OutOfRange, match="its messages are not declared"):
        traffic_of(sized_problem("fem", 32), 4)
