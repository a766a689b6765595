"""Axes and lines that the figures share: sizes, times, epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.plotting.charts import Axes, finish
from platforms.plotting.styles import BLUE, GREEN, ORANGE, PINK, RED, SKY, dots, label_decades, line
from validation.nodes.plots.rows import LS, NNLS

if TYPE_CHECKING:
    import numpy.typing as npt

_STYLES = ((BLUE, "o", "-"), (RED, "s", "--"), (GREEN, "^", ":"), (PINK, "D", "-."), (ORANGE, "v", (0, (5, 1))),
           (SKY, "P", (0, (3, 1, 1, 1))))  # fmt: skip
WITHIN = 0.2  # largest |delta| that the paper calls acceptable (section 6.2)
_LINEAR_TO = 0.1  # epsilon up to which an axis with huge errors is linear
_LINEAR_RATIO = 50  # largest ratio of the largest to the smallest N for a linear axis
_HUGE = 1.0  # epsilon above which the axis is logarithmic


def style(number: int) -> dict[str, Any]:
    """Return the style of curve ``number``; hollow markers keep equal values visible."""
    color, marker, dash = _STYLES[number % len(_STYLES)]
    look = dots(color, marker, 10 - 1.5 * (number % 4), hollow=True) | line(color, dash, 1.2)
    return {**look, "clip_on": False, "zorder": 3}


def styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return a style for each model; NP-T/NNLS and NP-T/LS have the same styles in all figures."""
    others = (name for name in names if name not in (NNLS, LS))
    return {NNLS: style(0), LS: style(1)} | {name: style(number) for number, name in enumerate(others, start=2)}


def size_axis(axes: Axes, sizes: npt.NDArray[np.float64]) -> None:
    """Set the axis of N: logarithmic for sizes over decades, such as the powers of two of FFT."""
    if logarithmic(sizes):
        axes.set_xscale("log", base=2)
    else:
        axes.locator_params(axis="x", nbins=7, integer=True)
    finish(axes, xlabel="size N")


def logarithmic(sizes: npt.NDArray[np.float64]) -> bool:
    """Return whether the axis of these sizes is logarithmic."""
    return bool(sizes.max() > _LINEAR_RATIO * sizes.min())


def time_axis(axes: Axes, label: str = "simulated time, s") -> None:
    """Set a logarithmic axis of times in s."""
    axes.set(yscale="log", ylabel=label)
    label_decades(axes.yaxis)


def signed_time_axis(axes: Axes, measured_s: npt.NDArray[np.float64], drawn_s: npt.NDArray[np.float64]) -> None:
    """Set a logarithmic axis of times in s.

    If some drawn times are not positive, the axis is linear up to the decade of the least measured time, and its label
    says so.
    """
    if np.min(drawn_s) > 0:
        time_axis(axes, "time, s")
        return
    linear_to = 10.0 ** np.floor(np.log10(np.min(measured_s)))
    axes.set_yscale("symlog", linthresh=linear_to, linscale=0.5)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"time, s (linear to \N{PLUS-MINUS SIGN}{linear_to:g} s)")


def epsilon_axis(axes: Axes, epsilons: npt.NDArray[np.float64]) -> None:
    """Set the axis of epsilon in %, linear from 0.

    If epsilon exceeds 100 %, only the lowest part of the axis is linear and the rest logarithmic; its label says so.
    """
    top = max(np.nanmax(epsilons, initial=0.0), 0.02)
    label = "\N{GREEK SMALL LETTER EPSILON}: longer than the optimum by"
    if top > _HUGE:
        axes.set_yscale("symlog", linthresh=_LINEAR_TO)
        decades = np.arange(-1, np.ceil(np.log10(top)) + 1)
        steps = np.array([1, 2, 5] if len(decades) < 4 else [1, 3] if len(decades) < 6 else [1])
        axes.set_yticks([0, _LINEAR_TO / 2, *np.outer(10.0**decades, steps).flat])
        axes.set_yticks([], minor=True)
        axes.set_ylim(-0.1 * _LINEAR_TO, 1.4 * top)
        label += f"\n(linear to {100 * _LINEAR_TO:g} %)"
    else:
        axes.set_ylim(-0.03 * top, 1.06 * top)
    percent_axis(axes)
    axes.set_ylabel(label)


def percent_axis(axes: Axes) -> None:
    """Label an axis of shares in percent."""
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %".replace("-", "\N{MINUS SIGN}"))
