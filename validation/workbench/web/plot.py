"""Plots as SVG elements of a page: their colours are those of the style sheet, and each point leads to its result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

WIDTH, HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 88, 16, 14, 62
_STYLES = 7  # distinct colours in the style sheet, and distinct marks here
_LOGARITHMIC = 8.0  # largest value over smallest from which an axis is logarithmic
_TICKS = 6  # about so many at an axis
_MOST_NAMES = 12  # at an axis
_MOST_LETTERS = 14  # of a name at an axis
MOST_MARKS = 3000  # points that lead to their results; with more, lines have no marks


@dataclass(frozen=True)
class Mark:
    """A point of a plot."""

    x: float
    y: float
    said: str  # shown under the mouse
    link: str


@dataclass(frozen=True)
class Style:
    """The look of a curve."""

    color: int | None  # number of a colour; None: black
    mark: int | None  # number of a mark; None: the round one of what is true
    measured: bool = False  # what is true was measured


@dataclass(frozen=True)
class Curve:
    """Points with one style."""

    name: str
    style: Style
    marks: Sequence[Mark]
    joined: bool = True  # by a line
    stairs: bool = False  # the line goes right, then down


@dataclass(frozen=True)
class Axis:
    """One axis: values from ``low`` to ``high``."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where on the axis a value is, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5


