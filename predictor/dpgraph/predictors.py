"""The graph predictors: the time of a recorded program on a network on which it has not run.

``dpgraph`` measures the network by messages between the target's nodes.  ``dpgraph:known`` reads SimGrid's documented
constants and the platform file, so its accuracy shows only that the fluid model is SimGrid's: it is a check of the
implementation.  Both extend K.-C. Li's graphs of sequential segments and communications ("A Strategy for Point-to-point
Node Communication Performance Prediction in Cluster Environments") by matched messages, waiting, protocols and shared
links.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from apps.probes.plan import Measurement
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem
from apps.recording.events import Elapse, Recording
from apps.spec.target import Target
from platforms.addons import is_there, provided
from platforms.model.platform import Platform, Route
from platforms.read.read import read_route_table
from platforms.read.routes import routes_between
from platforms.terminal.quantities import percent
from predictor.answers.energy import host_load
from predictor.base import Cost, Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction
from predictor.evidence.targets import one_per_platform

if TYPE_CHECKING:  # these modules import NumPy, which takes long to import
    from predictor.dpgraph.evaluate import Estimate
    from predictor.dpgraph.network import NetworkModel
    from predictor.dpgraph.program import Sections

_MATTERS_REL = 0.02  # relative: unmeasured paths that change the time by less cause no caution
MANY_PAIRS = 1 << 14  # of hosts, from which on their paths are kept as arrays
RECORDED_ITERATIONS = 3  # where all are alike
_FARMS = "apps.recording.farms:answers_in_turn"  # of an add-on
FARM = "calibrated with programs whose ranks do not serve requests in order of arrival"
POLLS = "calibrated with programs that do not ask whether messages have come (MPI_Test, MPI_Iprobe)"
OF_THE_FILE = (
    "this is the time on the platform as its file describes it; how well the file describes a real machine is not known"
)
RoutesOf = Callable[[Sequence[tuple[str, str]]], Sequence[Route]]


def iterations_to_record(target: Target) -> int:
    """Return how many iterations of a target to record: all, where those of its kernel differ."""
    problem = target.problem
    if problem.iterative and problem.program is None and not named_kernel(problem.name).uniform:
        return target.iterations
    return min(RECORDED_ITERATIONS, target.iterations)


@dataclass(frozen=True)
class _Program:
    """The evidence on a problem on a number of ranks."""

    recording: Recording
    evidence: str
    cost: Cost


@dataclass(frozen=True)
class _Surroundings:
    """The evidence on a platform."""

    hosts: frozenset[str]  # hosts of all targets on the platform
    options: Mapping[str, str] | None  # declared options; None: the network was measured
    given: Mapping[str, str]  # SimGrid options given by the user, if the network was measured
    measurements: tuple[Measurement, ...]
    evidence: tuple[str, ...]
    cost: Cost


@dataclass(frozen=True)
class GraphModel:
    """Recordings of programs, and declared or measured networks."""

    name: str
    programs: Mapping[tuple[Problem, int], _Program]  # by problem and number of ranks
    surroundings: Mapping[str, _Surroundings]  # by content hash of the platform

    def predict(self, target: Target, slowdown: Mapping[str, float] | None = None) -> Prediction:
        """Return the time of the evaluated graph.

        Args:
            target: The target.
            slowdown: By cluster, f_max / f of nodes at a reduced frequency (predictor/clock).

        Raises:
            OutOfRange: The measured times of messages do not lie on lines.
        """
        # Imported here because they are slow to import.
        from predictor.dpgraph.bottleneck import bottleneck, link_loads_s
        from predictor.dpgraph.evaluate import estimate
        from predictor.dpgraph.unexplained import unexplained

        program = self.programs[target.problem, target.nranks]
        around = self.surroundings[target.platform.content_hash]
        sections = self.sections(target)
        network = self.network(target)
        hosts = [target.platform.host(host) for host in target.placement]
        slower = slowdown or {}
        s_per_flop = [slower.get(target.platform.cluster_of(host.name).name, 1.0) / host.speed_flops for host in hosts]
        cores = [host.cores for host in hosts]

        def estimated(network: NetworkModel) -> Estimate:
            return estimate(
                sections,
                target.iterations,
                network,
                target.placement,
                s_per_flop,
                cores,
                busy_hosts=_unknown_from_totals(target),
            )

        made = estimated(network)
        each_s = sections.flops(target.iterations) * s_per_flop + sections.elapsed_s(target.iterations, Elapse.ON_CORE)
        compute_s = sections.time_s(each_s + sections.elapsed_s(target.iterations, Elapse.ASLEEP))
        loads_s = {}
        if around.options is not None:  # measured links have no names known to the user
            # One more than were recorded: the recorded ones alone have no loop.
            counted = made.iterations + (made.iterations == sections.iterations < target.iterations)
            evaluated = sections.looped(counted) if sections.iterations else sections.program()
            loads_s = link_loads_s(evaluated, network, target.placement, target.iterations, counted)
        hidden: tuple[str, ...] = ()
        if around.options is None:
            hidden = with_effect(
                _unmeasured(target, sections, network), made.time_s, lambda: self._by_file(target, estimated)
            )
        ends = sections.host_pairs(target.placement) if network.unexplained else ()
        sharing = unexplained(network, ends, made.time_s, lambda other: estimated(other).time_s)
        return Prediction(
            time_s=made.time_s,
            parts={"compute_s": compute_s, "comm_s": made.time_s - compute_s},
            bottleneck=bottleneck(target, made.time_s, each_s.tolist(), loads_s) if made.time_s > 0 else None,
            flags=(*_flags(program, around.options, network), *hidden, *sharing, *_others(made.others)),
            no_interval=POLLS if sections.polls else FARM if _is_farm(target, program.recording) else None,
            unlike=around.options is None and bool(hidden or network.cautions or network.unexplained),
            remarks=(*program.recording.remarks, *(() if around.options is None else (OF_THE_FILE,))),
            evidence=(program.evidence, *around.evidence),
            cost=program.cost + around.cost,
            loads=_loads(target, each_s.tolist(), made),
            span_s=made.span_s,
        )

    def _by_file(self, target: Target, estimated: Callable[[NetworkModel], Estimate]) -> float:
        """Return the time on the network of the platform file, for cautions only; NaN: not known."""
        # Imported here because it is slow to import.
        from predictor.dpgraph.known import known_network

        routes = routes_between(target.platform, sorted(self.sections(target).host_pairs(target.placement)))
        try:
            return estimated(known_network(routes, dict(target.platform.options))).time_s
        except OutOfRange:
            return math.nan

    def sections(self, target: Target) -> Sections:
        """Return the recorded iterations of a target's program."""
        return _sections(self.programs[target.problem, target.nranks].recording)

    @property
    def sizes(self) -> frozenset[int] | None:
        """The sizes of messages for which the network was measured, or None for any size."""
        return _sizes([program.recording for program in self.programs.values()])

    def recording_of(self, target: Target) -> Recording:
        """Return the recording of a target's program."""
        return self.programs[target.problem, target.nranks].recording

    def measures(self, target: Target) -> bool:
        """Return whether the target's network was measured rather than read from the platform file."""
        return self.surroundings[target.platform.content_hash].options is None

    def network(self, target: Target, routes: RoutesOf | None = None) -> NetworkModel:
        """Return the network between the target's hosts.

        Args:
            target: The target.
            routes: Returns the routes of pairs of hosts if the network is read from a file; None: those of the platform
                file.

        Raises:
            OutOfRange: As ``predict``.
        """
        around = self.surroundings[target.platform.content_hash]
        if around.options is None:
            measured = _measured(target.platform, around.hosts, around.measurements, self.sizes)
            # Imported here because it is slow to import.
            from predictor.dpgraph.known import polling

            return replace(measured, polling=polling({**dict(target.platform.options), **around.given}))
        # Imported here because it is slow to import.
        from predictor.dpgraph.known import known_network, known_table

        asked = sorted(self.sections(target).host_pairs(target.placement))
        if routes is None and len(asked) > MANY_PAIRS:
            return known_table(asked, read_route_table(target.platform, asked), around.options)
        return known_network(
            routes_between(target.platform, asked) if routes is None else routes(asked), around.options
        )


