"""One point of a curve: a program on one number of ranks, predicted, with the longest part of its critical path.

Longest part of the critical path: computation of a cluster, latency between clusters, or bandwidth of a link.

The critical path of the program's graph is a chain of computations and messages without slack.  Its time is divided
among the clusters that compute, the latencies of messages, and, for the rest of a message's time, the link on its path
that has the most to carry: the largest ratio of all bytes of the program over the link to its capacity.  The bottleneck
that a prediction names (predictor/dpgraph/bottleneck.py) is of the whole run and all ranks instead.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from apps.options.runner import PoolOptions, RunnerOptions, checked_pool, runner_from_request, store_from_request
from apps.recording.events import Kind, Op
from apps.results.cautions import Cautions
from apps.runs.engines import run_identity
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.terminal.progress import doing
from predictor.answers.answers import complete, fit
from predictor.base import CallCertainty, Learning, Model, Prediction, Predictor
from predictor.evidence.broker import Broker
from predictor.families import VARIANTS
from predictor.graph.places import places_of
from predictor.plugins import is_own
from predictor.registry import predictor
from predictor.series.pool import Failure, Kept, answers, sources_hash

if TYPE_CHECKING:
    from apps.recording.events import Recording
    from predictor.dpgraph.network import NetworkModel
    from predictor.dpgraph.program import Program, Sections
    from predictor.graph.dates import Step


KIND = "prediction"  # of apps.store.KINDS
_SOURCES = ("platforms", "apps/recording", "apps/results", "predictor")
_INSIDE_NODES = "messages inside nodes"
_MOST_DATES = 1 << 27  # ranks times the most instructions of one: their dates would take 1 GB, and are then left out


@dataclass(frozen=True)
class Asked:
    """A point to predict; a process of the pool gets all that it needs with it."""

    target: Target
    settings: Settings
    predictor: str  # its name
    runs: RunnerOptions  # how the runs of the evidence are started and kept
    recorded: str | None = None  # as in LearningOptions, for predictors that learn
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Point:
    """The prediction of one point."""

    time_s: float
    low_s: float | None  # the 90 % interval
    high_s: float | None
    no_interval: str | None  # why there is none
    compute_s: float | None  # part of the time, where the model gives it
    energy_j: float | None
    critical_part: CriticalPart | None
    cautions: tuple[str, ...]
    remarks: tuple[str, ...]
    evidence_node_s: float
    wall_s: float  # elapsed time on this computer, gathering the evidence included
    calls: tuple[CallCertainty, ...] = ()  # how sure each is, where the program was learned
    communication_only: bool = False  # as in predictor.base.Prediction


def asked_predictor(name: str, recorded: str | None, known: Sequence[str]) -> Predictor:
    """Return a predictor, with the options of one that learns if it does.

    Raises:
        UserError: The name is not known, or an option cannot be read.
    """
    made = predictor(name)
    return made.with_options(recorded, known) if isinstance(made, Learning) and (recorded or known) else made


def predicted(asked: Asked) -> Point:
    """Return the prediction of a point.

    Raises:
        UserError: The point is out of the predictor's range, or its evidence cannot be had.
        SimulationError: A run of the evidence fails.
    """
    started = time.perf_counter()
    model, said, target = asked_predictor(asked.predictor, asked.recorded, asked.known), Cautions(), asked.target
    with runner_from_request(asked.runs, cautions=said, saying=False) as runner:
        fitted, evidence = fit(model, [target], Broker.of(asked.settings, [target], runner))
        prediction = complete(fitted.predict(target), model.name, target, evidence)
        held_by = critical_part(fitted, prediction, target)
    ends = prediction if prediction.interval is None and prediction.calls else prediction.interval
    return Point(
        time_s=prediction.time_s,
        low_s=None if ends is None else ends.low_s,
        high_s=None if ends is None else ends.high_s,
        no_interval=prediction.no_interval,
        compute_s=prediction.parts.get("compute_s"),
        energy_j=prediction.energy_j,
        critical_part=held_by,
        cautions=(*prediction.flags, *said.lines()),
        remarks=tuple(prediction.remarks),
        calls=prediction.calls,
        evidence_node_s=prediction.cost.node_s,
        communication_only=prediction.communication_only,
        wall_s=time.perf_counter() - started,
    )


def points(asked: Sequence[Asked], pool: PoolOptions, names: Sequence[str]) -> list[Point | Failure]:
    """Return the prediction of each point, or why there is none.

    Several are made at a time and stored; an interrupted command continues from the store.  What a predictor from
    outside the project says is not kept, because its sources are not known, and neither is what rests on computation
    that is timed; their runs are.

    Raises:
        UserError: An option is wrong, or a process was killed.
        KeyboardInterrupt: With the number of predictions that are kept.
    """
    jobs = checked_pool(pool)
    kept = [not is_own(one.predictor) or one.predictor in VARIANTS for one in asked]
    timed = any(one.settings.compute == "measured" for one in asked)
    with store_from_request(pool) as store, doing("predicting"):
        place = Kept(KIND, Point, store if all(kept) and not timed else None)
        return answers(asked, predicted, [_identity(one) for one in asked], place, jobs=jobs, names=names)


def _identity(asked: Asked) -> dict[str, Any]:
    """Return all that decides a prediction, as JSON values."""
    return {
        "predictor": asked.predictor,
        "recorded": asked.recorded,
        "known": list(asked.known),
        "run": run_identity(asked.settings.spec(asked.target)),
        "sources": sources_hash(*_SOURCES),
    }


@dataclass(frozen=True)
class CriticalPart:
    """The largest part of a run's critical path."""

    name: str  # such as "computation on c1"
    share: float  # of the critical path
    call: str | None  # the call with the largest share of the critical path, with its place where known
    call_share: float  # of the critical path


