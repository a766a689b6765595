"""Predicted against simulated: one row per predictor and target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any

from apps.engine import simulate
from apps.errors import SimulationError
from apps.record import RunRecord
from apps.runner import Runner
from apps.spec import RunSpec, Settings, Target
from platforms.errors import UserError
from platforms.placement import probe_placement
from predictor.base import Evidence, Predictor
from predictor.evidence import Broker
from predictor.hcf import Probe, read_probe
from predictor.predict import Answer, answers_or_reasons
from predictor.regime import own_compute_share
from validation.truth import MeasuredTimes


@dataclass(frozen=True)
class Result:
    """One prediction beside its truth.  None where there is no number: no probe, or out of the model's range."""

    scenario: str
    network: str | None  # None: the platform file defines its own
    platform_hash: str
    app: str
    preset: str | None  # the class, or the size N; the column is called class
    ranks: int
    mapping: str
    predictor: str
    probe_cp_s: float | None  # computation of the probe's slowest task
    probe_cm_s: float | None  # the rest of that task's time
    compute_share: float | None  # of the simulated run: computation of the rank that computes longest, over its time
    predicted_s: float | None
    simulated_s: float  # the truth, which may have been measured: see truth
    error_pct: float | None  # 100 (predicted - simulated) / simulated
    abs_error_pct: float | None
    evidence_node_s: float  # node-seconds of all that the predictor asked for, for this target
    evidence_share: float  # of the full run's node-seconds
    simulation_wall_s: float
    prediction_wall_s: float  # the model alone
    evidence_wall_s: float
    iterations: int  # of the problem; 0: it has none
    iterations_simulated: int  # of the truth; 0: it was measured
    period: int | None  # in iterations; None where all was simulated
    extrapolation_bound: float | None  # relative error of simulated_s at most; 0: all simulated; None: unknown
    efficiency: float  # share of the nodes' speed that the kernel sustains
    flags: str  # the prediction's cautions, or why there is none
    truth: str  # "simulation", or "measurement" on a real machine
    # Of the hosts in use over the timed section; None where the platform gives no watts, or the truth was measured.
    energy_predicted_j: float | None
    energy_simulated_j: float | None
    energy_error_pct: float | None  # 100 (predicted - simulated) / simulated
    edp_predicted_js: float | None  # energy-delay product: energy times run time
    edp_simulated_js: float | None
    predicted_compute_share: float | None  # computation's part of predicted_s; None: the model does not tell it
    # What the validity map says of the error at that share (predictor/regime.py); None where it says nothing.
    range_low_pct: float | None
    range_high_pct: float | None
    in_range: bool | None  # whether error_pct lies between the two
    simulated_node_s: float  # node-seconds of the full run, the truth
    clusters: str  # that have ranks, by name, separated by blanks

    def to_json(self) -> dict[str, Any]:
        """Field names and values; ``preset`` under its column name ``class``."""
        return {COLUMN_NAMES.get(name, name): value for name, value in asdict(self).items()}


COLUMN_NAMES = {"preset": "class"}
COLUMNS = tuple(COLUMN_NAMES.get(field.name, field.name) for field in fields(Result))


@dataclass(frozen=True)
class Failure:
    """A target whose truth or evidence could not be simulated."""

    target: Target
    error: UserError | SimulationError

    @property
    def bad_input(self) -> bool:
        return isinstance(self.error, UserError)


def validate(
    targets: Sequence[Target],
    models: Sequence[Predictor],
    settings: Settings,
    *,
    mapping: str,
    runner: Runner,
    measured: MeasuredTimes | None = None,
    witness: Callable[[Answer, RunRecord, Result], None] | None = None,
) -> Iterator[Result | Failure]:
    """Predicts every target with every model, and compares with its simulated run; yields in the order of the targets.

    With ``measured``, those times are the truth, and no target is simulated.  A predictor sees nothing but its
    evidence; one that asks for the target's own run gives no answer, nor does one whose evidence cannot be had.  A
    target that fails does not stop the others.
    ``witness`` is told of every answer with its truth, before the result of them is yielded.
    """
    if measured is None:
        runner.start(runs(targets, models, settings))
    else:
        runner.start(runs([one for one in targets if measured.knows(one)], models, settings, simulating=False))
    broker = Broker.of(settings, targets, runner)
    for target in targets:
        try:
            truth = None if measured is None else measured.record(settings.spec(target))
            answers = [answers_or_reasons(model, [target], broker)[0] for model in models]
            truth = truth or runner.record(settings.spec(target))
            _check_time(truth, target)
        except (UserError, SimulationError) as err:
            yield Failure(target, err)
            continue
        for answer in answers:
            result = compare(answer, truth, mapping=mapping)
            if witness is not None:
                witness(answer, truth, result)
            yield result


