"""Tables of a calibration: fitted formulas beside the paper's, shapes beside the formulas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.table import table_lines
from predictor.blocks.calibration.calibrate import LINES, TABLE, Calibration, Fit
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.calibration.fit import PowerFit, Quality
from predictor.blocks.published.parameters import CLUSTERS, published_r2

TRUSTED_PCT = 10.0  # mean error up to which a shape counts as correct
_HEAD = ("block", "formula", "error", "points", "R2", "error %", "worst %", "held-out %")


def text(calibration: Calibration, *, wide: bool = False) -> str:
    """Return the calibration as tables for a terminal; ``wide``: with the R2 that the paper published."""
    clusters = CLUSTERS if wide else ()
    published = [published_r2(cluster) for cluster in clusters]
    rows = [(*_HEAD, *(f"R2 {cluster}" for cluster in clusters))]
    for fit, _ in fits(calibration):
        paper = [
            f"{r2[fit.block]:.4f}" if fit.formula.startswith(TABLE) and fit.block in r2 else "" for r2 in published
        ]
        rows.append((fit.block, fit.formula, fit.error, *_numbers(fit.quality, fit.held_out), *paper))
    lines = [*prose_lines(_head(calibration)), "", *_aligned(rows, wide=wide)]
    lines += ["", *_aligned(list(_coefficients(calibration)), wide=wide)]
    lines += folded_lines(f"caution: {caution}" for caution in cautions(calibration))
    if not calibration.disks:
        lines += ["", "No disk on this platform: disk_read and disk_write have no coefficients."]
    return "\n".join(lines)


def cautions(calibration: Calibration) -> list[str]:
    """Return cautions about shapes that do not fit."""
    wrong = [
        fit.formula
        for fit in calibration.shapes
        if max(quality.mpe_pct for quality in (fit.quality, fit.held_out) if quality is not None) > TRUSTED_PCT
    ]
    if not wrong:
        return []
    reason = (
        "pairs of hosts of one cluster, or of two clusters, differ here, or SimGrid was set to use other algorithms"
    )
    return [f"{', '.join(wrong)}: above {TRUSTED_PCT:g} %: {reason}"]


def fits(calibration: Calibration) -> Iterator[tuple[Fit, Mapping[str, Any]]]:
    """Yield each fit, those of the nodes first, and its coefficients."""
    for node in calibration.nodes:
        formula = f"{TABLE} ({node.cluster})" if len(calibration.nodes) > 1 else TABLE
        for block, of in (("compute", node.compute), ("power", node.power)):
            if of is not None:
                idle = {"idle_w": of.idle_w} if isinstance(of, PowerFit) else {}
                yield (
                    Fit(block, formula, of.error, {}, of.quality, None),
                    {"cluster": node.cluster, **vars(of.parameters), **idle},
                )
    for fit in calibration.fits:
        if fit.formula.startswith(LINES) and calibration.wires is not None:
            yield fit, vars(calibration.wires.of("far" in fit.formula))
        else:
            yield fit, fit.coefficients


def to_json(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration as JSON values."""
    published = {cluster: published_r2(cluster) for cluster in CLUSTERS}
    return {
        "platform": calibration.name,
        "platform_hash": calibration.platform_hash,
        "D_tu_bytes": calibration.D_tu_bytes,
        "hosts": list(calibration.layout.hosts),
        "held_from_bytes": None if calibration.wires is None else calibration.wires.held_from_bytes,
        "fits": [
            {
                "block": fit.block,
                "formula": fit.formula,
                "error": fit.error or None,
                **vars(fit.quality),
                "held_out": None if fit.held_out is None else vars(fit.held_out),
                "published_r2": {cluster: r2.get(fit.block) for cluster, r2 in published.items()},
                "coefficients": coefficients,
            }
            for fit, coefficients in fits(calibration)
        ],
        "cautions": cautions(calibration),
        "node_s": calibration.node_s,
        "wall_s": calibration.wall_s,
    }


def _head(calibration: Calibration) -> str:
    hosts = "+".join(map(str, calibration.layout.hosts))
    cost = f"{calibration.node_s:.4g} node-seconds, measured in {calibration.wall_s:.3g} s"
    return f"{calibration.name}: {hosts} hosts, D_tu {calibration.D_tu_bytes:g} B; {cost}"


def _numbers(fitted: Quality, held_out: Quality | None) -> tuple[str, ...]:
    r2 = "" if fitted.r2 is None else f"{fitted.r2:.4f}"
    others = "" if held_out is None else f"{held_out.mpe_pct:.2f}"
    return str(fitted.points), r2, f"{fitted.mpe_pct:.2f}", f"{fitted.worst_pct:.1f}", others


def _coefficients(calibration: Calibration) -> Iterator[tuple[str, ...]]:
    """Yield the parameters in the units of the paper's Table 3."""
    yield ("parameter", "value", "unit")
    node = Calibrated(calibration).node
    of = node.compute.parameters
    yield ("P_low = P_hi", f"{of.P_low:g}", f"cores (cluster {node.cluster})")
    for name, value in (("T_min", of.T_min_s), ("T_hi", of.T_hi_s), ("K_hi", of.K_hi_s)):
        yield (name, f"{value * 1e6:.4g}", "us/flop")
    for row in calibration.table:
        yield (f"T_{row.block}", f"{row.coefficients['T_s'] * 1e6:.4g}", "us")
        yield (f"K_{row.block}", f"{row.coefficients['K'] * 1e6:.4g}", "us" if row.block == "barrier" else "us/B")
    if node.power is not None:
        watts = node.power.parameters
        for name, value in (("idle", node.power.idle_w), ("PW_low", watts.PW_low_w), ("PW_max", watts.PW_max_w)):
            yield (name, f"{value:.4g}", "W")
        yield ("KW_low", f"{watts.KW_low_w:.4g}", "W/thread")
    if calibration.failure_rate_per_s is not None:
        yield ("lambda", f"{calibration.failure_rate_per_s:.4g}", "1/(node s)")


def _aligned(rows: Sequence[Sequence[str]], *, wide: bool) -> list[str]:
    words = {i for i, name in enumerate(rows[0]) if name in ("block", "formula", "error", "parameter", "unit")}
    return table_lines(rows, left=words, wide=wide)