def _flags(program: _Program, options: Mapping[str, str] | None, network: NetworkModel) -> tuple[str, ...]:
    """Return the cautions.  ``options``: the declared options; None if the network was measured."""
    recording = program.recording
    varies = ("computation times were measured and vary from run to run",) if recording.timed else ()
    windows = ("ranks may wait for each other at a window of one-sided calls: left out",)
    said = (*varies, *recording.cautions, *(windows if recording.waits_at_windows else ()))
    if options is None:
        return said + network.cautions
    # Imported here because it is slow to import.
    from predictor.dpgraph.known import declared_cautions

    return said + declared_cautions(options)


def _unmeasured(target: Target, sections: Sections, network: NetworkModel) -> tuple[str, ...]:
    """Return the cautions about effects that the measurements do not show."""
    # Imported here because it is slow to import.
    from predictor.network.unmeasured import unmeasured

    return unmeasured(target.platform, target.placement, sections.partners, network.measured_as)


def with_effect(hidden: tuple[str, ...], time_s: float, by_file: Callable[[], float]) -> tuple[str, ...]:
    """Add to the cautions how much the unmeasured effects change the run; drop the cautions if they change it little.

    Args:
        hidden: The cautions.
        time_s: The time on the measured network.
        by_file: Returns the time on the network of the platform file; NaN if it is not known.
    """
    if not hidden or not time_s > 0:
        return hidden
    longer_rel = by_file() / time_s - 1
    if math.isnan(longer_rel):
        return hidden
    if abs(longer_rel) <= _MATTERS_REL:
        return ()
    how = f"{percent(100 * abs(longer_rel))} % {'longer' if longer_rel > 0 else 'shorter'}"
    return (*hidden[:-1], f"{hidden[-1]}: by the paths of the platform file the run takes {how} (dpgraph:known)")


