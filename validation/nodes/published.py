"""The mean epsilon that the NP-T paper gives for its own cluster, to be shown beside that of the same models here.

Sections 5.1 to 5.7 and 5.8 are two campaigns of the paper with different compilers and MPI libraries; every value names
its section.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from platforms.files.commented_csv import checked_rows
from platforms.terminal.quantities import significant

_FILE = Path(__file__).with_name("published.csv")
_COLUMNS = ("section", "app", "model", "software", "sizes", "epsilon_percent", "large_percent")


@dataclass(frozen=True)
class Published:
    """One mean of the paper."""

    section: str
    epsilon_percent: float  # over all sizes of the section
    large_percent: float | None  # without the small ones; None: the paper does not say

    def __str__(self) -> str:
        return f"{significant(self.epsilon_percent)} % ({self.section})"


@cache
def published() -> Mapping[tuple[str, str], tuple[Published, ...]]:
    """Return the means of the paper by app and model, in the order of its sections."""
    found: dict[tuple[str, str], tuple[Published, ...]] = {}
    for _, row in checked_rows(str(_FILE), _COLUMNS, "Restore it"):
        section, app, model, _, _, epsilon, large = (row[name] or "" for name in _COLUMNS)
        one = Published(section, float(epsilon), float(large) if large else None)
        found[app, model] = (*found.get((app, model), ()), one)
    return found


def published_text(app: str, model: str) -> str:
    """Return the paper's means of a model with their sections; a hyphen where it gives none.

    >>> published_text("himeno", "NP-T/LS"), published_text("himeno", "dpgraph")
    ('25.0 % (5.1), 487 % (5.8)', '-')
    """
    return ", ".join(map(str, published().get((app, model), ()))) or "-"
