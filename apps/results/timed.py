"""The part of a record about the source of a program's measured computation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timed:
    """The computation of a program that was timed on this computer, not injected."""

    replayed: bool  # it was timed once, and replayed in this run; else it was timed in this run itself
    spread_rel: float  # by which a rank's computation may be wrong, as a share of it; 0: not known
    kept: bool = True  # what was timed is in the store: a later run takes the same
    reason: str = ""  # why it was not replayed
