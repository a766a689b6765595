"""The problem sizes and limits of Ichikawa, Takahashi, Kawai: what is measured, and where configurations are chosen."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from predictor.npt.configuration import Limits


@dataclass(frozen=True)
class PaperSizes:
    """Of one benchmark; sizes.toml says which of them the paper names."""

    construction: tuple[int, ...]  # N, measured on homogeneous sub-clusters
    evaluation: tuple[int, ...]  # N, for which a configuration is chosen
    limits: Limits  # Table VI or VII


@cache
def paper_sizes() -> dict[str, PaperSizes]:
    """By benchmark: himeno, fem, hpl, fft."""
    data = tomllib.loads(Path(__file__).with_name("sizes.toml").read_text("utf-8"))
    return {
        app: PaperSizes(
            tuple(entry["construction"]), tuple(entry["evaluation"]), Limits(entry["nodes"], entry["processes"])
        )
        for app, entry in data.items()
    }