def runs(
    targets: Sequence[Target], models: Sequence[Predictor], settings: Settings, *, simulating: bool = True
) -> Iterator[RunSpec]:
    """All runs that ``validate`` will need, those of the evidence first, then the largest.

    ``simulating``: those of the targets too.
    """
    broker = Broker(settings, targets, record=simulate)
    for target in targets:
        for model in models:
            with suppress(UserError):  # said when the target's turn comes
                yield from broker.specs(model.requests([target]))
    if simulating:
        yield from (settings.spec(target) for target in sorted(targets, key=lambda target: -target.nranks))


def _check_time(truth: RunRecord, target: Target) -> None:
    if truth.time_s == 0:
        where = f"{target.problem} on {target.nranks} ranks of {target.platform.name}"
        raise UserError(where, "takes no time at all, so that errors mean nothing", "Let it compute or communicate")


def compare(answer: Answer, truth: RunRecord, *, mapping: str) -> Result:
    """The row of one answer."""
    target, prediction = answer.target, answer.prediction
    probe = _probe(answer)
    predicted_s = None if prediction is None else prediction.time_s
    error_pct = None if predicted_s is None else 100 * (predicted_s - truth.time_s) / truth.time_s
    node_s = sum(e.cost.node_s for e in answer.evidence)
    expected = None if prediction is None else prediction.error_range
    energy_j, simulated_j = None if prediction is None else prediction.energy_j, truth.used_energy_j
    iterations = target.iterations if target.problem.iterative else 0
    simulated, extrapolation = truth.source == "simulation", truth.extrapolation
    return Result(
        scenario=target.platform.name,
        network=target.platform.network,
        platform_hash=target.platform.content_hash,
        app=target.problem.app,
        preset=target.problem.label,
        ranks=target.nranks,
        mapping=mapping,
        predictor=answer.predictor,
        probe_cp_s=None if probe is None else probe.Tcp_slower_s,
        probe_cm_s=None if probe is None else probe.Tcm_s,
        compute_share=max(truth.compute_s) / truth.time_s if truth.compute_s else None,
        predicted_s=predicted_s,
        simulated_s=truth.time_s,
        error_pct=error_pct,
        abs_error_pct=None if error_pct is None else abs(error_pct),
        evidence_node_s=node_s,
        evidence_share=node_s / truth.node_seconds,
        simulation_wall_s=truth.wall_s,
        prediction_wall_s=answer.wall_s,
        evidence_wall_s=sum(e.cost.wall_s for e in answer.evidence),
        iterations=iterations,
        iterations_simulated=extrapolation.simulated if extrapolation else iterations if simulated else 0,
        period=extrapolation.period if extrapolation else None,
        extrapolation_bound=extrapolation.bound_rel if extrapolation else 0.0 if simulated else None,
        efficiency=truth.identity["efficiency"],
        flags=answer.refusal or "; ".join(() if prediction is None else prediction.flags),
        truth=truth.source,
        energy_predicted_j=energy_j,
        energy_simulated_j=simulated_j,
        energy_error_pct=100 * (energy_j - simulated_j) / simulated_j if energy_j and simulated_j else None,
        edp_predicted_js=None if energy_j is None or predicted_s is None else energy_j * predicted_s,
        edp_simulated_js=None if simulated_j is None else simulated_j * truth.time_s,
        predicted_compute_share=None if prediction is None else own_compute_share(prediction),
        range_low_pct=None if expected is None else expected.low_pct,
        range_high_pct=None if expected is None else expected.high_pct,
        in_range=None if expected is None or error_pct is None else expected.low_pct <= error_pct <= expected.high_pct,
        simulated_node_s=truth.node_seconds,
        clusters=" ".join(dict.fromkeys(target.platform.cluster_of(host).name for host in target.placement)),
    )


def _probe(answer: Answer) -> Probe | None:
    """The run on one node per cluster, if the predictor asked for one."""
    wanted = probe_placement(answer.target.platform)
    probes: list[Evidence] = [
        e for e in answer.evidence if e.request.kind == "run" and e.request.target.placement == wanted
    ]
    return read_probe(probes[0]) if probes else None
