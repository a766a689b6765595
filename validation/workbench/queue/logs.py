"""The logs of runs: what a worker did for each, and what it wrote to standard error, kept small."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from platforms.errors import printable
from validation.workbench.queue.tables import Tables

MOST_LOG = 64_000  # characters of a run
MOST_OF_SUITE = 32 << 20  # bytes that the logs of a suite take; then only those of failed runs are kept
MOST_OF_FAILED = 64 << 20
_MOST_LINE = 2000


def keep_log(tables: Tables, suite: int, run: int, lines: Sequence[str], *, failed: bool) -> None:
    """Keep the log of a run in place of the one that it had.

    Args:
        tables: The queue.
        suite: The number of the suite.
        run: The number of the run in the queue.
        lines: Its lines, without line ends; the middle of too many is left out.
        failed: Whether it failed.
    """
    text = zlib.compress(_shortened("\n".join(printable(line)[:_MOST_LINE] for line in lines)).encode())
    with tables.changing() as connection:
        connection.execute("DELETE FROM logs WHERE run = ?", (run,))
        (size,) = connection.execute("SELECT coalesce(sum(size), 0) FROM logs WHERE suite = ?", (suite,)).fetchone()
        if size + len(text) <= (MOST_OF_FAILED if failed else MOST_OF_SUITE):
            connection.execute("INSERT INTO logs VALUES (?, ?, ?, ?)", (run, suite, len(text), text))


def log_of(tables: Tables, run: int) -> str | None:
    """Return the log of a run that has ended; None: none is kept."""
    rows = tables.rows("SELECT text FROM logs WHERE run = ?", (run,))
    return zlib.decompress(rows[0]["text"]).decode() if rows else None


def runs_with_logs(tables: Tables, runs: Sequence[int]) -> set[int]:
    """Return those of the runs whose logs are kept."""
    places = ", ".join("?" * len(runs))
    return {row["run"] for row in tables.rows(f"SELECT run FROM logs WHERE run IN ({places})", tuple(runs))}


def _shortened(text: str) -> str:
    half = MOST_LOG // 2
    return text if len(text) <= MOST_LOG else f"{text[:half]}\n[...]\n{text[-half:]}"
