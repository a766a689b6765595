"""Ranks that share cores, by hand."""

import numpy as np
import pytest

from predictor.dpgraph import fluid
from predictor.dpgraph.cores import share_cores
from predictor.dpgraph.instructions import COMPUTE, MESSAGE, Instructions, Messages, Paths

NO_MESSAGES = Messages(np.zeros(0, MESSAGE), np.zeros(0, np.int32))
NO_PATHS = Paths(np.empty(0), np.empty(0), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))


def end_s(flops, placement, *, speed_flops, cores):
    """The date at which each rank ends its computations, given as one list per rank."""
    first = np.concatenate([[0], np.cumsum([len(row) for row in flops])])
    values = np.array([value for row in flops for value in row], float)
    instructions = Instructions(
        np.full(len(values), COMPUTE, np.uint8), np.full(len(values), -1, np.int32), values, first
    )
    s_per_flop = [1 / speed_flops] * len(flops)
    program, messages, paths, _ = share_cores(
        instructions, NO_MESSAGES, NO_PATHS, placement=placement, s_per_flop=s_per_flop, cores=[cores] * len(flops)
    )
    return fluid.evaluate(program, messages, paths, np.array(s_per_flop), np.full((len(flops), 1), np.nan)).tolist()


def test_two_ranks_on_a_core_share_it_until_one_has_done():
    # By hand, 1 flop/s: 1 and 3 flops side by side: the first ends after 2 s, the other has 2 flops left then.
    assert end_s([[1], [3]], ["a", "a"], speed_flops=1, cores=1) == pytest.approx([2, 4])
    # Two computations in a row give the same.
    assert end_s([[1], [1.5, 1.5]], ["a", "a"], speed_flops=1, cores=1) == pytest.approx([2, 4])


def test_nobody_gets_more_than_a_core():
    # By hand, 2 cores of 1 flop/s: three ranks of 2 flops get 2/3 of a core each; two ranks have one each.
    assert end_s([[2], [2], [2]], ["a"] * 3, speed_flops=1, cores=2) == pytest.approx([3, 3, 3])
    assert end_s([[2], [4]], ["a"] * 2, speed_flops=1, cores=2) == pytest.approx([2, 4])


def test_hosts_share_nothing_with_each_other():
    assert end_s([[1], [1], [1]], ["a", "b", "a"], speed_flops=1, cores=1) == pytest.approx([2, 1, 2])
