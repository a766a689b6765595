"""Draw a platform: zones are nested boxes with clusters or hosts; links show their bandwidth and latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from platforms.model.platform import Link, Platform
from platforms.picture.arrangement import Arrangement, arrange
from platforms.picture.link_graph import cable
from platforms.picture.parts import Part, Parts, parts_of
from platforms.picture.pen import FONT_PT, LINE_IN, Pen
from platforms.picture.scales import GREY, MOST_BORDER_PT, Scales, kind_of, legend_rows
from platforms.survey import bandwidth_text, count_text, latency_text, survey

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    # Imported here because it is slow to import.
    from matplotlib.figure import Figure

    title, *subtitle = _title(platform, shown)
    legend = legend_rows(shown, scales)
    left, bottom, right, top = _bounds(placed, sizes)
    texts = (*subtitle, *(text for _, text in legend))
    width = max([right - left, _width(title, bold=True) * 1.25, *(_width(t, bold=False) + 0.6 for t in texts)]) + 0.3
    head, foot = 0.36 + len(subtitle) * LINE_IN, 0.2 + len(legend) * LINE_IN * 1.15
    height = top - bottom + head + foot
    scale = min(1.0, MOST_IN[0] / width, MOST_IN[1] / height)
    figure = Figure(figsize=(width * scale, height * scale), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    centre = (left + right) / 2
    axes.set_xlim(centre - width / 2, centre + width / 2)
    axes.set_ylim(bottom - foot, top + head)
    axes.axis("off")
    at = centre - width / 2 + 0.15
    pen = Pen(axes, scale)
    pen.text(at, top + head - 0.14, title, size=FONT_PT * 1.2, weight="bold", ha="left")
    for i, line in enumerate(subtitle):
        pen.text(at, top + head - 0.34 - i * LINE_IN, line, colour=GREY, ha="left")
    for box in placed.boxes:
        pen.zone(box)
    for span in shown.graph.spans:
        pen.span(span, placed.centres, scales)
    for vertex, (x, y) in placed.centres.items():
        if vertex < shown.graph.parts:
            pen.part(shown.parts[vertex], x, y, sizes[vertex])
        elif shown.hub and vertex == shown.hub.vertex:
            border_pt = min(scales.width_pt(shown.hub.bandwidth_Bps), MOST_BORDER_PT)
            pen.bus(shown.hub.lines, x, y, sizes[vertex], scales.colour(shown.hub.latency_s), border_pt)
        elif vertex in shown.graph.buses:
            links = shown.graph.buses[vertex]
            rate, latency_s, _ = kind_of(links)
            lines = _bus_lines(links) if named_buses else ()
            border_pt = min(scales.width_pt(rate), MOST_BORDER_PT)
            pen.bus(lines, x, y, sizes[vertex], scales.colour(latency_s), border_pt)
        else:
            pen.joint(x, y)
    for i, (sample, text) in enumerate(legend):
        pen.legend_row(at, bottom - 0.24 - i * LINE_IN * 1.15, sample, text)
    return figure


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
