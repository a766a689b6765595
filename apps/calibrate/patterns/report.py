"""Tell a calibration from patterns: as text, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.calibrate.patterns.link_rates import Sharing
from apps.calibrate.patterns.replay import Replayed, median_error
from apps.calibrate.platform_file import Cluster
from platforms.terminal.prose import folded_lines
from platforms.terminal.table import table_lines


@dataclass(frozen=True)
class PatternCalibration:
    """A platform calibrated from patterns, with all that tells how good it is."""

    cluster: Cluster
    sharing: Sharing
    latency_s: float
    options: Mapping[str, str]  # SimGrid's, in the platform's <config>
    replays: Sequence[Replayed]
    files: Mapping[str, str]  # platform, picture: path

    @property
    def judged(self) -> list[Replayed]:
        """The calls that were not fitted."""
        return [one for one in self.replays if not one.fitted]


def as_json(found: PatternCalibration) -> dict[str, Any]:
    """Return everything as JSON values, in SI units."""
    sharing = found.sharing
    return {
        "cluster": found.cluster.name,
        "sharing": {
            "rate_Bps": sharing.rate_Bps,
            "pair_Bps": sharing.pair_Bps,
            "node_Bps": sharing.node_Bps,
            "switch_Bps": sharing.switch_Bps,
            "latency_s": found.latency_s,
            "ratios": dict(sharing.ratios),
            "cautions": list(sharing.cautions),
        },
        "patterns": [_row_json(one) for one in found.replays],
        "judged": _judged_json(found),
        "options": dict(found.options),
        "files": dict(found.files),
    }


def _row_json(one: Replayed) -> dict[str, Any]:
    call = one.row.call
    return {
        "pattern": call.pattern,
        "active_ranks": call.ranks,
        "size_bytes": call.size_bytes,
        "fitted": one.fitted,
        "measured_s": one.row.time_s,
        "replayed_s": one.replayed_s,
        "error": one.error,
    }


def _judged_json(found: PatternCalibration) -> dict[str, Any] | None:
    if not found.judged:
        return None
    errors = [abs(one.error) for one in found.judged]
    return {"rows": len(errors), "median_error": median_error(found.judged), "largest_error": max(errors)}


def as_text(found: PatternCalibration, *, wide: bool = False) -> str:
    """Return the summary that the command prints; ``wide``: the table is not folded."""
    cluster, sharing = found.cluster, found.sharing
    rows = [("pattern", "ranks", "bytes", "measured ms", "replayed ms", "error", "use")]
    for one in found.replays:
        call = one.row.call
        rows.append(
            (
                *(call.pattern, str(call.ranks), str(call.size_bytes), f"{1e3 * one.row.time_s:.3f}"),
                *(f"{1e3 * one.replayed_s:.3f}", f"{one.error:+.1%}", "fitted" if one.fitted else "judged"),
            )
        )
    times = ", ".join(f"{pattern} {ratio:.2f}" for pattern, ratio in sharing.ratios.items())
    judged = _judged_json(found)
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
        f"link: {sharing.rate_Bps / 1e6:.5g} MB/s each way; route: {found.latency_s * 1e6:.4g} us (not fitted)",
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
            *folded_lines([verdict]),
            "",
            *(f"{what}: {path}" for what, path in found.files.items()),
        ]
    )
