"""Read the measurements of the layer over MPI for the ranks of one run (apps/measuring/layer/report.c)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from platforms.wording import number_of

FILE = "layer.json"
VARIABLE = "MACHINE_LAYER_FILE"


@dataclass(frozen=True)
class Counts:
    """Messages and collectives of one rank."""

    messages: int
    bytes: int
    self_messages: int
    self_bytes: int
    collectives: dict[str, tuple[int, int]]  # name: calls and bytes


@dataclass(frozen=True)
class RankNotes:
    """One rank's timed section."""

    host: str  # the name it reports
    elapsed_s: float
    mpi_s: float
    file_s: float  # the part of mpi_s in MPI's functions for files
    load_before: float
    load_after: float
    throttled: int
    mpi_calls: int  # in the whole run
    section: Counts
    iteration: Counts  # the first
    iteration_end_s: tuple[float, ...]
    iteration_compute_s: tuple[float, ...]

    @property
    def compute_s(self) -> float:
        """Time outside MPI."""
        return self.elapsed_s - self.mpi_s


@dataclass(frozen=True)
class Notes:
    """Measurements of all ranks in one run."""

    mpi: str  # version of the library
    ranks: tuple[RankNotes, ...]

    @property
    def time_s(self) -> float:
        """Time of the timed section on the slowest rank."""
        return max(rank.elapsed_s for rank in self.ranks)

    @property
    def throttled(self) -> int:
        """Throttling events on all hosts; -1 if no host reports them."""
        data = {rank.host: rank.throttled for rank in self.ranks if rank.throttled >= 0}
        return sum(data.values()) if data else -1


def parse_notes(content: bytes, nranks: int) -> Notes:
    """Return the notes in the layer's file.

    Raises:
        ValueError: The file is not one of ``nranks`` ranks.
    """
    try:
        data = json.loads(content)
        ranks = tuple(_rank(entry) for entry in data["ranks"])
        mpi = " ".join(str(data["mpi"]).split())
    except (KeyError, TypeError, AttributeError) as err:
        raise ValueError(f"the layer's file lacks {err}") from err
    if len(ranks) != nranks:
        raise ValueError(
            f"the layer's file has {number_of(len(ranks), 'rank')} and not {nranks}: launcher and compiler may belong "
            "to different MPI libraries (gridval doctor --machine shows it)"
        )
    return Notes(mpi, ranks)


def collectives(counts: Sequence[Counts]) -> dict[str, Any]:
    """Return the collectives of all ranks as in a record; a barrier is among them with no bytes."""
    names = dict.fromkeys(name for count in counts for name in count.collectives)
    return {
        name: {
            "calls": max(count.collectives.get(name, (0, 0))[0] for count in counts),
            "bytes": [count.collectives.get(name, (0, 0))[1] for count in counts],
        }
        for name in names
    }


def _rank(data: dict[str, Any]) -> RankNotes:
    return RankNotes(
        **{
            **data,
            "section": _counts(data["section"]),
            "iteration": _counts(data["iteration"]),
            "iteration_end_s": tuple(data["iteration_end_s"]),
            "iteration_compute_s": tuple(data["iteration_compute_s"]),
        }
    )


def _counts(data: dict[str, Any]) -> Counts:
    return Counts(**{**data, "collectives": {name: tuple(pair) for name, pair in data["collectives"].items()}})