def number_axis(label: str, values: Sequence[float], *, may_log: bool = True, zero: bool = False) -> Axis:
    """Return an axis for numbers.

    Args:
        label: Its label, with the unit.
        values: What has to be on it, at least one number.
        may_log: Make it logarithmic where the values differ by much.
        zero: Include 0 otherwise.
    """
    low, high = min(values), max(values)
    if may_log and low > 0 and high >= _LOGARITHMIC * low:
        return Axis(label, low / 1.15, high * 1.15, _decades(low / 1.15, high * 1.15), True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high == low:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (-1.0, 1.0)
    step = _step((high - low) / _TICKS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [(number * step, number_text(number * step, step)) for number in range(first, last + 1)]
    return Axis(label, first * step, last * step, ticks)


def count_axis(label: str, values: Sequence[float]) -> Axis:
    """Return an axis for numbers of ranks, with a tick at each if there are few."""
    distinct = sorted(set(values))
    low, high = distinct[0], distinct[-1]
    logarithmic = low > 0 and high >= 4 * low
    margin = (high / low) ** 0.04 if logarithmic else max(0.04 * (high - low), 0.5)
    ends = (low / margin, high * margin) if logarithmic else (low - margin, high + margin)
    axis = Axis(label, *ends, (), logarithmic)
    kept: list[float] = []
    for value in distinct:
        if not kept or axis.share(value) - axis.share(kept[-1]) >= 0.055:
            kept.append(value)
    return Axis(label, *ends, [(value, f"{value:,.10g}") for value in kept], logarithmic)


def name_axis(label: str, names: Sequence[str]) -> Axis:
    """Return an axis for names, which have the places 0, 1, and so on."""
    step = -(-len(names) // _MOST_NAMES)
    ticks = [(float(at), _short(name)) for at, name in enumerate(names) if at % step == 0]
    return Axis(label, -0.5, len(names) - 0.5, ticks)


def plot(title: str, x: Axis, y: Axis, curves: Sequence[Curve], *, line_at: float | None = None) -> Markup:
    """Return a plot as an <svg> element.

    Args:
        title: What it shows, for those who do not see it.
        x: The axis from left to right.
        y: The axis from bottom to top.
        curves: What is drawn, the last one on top.
        line_at: A value of ``y`` with a line across the plot.
    """
    parts = [*_grid(x, y)]
    if line_at is not None and y.low <= line_at <= y.high:
        at = _y(y, line_at)
        parts.append(Markup('<line class="zero" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            _LEFT, WIDTH - _RIGHT, at, at))  # fmt: skip
    marked = sum(len(curve.marks) for curve in curves) <= MOST_MARKS
    parts += [_curve(curve, x, y, marked=marked) for curve in curves]
    start = Markup('<svg class="plot" viewBox="0 0 {} {}" role="group" aria-label="{}">').format(WIDTH, HEIGHT, title)
    return start + Markup("\n").join(parts) + Markup("</svg>")


def symbol(style: Style) -> Markup:
    """Return the mark of a style alone, for a legend."""
    start = Markup('<svg class="plot symbol" viewBox="0 0 26 14" aria-hidden="true"><g class="{}">').format(
        _class(style)
    )
    return start + Markup('<path class="line" d="M1 7H25"/><path class="mark" d="{}"/></g></svg>').format(
        _marker(style, 13, 7)
    )


def number_text(value: float, step: float) -> str:
    """Return a number with as many digits as ticks at this distance need."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return f"{value:.6g}"
    return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    """Return ticks of a logarithmic axis: powers of ten, with 2 and 5 where there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5)):
        decades = [
            factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high
        ]
        if len(decades) >= 3 or factors[-1] == 5:
            break
    step = -(-len(decades) // (_TICKS + 2))
    return [(value, f"{value:,.10g}" if 1e-3 <= value < 1e6 else f"{value:.0e}") for value in decades[::step]]


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"


def _x(axis: Axis, value: float) -> str:
    return f"{_LEFT + axis.share(value) * (WIDTH - _LEFT - _RIGHT):.1f}"


def _y(axis: Axis, value: float) -> str:
    return f"{HEIGHT - _BOTTOM - axis.share(value) * (HEIGHT - _TOP - _BOTTOM):.1f}"


def _grid(x: Axis, y: Axis) -> list[Markup]:
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    turned = len(x.ticks) > 5 and max(len(text) for _, text in x.ticks) * len(x.ticks) > 90
    parts = []
    for value, text in y.ticks:
        at = _y(y, value)
        parts.append(Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_LEFT, right, at, at))
        parts.append(Markup('<text class="end" x="{}" y="{}" dy="0.35em">{}</text>').format(_LEFT - 6, at, text))
    for value, text in x.ticks:
        at = _x(x, value)
        parts.append(Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(at, at, bottom, bottom + 5))
        if turned:
            form = '<text class="end small" transform="translate({} {}) rotate(-22)">{}</text>'
            parts.append(Markup(form).format(at, bottom + 15, text))
        else:
            parts.append(Markup('<text class="middle" x="{}" y="{}">{}</text>').format(at, bottom + 19, text))
    parts.append(Markup('<path class="axis" d="M{} {}V{}H{}"/>').format(_LEFT, _TOP, bottom, right))
    middle = (_LEFT + right) / 2
    parts.append(Markup('<text class="middle label" x="{}" y="{}">{}</text>').format(middle, HEIGHT - 8, x.label))
    turn = Markup('<text class="middle label" transform="translate(16 {}) rotate(-90)">{}</text>')
    parts.append(turn.format((_TOP + bottom) / 2, y.label))
    return parts


def _curve(curve: Curve, x: Axis, y: Axis, *, marked: bool) -> Markup:
    places = [(_x(x, mark.x), _y(y, mark.y)) for mark in curve.marks]
    parts = []
    if curve.joined and len(places) > 1:
        between = "H{0}V{1}" if curve.stairs else "L{0} {1}"
        path = f"M{places[0][0]} {places[0][1]}" + "".join(between.format(*place) for place in places[1:])
        parts.append(Markup('<path class="line" d="{}"/>').format(path))
    if marked:
        form = Markup('<a href="{}" tabindex="-1"><title>{}</title><path class="mark" d="{}"/></a>')
        parts += [
            form.format(mark.link, mark.said, _marker(curve.style, float(at), float(height)))
            for mark, (at, height) in zip(curve.marks, places, strict=True)
        ]
    return Markup('<g class="{}">').format(_class(curve.style)) + Markup("").join(parts) + Markup("</g>")


def _class(style: Style) -> str:
    words = ["black" if style.color is None else f"c{style.color % _STYLES}"]
    words += ["truth"] if style.mark is None else []
    return " ".join([*words, "measured"] if style.measured else words)


def _marker(style: Style, x: float, y: float) -> str:
    """Return the path of a mark: marks differ, so that lines are told apart without colours."""
    if style.mark is None:
        return f"M{x - 6:.1f} {y:.1f}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z"
    shapes = (
        "m-4 -4h8v8h-8z", "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", "m0 -5l5 9h-10z",
        "m0 -5.5l5 5.5l-5 5.5l-5 -5.5z",
        "m0 5l5 -9h-10z", "m-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z", "m-5 0l9 -5v10z",
    )  # fmt: skip
    return f"M{x:.1f} {y:.1f}{shapes[style.mark % _STYLES]}"
