"""Plots as SVG elements of a page, whose points are links and whose colours are those of the style sheet."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from validation.workbench.web.axes import Axis, shortened
from validation.workbench.web.looks import Style

WIDTH, HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 88, 16, 14, 62
_LABELS = 158  # for the names beside the ends of many lines
_LABELLED = range(8, 29)  # numbers of lines whose names stand at their ends
_LETTERS = 25  # of such a name
_GAP = 12.0  # least distance of two such names
MOST_MARKS = 3000  # points that lead to their results; with more, lines have no marks


@dataclass(frozen=True)
class Mark:
    """A point of a plot."""

    x: float
    y: float
    said: str  # shown under the mouse
    result: int  # the number of the result that it leads to


@dataclass(frozen=True)
class Curve:
    """Points with one style."""

    name: str
    style: Style
    marks: Sequence[Mark]
    joined: bool = True  # by a line
    stairs: bool = False  # the line goes right, then down


@dataclass(frozen=True)
class Drawing:
    """The content of a plot; the last curve is on top."""

    title: str  # for those who do not see it
    x: Axis
    y: Axis
    curves: Sequence[Curve]
    line_at: float | None = None  # a value of ``y`` with a line across the plot

    @property
    def named(self) -> list[Curve]:
        """The curves whose names stand beside their ends: of many, the legend alone would be a long search."""
        joined = [curve for curve in self.curves if curve.joined and not curve.stairs and curve.marks]
        return joined if len(joined) in _LABELLED else []

    @property
    def right(self) -> float:
        """The right end of the plot, in pixels."""
        return WIDTH - (_LABELS if self.named else _RIGHT)

    def at(self, mark: Mark) -> tuple[float, float]:
        """Return where a point is, in pixels."""
        return self.across(mark.x), self.up(mark.y)

    def across(self, value: float) -> float:
        """Return where a value of ``x`` is, in pixels."""
        return _LEFT + self.x.share(value) * (self.right - _LEFT)

    def up(self, value: float) -> float:
        """Return where a value of ``y`` is, in pixels."""
        return HEIGHT - _BOTTOM - self.y.share(value) * (HEIGHT - _TOP - _BOTTOM)


def plot(drawing: Drawing, marked: Collection[int] = ()) -> Markup:
    """Return a plot as an <svg> element of a page, in which the points of some results are marked."""
    start = '<svg class="plot" viewBox="0 0 {} {}" role="group" aria-label="{}" data-box="{} {} {} {}">'
    box = _LEFT, _TOP, f"{drawing.right:g}", HEIGHT - _BOTTOM
    parts = _parts(drawing, marked)
    return Markup(start).format(WIDTH, HEIGHT, drawing.title, *box) + Markup("\n").join(parts) + Markup("</svg>")


def symbol(style: Style) -> Markup:
    """Return the mark of a style alone, for the legend of a page."""
    start = Markup('<svg class="plot symbol" viewBox="0 0 26 14" aria-hidden="true"><g class="{}">')
    line = Markup('<path class="line" d="M1 7H25"/><path class="mark" d="{}"/></g></svg>')
    return start.format(style.classes) + line.format(style.mark_path(13, 7))


def picture_of(
    drawing: Drawing, legend: Sequence[tuple[Style, str]], facts: Mapping[str, str], base: str
) -> dict[str, Any]:
    """Return what ``validation.workbench.work.pictures.drawn`` draws: axes, curves and facts as JSON values.

    Args:
        drawing: What it shows.
        legend: Styles with their names.
        facts: Names with values, such as the commit.
        base: The address of the server, before those of results.
    """
    axes = {
        key: {"label": axis.label, "low": axis.low, "high": axis.high, "log": axis.logarithmic, "ticks": [*axis.ticks]}
        for key, axis in (("x", drawing.x), ("y", drawing.y))
    }
    curves = [
        {**_look(curve.style), "name": curve.name, "joined": curve.joined, "stairs": curve.stairs,
         "points": [[mark.x, mark.y, mark.result] for mark in curve.marks]}
        for curve in drawing.curves
    ]  # fmt: skip
    entries = [{**_look(style), "name": name} for style, name in legend]
    return {"title": drawing.title, **axes, "curves": curves, "legend": entries, "line_at": drawing.line_at,
            "facts": dict(facts), "base": base}  # fmt: skip


def _look(style: Style) -> dict[str, Any]:
    dash = [float(length) for length in style.dash.split()]
    return {"color": style.hue, "dash": dash, "hollow": style.hollow, "width": style.width, "marker": style.marker}


def _class(kind: str) -> Markup:
    return Markup('class="{}"').format(kind)


def _link(mark: Mark, chosen: Collection[int]) -> Markup:
    said = Markup(' class="marked"') if mark.result in chosen else ""
    return Markup('<a href="/results/{}" data-result="{}"{} tabindex="-1">').format(mark.result, mark.result, said)


def _parts(drawing: Drawing, chosen: Collection[int]) -> list[Markup]:
    parts = _grid(drawing)
    if drawing.line_at is not None and drawing.y.low <= drawing.line_at <= drawing.y.high:
        at = f"{drawing.up(drawing.line_at):.1f}"
        line = Markup('<line {} x1="{}" x2="{}" y1="{}" y2="{}"/>')
        parts.append(line.format(_class("zero"), _LEFT, drawing.right, at, at))
    marked = sum(len(curve.marks) for curve in drawing.curves) <= MOST_MARKS
    parts += [_curve(curve, drawing, chosen, marked=marked) for curve in drawing.curves]
    return [*parts, *_names(drawing)]


def _grid(drawing: Drawing) -> list[Markup]:
    x, y, right, bottom = drawing.x, drawing.y, drawing.right, HEIGHT - _BOTTOM
    turned = len(x.ticks) > 5 and max(len(text) for _, text in x.ticks) * len(x.ticks) > 90
    line = Markup('<line {} x1="{}" x2="{}" y1="{}" y2="{}"/>')
    parts = []
    for value, text in y.ticks:
        at = f"{drawing.up(value):.1f}"
        parts.append(line.format(_class("grid"), _LEFT, right, at, at))
        form = Markup('<text {} x="{}" y="{}" dy="0.35em">{}</text>')
        parts.append(form.format(_class("end"), _LEFT - 6, at, text))
    for value, text in x.ticks:
        at = f"{drawing.across(value):.1f}"
        parts.append(line.format(_class("axis"), at, at, bottom, bottom + 5))
        if turned:
            form = Markup('<text {} transform="translate({} {}) rotate(-22)">{}</text>')
            parts.append(form.format(_class("end small"), at, bottom + 15, text))
        else:
            form = Markup('<text {} x="{}" y="{}">{}</text>')
            parts.append(form.format(_class("middle"), at, bottom + 19, text))
    parts.append(Markup('<path {} d="M{} {}V{}H{}"/>').format(_class("axis"), _LEFT, _TOP, bottom, right))
    label = Markup('<text {} x="{}" y="{}">{}</text>')
    parts.append(label.format(_class("middle label"), (_LEFT + right) / 2, HEIGHT - 8, x.label))
    turn = Markup('<text {} transform="translate(16 {}) rotate(-90)">{}</text>')
    parts.append(turn.format(_class("middle label"), (_TOP + bottom) / 2, y.label))
    return parts


def _curve(curve: Curve, drawing: Drawing, chosen: Collection[int], *, marked: bool) -> Markup:
    places = [drawing.at(mark) for mark in curve.marks]
    parts = []
    if curve.joined and len(places) > 1:
        between = "H{0:.1f}V{1:.1f}" if curve.stairs else "L{0:.1f} {1:.1f}"
        path = "M{:.1f} {:.1f}".format(*places[0]) + "".join(between.format(*place) for place in places[1:])
        parts.append(Markup('<path {} d="{}"/>').format(_class("line"), path))
    if marked:
        form = Markup('{}<title>{}</title><path {} d="{}"/></a>')
        look = _class("mark")
        parts += [
            form.format(_link(mark, chosen), mark.said, look, curve.style.mark_path(*place))
            for mark, place in zip(curve.marks, places, strict=True)
        ]
    return Markup('<g class="{}">').format(curve.style.classes) + Markup("").join(parts) + Markup("</g>")


def _names(drawing: Drawing) -> list[Markup]:
    """Return the names of many lines beside their ends, moved apart where they would cover each other."""
    ends = sorted((drawing.up(curve.marks[-1].y), at) for at, curve in enumerate(drawing.named))
    lowest = float(HEIGHT - _BOTTOM)
    heights = [y for y, _ in ends]
    gap = min(_GAP, (lowest - _TOP) / max(1, len(heights)))
    for at in range(1, len(heights)):
        heights[at] = max(heights[at], heights[at - 1] + gap)
    for at in range(len(heights)):
        heights[at] = min(heights[at], lowest - (len(heights) - 1 - at) * gap)
    parts = []
    for height, (y, at) in zip(heights, ends, strict=True):
        curve = drawing.named[at]
        x = drawing.across(curve.marks[-1].x)
        way = Markup('<path {} d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>')
        parts.append(way.format(_class("grid"), x + 5, y, drawing.right + 2, height))
        form = Markup('<text {} x="{}" y="{:.1f}" dy="0.35em">{}</text>')
        said = form.format(_class("of"), drawing.right + 5, height, shortened(curve.name, _LETTERS))
        parts.append(said)
    return parts
