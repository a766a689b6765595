"""Draw a platform: zones are nested boxes with clusters or hosts; links show their bandwidth and latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from platforms.model.platform import Link, Platform
from platforms.picture.arrangement import Arrangement, ZoneBox, arrange
from platforms.picture.link_graph import Span, cable
from platforms.picture.parts import Part, Parts, parts_of
from platforms.picture.scales import GREY, MOST_BORDER_PT, Scales, kind_of, legend_rows
from platforms.plotting.boxes import Sample, Sheet, sheet
from platforms.plotting.charts import Figure
from platforms.plotting.styles import INK
from platforms.survey import bandwidth_text, count_text, latency_text, survey

FONT_PT = 8.0
LINE_IN = 0.155  # from one line of text to the next
_ZONES = ("#f1f1f1", "#e4e4e4", "#d8d8d8")  # by depth
_CHARACTER_IN = 0.068  # mean width of a character; bold characters are 10 % wider
_SQUARE = (0.17, 0.17)
_JOINT = (0.16, 0.16)
MOST_IN = (12.0, 10.0)  # width and height of the picture; a larger drawing is scaled down
_MOST_NAMED_BUSES = 12
Sizes = Mapping[int, tuple[float, float]]  # width and height of every vertex


def platform_figure(platform: Platform) -> Figure:
    """Return a picture of the zones and links of any platform, at most MOST_IN inches wide and high.

    The width of a line shows the bandwidth of a link on a logarithmic scale; its colour shows the latency, dark for
    long ones.  If a platform has more than 40 clusters, the clusters of a zone are one box.

    Raises:
        PlatformError: SimGrid cannot load the platform.
    """
    shown = parts_of(platform, survey(platform))
    scales = Scales(shown)
    sizes = {i: _size(part) for i, part in enumerate(shown.parts)}
    named_buses = len(shown.graph.buses) <= _MOST_NAMED_BUSES
    for vertex in shown.graph.vertices[shown.graph.parts :]:
        if shown.hub and vertex == shown.hub.vertex:
            sizes[vertex] = _text_size(shown.hub.lines, bold=False)
        elif vertex in shown.graph.buses and named_buses:
            sizes[vertex] = _text_size(_bus_lines(shown.graph.buses[vertex]), bold=False)
        else:
            sizes[vertex] = _JOINT
    zone_names = {name for part in shown.parts for name in part.zones}
    least_width = {name: _width(name, bold=False) for name in zone_names}
    placed = arrange(shown.graph, [part.zones for part in shown.parts], sizes, least_width)
    return _drawn(platform, shown, placed, sizes, scales, named_buses=named_buses)


def _bus_lines(links: Sequence[Link]) -> tuple[str, ...]:
    rate = min(link.bandwidth_Bps for link in links)
    latency_s = sum(link.latency_s for link in links)
    names = cable(links[0]) if len(links) == 1 else count_text(len(links), "link")
    return names, f"{bandwidth_text(rate)}, {latency_text(latency_s)}"


def _size(part: Part) -> tuple[float, float]:
    if not part.name and not part.lines:
        return _SQUARE
    return _text_size((part.name, *part.lines), bold=True)


def _text_size(lines: Sequence[str], *, bold: bool) -> tuple[float, float]:
    widths = [_width(lines[0], bold=bold), *(_width(line, bold=False) for line in lines[1:])]
    return max(widths) + 0.2, len(lines) * LINE_IN + 0.14


def _width(text: str, *, bold: bool) -> float:
    return len(text) * _CHARACTER_IN * (1.1 if bold else 1.0)


def _drawn(
    platform: Platform, shown: Parts, placed: Arrangement, sizes: Sizes, scales: Scales, *, named_buses: bool
) -> Figure:
    title, *subtitle = _title(platform, shown)
    legend = legend_rows(shown, scales)
    left, bottom, right, top = _bounds(placed, sizes)
    texts = (*subtitle, *(text for _, text in legend))
    width = max([right - left, _width(title, bold=True) * 1.25, *(_width(t, bold=False) + 0.6 for t in texts)]) + 0.3
    head, foot = 0.36 + len(subtitle) * LINE_IN, 0.2 + len(legend) * LINE_IN * 1.15
    height = top - bottom + head + foot
    scale = min(1.0, MOST_IN[0] / width, MOST_IN[1] / height)
    centre = (left + right) / 2
    figure, pen = sheet(centre - width / 2, centre + width / 2, bottom - foot, top + head, scale=scale)
    at = centre - width / 2 + 0.15
    pen.text(at, top + head - 0.14, title, size=FONT_PT * 1.2, weight="bold", ha="left")
    for i, text in enumerate(subtitle):
        pen.text(at, top + head - 0.34 - i * LINE_IN, text, colour=GREY, ha="left")
    for box in placed.boxes:
        _draw_zone(pen, box)
    for span in shown.graph.spans:
        _draw_span(pen, span, placed.centres, scales)
    for vertex, place in placed.centres.items():
        size = sizes[vertex]
        if vertex < shown.graph.parts:
            part = shown.parts[vertex]
            pen.box(place, size, fill="white" if part.name else "#c9c9c9")
            if part.name:
                _write(pen, place, (part.name, *part.lines), weight="bold")
        elif shown.hub and vertex == shown.hub.vertex:
            border_pt = min(scales.width_pt(shown.hub.bandwidth_Bps), MOST_BORDER_PT)
            pen.box(place, size, fill="white", edge=scales.colour(shown.hub.latency_s), line_pt=border_pt)
            _write(pen, place, shown.hub.lines)
        elif vertex in shown.graph.buses:
            links = shown.graph.buses[vertex]
            rate, latency_s, _ = kind_of(links)
            border_pt = min(scales.width_pt(rate), MOST_BORDER_PT)
            pen.box(place, size, fill="white", edge=scales.colour(latency_s), line_pt=border_pt)
            _write(pen, place, _bus_lines(links) if named_buses else ())
        else:
            pen.joint(*place)
    for i, (sample, text) in enumerate(legend):
        y = bottom - 0.24 - i * LINE_IN * 1.15
        if sample:
            pen.line([at, at + 0.4], [y, y], sample)
        pen.text(at + (0.5 if sample else 0), y, text, ha="left", colour=INK if sample else GREY)
    return figure


def _draw_zone(pen: Sheet, box: ZoneBox) -> None:
    """Draw the box of a zone with its name, below which lines pass."""
    middle = (box.left + box.right) / 2, (box.bottom + box.top) / 2
    fill = _ZONES[min(box.depth, len(_ZONES) - 1)]
    size = box.right - box.left, box.top - box.bottom
    pen.box(middle, size, fill=fill, edge="#a8a8a8", z=0.1 + 0.01 * box.depth)
    behind = {"facecolor": fill, "edgecolor": "none", "pad": 1.0}
    pen.text(box.left + 0.1, box.top - 0.14, box.name, colour="#4d4d4d", ha="left", bbox=behind)


def _draw_span(pen: Sheet, span: Span, centres: Mapping[int, tuple[float, float]], scales: Scales) -> None:
    """Draw a line between two vertices."""
    (x1, y1), (x2, y2) = centres[span.first], centres[span.second]
    if span.links:
        sample: Sample = scales.width_pt(span.bandwidth_Bps), scales.colour(span.latency_s), "-"
    elif span.latency_s > 0:
        sample = 1.2, scales.colour(span.latency_s), (0, (4, 2))
    else:
        sample = 0.9, GREY, (0, (1, 1.5))
    pen.line([x1, x2], [y1, y2], sample, solid_capstyle="round", zorder=2)


def _write(pen: Sheet, centre: tuple[float, float], lines: Sequence[str], *, weight: str = "normal") -> None:
    """Write lines into a box, the first in this weight."""
    for i, text in enumerate(lines):
        y = centre[1] + ((len(lines) - 1) / 2 - i) * LINE_IN
        pen.text(centre[0], y, text, ha="center", weight="normal" if i else weight, clip_on=True)


def _title(platform: Platform, shown: Parts) -> list[str]:
    cores = sum(host.cores for host in platform.hosts)
    counts = [
        count_text(len(platform.clusters), "cluster"),
        count_text(len(platform.hosts), "host"),
        count_text(cores, "core"),
    ]
    return [platform.name, ", ".join(counts), *shown.notes]


def _bounds(placed: Arrangement, sizes: Sizes) -> tuple[float, float, float, float]:
    lefts, bottoms, rights, tops = [], [], [], []
    for vertex, (x, y) in placed.centres.items():
        width, height = sizes[vertex]
        lefts.append(x - width / 2)
        rights.append(x + width / 2)
        bottoms.append(y - height / 2)
        tops.append(y + height / 2)
    lefts += [box.left for box in placed.boxes]
    rights += [box.right for box in placed.boxes]
    bottoms += [box.bottom for box in placed.boxes]
    tops += [box.top for box in placed.boxes]
    return min(lefts), min(bottoms), max(rights), max(tops)
