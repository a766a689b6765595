"""Recordings replayed in SMPI: they take the time of the program that they are of."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apps.errors import OptionError
from apps.programs.native import mpi_of_libraries
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import EVENT, Kind, Mark, Op, Recording
from apps.replay import engine
from apps.replay.engine import write_files
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

JACOBI = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"
MPI = mpi_of_libraries(["/nowhere/libmpi.so.40", "/nowhere/libopen-pal.so.40"])
GIGA = 1e9

EVERYTHING = r"""
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  int rank, size, counts[64], starts[64], theirs[64], their_starts[64];
  static double mine[1 << 16], all[1 << 16];
  MPI_Comm grid, half;
  MPI_Request requests[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int dims[2] = {0, 0}, periods[2] = {1, 0}, from, to;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  for (int i = 0; i < size; i++) {
    counts[i] = 100 * (i + 1);
    starts[i] = i == 0 ? 0 : starts[i - 1] + counts[i - 1];
    theirs[i] = 100 * (rank + 1);
    their_starts[i] = i * theirs[i];
  }
  smpi_execute_flops_benched(1e6 * (rank + 1));
  MPI_Cart_shift(grid, 0, 1, &from, &to);
  MPI_Irecv(all, 20000, MPI_DOUBLE, from, 1, grid, &requests[0]);
  MPI_Isend(mine, 20000, MPI_DOUBLE, to, 1, grid, &requests[1]);
  smpi_execute_flops_benched(2e7);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Issend(mine, 10, MPI_DOUBLE, (rank + 1) % size, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv(all, 10, MPI_DOUBLE, (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Sendrecv(mine, 9000, MPI_DOUBLE, size - 1 - rank, 3, all, 9000, MPI_DOUBLE, size - 1 - rank, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Bcast(mine, 3000, MPI_DOUBLE, 1, half);
  MPI_Reduce(mine, all, 500, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
  MPI_Allreduce(mine, all, 5000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(mine, 700, MPI_INT, all, 700, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Scatter(mine, 300, MPI_DOUBLE, all, 300, MPI_DOUBLE, 0, half);
  MPI_Allgather(mine, 200, MPI_DOUBLE, all, 200, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Alltoall(mine, 64, MPI_DOUBLE, all, 64, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Gatherv(mine, counts[rank], MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, 2, MPI_COMM_WORLD);
  MPI_Scatterv(mine, counts, starts, MPI_DOUBLE, all, counts[rank], MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allgatherv(mine, counts[rank], MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Alltoallv(mine, counts, starts, MPI_DOUBLE, all, theirs, their_starts, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Scan(mine, all, 80, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(mine, all, 80, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Iallreduce(mine, all, 600, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


def replayed(monkeypatch, target, recording):
    """Return the record of a recording's replay on a target."""
    program = replace(target.problem.program, simulated=False, native=MPI)
    spec = Settings(host_speed_flops=GIGA).spec(replace(target, problem=own_problem(program)))
    monkeypatch.setattr(engine, "native_recording", lambda *_, **__: (recording, None))
    return engine.run_iterations(spec, spec.target.iterations, identity={})


@pytest.mark.parametrize("ranks", [4, 6])
def test_a_replay_takes_the_time_of_the_program_with_every_kind_of_call(monkeypatch, tmp_path, ranks):
    (tmp_path / "everything.c").write_text(EVERYTHING)
    platform = materialise(named_grid("grid4x2"))
    target = Target(own_problem(read_program(tmp_path / "everything.c")), platform, block(platform, ranks))
    spec = Settings().spec(target)
    record = simulate(spec)
    again = replayed(monkeypatch, target, record_events(spec, 1))
    assert again.time_s == pytest.approx(record.time_s, rel=1e-4)
    assert again.compute_s == pytest.approx(record.compute_s)
    assert (again.messages, again.bytes) == (record.messages, record.bytes)
    assert again.collectives == record.collectives


def test_a_replay_of_jacobi_takes_the_time_of_jacobi(monkeypatch):
    platform = materialise(named_grid("grid4x2"))
    target = Target(own_problem(read_program(JACOBI, "500 20 charged")), platform, block(platform, 8))
    spec = Settings().spec(target)
    assert replayed(monkeypatch, target, record_events(spec, 1)).time_s == pytest.approx(
        simulate(spec).time_s, rel=1e-6
    )


def events(*rows):
    """Return events from dictionaries of the fields that matter."""
    made = np.zeros(len(rows), EVENT)
    for name in ("comm", "peer", "tag", "request"):
        made[name] = -1
    for event, row in zip(made, rows, strict=True):
        for name, value in row.items():
            event[name] = value
    return made


def test_a_rank_that_probes_waits_for_the_message_and_then_computes(monkeypatch):
    # By hand: rank 0 computes 0.1 s and sends; rank 1 probes, computes 0.2 s, and receives what has come: 0.3 s and the
    # message.  Had it waited in the receive alone, both would have computed at once: 0.2 s.
    start, stop = ({"kind": Kind.MARK, "op": op} for op in (Mark.START, Mark.STOP))
    message = {"comm": 0, "tag": 4, "request": 0, "size_bytes": 8}
    wait = {"kind": Kind.WAIT, "request": 0}
    platform = materialise(named_grid("grid4x2"))
    speed = platform.host("c1-0").speed_flops
    first = events(
        start, {"kind": Kind.COMPUTE, "amount": 0.1 * speed}, {"kind": Kind.SEND, "peer": 1, **message}, wait, stop
    )
    second = events(
        start, {"kind": Kind.PROBE, "comm": 0, "peer": 0, "tag": 4}, {"kind": Kind.COMPUTE, "amount": 0.2 * speed},
        {"kind": Kind.RECV, "peer": 0, **message}, wait, stop,
    )  # fmt: skip
    none = np.empty(0, np.int64)
    recording = Recording((first, second), (none, none), ((0, 1),))
    target = Target(own_problem(read_program(JACOBI, "1 1")), platform, ("c1-0", "c1-1"))
    assert replayed(monkeypatch, target, recording).time_s == pytest.approx(0.3, abs=2e-3)


def test_what_a_rank_receives_in_an_all_to_all_is_what_the_others_send(tmp_path):
    call = {"kind": Kind.COLLECTIVE, "op": Op.ALLTOALLV, "comm": 0, "request": 0}
    recording = Recording(
        (events(call), events(call)), (np.array([1, 2], np.int64), np.array([30, 40], np.int64)), ((0, 1),)
    )
    assert write_files(recording, tmp_path) >= 70
    sent_and_received = [np.fromfile(tmp_path / f"{rank}.counts", np.int64) for rank in range(2)]
    at = [int(np.fromfile(tmp_path / f"{rank}.events", EVENT)["request"][0]) for rank in range(2)]
    assert sent_and_received[0][at[0] :].tolist() == [1, 2, 1, 30]
    assert sent_and_received[1][at[1] :].tolist() == [30, 40, 2, 40]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "smpi"}, "uses Open MPI, which SimGrid cannot run"),
        ({"iterations": 1}, "no iterations to be counted"),
        ({"efficiency": "0.5"}, "itself states its computation"),
        ({"memory_bus": 1e9}, "does not say how many bytes it moves"),
    ],
)
def test_settings_that_do_not_fit_a_replay_are_refused(settings, message):
    platform = materialise(named_grid("grid4x2"))
    program = replace(read_program(JACOBI, "1 1"), simulated=False, native=MPI)
    target = Target(own_problem(program), platform, block(platform, 4))
    with pytest.raises(OptionError, match=message):
        Settings(host_speed_flops=GIGA, **settings).spec(target)
