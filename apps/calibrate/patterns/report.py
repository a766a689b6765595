"""Report a calibration from patterns as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.calibrate.patterns.platform_file import Sharing
from apps.calibrate.patterns.rows import PatternTime, Replayed, median_error
from apps.calibrate.platform_file import Cluster
from platforms.terminal.prose import folded_lines
from platforms.terminal.table import table_lines

ALL_TO_ALL = "alltoall"
POWERS_ALONE = "pair"  # SMPI's algorithm for a power of two of ranks
_FAR = 0.2  # median absolute error from which on another algorithm is tried
_OTHERS = ("bruck", "pair", "basic_linear")


@dataclass(frozen=True)
class OtherAlgorithm:
    """An algorithm that fits the all-to-alls of some numbers of ranks better than that of the platform."""

    name: str
    replays: tuple[Replayed, ...]

    @property
    def note(self) -> str:
        """The sentence about it."""
        ranks = ", ".join(str(replay.row.call.ranks) for replay in self.replays)
        errors = [replay.error for replay in self.replays]
        return (
            f"MPI_Alltoall of {ranks} ranks takes what SMPI's algorithm {self.name} takes ({min(errors):+.0%} to "
            f"{max(errors):+.0%}): the library uses another one with powers of two; for such numbers of ranks give "
            f"--cfg smpi/alltoall:{self.name}"
        )


def is_power(ranks: int) -> bool:
    """Return whether a number of ranks is a power of two."""
    return ranks & (ranks - 1) == 0


def other_algorithm(
    replays: Sequence[Replayed], replayed_with: Callable[[str, Sequence[PatternTime]], Sequence[Replayed]]
) -> OtherAlgorithm | None:
    """Return the algorithm shown by the measured all-to-alls on powers of two; None: that of the platform.

    Args:
        replays: All rows, with the algorithm of the platform.
        replayed_with: Replays rows with another algorithm.
    """
    rows = [replay for replay in replays if replay.row.call.pattern == ALL_TO_ALL and replay.row.call.ranks > 2]
    powers, others = (
        [replay for replay in rows if is_power(replay.row.call.ranks) == power] for power in (True, False)
    )
    if not powers or median_error(powers) < _FAR or (others and median_error(others) >= _FAR):
        return None
    tried = {name: tuple(replayed_with(name, [replay.row for replay in powers])) for name in _OTHERS}
    best = min(tried, key=lambda name: float(np.median([abs(replay.error) for replay in tried[name]])))
    return OtherAlgorithm(best, tried[best]) if median_error(tried[best]) < _FAR else None


@dataclass(frozen=True)
class PatternCalibration:
    """A platform calibrated from patterns, with the measures of its quality."""

    cluster: Cluster
    sharing: Sharing
    latency_s: float
    options: Mapping[str, str]  # SimGrid's, in the platform's <config>
    replays: Sequence[Replayed]
    files: Mapping[str, str]  # platform, picture: path
    algorithm: OtherAlgorithm | None = None  # of MPI_Alltoall on powers of two, if it is another one

    @property
    def judged(self) -> list[Replayed]:
        """The calls that were not fitted."""
        return [replay for replay in self.replays if not replay.fitted]


def as_json(calibration: PatternCalibration) -> dict[str, Any]:
    """Return everything as JSON values, in SI units."""
    sharing = calibration.sharing
    return {
        "cluster": calibration.cluster.name,
        "sharing": {
            "rate_Bps": sharing.rate_Bps,
            "pair_Bps": sharing.pair_Bps,
            "node_Bps": sharing.node_Bps,
            "switch_Bps": sharing.switch_Bps,
            "latency_s": calibration.latency_s,
            "ratios": dict(sharing.ratios),
            "cautions": list(sharing.cautions),
        },
        "patterns": [_row_json(replay) for replay in calibration.replays],
        "judged": _judged_json(calibration),
        "alltoall_of_powers": None
        if calibration.algorithm is None
        else {
            "algorithm": calibration.algorithm.name,
            "patterns": [_row_json(replay) for replay in calibration.algorithm.replays],
        },
        "options": dict(calibration.options),
        "files": dict(calibration.files),
    }


def _row_json(replayed: Replayed) -> dict[str, Any]:
    call = replayed.row.call
    return {
        "pattern": call.pattern,
        "active_ranks": call.ranks,
        "size_bytes": call.size_bytes,
        "fitted": replayed.fitted,
        "measured_s": replayed.row.time_s,
        "replayed_s": replayed.replayed_s,
        "error": replayed.error,
    }


def _judged_json(calibration: PatternCalibration) -> dict[str, Any] | None:
    if not calibration.judged:
        return None
    errors = [abs(replay.error) for replay in calibration.judged]
    return {"rows": len(errors), "median_error": median_error(calibration.judged), "largest_error": max(errors)}


def as_text(calibration: PatternCalibration, *, wide: bool = False) -> str:
    """Return the summary that the command prints; ``wide``: the table is not folded."""
    cluster, sharing = calibration.cluster, calibration.sharing
    rows = [("pattern", "ranks", "bytes", "measured ms", "replayed ms", "error", "use")]
    for replay in calibration.replays:
        call = replay.row.call
        rows.append(
            (
                *(call.pattern, str(call.ranks), str(call.size_bytes), f"{1e3 * replay.row.time_s:.3f}"),
                *(f"{1e3 * replay.replayed_s:.3f}", f"{replay.error:+.1%}", "fitted" if replay.fitted else "judged"),
            )
        )
    times = ", ".join(f"{pattern} {ratio:.2f}" for pattern, ratio in sharing.ratios.items())
    judged = _judged_json(calibration)
    verdict = (
        f"judged: {judged['rows']} rows, median error {judged['median_error']:.1%}, "
        f"largest {judged['largest_error']:.1%}"
        if judged
        else "judged: no row, as all were fitted; --fit-ranks leaves some out"
    )
    capacities = (
        ("both ways between two nodes", sharing.pair_Bps),
        ("both ways of a node", sharing.node_Bps),
        ("all flows at once", sharing.switch_Bps),
    )
    description = [
        f"{cluster.name}: {cluster.nodes} nodes of {cluster.cores} cores of {cluster.core_flops / 1e9:g} Gflop/s",
        f"times one way: {times}",
        f"link: {sharing.rate_Bps / 1e6:.5g} MB/s each way; route: {calibration.latency_s * 1e6:.4g} us (not fitted)",
        *(
            f"{what}: {'limits nothing' if rate is None else f'{rate / 1e6:.5g} MB/s in all'}"
            for what, rate in capacities
        ),
        *(f"caution: {caution}" for caution in sharing.cautions),
    ]
    return "\n".join(
        [
            *folded_lines(description),
            "",
            "Replay in SMPI against the measured medians:",
            *table_lines(rows, left={0, 6}, wide=wide),
            *folded_lines([verdict, *([f"note: {calibration.algorithm.note}"] if calibration.algorithm else [])]),
            "",
            *(f"{what}: {path}" for what, path in calibration.files.items()),
        ]
    )
