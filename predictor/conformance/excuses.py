"""Why a predictor may fail a check: every excuse names its predictors, its check and its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from predictor.base import Predictor

ANSWERS = "answers"  # the check that a predictor answers the targets of a case
BLIND = "blind"  # the check that it never sees the run of the target


@dataclass(frozen=True)
class Excuse:
    """The reason why some predictors may fail a check."""

    check: str
    predictors: tuple[str, ...]
    reason: str
    most: float | None = None  # largest relative deviation that is excused; None: any


EXCUSES = (
    Excuse(
        ANSWERS,
        ("extrap", "extrap:effort", "extrap:default"),
        "Extra-P is not installed: `make extrap`.",
    ),
    Excuse(
        "permuted",
        ("hcf:printed", "hcf", "hcf:constant"),
        "The probe has a rank on the first node of every cluster, in the order of the file, which the paper leaves "
        "open: in another order other ranks of the probe are neighbours.",
        most=0.05,
    ),
    Excuse(
        "permuted",
        ("npt", "npt:ls", "npt:pt"),
        "The interval depends on the share of computation in the largest run of the evidence; of runs on equally many "
        "ranks it is the first in the order of the file.",
        most=1e-3,
    ),
    Excuse(
        "scales",
        ("dpgraph:known",),
        "Events within 1 ns are simultaneous, as in SimGrid unless surf/precision says otherwise, which the predictor "
        "does not follow; a caution says so.",
        most=1e-5,
    ),
    Excuse(
        "scales",
        ("dpgraph",),
        "Events within 1 ns are simultaneous, as in SimGrid unless surf/precision says otherwise, which a measured "
        "network does not tell.",
        most=1e-5,
    ),
)


def excuse(predictor: Predictor, check: str) -> Excuse | None:
    """Return the excuse of a predictor for a check: of this table, or of the predictor's own attribute ``excuses``."""
    for excuse_listed in EXCUSES:
        if excuse_listed.check == check and predictor.name in excuse_listed.predictors:
            return excuse_listed
    excuses = getattr(predictor, "excuses", {})
    if isinstance(excuses, Mapping) and isinstance(excuses.get(check), str) and excuses[check].strip():
        return Excuse(check, (predictor.name,), excuses[check])
    return None
