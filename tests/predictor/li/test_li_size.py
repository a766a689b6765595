"""Li's method with the size of the problem as an input: laws recovered, shares by hand, and IS from smaller classes."""

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.recording.events import Mode, Op
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.base import OutOfRange
from predictor.evidence.broker import Broker
from predictor.graph.scaling import MessageKind, Process, Work
from predictor.li.predictor import (
    DPGRAPH_LI_SIZE,
    DPGRAPH_LI_SIZE_DUPLEX,
    Surface,
    counterpart,
    partner_shares,
    process_at,
    recorded_sizes,
)
from predictor.sends.send_model import Side

SENT = MessageKind(Op.ALLTOALL, Mode.STANDARD, Side.SENDER, True)


@pytest.mark.parametrize("exponent", [0, 1, 4 / 3])
@pytest.mark.parametrize("law", [lambda P: 5 / P, lambda P: 3.0 * P, lambda P: 2 + 7 / P])
def test_the_law_that_made_the_values_is_found(exponent, law):
    values = {(N, P): law(P) * N**exponent for N in (100, 800) for P in (2, 4, 8)}
    assert Surface.fit(values).value(3200, 16) == pytest.approx(law(16) * 3200**exponent, rel=1e-9)


def test_every_process_has_counterparts_in_its_relative_place():
    assert [counterpart(rank, 6, 3) for rank in range(6)] == [0, 0, 1, 1, 2, 2]
    assert [counterpart(rank, 4, 4) for rank in range(4)] == [0, 1, 2, 3]
    assert counterpart(15, 16, 1) == 0


def test_each_process_grows_from_its_own_counterparts():
    # The last process has twice the work of the others, N / P; all send P - 1 messages of N / P^2 bytes.
    def work(N, P):
        def one(rank):
            flops = (2 if rank == P - 1 else 1) * N / P
            return Process(flops, {SENT: P - 1.0}, {SENT: N / P**2})

        return Work(tuple(map(one, range(P))), 0.0)

    works = {(N, P): work(N, P) for N in (1e6, 8e6) for P in (2, 4, 8)}
    first, last = (process_at(works, 32e6, rank, 16) for rank in (0, 15))
    assert (first.flops, last.flops) == pytest.approx((2e6, 4e6))
    assert first.messages[SENT] == pytest.approx(15) and first.mean_bytes[SENT] == pytest.approx(32e6 / 256)


def test_shares_of_partners_by_hand():
    # Recorded on 2 processes that send to each other only: of 4, each sends to those of the other half.
    assert partner_shares(np.array([[0.0, 1.0], [1.0, 0.0]]), 0, ("a", "a", "b", "c")) == {"a": 0, "b": 0.5, "c": 0.5}
    alltoall = np.ones((4, 4))
    assert partner_shares(alltoall, 1, ("a", "a", "b", "b")) == pytest.approx({"a": 1 / 3, "b": 2 / 3})
    assert partner_shares(np.zeros((2, 2)), 1, ("a", "b")) == {"b": 1.0}


def test_the_two_largest_smaller_sizes_are_recorded():
    assert [str(one.problem) for one in recorded_sizes(problem("is", "B"))] == ["is W", "is A"]
    with pytest.raises(OutOfRange, match="2 smaller sizes are needed, and there are: is S"):
        recorded_sizes(problem("is", "W"))
    with pytest.raises(OutOfRange, match="no terms in N and P are declared"):
        recorded_sizes(problem("dt", "SH_A"))


def predicted(model, scenario, ranks, preset, app="is"):
    platform = materialise(named_grid(scenario))
    target = Target(problem(app, preset), platform, block(platform, ranks))
    settings = Settings()
    with Runner(jobs=1) as runner:
        (answer,) = predict(model, [target], Broker.of(settings, [target], runner))
        return answer.prediction, runner.record(settings.spec(target)).time_s


@pytest.mark.parametrize("scenario", ["li-1", "li-2"])
def test_integer_sort_from_smaller_classes_is_within_the_papers_6_percent(scenario):
    found, true_s = predicted(DPGRAPH_LI_SIZE_DUPLEX, scenario, 4, "A")
    assert found.time_s == pytest.approx(true_s, rel=0.06)


def test_the_printed_formula_is_never_below_the_variant_that_overlaps():
    printed, _ = predicted(DPGRAPH_LI_SIZE, "li-1", 4, "A")
    overlapped, _ = predicted(DPGRAPH_LI_SIZE_DUPLEX, "li-1", 4, "A")
    assert printed.time_s > overlapped.time_s
    assert printed.parts["compute_s"] == pytest.approx(overlapped.parts["compute_s"])


def test_each_process_computes_at_the_speed_of_its_own_node():
    # EP divides its work equally, so that the slowest cluster decides.
    found, _ = predicted(DPGRAPH_LI_SIZE_DUPLEX, "grid4x2", 8, "A", app="ep")
    assert found.parts["compute_s"] == pytest.approx(max(load.core_s for load in found.loads.values()), rel=1e-6)
    loads = [load.core_s for load in found.loads.values()]
    assert max(loads) / min(loads) == pytest.approx(70 / 40, rel=0.02)  # 40 to 70 Gflop/s