@runtime_checkable
class HasGraph(Protocol):
    """A model that evaluates a program's graph on a network."""

    def sections(self, target: Target) -> Sections:
        """Return the iterations of a target's program."""

    def network(self, target: Target) -> NetworkModel:
        """Return the network between the target's hosts."""

    def recording_of(self, target: Target) -> Recording | None:
        """Return the recording of the target's program, where there is one."""


def critical_part(model: Model, prediction: Prediction, target: Target) -> CriticalPart | None:
    """Return what holds a predicted run up; None: the model does not show it.

    A model without a graph shows at most whether the run computes or communicates longer.
    """
    if isinstance(model, HasGraph):
        return _of_graph(model, target)
    share = prediction.compute_share
    if share is None:
        return None
    name, most = ("computation", share) if share >= 0.5 else ("communication", 1 - share)
    return CriticalPart(name, most, None, 0.0)


def _of_graph(model: HasGraph, target: Target) -> CriticalPart | None:
    # Imported here because it is slow to import.
    from predictor.graph.dates import critical_path

    sections, network = model.sections(target), model.network(target)
    program = sections.program()
    if program.nranks * max(program.first[1:] - program.first[:-1]) > _MOST_DATES:
        return None
    hosts = [target.platform.host(host) for host in target.placement]
    speeds, cores = [1 / host.speed_flops for host in hosts], [host.cores for host in hosts]
    steps = critical_path(program, network, target.placement, speeds, cores, timed_rank=sections.timed_rank)
    whole_s = sum(step.end_s - step.begin_s for step in steps)
    if not whole_s > 0:
        return None
    parts = _parts(steps, program, network, target)
    name = max(parts, key=lambda part: parts[part])
    call, call_s = _call(steps, program, target, model.recording_of(target))
    return CriticalPart(name, parts[name] / whole_s, call, call_s / whole_s)


