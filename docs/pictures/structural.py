"""The structural predictor: one product of CG, step by step, by the recurrence and in the simulated run."""

from __future__ import annotations

import numpy as np

from apps.runs.record_events import run_recorded
from apps.runs.runner import Runner
from apps.spec.target import Target
from apps.traffic import traffic
from pictures import spacetime
from pictures.runs import SETTINGS, Case, case
from pictures.spacetime import Diagram, Message, Span
from pictures.style import card, percent, seconds
from platforms.plotting.charts import Figure
from predictor.base import Evidence
from predictor.structural.contention import Shares, share
from predictor.structural.measured import EAGER, SYNCHRONOUS, measured_paths
from predictor.structural.schedule import COMPUTE, EXCHANGE, Schedule, schedule

TITLE = "The structural predictor: computations and messages of a product of CG, predicted beside simulated"
_MILLI = 1e-3
# Relative: delays on links that clusters share, by messages of the same step and of others, and iterations that are
# extrapolated, are left out here.
_SAME = 1e-2
_EARLIER = 0.008  # of a product: other ranks may begin it a little before rank 0
_ITERATIONS = 3  # recorded; the last but one is shown


def draw(runner: Runner) -> Figure:
    """Return the picture for CG, class B, on the 8 nodes of grid4x2."""
    made = case(runner, ("structural",), "cg", scenario="grid4x2")
    target = made.target
    predicted = _product(_predicted(made))
    recording = run_recorded(SETTINGS.spec(target), _ITERATIONS, what=str(target), time_limit_s=None)
    simulated = _product(spacetime.recorded(recording))
    clusters = [target.platform.cluster_of(host).name for host in target.placement]
    names = [f"rank {rank}, {name}" for rank, name in enumerate(clusters)]
    far = [(a, b) for a in range(len(names)) for b in range(len(names)) if clusters[a] != clusters[b]]
    figure = card(5.6)
    panels = figure.subplots(2, sharex=True)
    titles = (
        f"Predicted by the recurrence (whole run: {seconds(made.predictions['structural'].time_s)}, "
        f"{percent(made.error_pct('structural'))})",
        f"Simulated (whole run: {seconds(made.truth.time_s)})",
    )
    last_s = max(one.end_s for part in (predicted, simulated) for one in (*part.spans, *part.messages))
    for axes, part, title in zip(panels, (predicted, simulated), titles, strict=True):
        axes.set_xlim(0, 1.01 * last_s / _MILLI)
        spacetime.draw(axes, part, names, far=far, unit_s=_MILLI)
        axes.set_title(title)
    panels[-1].set_xlabel("time, ms")
    spacetime.legend(figure)
    return figure


def _product(diagram: Diagram) -> Diagram:
    """Return the part from one product, which is a long computation of rank 0, up to the next one."""
    own = [span for span in diagram.spans if span.rank == 0]
    longest_s = max(span.end_s - span.begin_s for span in own)
    begins_s = [span.begin_s for span in own if span.end_s - span.begin_s > longest_s / 2]
    middle = len(begins_s) // 2
    before_s = _EARLIER * (begins_s[middle + 1] - begins_s[middle])
    return diagram.between(begins_s[middle] - before_s, begins_s[middle + 1] - before_s)


def _predicted(made: Case) -> Diagram:
    """Return the run by the recurrence of predictor/structural/recurrence.py, which itself keeps no times of steps.

    Raises:
        ValueError: It does not take as long as the prediction.
    """
    target = made.target
    probe, *messages = made.evidence["structural"]
    steps, ground = schedule(target.problem, target.nranks), measured_paths(*messages)
    paths, protocol = ground.at(steps.size_bytes)
    number = {host: at for at, host in enumerate(ground.hosts)}
    hosts = np.array([[number[host] for host in target.placement]], np.int32)
    walk = _Walk(steps, share(steps, paths, hosts, protocol), protocol, _s_per_flop(probe, target))
    time_s = walk.run(target.iterations)
    if abs(time_s / made.predictions["structural"].time_s - 1) > _SAME:
        raise ValueError(
            f"the steps add up to {time_s} s, not to the prediction: does recurrence.py do them otherwise?"
        )
    return Diagram(walk.spans, walk.messages)


def _s_per_flop(probe: Evidence, target: Target) -> list[float]:
    """Return the seconds per flop of every rank: computation over flops of the probe's rank on its cluster."""
    asked, platform = probe.request.target, target.platform
    flops = traffic(asked.problem, asked.nranks).totals(asked.iterations).flops
    known = {
        platform.cluster_of(host).name: time_s / own
        for host, time_s, own in zip(probe.record.host, probe.record.compute_s, flops, strict=True)
    }
    return [known[platform.cluster_of(host).name] for host in target.placement]


class _Walk:
    """The recurrence over the ranks, which notes computations and messages."""

    def __init__(self, steps: Schedule, shares: Shares, protocol: np.ndarray, s_per_flop: list[float]):
        self._steps, self._protocol, self._s_per_flop = steps, protocol, s_per_flop
        self._latency_s, self._flow_s = shares.latency_s[0], shares.flow_s[0]
        self._now = [0.0] * len(s_per_flop)
        self.spans: list[Span] = []
        self.messages: list[Message] = []

    def run(self, iterations: int) -> float:
        """Do all steps and return the time of the slowest rank, s."""
        self._segment(0)
        start_s = list(self._now)
        for segment in (1, *[2] * (iterations - 1), 3, 4):
            self._segment(segment)
        return max(end_s - begin_s for begin_s, end_s in zip(start_s, self._now, strict=True))

    def _segment(self, number: int) -> None:
        for step in range(*self._steps.segment[number : number + 2]):
            if self._steps.kind[step] == COMPUTE:
                self._compute(self._steps.item[step])
            elif self._steps.kind[step] == EXCHANGE:
                self._exchange(self._steps.item[step])

    def _compute(self, item: int) -> None:
        for rank, flops in enumerate(self._steps.flops[item]):
            end_s = self._now[rank] + flops * self._s_per_flop[rank]
            self.spans.append(Span(rank, self._now[rank], end_s))
            self._now[rank] = end_s

    def _exchange(self, item: int) -> None:
        steps, posted, arrived = self._steps, list(self._now), list(self._now)
        for m in range(steps.first[item], steps.first[item + 1]):
            s, d, mode = int(steps.source[m]), int(steps.destination[m]), self._protocol[steps.size[m]]
            begin_s = self._now[s] if mode == EAGER else max(self._now[s], posted[d])
            end_s = begin_s + self._latency_s[m] + self._flow_s[m]
            self.messages.append(Message(s, d, begin_s, end_s, float(steps.size_bytes[steps.size[m]])))
            if mode == SYNCHRONOUS:
                if steps.at_once[item]:
                    arrived[s] = max(arrived[s], end_s)
                else:
                    self._now[s] = end_s
            arrived[d] = max(arrived[d], end_s)
        if steps.meanwhile[item] >= 0:
            self._compute(steps.meanwhile[item])
        self._now = [max(pair) for pair in zip(self._now, arrived, strict=True)]
