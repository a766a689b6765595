"""A page about a calibration of a machine: figures, tables, notes and options in one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from apps.calibrate.machine.calibrate import MachineCalibration
from apps.calibrate.machine.report import (
    EXPERIMENTS,
    KERNELS,
    REPLAY,
    error_rows,
    experiment_rows,
    kernel_rows,
    wire_rows,
)
from platforms.plotting.charts import Figure, rendered

_STYLE = """body { font-family: sans-serif; max-width: 75rem; margin: 1rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: right; }
td:first-child, th:first-child, td:last-child, th:last-child { text-align: left; }
tr { border-bottom: 1px solid #ddd; } img { max-width: 100%; } code { font-size: 0.9em; }"""


def machine_page(calibration: MachineCalibration, figure: Figure) -> str:
    """Return the page."""
    title = f"Calibration of {escape(calibration.request.name)}"
    sections = [
        f"<h1>{title}</h1>",
        _list(calibration.request.provenance),
        f'<p><img alt="Measured and replayed times" src="data:image/png;base64,{_png(figure)}"></p>',
        "<h2>Errors</h2>",
        f"<p>{escape(REPLAY)}</p>",
        _table(error_rows(calibration)),
        "<h2>Network</h2>",
        _table(wire_rows(calibration)),
        "<h2>Experiments</h2>",
        f"<p>{escape(EXPERIMENTS)}</p>",
        _table(experiment_rows(calibration)),
        "<h2>Nodes</h2>",
        _table([("node", "cluster", "cores", "Gflop/s"), *_node_rows(calibration)]),
        *(
            ["<h2>Kernels</h2>", f"<p>{escape(KERNELS)}</p>", _table(kernel_rows(calibration))]
            if calibration.speeds.kernels
            else []
        ),
        *(["<h2>Notes</h2>", _list(calibration.remarks)] if calibration.remarks else []),
        "<h2>Options of SMPI</h2>",
        _table([("option", "value"), *calibration.options.items()]),
    ]
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    body = "\n".join(sections)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _node_rows(calibration: MachineCalibration) -> list[tuple[str, ...]]:
    return [
        (
            node.node.name,
            calibration.request.clusters[node.node.cluster],
            str(node.cores),
            f"{node.speed_flops / 1e9:.4g}",
        )
        for node in calibration.nodes
    ]


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(value)}</th>" for value in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _png(figure: Figure) -> str:
    return base64.b64encode(rendered(figure, "png", dpi=110, metadata={"Software": None})).decode()
