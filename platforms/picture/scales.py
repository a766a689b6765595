"""Widths and colours of links in a picture, and the legend that explains them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from platforms.model.platform import Link
from platforms.picture.link_graph import cable
from platforms.picture.parts import Parts
from platforms.plotting.boxes import Colour, Sample, dark_shade
from platforms.survey import bandwidth_text, count_text, latency_text, range_text

GREY = "#6b6b6b"
MOST_BORDER_PT = 2.5
_MOST_KINDS = 8  # kinds of links that the legend lists one by one
_WIDEST_PT, _NARROWEST_PT, _PT_PER_DECADE = 4.5, 0.9, 1.4
_FEW_LINES = 16  # more lines are drawn thinner
Kind = tuple[float, float, str]  # kind of link: bandwidth, byte/s; latency, s; sharing


class Scales:
    """Widths and colours for the links that a picture shows."""

    def __init__(self, shown: Parts):
        links = [row for span in shown.graph.spans if (row := span.links)] + list(shown.graph.buses.values())
        self.kinds = sorted({kind_of(row) for row in links}, key=lambda kind: (-kind[0], kind[1], kind[2]))
        rates = [rate for rate, _, _ in self.kinds if math.isfinite(rate)]
        positive = [latency_s for _, latency_s, _ in self.kinds if latency_s > 0]
        positive += [span.latency_s for span in shown.graph.spans if not span.links and span.latency_s > 0]
        hub = shown.hub
        if hub:
            rates += [hub.bandwidth_Bps] if math.isfinite(hub.bandwidth_Bps) else []
            positive += [hub.latency_s] if hub.latency_s > 0 else []
        self.widest_Bps = max(rates, default=1.0)
        self.thinned = min(1.0, math.sqrt(_FEW_LINES / max(len(links), 1)))
        low, high = min(positive, default=1e-6), max(positive, default=1e-6)
        middle, decades = math.log10(low * high) / 2, max(math.log10(high / low), 2.0)
        self.low, self.high = middle - decades / 2, middle + decades / 2
        self.latencies_s = (low, high)

    def width_pt(self, bandwidth_Bps: float) -> float:
        """Return the width of a line in points."""
        if not math.isfinite(bandwidth_Bps):
            return _NARROWEST_PT
        decades = math.log10(self.widest_Bps / bandwidth_Bps)
        return max((_WIDEST_PT - _PT_PER_DECADE * decades) * self.thinned, _NARROWEST_PT)

    def colour(self, latency_s: float) -> Colour:
        """Return the colour for a latency: red, green, blue and opacity, each from 0 to 1."""
        share = 0.0 if latency_s <= 0 else (math.log10(latency_s) - self.low) / (self.high - self.low)
        return dark_shade(share)


def kind_of(links: Sequence[Link]) -> Kind:
    """Return bandwidth, latency and sharing of the narrowest of links in series, rounded as in the legend."""
    narrowest = min(links, key=lambda link: link.bandwidth_Bps)
    duplex = narrowest.name != cable(narrowest)
    shared = {"shared": "shared by both directions", "fatpipe": "not shared"}.get(narrowest.sharing, narrowest.sharing)
    latency_s = sum(link.latency_s for link in links)
    return float(f"{narrowest.bandwidth_Bps:.3g}"), float(f"{latency_s:.3g}"), "" if duplex else shared


def _kind_text(kind: Kind) -> str:
    rate, latency_s, shared = kind
    return ", ".join(
        filter(None, (bandwidth_text(rate), latency_text(latency_s), shared or "each direction for itself"))
    )


def legend_rows(shown: Parts, scales: Scales) -> list[tuple[Sample | None, str]]:
    """Return the rows of the legend: a sample of a line, or None, and a text."""
    rows: list[tuple[Sample | None, str]] = []
    if len(scales.kinds) <= _MOST_KINDS:
        counts = _counts(shown)
        for kind in scales.kinds:
            text = f"{_kind_text(kind)} ({count_text(counts[kind], 'link')})"
            rows.append(((scales.width_pt(kind[0]), scales.colour(kind[1]), "-"), text))
    else:
        finite = [rate for rate, _, _ in scales.kinds if math.isfinite(rate)]
        for rate in dict.fromkeys((max(finite), math.sqrt(max(finite) * min(finite)), min(finite))):
            rows.append(((scales.width_pt(rate), GREY, "-"), f"bandwidth {bandwidth_text(rate)}"))
        low, high = scales.latencies_s
        for latency_s in dict.fromkeys((low, math.sqrt(low * high), high)):
            rows.append(((3.0, scales.colour(latency_s), "-"), f"latency {latency_text(latency_s)}"))
    unlinked = [span for span in shown.graph.spans if not span.links]
    apart = [span.latency_s for span in unlinked if span.latency_s > 0]
    if apart:
        between = range_text(min(apart), max(apart), latency_text)
        rows.append(((1.2, scales.colour(max(apart)), (0, (4, 2))), f"no link, latency by distance: {between}"))
    if len(apart) < len(unlinked):
        rows.append(((0.9, GREY, (0, (1, 1.5))), "joined without a link of its own"))
    if rows:
        rows.append((None, "Latency one way, before the factors of SimGrid's network models"))
    return rows


def _counts(shown: Parts) -> dict[Kind, int]:
    counts: dict[Kind, int] = {}
    for links, number in [(s.links, s.parallel) for s in shown.graph.spans if s.links] + [
        (links, 1) for links in shown.graph.buses.values()
    ]:
        counts[kind_of(links)] = counts.get(kind_of(links), 0) + number
    return counts
