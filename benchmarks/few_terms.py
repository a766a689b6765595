"""Choose the constants of predictions by few terms again, with each source of published runs left out in turn.

Usage: python benchmarks/few_terms.py [SECONDS]

Every choice is a random search of that many seconds (default: 60) for the least pinball loss at 5, 50 and 95 %, in
logarithms, averaged over programs first.  Prints the errors on the source that was left out, beside those of the
constants of predictor/few_terms/model.py.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from clusters.published import CASES  # noqa: E402 (found by the line above)

from predictor.few_terms.model import PRIOR, Prior  # noqa: E402
from validation.few_terms.judge import Judged, judged, summary  # noqa: E402

SOURCES = {"h3": ("h3",), "clouds": ("clouds",), "alaska": ("alaska",), "OpenSBLI": ("opensbli-512", "opensbli-1024")}
_MEDIAN_WEIGHT = 0.5


def rows_of(source: str, prior: Prior) -> list[Judged]:
    """Return the predictions of a source's tables."""
    return [
        row for name in SOURCES[source] for row in judged(CASES[name].table(), CASES[name].evidence, (), prior).judged
    ]


def loss(prior: Prior, sources: list[str]) -> float:
    """Return the mean loss over the programs of the sources."""
    of_program = defaultdict(list)
    for source in sources:
        for row in rows_of(source, prior):
            assert row.measured_s is not None
            told = 0.0
            for level, end_s, weight in (
                (0.05, row.low_s, 1),
                (0.5, row.time_s, _MEDIAN_WEIGHT),
                (0.95, row.high_s, 1),
            ):
                above = np.log(row.measured_s / end_s)
                told += weight * max(level * above, (level - 1) * above)
            of_program[source, *[word for word in row.name if not word.startswith(("h3", "aws", "google"))]].append(
                told
            )
    return float(np.mean([np.mean(some) for some in of_program.values()]))


def varied(prior: Prior, draw: np.random.Generator) -> Prior:
    """Return a prior near another one."""
    scales = {
        name: getattr(prior, name) * (np.exp(0.4 * draw.normal()) if draw.random() < 0.4 else 1.0)
        for name in ("scatter", "single", "none", "added", "spread")
    }
    scales["none"] = min(scales["none"], 0.8)
    (small, _), (large, often) = prior.changes
    often = min(0.5, often * np.exp(0.4 * draw.normal()))
    changes = ((small * np.exp(0.4 * draw.normal()), 1 - often), (large * np.exp(0.3 * draw.normal()), often))
    weights = {
        name: value * np.exp(0.5 * draw.normal() * (draw.random() < 0.3)) for name, value in prior.weights.items()
    }
    return Prior(**scales, changes=changes, weights=weights)


def chosen(sources: list[str], seconds: float) -> Prior:
    """Return the best prior that a search finds."""
    draw, best = np.random.default_rng(3), PRIOR
    least, end = loss(best, sources), time.monotonic() + seconds
    while time.monotonic() < end:
        candidate = varied(best, draw)
        if (value := loss(candidate, sources)) < least:
            best, least = candidate, value
    return best


def main() -> None:
    """Print a line per source."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    for source in SOURCES:
        told = {"with it": PRIOR, "left out": chosen([name for name in SOURCES if name != source], seconds)}
        for words, prior in told.items():
            errors = summary(rows_of(source, prior))
            assert errors is not None
            print(f"{source}, {words}: median error {errors.median_error:.1%}, {errors.within} of {errors.rows} within")


if __name__ == "__main__":
    main()