def _is_farm(target: Target, recording: Recording) -> bool:
    return target.problem.program is not None and is_there(_FARMS) and bool(provided(_FARMS)(recording))


def _others(polls: int) -> tuple[str, ...]:
    if not polls:
        return ()
    return (f"{polls} of the program's polls find other messages than recorded; it then continues as in the recording",)


def _unknown_from_totals(target: Target) -> frozenset[str]:
    """Return the hosts whose energy depends on how far the computations of their ranks overlap in time."""
    several = (target.platform.host(name) for name, ranks in Counter(target.placement).items() if ranks > 1)
    return frozenset(host.name for host in several if host.power and host.power.epsilon_w != host.power.idle_w)


def _loads(target: Target, compute_s: Sequence[float], made: Estimate) -> dict[str, HostLoad]:
    """Return the load of each host; ``compute_s``: computation time of each rank if it had a core of its own."""
    ranks: dict[str, list[float]] = {}
    for host, own_s in zip(target.placement, compute_s, strict=True):
        ranks.setdefault(host, []).append(own_s)
    return {
        name: host_load(
            sum(own_s),
            own_s,
            cores=target.platform.host(name).cores,
            time_s=made.span_s,
            busy_s=made.busy_s.get(name),
        )
        for name, own_s in ranks.items()
    }


