"""MPI programs drawn at random, whose iterations may differ in any of the ways in which those of real programs do."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_FRAME = """/* Program {seed} of tests/adversary: {what}. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <unistd.h>

static double mine[20000], theirs[80000];
static int size, rank;

static void ring(int by, int count, int tag)
{{
  MPI_Request requests[2];
  MPI_Irecv(theirs, count, MPI_DOUBLE, (rank + size - by) % size, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(mine, count, MPI_DOUBLE, (rank + by) % size, tag, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}}

static void sum(int count, MPI_Comm comm)
{{
  MPI_Allreduce(mine, theirs, count, MPI_DOUBLE, MPI_SUM, comm);
}}

static void collect(int count, int any)
{{
  if (rank)
    MPI_Send(mine, count, MPI_DOUBLE, 0, 10 + any * count, MPI_COMM_WORLD);
  for (int from = 1; !rank && from < size; from++)
    MPI_Recv(theirs, count, MPI_DOUBLE, any ? MPI_ANY_SOURCE : from, 10 + any * count, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}}

static void compute(double flops)
{{
  smpi_execute_flops_benched(flops);
}}

int main(int argc, char **argv)
{{
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm halves, pairs;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &halves);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &pairs);
  int n = atoi(argv[1]);
  double start_s = MPI_Wtime();
  (void)start_s;
{before}
  for (int i = 0; i < n; i++) {{
{body}
  }}
{after}
  MPI_Comm_free(&halves);
  MPI_Comm_free(&pairs);
  MPI_Finalize();
}}
"""


@dataclass
class Program:
    """A program: its source, the number of its iterations, and whether all it does repeats soon enough."""

    source: str
    iterations: int
    ranks: int
    scenario: str
    features: list[str]
    repeats: bool


@dataclass
class _Draft:
    """A program that is being drawn."""

    draw: random.Random
    iterations: int
    before: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    period: int = 1
    start: int = 0
    repeats: bool = True  # as far as ``period`` and ``start`` allow

    def extra(self) -> str:
        """Return a statement that takes noticeable time on all ranks."""
        return self.draw.choice(
            [
                "sum(20000, MPI_COMM_WORLD);",
                "ring(1, 20000, 3);",
                "compute(3e8);",
                "if (!rank) compute(5e8);",
                "collect(5000, 0);",
                "collect(5000, 1);",
                "usleep(2000);",
                "MPI_Bcast(mine, 10000, MPI_DOUBLE, 0, MPI_COMM_WORLD);",
            ]
        )


def _every_kth(draft: _Draft) -> None:
    k = draft.draw.choice([2, 3, 4, 5, 7, 10, 12, 16, 20, 25, 50, 100, draft.draw.randint(2, 200)])
    draft.body.append(f"if (i % {k} == {draft.draw.randrange(k)}) {draft.extra()}")
    draft.period = k


def _at_the_start(draft: _Draft) -> None:
    last = draft.draw.choice([1, 2, 3, 5, 8, 20])
    draft.body.append(f"if (i < {last}) {draft.extra()}")
    draft.start = last


def _in_the_middle(draft: _Draft) -> None:
    at = draft.draw.randint(6, draft.iterations - 2)
    draft.body.append(f"if (i == {at}) {draft.extra()}")
    draft.start = at + 1


def _at_the_end(draft: _Draft) -> None:
    if draft.draw.random() < 0.5:
        draft.after.append(draft.extra())
    else:
        last = draft.draw.choice([1, 2, 5])
        draft.body.append(f"if (i >= n - {last}) {draft.extra()}")
        draft.repeats = last == 1


def _growth(draft: _Draft) -> None:
    rate = draft.draw.choice(["1e6 * i", "1.0 * i", "5e8 / (1 + i)", "1e7 + 1e-3 * i"])
    draft.body.append(f"compute({rate});")
    draft.repeats = False


def _growing_messages(draft: _Draft) -> None:
    draft.body.append(draft.draw.choice(["ring(1, 1 + i, 4);", "sum(1 + i / 20, MPI_COMM_WORLD);"]))
    draft.repeats = False


def _sizes_alternate(draft: _Draft) -> None:
    draft.body.append("ring(1, i % 2 ? 10 : 10000, 5);")
    draft.period = 2


def _stops_early(draft: _Draft) -> None:
    at = draft.draw.randint(8, draft.iterations - 1)
    draft.body.append(f"if (i == {at}) n = i + 1;")
    draft.repeats = False


def _partner_changes(draft: _Draft) -> None:
    at = draft.draw.randint(6, draft.iterations - 2)
    draft.body.append(
        draft.draw.choice([f"ring(i < {at} ? 1 : size - 1, 2000, 6);", f"ring(1 + (i > {at}), 2000, 6);"])
    )
    draft.start = at + 1


def _order_changes(draft: _Draft) -> None:
    at = draft.draw.randint(6, draft.iterations - 2)
    one, other = "ring(1, 3000, 8);", "compute(rank ? 1e7 : 2e8);"
    draft.body.append(f"if (i < {at}) {{ {one} {other} }} else {{ {other} {one} }}")
    draft.start = at


def _load_moves(draft: _Draft) -> None:
    draft.body.append("if (rank == i % size) compute(2e8);")
    draft.period = 4


def _groups_take_turns(draft: _Draft) -> None:
    draft.body.append("sum(3000, i % 2 ? halves : pairs);")
    draft.period = 2


def _rounds_up(draft: _Draft) -> None:
    draft.before.append("n = (n + 9) / 10 * 10;")
    draft.repeats = False  # shortened runs do more than requested


def _knows_its_length(draft: _Draft) -> None:
    draft.body.append(f"if (n > {draft.iterations // 2}) {draft.extra()}")
    draft.repeats = False


def _reads_the_clock(draft: _Draft) -> None:
    after_s = draft.draw.choice([0.001, 0.02, 0.1, 1.0])
    draft.before.append("int done = 0;")
    draft.body.append(f"if (!done && MPI_Wtime() - start_s > {after_s}) {{ done = 1; compute(1e9); }}")
    draft.repeats = False


def _polls(draft: _Draft) -> None:
    draft.body.append(
        "{ MPI_Request r[2]; int f = 0; MPI_Irecv(theirs, 500, MPI_DOUBLE, (rank + 1) % size, 9, MPI_COMM_WORLD, r);"
        " MPI_Isend(mine, 500, MPI_DOUBLE, (rank + size - 1) % size, 9, MPI_COMM_WORLD, r + 1);"
        " while (!f) { MPI_Testall(2, r, &f, MPI_STATUSES_IGNORE); if (!f) compute(1e5); } }"
    )
    draft.repeats = False


_FEATURES = {
    "every k-th": _every_kth,
    "start": _at_the_start,
    "middle": _in_the_middle,
    "end": _at_the_end,
    "growth": _growth,
    "growing messages": _growing_messages,
    "alternating sizes": _sizes_alternate,
    "stops early": _stops_early,
    "partner changes": _partner_changes,
    "order changes": _order_changes,
    "load moves": _load_moves,
    "groups take turns": _groups_take_turns,
    "rounds up": _rounds_up,
    "knows its length": _knows_its_length,
    "reads the clock": _reads_the_clock,
    "polls": _polls,
}
_STEPS = [
    "compute(1e7);",
    "ring(1, 100, 0);",
    "ring(1, 10000, 1); ring(size - 1, 10000, 2);",
    "compute(1e6 * (rank + 1));",
    "collect(100, 0);",
    "collect(100, 1);",
    "sum(100, halves);",
]


def drawn(seed: int) -> Program:
    """Return the program of this seed."""
    draw = random.Random(seed)
    iterations = draw.choice([40, 60, 100, 150, 200, 300, 400, draw.randint(20, 500)])
    names = draw.sample(sorted(_FEATURES), draw.choice([0, 0, 1, 1, 1, 1, 2]))
    steps = [*draw.sample(_STEPS, draw.randint(1, 3)), draw.choice(["sum(1, MPI_COMM_WORLD);"] * 4 + [""])]
    drafts = [_Draft(draw, iterations) for _ in names]
    for name, draft in zip(names, drafts, strict=True):
        _FEATURES[name](draft)
    marked = draw.random() < 0.6
    period = max((draft.period for draft in drafts), default=1)
    start = max((draft.start for draft in drafts), default=0)
    least = start + 3 * period + 1
    several = sum(draft.period > 1 for draft in drafts) > 1  # the periods multiply
    together = "sum(1, MPI_COMM_WORLD);" in steps  # else ranks may drift apart forever
    whole = marked or (period == 1 and start <= 1)  # unmarked iterations are found where all are of equal calls
    before = [line for draft in drafts for line in draft.before]
    after = [line for draft in drafts for line in draft.after]
    if marked and draw.random() < 0.7:
        after.append("MPI_Pcontrol(1003);")
        before += ["MPI_Pcontrol(1000);", *(["MPI_Pcontrol(1001);"] if draw.random() < 0.5 else [])]
    body = [*steps, *(line for draft in drafts for line in draft.body), *(["MPI_Pcontrol(1002);"] if marked else [])]
    in_order = not any(", 1);" in line and "collect" in line for line in [*body, *after])  # as they happen to come
    return Program(
        source=_FRAME.format(
            seed=seed,
            what=", ".join(names) or "all iterations alike",
            before="\n".join(f"  {line}" for line in before),
            body="\n".join(f"    {line}" for line in body),
            after="\n".join(f"  {line}" for line in after),
        ),
        iterations=iterations,
        ranks=4,
        scenario=draw.choice(["grid4x2", "grid3x9"]),
        features=[*names, "marked" if marked else "unmarked"],
        repeats=whole
        and together
        and in_order
        and not several
        and all(draft.repeats for draft in drafts)
        and 2 * least <= iterations,
    )
