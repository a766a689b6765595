"""The problem sizes and limits of Ichikawa, Takahashi, Kawai, for measurements and for the choice of configurations."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from predictor.allocation.configuration import Limits


@dataclass(frozen=True)
class PaperSizes:
    """Sizes and limits of one benchmark; sizes.toml states which of them the paper gives."""

    construction: tuple[int, ...]  # sizes N that are measured on homogeneous sub-clusters
    evaluation: tuple[int, ...]  # sizes N for which a configuration is chosen
    small_below: int  # sizes below it are small: the paper gives errors also without them
    limits: Limits  # Table VI or VII


@cache
def paper_sizes() -> dict[str, PaperSizes]:
    """Return the paper's sizes by benchmark: himeno, fem, hpl, fft."""
    data = tomllib.loads(Path(__file__).with_name("sizes.toml").read_text("utf-8"))
    return {
        app: PaperSizes(
            tuple(entry["construction"]),
            tuple(entry["evaluation"]),
            entry["small_below"],
            Limits(entry["nodes"], entry["processes"]),
        )
        for app, entry in data.items()
    }
