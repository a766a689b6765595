"""Space-time diagrams: what each rank does over time, and the messages between ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from apps.recording.events import Kind, Mark, Recording
from pictures.style import COMPUTATION, INK, NOTE, ORANGE, PALE
from platforms.plotting.charts import Axes, Figure

HEIGHT = 0.3  # of a bar; rows are 1 apart


@dataclass(frozen=True)
class Span:
    """A computation of a rank, s."""

    rank: int
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Message:
    """A message from the moment at which its sender and its receiver are ready to the moment at which it is there."""

    source: int
    destination: int
    begin_s: float
    end_s: float
    size_bytes: float


@dataclass(frozen=True)
class Diagram:
    """What happens in a part of a run."""

    spans: Sequence[Span]
    messages: Sequence[Message]

    def between(self, begin_s: float, end_s: float) -> Diagram:
        """Return what begins in this part, in time since its beginning; computations end with it."""
        return Diagram(
            [
                Span(one.rank, one.begin_s - begin_s, min(one.end_s, end_s) - begin_s)
                for one in self.spans
                if begin_s <= one.begin_s < end_s
            ],
            [
                Message(one.source, one.destination, one.begin_s - begin_s, one.end_s - begin_s, one.size_bytes)
                for one in self.messages
                if begin_s <= one.begin_s < end_s
            ],
        )


def recorded(recording: Recording) -> Diagram:
    """Return the timed section of a recorded run.

    The n-th message between two ranks is the n-th receive there.  It ends where its receiver stops waiting for it.
    """
    spans, sent, received = [], {}, {}
    for rank, events in enumerate(recording.events):
        kind, clock_s = events["kind"], events["clock_s"]
        ends_s = np.append(clock_s[1:], clock_s[-1])
        start = np.flatnonzero((kind == Kind.MARK) & (events["op"] == Mark.START))[0]
        waits = {int(events["request"][at]): float(ends_s[at]) for at in np.flatnonzero(kind == Kind.WAIT)}
        for at in range(start, len(events)):
            peer = int(events["peer"][at])
            if kind[at] == Kind.COMPUTE:
                spans.append(Span(rank, float(clock_s[at]), float(ends_s[at])))
            elif kind[at] == Kind.SEND:
                sent.setdefault((rank, peer), []).append((float(clock_s[at]), int(events["size_bytes"][at])))
            elif kind[at] == Kind.RECV:
                posted = (float(clock_s[at]), waits[int(events["request"][at])])
                received.setdefault((peer, rank), []).append(posted)
    messages = [
        Message(*pair, max(sent_s, posted_s), end_s, size_bytes)
        for pair, sends in sent.items()
        for (sent_s, size_bytes), (posted_s, end_s) in zip(sends, received[pair], strict=True)
    ]
    return Diagram(spans, messages)


def legend(figure: Figure) -> None:
    """Add a legend of bars and arrows below the panels."""
    figure.legend(
        handles=[
            Patch(color=COMPUTATION, label="computation"),
            Line2D([], [], color=INK, label="message within a cluster"),
            Line2D([], [], color=ORANGE, label="message between clusters"),
        ],
        loc="outside lower center",
        ncols=3,
    )


def draw(axes: Axes, diagram: Diagram, names: Sequence[str], *, far: Iterable[tuple[int, int]], unit_s: float) -> None:
    """Draw a bar for each computation and an arrow for each message to another rank.

    Args:
        axes: Where to draw.
        diagram: What to draw.
        names: Labels of the ranks.
        far: Pairs of ranks whose messages leave a cluster; their arrows have another colour.
        unit_s: The unit of the axis, s.
    """
    distant = set(far)
    for span in diagram.spans:
        begin, width = span.begin_s / unit_s, (span.end_s - span.begin_s) / unit_s
        axes.barh(span.rank, width, left=begin, height=HEIGHT, color=COMPUTATION, zorder=2)
    for one in diagram.messages:
        if one.source == one.destination:
            continue
        side = HEIGHT / 2 if one.destination > one.source else -HEIGHT / 2
        axes.annotate(
            "", (one.end_s / unit_s, one.destination - side), (one.begin_s / unit_s, one.source + side), zorder=3,
            arrowprops={
                "arrowstyle": "-|>,head_width=0.13,head_length=0.3", "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0,
                "color": ORANGE if (one.source, one.destination) in distant else INK,
            },
        )  # fmt: skip
    axes.set_yticks(range(len(names)), names, fontsize=NOTE)
    axes.tick_params(axis="y", length=0)
    axes.hlines(range(len(names)), 0, axes.get_xlim()[1], color=PALE, linewidth=0.8, zorder=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
