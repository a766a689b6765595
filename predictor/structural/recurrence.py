"""The steps of a program, one after the other, as recurrences over its ranks.

A step maps the times at which the ranks enter it to the times at which they leave it.  A message begins when its send
and its receive are posted (an eager message when its send is posted); the messages of an exchange share links as flows.
The steps are evaluated one after the other, in program order, each for all ranks.

The evaluation is in C, in the folder ``native``.
"""

from __future__ import annotations

from ctypes import Structure

import numpy as np

from predictor.native.layout import Layout
from predictor.structural.contention import LIBRARY, PATHS, PLACEMENTS, SCHEDULE, SHARES, Shares, parts
from predictor.structural.paths import Paths
from predictor.structural.schedule import Schedule

_MOST_ITERATIONS = 14  # of each message: MOST_ITERATIONS of native/run.c and those before and after them

RUNS = Layout(
    "placements ranks sizes",
    {
        "s_per_flop": ("f8", "placements ranks"),
        "protocol": ("u1", "sizes"),
        "times_s": ("f8", "placements"),
        "drifts_s": ("f8", "placements"),
        "met_s": ("f8", "placements"),
    },
    written=frozenset(["times_s", "drifts_s", "met_s"]),
)


def runs(
    schedule: Schedule,
    shares: Shares,
    protocol: np.ndarray,
    s_per_flop: np.ndarray,
    iterations: int,
    *,
    network: tuple[Paths, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the time of the whole program for each placement, its possible error, and how long messages compete.

    Args:
        schedule: The steps of the program.
        shares: The messages of each placement.
        protocol: BUFFERED, EAGER or SYNCHRONOUS, by size.
        s_per_flop: Seconds per flop, placements x ranks.
        iterations: Number of iterations of the program, >= 1.
        network: The paths and the hosts of ``share``: the messages of an exchange are flows that begin when their ranks
            arrive.  Exchanges of more than 16,384 messages that are not sent at once, or all exchanges if it is None,
            take the times of ``shares`` instead, as if all messages began together.

    Returns:
        By placement, the time of the slowest rank from its own start, s; and the difference between the last two
        iterations evaluated times the number of iterations that were not evaluated, s; and how long messages of
        different steps, or of different planes of a sweep, together exceed a link's capacity, s, which the time
        includes only in part.

    Raises:
        TypeError: An array has items of another type than its description says.
        ValueError: The arrays do not fit one another.
        MemoryError: There is not enough memory.
        UserError: The C files cannot be compiled.
    """
    times_s, drifts_s, met_s = (np.empty(len(s_per_flop)) for _ in range(3))
    steps, filled_shares = SCHEDULE.filled(**schedule._asdict()), SHARES.filled(**shares._asdict())
    given = RUNS.filled(s_per_flop=s_per_flop, protocol=protocol, times_s=times_s, drifts_s=drifts_s, met_s=met_s)
    placed: tuple[Structure, Structure] | tuple[None, None] = (None, None)
    if network is not None:
        paths, hosts = network
        placed = (PATHS.filled(**paths._asdict()), PLACEMENTS.filled(host=hosts, protocol=protocol))
        LIBRARY.call("structural_check_share", steps, *placed, filled_shares)
    LIBRARY.call("structural_check_run", steps, filled_shares, given)
    for part in parts(len(s_per_flop), _MOST_ITERATIONS * len(schedule.source)):
        LIBRARY.call("structural_run", steps, *placed, filled_shares, given, iterations, part.start, part.stop)
    return times_s, drifts_s, met_s
