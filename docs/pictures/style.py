"""The style of the pictures: size, colours, a white card that is readable on light and dark pages, and plain SVG.

Text stays text, so that a picture can be searched, and its numbers tested.  The same picture gives the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

WIDTH_IN = 8.6  # 826 px: the width of a page on GitHub
INK, GREY, PALE = "#1f2933", "#7b8794", "#d5dbe1"
# Colours of Okabe and Ito, which colour-blind readers can distinguish; purple is darker, to be read as text.
RED, BLUE, GREEN, PURPLE, ORANGE = "#D55E00", "#0072B2", "#009E73", "#A0568A", "#E69F00"
COMPUTATION, COMMUNICATION = BLUE, ORANGE
FONT, FONTS = "DejaVu Sans", "'DejaVu Sans', Verdana, sans-serif"  # other fonts are narrower: they leave more room
NOTE = 9.0  # pt, the smallest text
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "grid-prediction-validator",
    "font.family": FONT,
    "font.size": 10.0,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": NOTE,
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the style to the figures that are made and written in the context."""
    with matplotlib.rc_context(_SETTINGS):
        yield


def card(height_in: float) -> Figure:
    """Return an empty figure as wide as a page, on a white card with round corners."""
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained", facecolor="none")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12, wspace=0.06, hspace=0.06)
    edge = 0.01
    shape = f"round,pad=0,rounding_size={12 / 96}"
    sides = (WIDTH_IN - 2 * edge, height_in - 2 * edge)
    background = FancyBboxPatch(
        (edge, edge), *sides, boxstyle=shape, facecolor="white", edgecolor=PALE, transform=figure.dpi_scale_trans
    )
    background.set_in_layout(False)
    background.set_zorder(-10)
    figure.add_artist(background)
    return figure


def svg(figure: Figure, title: str) -> str:
    """Return the figure as SVG, which is the same every time.

    Args:
        figure: The figure.
        title: Description for readers who do not see the picture.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Title": title, "Date": None, "Creator": None})
    drawn = buffer.getvalue().replace(f"'{FONT}'", FONTS)
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def percent(error_pct: float) -> str:
    """Return a signed error in two or three digits.

    >>> percent(-0.694), percent(683.26), percent(1.27), percent(0.004)
    ('-0.69 %', '+683 %', '+1.3 %', 'error below 0.01 %')
    """
    size = abs(error_pct)
    if size < 0.01:
        return "error below 0.01 %"
    return f"{error_pct:+.{2 if size < 1 else 1 if size < 10 else 0}f} %"


def seconds(time_s: float) -> str:
    """Return a time in three digits.

    >>> seconds(26.976), seconds(212.77), seconds(1.9235)
    ('27.0 s', '213 s', '1.92 s')
    """
    digits = 2 if time_s < 9.995 else 1 if time_s < 99.95 else 0
    return f"{time_s:.{digits}f} s"


def plain_log(axes: Axes, which: str, ticks: list[float]) -> None:
    """Make an axis logarithmic, with plain numbers at these places."""
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}ticks")(ticks, [f"{tick:g}" for tick in ticks])
    getattr(axes, f"set_{which}ticks")([], minor=True)
