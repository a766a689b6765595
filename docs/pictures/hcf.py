"""HCF: the computation and the communication of the probe, of three predictions, and of the simulated run."""

from __future__ import annotations

from apps.runs.runner import Runner
from pictures.runs import Case, case
from pictures.style import COMMUNICATION, COMPUTATION, GREY, INK, NOTE, card, seconds
from platforms.plotting.charts import Axes, Figure
from predictor.hcf import Probe, heterogeneity_factor, read_probe

TITLE = "HCF: computation and communication of the probe, of three predictions and of the simulated run"


def draw(runner: Runner) -> Figure:
    """Return the picture for CG, class B, on grid4x8 with the network infiniband."""
    made = case(runner, ("hcf:printed", "hcf", "hcf:constant"), "cg", network="infiniband")
    (evidence,) = made.evidence["hcf"]
    figure = card(5.4)
    top, bottom = figure.subplots(2, height_ratios=(4, 4.6))
    _draw_probe(top, read_probe(evidence), made)
    _draw_predictions(bottom, read_probe(evidence), made)
    for axes in (top, bottom):
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
    bottom.set_xlabel("time, s")
    top.legend(loc="lower right", bbox_to_anchor=(1, 0.99), ncols=2)
    return figure


def _draw_probe(axes: Axes, probe: Probe, made: Case) -> None:
    platform = made.target.platform
    names = list(probe.Tcp_s)
    total_s = probe.Tcp_slower_s + probe.Tcm_s
    for row, name in enumerate(names):
        own_s = probe.Tcp_s[name]
        slowest = own_s == probe.Tcp_slower_s
        axes.barh(row, own_s, color=COMPUTATION, label="computation" if slowest else None)
        axes.text(0.08, row, f"T_cp = {own_s:.2f} s", color="white", va="center", fontsize=NOTE)
        if slowest:
            axes.barh(row, probe.Tcm_s, left=own_s, color=COMMUNICATION, label="communication")
            _note(axes, total_s, row, f"T_cm = {probe.Tcm_s:.2f} s")
        else:
            axes.barh(row, total_s - own_s, left=own_s, color="white", edgecolor=GREY, hatch="///", linewidth=0)
            factor = heterogeneity_factor(probe.Tcp_slower_s, own_s)
            _note(axes, total_s, row, f"waits; (4): HCF = {factor:.2f}")
    speeds = [platform.host(host).speed_flops / 1e9 for host in made.evidence["hcf"][0].record.host]
    labels = [f"{name}, {speed:.3g} Gflop/s" for name, speed in zip(names, speeds, strict=True)]
    axes.set_yticks(range(len(names)), labels)
    axes.set_xlim(0, 11.5)
    axes.set_title("The probe: one node of each cluster runs CG, class B")


def _draw_predictions(axes: Axes, probe: Probe, made: Case) -> None:
    nodes, printed, hcf = made.target.nodes, made.predictions["hcf:printed"], made.predictions["hcf"]
    share = f"{probe.NCT}/{nodes}"
    fastest = heterogeneity_factor(probe.Tcp_slower_s, min(probe.Tcp_s.values()))
    homo_s = hcf.parts["compute_s"]
    growth = f"(7): {probe.Tcm_s:.2f} s x {nodes}/{probe.NCT}"
    rows = [
        ("hcf:printed", printed.parts, f"(5) as printed: {homo_s:.2f} s x {fastest:.2f}; {growth}"),
        ("hcf", hcf.parts, f"(5) corrected: {probe.Tcp_slower_s:.2f} s x {share}; {growth}"),
        ("hcf:constant", made.predictions["hcf:constant"].parts, "(5) corrected; (7) left out"),
    ]
    for row, (name, parts, note) in enumerate(rows):
        compute_s, comm_s = parts["compute_s"], parts["comm_s"]
        _bar(axes, row, compute_s, comm_s)
        total = f"{seconds(compute_s + comm_s)}, {made.error_pct(name):+.0f} %"
        _note(axes, compute_s + comm_s, row - 0.18, total, fontweight="bold")
        _note(axes, compute_s + comm_s, row + 0.2, note)
    busiest_s, true_s = max(made.truth.compute_s), made.truth.time_s
    _bar(axes, len(rows), busiest_s, true_s - busiest_s)
    _note(axes, true_s, len(rows), seconds(true_s), fontweight="bold")
    axes.axvline(true_s, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yticks(range(len(rows) + 1), [*(name for name, *_ in rows), "simulated"])
    axes.set_xlim(0, 11.5)
    axes.set_title(f"All {nodes} nodes: (6), the longest computation of a node, plus (7)")


def _bar(axes: Axes, row: int, compute_s: float, comm_s: float) -> None:
    axes.barh(row, compute_s, color=COMPUTATION)
    axes.barh(row, comm_s, left=compute_s, color=COMMUNICATION)


def _note(axes: Axes, right_s: float, row: float, text: str, **style: str) -> None:
    """Write beside the end of a bar."""
    axes.annotate(text, (right_s, row), xytext=(6, 0), textcoords="offset points", va="center", fontsize=NOTE, **style)
