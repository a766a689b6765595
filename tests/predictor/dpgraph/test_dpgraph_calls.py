"""Predictions of programs by dpgraph:known from recordings, call family by call family, compared with SimGrid."""

from pathlib import Path

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.read.routes import routes_between
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.known import known_network
from predictor.dpgraph.program import Sections

DATA = Path(__file__).parents[2] / "apps" / "data"
RANKS = 8
# Rendezvous (above 64 KiB) for one half, buffered for the other.
NON_BLOCKING = [
    "ibarrier 0", "ibcast 15000", "ireduce 500", "iallreduce 15000", "iscan 500", "iexscan 500", "igather 500",
    "igatherv 15000", "iscatter 500", "iscatterv 15000", "iallgather 500", "iallgatherv 500", "ialltoall 15000",
    "ialltoallv 500", "ireduce_scatter 500", "ireduce_scatter_block 15000", "two 500", "persistent 500",
    "persistent 15000",
]  # fmt: skip
ONE_SIDED = [
    "put 500", "get 15000", "both 15000", "all 15000", "accumulate 500", "groups_put 15000", "groups_get 500",
    "lock_rget 500", "lock_swap 1", "lock_add 1",
]  # fmt: skip


def predicted_and_simulated_s(program, arguments):
    platform = materialise(named_grid("grid4x2"))
    target = Target(own_problem(read_program(program, arguments)), platform, block(platform, RANKS))
    sections = Sections(record_events(RunSpec(target), target.iterations))
    pairs = {(target.placement[a], target.placement[b]) for a, b in sections.partners}
    routes = routes_between(platform, sorted(pairs | {pair[::-1] for pair in pairs}))
    hosts = [platform.host(name) for name in target.placement]
    made = estimate(
        sections,
        target.iterations,
        known_network(routes, dict(platform.options)),
        target.placement,
        [1 / host.speed_flops for host in hosts],
        [host.cores for host in hosts],
    )
    return made.time_s, simulate(RunSpec(target)).time_s


@pytest.mark.parametrize("arguments", NON_BLOCKING)
def test_non_blocking_collectives_and_persistent_requests_take_what_they_take_in_simgrid(arguments):
    predicted_s, simulated_s = predicted_and_simulated_s(DATA / "nonblocking.c", arguments)
    assert predicted_s == pytest.approx(simulated_s, rel=1e-4)


@pytest.mark.parametrize("arguments", ONE_SIDED)
def test_one_sided_calls_take_what_they_take_in_simgrid(arguments):
    predicted_s, simulated_s = predicted_and_simulated_s(DATA / "onesided.c", arguments)
    assert predicted_s == pytest.approx(simulated_s, rel=1e-4)


NEIGHBOURS = """
#include <mpi.h>
#include <smpi/smpi.h>
static double mine[80000], theirs[80000];
int main(int argc, char **argv)
{
  int rank, size, dims[2] = {4, 2}, periods[2] = {1, 0};
  MPI_Comm grid, ring;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int from = (rank + 3) % size, to = (rank + 5) % size;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &ring);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1000);
  for (int i = 0; i < 3; i++) {
    smpi_execute_flops_benched(1e6 * (1 + rank % 3));
    MPI_Neighbor_alltoall(mine, 20000, MPI_DOUBLE, theirs, 20000, MPI_DOUBLE, grid);
    MPI_Neighbor_allgather(mine, 500, MPI_DOUBLE, theirs, 500, MPI_DOUBLE, ring);
  }
  MPI_Pcontrol(1003);
  MPI_Finalize();
}
"""


def test_neighbourhoods_take_what_they_take_in_simgrid(tmp_path):
    (tmp_path / "neighbours.c").write_text(NEIGHBOURS)
    predicted_s, simulated_s = predicted_and_simulated_s(tmp_path / "neighbours.c", "")
    assert predicted_s == pytest.approx(simulated_s, rel=1e-6)