@dataclass(frozen=True)
class GraphPredictor:
    """A graph predictor.

    A problem is recorded once for all targets with the same number of ranks.  A network is measured once for all hosts
    of the targets on its platform.
    """

    name: str
    measures: bool  # the network is measured by messages; else it is read from the platform file
    unequal_shares = True

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for recordings and for the first measurement, or the declaration, of each network."""
        programs = {(target.problem, target.nranks): target for target in reversed(targets)}
        asked = [
            EvidenceRequest("recording", target, iterations=iterations_to_record(target))
            for target in reversed(programs.values())
        ]
        for target in one_per_platform(targets):
            request = self._plan(target, (), None) if self.measures else EvidenceRequest("declared", target)
            asked += [] if request is None else [request]
        return asked

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return the requests for the next measurement of each network that needs more."""
        if not self.measures:
            return []
        asked, sizes = [], _sizes([e.recording for e in evidence if e.request.kind == "recording"])
        for target in one_per_platform(targets):
            with suppress(OutOfRange):  # predict raises it again
                request = self._plan(target, _measurements(_of_platform(evidence, target.platform)), sizes)
                asked += [] if request is None else [request]
        return asked

    def fit(self, evidence: Sequence[Evidence]) -> GraphModel:
        """Return the model from all evidence."""
        programs = {
            (e.request.target.problem, e.request.target.nranks): _Program(e.recording, e.id, e.cost)
            for e in evidence
            if e.request.kind == "recording"
        }
        platforms = {e.request.target.platform.content_hash: e.request.target for e in evidence if _is_network(e)}
        surroundings = {key: _surroundings(target, evidence) for key, target in platforms.items()}
        return GraphModel(self.name, programs, surroundings)

    def _plan(
        self, target: Target, results: Sequence[Measurement], sizes: frozenset[int] | None
    ) -> EvidenceRequest | None:
        # Imported here because it is slow to import.
        from predictor.network.survey import next_plan

        plan = next_plan(target.platform, target.placement, results, sizes=sizes)
        return None if plan is None else EvidenceRequest("exchange", target, plan=plan)


def _is_network(evidence: Evidence) -> bool:
    return evidence.request.kind in ("exchange", "declared")


def _of_platform(evidence: Sequence[Evidence], platform: Platform) -> list[Evidence]:
    """Return the evidence on a platform's network."""
    return [e for e in evidence if _is_network(e) and e.request.target.platform.content_hash == platform.content_hash]


def _measurements(evidence: Sequence[Evidence]) -> tuple[Measurement, ...]:
    return tuple(e.measurement for e in evidence if e.request.kind == "exchange")


def _surroundings(target: Target, evidence: Sequence[Evidence]) -> _Surroundings:
    surroundings = _of_platform(evidence, target.platform)
    declared = [e.declared.options for e in surroundings if e.request.kind == "declared"]
    return _Surroundings(
        hosts=frozenset(target.placement),
        options=dict(declared[0]) if declared else None,
        given=dict(surroundings[0].options or ()) if surroundings else {},
        measurements=_measurements(surroundings),
        evidence=tuple(e.id for e in surroundings),
        cost=sum((e.cost for e in surroundings), Cost()),
    )


@lru_cache(maxsize=8)
def _sections(recording: Recording) -> Sections:
    # Imported here because it is slow to import.
    from predictor.dpgraph.program import Sections

    return Sections(recording)


def _sizes(recordings: Sequence[Recording]) -> frozenset[int] | None:
    """Return the sizes of the messages of all programs; None (any) if there are no programs."""
    return frozenset().union(*(_sections(recording).sizes for recording in recordings)) if recordings else None


@lru_cache(maxsize=8)
def _measured(
    platform: Platform, hosts: frozenset[str], results: tuple[Measurement, ...], sizes: frozenset[int] | None
) -> NetworkModel:
    # Imported here because it is slow to import.
    from predictor.dpgraph.measured import measured_network

    return measured_network(platform, sorted(hosts), results, sizes)


DPGRAPH = GraphPredictor("dpgraph", measures=True)
DPGRAPH_KNOWN = GraphPredictor("dpgraph:known", measures=False)
