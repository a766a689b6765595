"""Drawn programs whose messages may pile up in the network: ``python -m tests.adversary.piling N [FIRST]``.

Ranks exchange messages that they wait for some steps later, on links that are busy for 0.9 to 1.1 of a step.  Each
program is simulated in full and extrapolated, and predicted by ``dpgraph:known``; status 1 if one is silently wrong.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.results.record import iterations_caution
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.read.read import read_platform
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.registry import predictor

MOST_ERROR = 1e-6  # of a time without a caution
MOST_ERROR_OF_GRAPH = 5e-3
SHAPES = ("pair", "ring", "funnel", "late consumer", "credits", "slow rank")
_BANDWIDTH_Bps = 10e6
_FACTORS = ((65472, 0.940694), (15424, 0.697866), (1426, 0.608902))  # smpi/bw-factor of SimGrid for the sizes below

PROGRAM = """/* Programs of tests/adversary/piling.py. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>

enum { PAIR, RING, FUNNEL, LATE, CREDITS, SLOW, MOST = 64 };
static char out[100000], in[4][MOST][100000], credit;
static MPI_Request sends[MOST], receives[4][MOST];
static int size, rank, buffers, bytes;

static void send(int to, int slot)
{
  MPI_Isend(out, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD, &sends[slot]);
}

static void receive(int from, int slot)
{
  MPI_Irecv(in[from][slot], bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &receives[from][slot]);
}

static int sends_to(int shape, int from, int to)
{
  if (shape == RING)
    return to == (from + 1) % size;
  return shape == FUNNEL ? to == 0 && from > 0 : from == 0 && to == 1;
}

/* The messages of one step in a slot: if `wait`, those that are there are waited for; if `begin`, new ones begin. */
static void step(int shape, int slot, int wait, int begin)
{
  int late = shape == LATE;
  for (int other = 0; other < size; other++) {
    if (sends_to(shape, rank, other)) {
      if (wait)
        MPI_Wait(&sends[slot], MPI_STATUS_IGNORE);
      if (wait && shape == CREDITS)
        MPI_Recv(&credit, 1, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (begin)
        send(other, slot);
    }
    if (sends_to(shape, other, rank)) {
      if (wait && late)
        MPI_Recv(in[other][slot], bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (wait && !late)
        MPI_Wait(&receives[other][slot], MPI_STATUS_IGNORE);
      if (wait && shape == CREDITS)
        MPI_Send(&credit, 1, MPI_BYTE, other, 2, MPI_COMM_WORLD);
      if (begin && !late)
        receive(other, slot);
    }
  }
}

static void chat(int how)
{
  double one = 1, sum;
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  if (how == 1)
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (how == 2)
    MPI_Sendrecv(&one, 1, MPI_DOUBLE, right, 3, &sum, 1, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (how == 3)
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int n = atoi(argv[1]), shape = atoi(argv[2]), how = atoi(argv[5]);
  buffers = atoi(argv[3]);
  bytes = atoi(argv[4]);
  double flops = atof(argv[6]);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int slot = 0; slot < buffers; slot++)
    step(shape, slot, 0, 1);
  for (int i = 0; i < n; i++) {
    chat(how);
    smpi_execute_flops_benched(shape == SLOW && rank == 2 ? flops : shape == SLOW ? 0.7 * flops : flops);
    step(shape, i % buffers, 1, 1);
    MPI_Pcontrol(1002);
  }
  for (int slot = 0; slot < buffers; slot++)
    step(shape, (n + slot) % buffers, 1, 0);
  MPI_Finalize();
}
"""
PLATFORM = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf" bw="{_BANDWIDTH_Bps:.0f}Bps" lat="50us"/>
</platform>
"""


@dataclass(frozen=True)
class Piling:
    """A drawn program."""

    shape: int
    buffers: int
    size_bytes: int
    together: int  # how the ranks meet in each step; 0: not at all
    load: float  # share of a step in which the busiest link is busy
    iterations: int

    @property
    def arguments(self) -> str:
        """The arguments of the program."""
        factor = next(factor for above, factor in _FACTORS if self.size_bytes > above)
        busy_s = (self.size_bytes + 16) / (_BANDWIDTH_Bps * factor) * (3 if SHAPES[self.shape] == "funnel" else 1)
        flops = round(busy_s / self.load * 1e9)
        return f"{{iterations}} {self.shape} {self.buffers} {self.size_bytes} {self.together} {flops}"

    @property
    def repeats(self) -> bool:
        """Whether nothing piles up, so that all iterations after the first few are alike."""
        return self.load < 0.97 and self.together in (1, 3) and self.iterations >= 60


def drawn(seed: int) -> Piling:
    """Return the program of this seed."""
    draw = random.Random(seed)
    near = draw.choice([draw.uniform(0.9, 1.1), draw.uniform(0.9, 0.97), draw.choice([0.999, 1.0, 1.001, 1.01])])
    return Piling(
        shape=draw.randrange(len(SHAPES)),
        buffers=draw.choice([1, 2, 3, 4, 5, 8, draw.randint(1, 50)]),
        size_bytes=draw.choice([2000, 20000, 60000, 60000, 100000]),
        together=draw.choice([0, 1, 1, 1, 2, 3]),
        load=near,
        iterations=draw.choice([60, 100, 150, 200, 300]),
    )


@dataclass
class Trial:
    """The outcome of one program."""

    seed: int
    program: Piling
    extrapolated: bool
    basis: str | None
    error: float
    bound: float
    cautioned: bool
    graph_error: float | None  # of dpgraph:known; None: it refuses
    graph_cautioned: bool

    @property
    def wrong(self) -> bool:
        """The extrapolation is wrong, and nothing says so."""
        return self.error > self.bound or (self.error > MOST_ERROR and not self.cautioned)

    @property
    def graph_wrong(self) -> bool:
        """The prediction is wrong, and nothing says so."""
        return self.graph_error is not None and self.graph_error > MOST_ERROR_OF_GRAPH and not self.graph_cautioned


def tried(seed: int, folder: Path) -> Trial:
    """Simulate the program of this seed with and without extrapolation, and predict it."""
    return _tried(seed, drawn(seed), *made_files(folder))


def made_files(folder: Path) -> tuple[Path, Platform]:
    """Return the program and the platform, which are written to a folder."""
    path, platform = folder / "piling.c", folder / "piling.xml"
    if not platform.exists():
        path.write_text(PROGRAM)
        platform.write_text(PLATFORM)
    return path, read_platform(platform)


def _tried(seed: int, program: Piling, path: Path, platform: Platform) -> Trial:
    asked = own_problem(read_program(path, program.arguments, program.iterations))
    target = Target(asked, platform, block(platform, 4))
    full = simulate(RunSpec(target, iterations="full"))
    steady = simulate(RunSpec(target, iterations="steady"), full_below_messages=0)
    with Runner(jobs=1) as runner:
        broker = Broker(Settings(), [target], record=runner.record, recording=runner.recording, measure=runner.measure)
        (answer,) = predict(predictor("dpgraph:known"), [target], broker)
        said = [*runner.cautions.lines(), *(answer.prediction.flags if answer.prediction else ())]
    how, made = steady.extrapolation, answer.prediction
    return Trial(
        seed=seed,
        program=program,
        extrapolated=how is not None,
        basis=steady.iterations_basis,
        error=abs(steady.time_s - full.time_s) / full.time_s,
        bound=0.0 if how is None else float("inf") if how.bound_rel is None else how.bound_rel,
        cautioned=iterations_caution(steady) is not None,
        graph_error=None if made is None else abs(made.time_s - full.time_s) / full.time_s,
        graph_cautioned=any("course" in line or "left out" in line for line in said),
    )


def report(trials: list[Trial]) -> str:
    """Return the sums over trials as a few lines."""
    repeating = [trial for trial in trials if trial.program.repeats]
    graph = [trial.graph_error for trial in trials if trial.graph_error is not None]
    bases = Counter(trial.basis for trial in trials if not trial.extrapolated)
    lines = [
        f"{len(trials)} programs: silently wrong {sum(trial.wrong for trial in trials)}, "
        f"by dpgraph:known {sum(trial.graph_wrong for trial in trials)} of {len(graph)}",
        f"extrapolated {sum(trial.extrapolated for trial in trials)}; of {len(repeating)} that repeat "
        f"{sum(trial.extrapolated for trial in repeating)}",
        f"largest error {max((trial.error for trial in trials), default=0.0):.1e}, "
        f"of dpgraph:known {max(graph, default=0.0):.1e}",
        *(f"  {count:5} {basis}" for basis, count in bases.most_common()),
    ]
    lines += [
        f"WRONG: seed {trial.seed} {trial.program}: error {trial.error:.1e}, bound {trial.bound:.1e}, {trial.basis}; "
        f"dpgraph:known {trial.graph_error}"
        for trial in trials
        if trial.wrong or trial.graph_wrong
    ]
    return "\n".join(lines)


def main(number: int, first: int = 0) -> bool:
    """Try a number of programs and print a report; return whether one is silently wrong."""
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        made_files(Path(folder))
        for trial in pool.map(lambda seed: tried(seed, Path(folder)), range(first, first + number)):
            trials.append(trial)
            if len(trials) % 50 == 0 or trial.wrong or trial.graph_wrong:
                print(report(trials), end="\n\n", flush=True)
    print(report(trials))
    for trial in trials:
        if trial.program.repeats and not trial.extrapolated:
            print(f"repeats, but in full: seed {trial.seed} {trial.program}: {trial.basis}")
    return any(trial.wrong or trial.graph_wrong for trial in trials)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
