"""Grids made in Python that are refused."""

import math
import re
from dataclasses import replace

import pytest

from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.frequency import Frequencies
from platforms.model.platform import Power

GRID = named_grid("grid2x2", speeds_flops=[1e9, 2e9])


def with_cluster(grid, **changes):
    return replace(grid, clusters=(replace(grid.clusters[0], **changes), *grid.clusters[1:]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda g: replace(g, clusters=()), "no clusters. Give at least one"),
        (lambda g: replace(g, wan_shape="ring"), "no WAN shape 'ring'. Known: "),
        (lambda g: replace(g, wan_links=g.wan_links[1:]), "its WAN links are not those of a mesh"),
        (lambda g: with_cluster(g, frequency_hz=1e9), "1 GHz, but its levels are not known"),
        (lambda g: with_cluster(g, memory_Bps=math.inf), "memory bandwidth is inf byte/s"),
        (lambda g: with_cluster(g, power=Power(3, 2, 2)), "3 W idle and 2 W at full load"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(change, said):
    with pytest.raises(UserError, match=re.escape(said)):
        change(GRID)


def test_a_frequency_near_a_level_is_not_one():
    levels = Frequencies(2e9, 1e9, 0.5e9)
    with pytest.raises(UserError, match=re.escape("1500000100.0 Hz is near a level, but is not one")):
        with_cluster(GRID, frequencies=levels, frequency_hz=1.5e9 + 100)