def _parts(steps: Sequence[Step], program: Program, network: NetworkModel, target: Target) -> dict[str, float]:
    """Return the seconds of the critical path by what they are spent on."""
    # Imported here because it is slow to import.
    import numpy as np

    clusters = [target.platform.cluster_of(host).name for host in target.placement]
    messages, paths = network.carry(program, target.placement)
    links, names = list(network.capacity_Bps), _link_names(network, program, target)
    amounts = messages.kinds["amount_bytes"] * np.bincount(messages.kind, minlength=len(messages.kinds))
    by_path = np.bincount(messages.kinds["path"], amounts, len(paths.bound_Bps))
    loads_s = np.bincount(paths.link, np.repeat(by_path, np.diff(paths.first)) * paths.weight, len(links)) / np.maximum(
        paths.capacity_Bps, 1e-300
    )
    parts: defaultdict[str, float] = defaultdict(float)
    for step in steps:
        took_s = step.end_s - step.begin_s
        rank = int(np.searchsorted(program.first, step.instruction, side="right")) - 1
        if step.post is None:
            parts[f"computation on {clusters[rank]}"] += took_s
            continue
        message = int(program.argument[step.instruction])
        source, destination = int(program.source[message]), int(program.destination[message])
        if target.placement[source] == target.placement[destination]:
            parts[_INSIDE_NODES] += took_s
            continue
        kind = messages.kinds[messages.kind[message]]
        latency_s = min(took_s, float(kind["latency_s"]))
        parts[_latency_name(clusters[source], clusters[destination])] += latency_s
        crossed = slice(paths.first[kind["path"]], paths.first[kind["path"] + 1])
        if crossed.stop > crossed.start:
            busiest = max(paths.link[crossed].tolist(), key=lambda link: loads_s[link])
            parts[f"bandwidth of {names[links[busiest]]}"] += took_s - latency_s
        else:
            parts["bandwidth between nodes"] += took_s - latency_s
    return dict(parts)


def _latency_name(a: str, b: str) -> str:
    return f"latency inside {a}" if a == b else f"latency between {min(a, b)} and {max(a, b)}"


def _link_names(network: NetworkModel, program: Program, target: Target) -> dict[str, str]:
    """Return the names of links for readers: those of single nodes are named by their cluster together."""
    ends: dict[str, set[str]] = {}
    placement = target.placement
    for pair in {(placement[at // program.nranks], placement[at % program.nranks]) for at in program.pairs.tolist()}:
        for link in network.ways[pair].links:
            ends[link] = ends.get(link, set(pair)) & set(pair)
    named = {}
    for link in network.capacity_Bps:
        hosts = sorted(ends.get(link, ()))
        if len(hosts) == 1:
            named[link] = f"the node links of {target.platform.cluster_of(hosts[0]).name}"
        else:
            named[link] = link.removesuffix("_UP").removesuffix("_DOWN")
    return named


def _call(
    steps: Sequence[Step], program: Program, target: Target, recording: Recording | None
) -> tuple[str | None, float]:
    """Return the call whose messages take the most of the critical path, with its place, and their seconds."""
    if recording is None or program.site is None:
        return None, 0.0
    by_site: defaultdict[int, float] = defaultdict(float)
    for step in steps:
        if step.post is not None:
            by_site[int(program.site[step.instruction])] += step.end_s - step.begin_s
    if not by_site:
        return None, 0.0
    site = max(by_site, key=lambda site: by_site[site])
    name = _operation(recording, site)
    try:
        places = places_of(target.problem, recording.paths)
    except UserError:  # the compiler's addr2line is missing: the place stays unknown
        places = ()
    place = places[site - 1] if 0 < site <= len(places) else None
    return (f"{name} at {place}" if place else name), by_site[site]


def _operation(recording: Recording, site: int) -> str:
    """Return the name of the MPI operation that is called from a place."""
    for events in recording.events:
        collectives = events[(events["site"] == site) & (events["kind"] == Kind.COLLECTIVE)]
        if len(collectives):
            return Op(int(collectives["op"][0])).name.lower()
    return "messages"
