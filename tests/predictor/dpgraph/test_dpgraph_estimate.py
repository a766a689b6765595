"""The number of iterations of a recorded program that are evaluated, and their extrapolation."""

from dataclasses import dataclass

import numpy as np
import pytest

from apps.recording.events import Mark
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.instructions import COMPUTE, MARK
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program
from predictor.network.value import Timing

NOBODY = NetworkModel({}, {}, Timing(np.array([-1.0]), np.zeros((1, 1)), np.ones((1, 1))))


@dataclass
class Alternating:
    """Sections of one rank: iterations of 1 and 2 Gflop in turn, followed by 0.25 or 0.5 Gflop."""

    iterations: int = 3

    def time_s(self, elapsed_s):
        return float(elapsed_s.max())

    def looped(self, iterations):
        amounts = [1e9 * (1 + i % 2) for i in range(iterations)]
        after = 0.25e9 if iterations % 2 else 0.5e9
        steps = [step for flops in amounts for step in ((COMPUTE, 0, flops), (MARK, Mark.ITERATION, 0))]
        code, argument, value = zip(*steps, (COMPUTE, 0, after), strict=True)
        nothing = np.empty(0, np.int32)
        return Program(
            code=np.array(code, np.uint8),
            argument=np.array(argument, np.int32),
            value=np.array(value, float),
            first=np.array([0, len(code)]),
            source=nothing,
            destination=nothing,
            size_bytes=nothing.astype(np.int64),
            mode=nothing.astype(np.uint8),
        )


# By hand, at 1 Gflop/s: 40 iterations are 20 x 3 s and 0.5 s; 41 are 20 x 3 s, 1 s and 0.25 s.
@pytest.mark.parametrize(("iterations", "evaluated", "time_s"), [(40, 6, 60.5), (41, 5, 61.25), (4, 4, 6.5)])
def test_programs_that_alternate_are_extrapolated_by_whole_periods(iterations, evaluated, time_s):
    found = estimate(Alternating(), iterations, NOBODY, ("host",), [1e-9])
    assert found.iterations == evaluated
    assert found.time_s == pytest.approx(time_s, rel=1e-12)
