"""Calibrate a platform from measured patterns, and write its files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from apps.calibrate.patterns.algorithms import ALL_TO_ALL, POWERS_ALONE, is_power, other_algorithm
from apps.calibrate.patterns.link_rates import fitted_rows, sharing_of
from apps.calibrate.patterns.picture import pattern_figure
from apps.calibrate.patterns.platform_file import MOST_NODES, sharing_options, sharing_platform
from apps.calibrate.patterns.replay import Replayed, replayed
from apps.calibrate.patterns.report import PatternCalibration
from apps.calibrate.patterns.rows import PatternTime, read_rows
from apps.calibrate.platform_file import Cluster
from apps.calibrate.request import CalibrateRequest
from platforms.command.request import given
from platforms.errors import UserError, printable
from platforms.files.reading import input_bytes
from platforms.files.writing import write_text
from platforms.plotting.pictures import write_picture
from platforms.read.read import kept_file, read_platform


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
