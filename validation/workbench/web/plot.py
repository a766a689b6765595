"""Plots as SVG: elements of a page, whose colours are those of the style sheet, and files that need no style sheet."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from validation.workbench.web.axes import Axis, shortened
from validation.workbench.web.looks import EDGE, FONT, GRID, INK, PAPER, Style

WIDTH, HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 88, 16, 14, 62
_LABELS = 158  # for the names beside the ends of many lines
_LABELLED = range(8, 29)  # so many lines have their names at their ends
_LETTERS = 25  # of such a name
_GAP = 12.0  # least distance of two such names
_LEGEND_ROW, _FOOT_ROW = 20, 15  # heights in files
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
    parts = _parts(drawing, _Page(frozenset(marked)))
    return Markup(start).format(WIDTH, HEIGHT, drawing.title, *box) + Markup("\n").join(parts) + Markup("</svg>")


def symbol(style: Style) -> Markup:
    """Return the mark of a style alone, for the legend of a page."""
    start = Markup('<svg class="plot symbol" viewBox="0 0 26 14" aria-hidden="true"><g class="{}">')
    line = Markup('<path class="line" d="M1 7H25"/><path class="mark" d="{}"/></g></svg>')
    return start.format(style.classes) + line.format(style.mark_path(13, 7))


def svg_file(drawing: Drawing, legend: Sequence[tuple[Style, str]], facts: Mapping[str, str], base: str) -> str:
    """Return a plot as a file: with its legend, and facts such as its commit at its foot and in its metadata.

    Args:
        drawing: What it shows.
        legend: Styles with their names.
        facts: Names with values.
        base: The address of the server, before those of results.
    """
    skin = _File(base)
    rows = -(-len(legend) // 2)
    height = HEIGHT + rows * _LEGEND_ROW + (len(facts) + 1) * _FOOT_ROW
    start = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" font-family="{font}" '
        'font-size="13" fill="{ink}"><title>{title}</title><metadata>{facts}</metadata>'
        '<rect width="{w}" height="{h}" fill="{paper}"/>'
    ).format(w=WIDTH, h=height, font=FONT, ink=INK, paper=PAPER, title=drawing.title,
             facts="\n".join(f"{name}: {value}" for name, value in facts.items()))  # fmt: skip
    parts = [start, *_parts(drawing, skin)]
    for at, (style, name) in enumerate(legend):
        x, y = 20 + at // rows * (WIDTH // 2), HEIGHT + 12 + at % rows * _LEGEND_ROW
        line = Markup('<path d="M{} {}h24" {}/><path d="{}" {}/>')
        parts.append(line.format(x, y, skin.line(style), style.mark_path(x + 12, y), skin.mark(style)))
        parts.append(Markup('<text x="{}" y="{}" dy="0.35em">{}</text>').format(x + 32, y, shortened(name, 48)))
    for at, (name, value) in enumerate(facts.items()):
        y = HEIGHT + rows * _LEGEND_ROW + (at + 1) * _FOOT_ROW
        said = shortened(f"{name}: {value}", 122)
        parts.append(Markup('<text x="20" y="{}" font-size="11">{}</text>').format(y, said))
    return Markup("\n").join([*parts, Markup("</svg>\n")])


def picture_of(drawing: Drawing, legend: Sequence[tuple[Style, str]], facts: Mapping[str, str]) -> dict[str, Any]:
    """Return what ``validation.workbench.work.pictures.png`` draws: axes, curves and facts as JSON values."""
    axes = {
        key: {"label": axis.label, "low": axis.low, "high": axis.high, "log": axis.logarithmic, "ticks": [*axis.ticks]}
        for key, axis in (("x", drawing.x), ("y", drawing.y))
    }
    curves = [
        {**_look(curve.style), "name": curve.name, "joined": curve.joined, "stairs": curve.stairs,
         "points": [[mark.x, mark.y] for mark in curve.marks]}
        for curve in drawing.curves
    ]  # fmt: skip
    entries = [{**_look(style), "name": name} for style, name in legend]
    return {"title": drawing.title, **axes, "curves": curves, "legend": entries, "line_at": drawing.line_at,
            "facts": dict(facts)}  # fmt: skip


def _look(style: Style) -> dict[str, Any]:
    dash = [float(length) for length in style.dash.split()]
    return {"color": style.hue, "dash": dash, "hollow": style.hollow, "width": style.width, "marker": style.marker}


@dataclass(frozen=True)
class _Page:
    """Draws by the classes of the style sheet; points are links."""

    marked: frozenset[int]

    def of(self, kind: str) -> Markup:
        return Markup('class="{}"').format(kind)

    def group(self, style: Style) -> Markup:
        return Markup('<g class="{}">').format(style.classes)

    def line(self, style: Style) -> Markup:
        return self.of("line")

    def mark(self, style: Style) -> Markup:
        return self.of("mark")

    def link(self, mark: Mark) -> Markup:
        chosen = Markup(' class="marked"') if mark.result in self.marked else ""
        form = Markup('<a href="/results/{}" data-result="{}"{} tabindex="-1">')
        return form.format(mark.result, mark.result, chosen)


@dataclass(frozen=True)
class _File:
    """Draws by attributes, which need no style sheet."""

    base: str

    def of(self, kind: str) -> Markup:
        lines = {"grid": (GRID, 1), "axis": (EDGE, 1), "zero": (INK, 1.5)}
        if kind in lines:
            return Markup('fill="none" stroke="{}" stroke-width="{}"').format(*lines[kind])
        anchor = Markup('text-anchor="{}"').format("end" if "end" in kind else "middle") if "of" not in kind else ""
        weight = Markup(' font-weight="600"') if "label" in kind else ""
        return anchor + weight + (Markup(' font-size="11"') if "small" in kind or "of" in kind else Markup(""))

    def group(self, style: Style) -> Markup:
        return Markup("<g>")

    def line(self, style: Style) -> Markup:
        dash = Markup(' stroke-dasharray="{}"').format(style.dash) if style.dash else ""
        return Markup('fill="none" stroke="{}" stroke-width="{}"{}').format(style.hue, style.width, dash)

    def mark(self, style: Style) -> Markup:
        if style.hollow:
            return Markup('fill="{}" stroke="{}" stroke-width="2"').format(PAPER, style.hue)
        return Markup('fill="{}" stroke="{}"').format(style.hue, PAPER)

    def link(self, mark: Mark) -> Markup:
        return Markup('<a href="{}/results/{}">').format(self.base, mark.result)


def _parts(drawing: Drawing, skin: _Page | _File) -> list[Markup]:
    parts = _grid(drawing, skin)
    if drawing.line_at is not None and drawing.y.low <= drawing.line_at <= drawing.y.high:
        at = f"{drawing.up(drawing.line_at):.1f}"
        line = Markup('<line {} x1="{}" x2="{}" y1="{}" y2="{}"/>')
        parts.append(line.format(skin.of("zero"), _LEFT, drawing.right, at, at))
    marked = sum(len(curve.marks) for curve in drawing.curves) <= MOST_MARKS
    parts += [_curve(curve, drawing, skin, marked=marked) for curve in drawing.curves]
    return [*parts, *_names(drawing, skin)]


def _grid(drawing: Drawing, skin: _Page | _File) -> list[Markup]:
    x, y, right, bottom = drawing.x, drawing.y, drawing.right, HEIGHT - _BOTTOM
    turned = len(x.ticks) > 5 and max(len(text) for _, text in x.ticks) * len(x.ticks) > 90
    line = Markup('<line {} x1="{}" x2="{}" y1="{}" y2="{}"/>')
    parts = []
    for value, text in y.ticks:
        at = f"{drawing.up(value):.1f}"
        parts.append(line.format(skin.of("grid"), _LEFT, right, at, at))
        form = Markup('<text {} x="{}" y="{}" dy="0.35em">{}</text>')
        parts.append(form.format(skin.of("end"), _LEFT - 6, at, text))
    for value, text in x.ticks:
        at = f"{drawing.across(value):.1f}"
        parts.append(line.format(skin.of("axis"), at, at, bottom, bottom + 5))
        if turned:
            form = Markup('<text {} transform="translate({} {}) rotate(-22)">{}</text>')
            parts.append(form.format(skin.of("end small"), at, bottom + 15, text))
        else:
            form = Markup('<text {} x="{}" y="{}">{}</text>')
            parts.append(form.format(skin.of("middle"), at, bottom + 19, text))
    parts.append(Markup('<path {} d="M{} {}V{}H{}"/>').format(skin.of("axis"), _LEFT, _TOP, bottom, right))
    label = Markup('<text {} x="{}" y="{}">{}</text>')
    parts.append(label.format(skin.of("middle label"), (_LEFT + right) / 2, HEIGHT - 8, x.label))
    turn = Markup('<text {} transform="translate(16 {}) rotate(-90)">{}</text>')
    parts.append(turn.format(skin.of("middle label"), (_TOP + bottom) / 2, y.label))
    return parts


def _curve(curve: Curve, drawing: Drawing, skin: _Page | _File, *, marked: bool) -> Markup:
    places = [drawing.at(mark) for mark in curve.marks]
    parts = []
    if curve.joined and len(places) > 1:
        between = "H{0:.1f}V{1:.1f}" if curve.stairs else "L{0:.1f} {1:.1f}"
        path = "M{:.1f} {:.1f}".format(*places[0]) + "".join(between.format(*place) for place in places[1:])
        parts.append(Markup('<path {} d="{}"/>').format(skin.line(curve.style), path))
    if marked:
        form = Markup('{}<title>{}</title><path {} d="{}"/></a>')
        look = skin.mark(curve.style)
        parts += [
            form.format(skin.link(mark), mark.said, look, curve.style.mark_path(*place))
            for mark, place in zip(curve.marks, places, strict=True)
        ]
    return skin.group(curve.style) + Markup("").join(parts) + Markup("</g>")


def _names(drawing: Drawing, skin: _Page | _File) -> list[Markup]:
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
        parts.append(way.format(skin.of("grid"), x + 5, y, drawing.right + 2, height))
        form = Markup('<text {} x="{}" y="{:.1f}" dy="0.35em">{}</text>')
        said = form.format(skin.of("of"), drawing.right + 5, height, shortened(curve.name, _LETTERS))
        parts.append(said)
    return parts
