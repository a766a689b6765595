"""Calibrate a platform from measured patterns, write its files, and report it as text and as JSON."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.calibrate.patterns.picture import pattern_figure
from apps.calibrate.patterns.platform_file import (
    MOST_NODES,
    Sharing,
    fitted_rows,
    sharing_of,
    sharing_options,
    sharing_platform,
)
from apps.calibrate.patterns.rows import PatternTime, Replayed, median_error, read_rows, replayed
from apps.calibrate.platform_file import Cluster
from apps.calibrate.request import CalibrateRequest
from platforms.command.request import given
from platforms.errors import UserError, printable
from platforms.files.reading import input_bytes
from platforms.files.writing import write_text
from platforms.plotting.pictures import write_picture
from platforms.read.read import kept_file, read_platform
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


def calibrated(request: CalibrateRequest, files: dict[str, str]) -> PatternCalibration:
    """Calibrate according to the options, and write the platform and the picture.

    Args:
        request: The options of ``gridval platform calibrate``, which have been checked.
        files: Paths to write, by ``platform`` and ``picture``.

    Raises:
        UserError: A file cannot be read or written, or its content is wrong.
        SimulationError: The replay does not succeed.
    """
    rows = read_rows(request.patterns, given(request.cluster))
    fit = fitted_rows(rows, given(request.fit_ranks))
    latency_s = 1e-6 * given(request.latency_us)
    _check_algorithm(request, rows)
    _check(request, rows, fit, latency_s)
    sharing = sharing_of(fit, latency_s)
    if sharing.pair_Bps is not None and given(request.nodes) > MOST_NODES:
        problem = "too many nodes: each pair needs a link of its own"
        raise UserError(f"--nodes {given(request.nodes)}", problem, f"Give at most {MOST_NODES}")
    cluster = Cluster(
        given(request.cluster), given(request.nodes), given(request.cores), given(request.core_gflops)[0] * 1e9
    )
    options = sharing_options(given(request.collectives), given(request.alltoall))
    content = sharing_platform(cluster, sharing, latency_s, options, _provenance(request, rows, fit))
    replays = replayed(read_platform(kept_file(content), given(request.cluster)), rows, fit)
    write_text("--out", files["platform"], content.decode())
    figure = pattern_figure(given(request.cluster), replays, 1 / sharing.rate_Bps)
    write_picture("--out", files["picture"], figure)

    def replayed_with(algorithm: str, of: Sequence[PatternTime]) -> list[Replayed]:
        others = sharing_options(given(request.collectives), algorithm)
        other = sharing_platform(cluster, sharing, latency_s, others, [])
        return replayed(read_platform(kept_file(other), given(request.cluster)), of, fit)

    algorithm = other_algorithm(replays, replayed_with)
    return PatternCalibration(cluster, sharing, latency_s, options, replays, files, algorithm)


def _check_algorithm(request: CalibrateRequest, rows: list[PatternTime]) -> None:
    odd = sorted({row.call.ranks for row in rows if row.call.pattern == ALL_TO_ALL and not is_power(row.call.ranks)})
    if request.alltoall == POWERS_ALONE and odd:
        problem = f"SMPI's algorithm needs a power of two of ranks, and there are rows of {', '.join(map(str, odd))}"
        raise UserError(f"--alltoall {POWERS_ALONE}", problem, "Give another one, or leave these rows out")


def _check(request: CalibrateRequest, rows: list[PatternTime], fit: list[PatternTime], latency_s: float) -> None:
    most = max(row.call.ranks for row in rows)
    if most > given(request.nodes):
        problem = f"the patterns have {most} ranks, one per node"
        raise UserError(f"--nodes {given(request.nodes)}", problem, f"Give at least {most}")
    sends = [row.time_s for row in fit if row.call.pattern == "send"]
    if not sends:
        problem = "no send on so few ranks"
        raise UserError(f"--fit-ranks {request.fit_ranks}", problem, "Give more: send shows the rate of a link")
    if latency_s >= 0.5 * min(sends):
        problem = f"half the time of a send, {min(sends):.3g} s, or more"
        raise UserError(f"--latency-us {request.latency_us:g}", problem, "Give a smaller one, or larger messages")


def _provenance(request: CalibrateRequest, rows: list[PatternTime], fit: list[PatternTime]) -> list[str]:
    names = [
        f"{printable(os.path.basename(path))}, sha256 {hashlib.sha256(input_bytes(path)).hexdigest()[:16]}"
        for path in request.patterns
    ]
    return [
        "Calibrated by gridval platform calibrate from patterns (docs/platforms/calibration.md).",
        *(f"Measured patterns: {name}" for name in names),
        f"Cluster {request.cluster}; {len(fit)} of {len(rows)} rows fitted, those on up to {request.fit_ranks} ranks; "
        f"latency {request.latency_us:g} us as given, not fitted",
    ]
