"""Ways between hosts that are alike: those that SimGrid gives for each pair."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.read.routes import routes_between
from predictor.dpgraph.known import known_network
from predictor.learned.alike_hosts import alike_network


def target(grid, network, ranks, speeds):
    platform = materialise(named_grid(grid, network, speeds))
    return Target(problem("ep", "S"), platform, block(platform, ranks))


def ways_of(network, pairs, placement):
    """Return of each pair the latencies, bound, penalty and used links of its path."""
    nranks = len(placement)
    path_of_pair, timing_class, paths = network.paths_of(pairs, nranks, placement)
    names = list(network.capacity_Bps)
    ways = []
    for path in path_of_pair.tolist():
        crossed = slice(paths.first[path], paths.first[path + 1])
        links = {
            names[link]: (weight, paths.capacity_Bps[link])
            for link, weight in zip(paths.link[crossed].tolist(), paths.weight[crossed].tolist(), strict=True)
        }
        latency_s = network.timing.latency_s[timing_class[path]].tolist()
        ways.append((latency_s, paths.bound_Bps[path], paths.penalty[path], links))
    return ways


@pytest.mark.parametrize("network", ["gigabit", "infiniband"])
def test_ways_between_hosts_that_are_alike_are_those_of_simgrid(network):
    asked = target("grid3x12", network, 34, [4e9, 5e9, 6e9])  # the last cluster lacks two nodes
    options, placement = dict(asked.platform.options), asked.placement
    pairs = np.array([34 * a + b for a, b in itertools.permutations(range(34), 2)])
    routes = routes_between(asked.platform, list(itertools.permutations(placement, 2)))
    alike = alike_network(asked, options)
    assert ways_of(alike, pairs, placement) == ways_of(known_network(routes, options), pairs, placement)
    names = list(alike.capacity_Bps)
    assert len(names) == len(set(names)) == len(alike.capacity_Bps)
    assert alike.capacity_Bps[names[-1]] == known_network(routes, options).capacity_Bps[names[-1]]


def test_ranks_on_one_host_or_few_hosts_of_a_cluster_have_their_routes_read():
    asked = target("grid2x4", "gigabit", 8, [4e9, 5e9])
    assert alike_network(asked, {}) is not None
    assert alike_network(replace(asked, placement=asked.placement[:7] + asked.placement[:1]), {}) is None
    assert alike_network(target("grid2x4", "gigabit", 5, [4e9, 5e9]), {}) is None  # two of the second cluster
