"""Comparison of predictions with simulated or measured runs: one row per predictor and target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from apps.errors import SimulationError
from apps.results.record import RunRecord
from apps.spec.target import Target
from platforms.errors import UserError
from predictor.answers.answers import Answer
from predictor.base import Evidence, Prediction
from predictor.hcf import Probe, probed_hosts, read_probe
from predictor.intervals.cases import features_of


@dataclass(frozen=True)
class Result:
    """One prediction and its truth.

    A value is None if it does not exist: the predictor used no probe, or the target is out of the model's range.
    """

    scenario: str
    network: str | None  # None: the platform file defines its own
    platform_hash: str
    app: str
    preset: str | None  # the class, or the size N; the column is called class
    ranks: int
    mapping: str
    predictor: str
    probe_cp_s: float | None  # computation of the probe's slowest task
    probe_cm_s: float | None  # remaining time of that task
    compute_share: float | None  # longest computation time of a rank over the run time, simulated
    predicted_s: float | None
    simulated_s: float  # the truth, simulated or measured: see the field truth
    error_pct: float | None  # 100 (predicted - simulated) / simulated
    abs_error_pct: float | None
    evidence_node_s: float  # node-seconds of all evidence for this target
    evidence_share: float  # evidence_node_s over the node-seconds of the full run
    simulation_wall_s: float
    prediction_wall_s: float  # time of the model alone, without its evidence
    evidence_wall_s: float
    iterations: int  # official number of iterations; 0: the problem is not iterative
    iterations_simulated: int  # simulated for the truth; 0: the truth was measured
    period: int | None  # in iterations; None: every iteration was simulated
    extrapolation_bound: float | None  # bound of the relative error of simulated_s; 0: all simulated; None: unknown
    efficiency: float  # share of the nodes' speed that the kernel or program sustains
    flags: str  # the prediction's cautions, or the reason why there is no prediction
    truth: str  # "simulation", or "measurement" on a real machine
    # Shortest and longest of the repeats of a measured truth; None: the truth was simulated, or is a single number.
    true_low_s: float | None
    true_high_s: float | None
    in_repeats: bool | None  # whether predicted_s lies between them
    # Energy of the hosts in use in the timed section; None: the platform gives no watts, or the truth was measured.
    energy_predicted_j: float | None
    energy_simulated_j: float | None
    energy_error_pct: float | None  # 100 (predicted - simulated) / simulated
    edp_predicted_js: float | None  # energy-delay product: energy times run time
    edp_simulated_js: float | None
    energy_basis: str | None  # why there is no predicted energy, or whose watts it rests on; None: the platform file's
    predicted_compute_share: float | None  # computation over predicted_s; None: the model does not separate them
    # Error range of the validity map at this compute share (predictor/answers/regime.py); None: the map gives none.
    range_low_pct: float | None
    range_high_pct: float | None
    in_range: bool | None  # whether error_pct lies in this range
    # Calibrated interval of the true time (predictor/intervals); None: the predictor or the target has no calibration.
    interval_low_s: float | None
    interval_high_s: float | None
    in_interval: bool | None  # whether simulated_s lies in it
    # Features of the prediction on which the interval rests (predictor/intervals/cases.py).
    feature_compute_share: float | None
    feature_ratio: float | None
    feature_fit_residual: float | None
    feature_surroundings: str | None
    simulated_node_s: float  # node-seconds of the full run
    clusters: str  # names of the clusters that have ranks, separated by blanks
    # Time of all computation on the slowest host in use alone (Fanfakh's T_cp_seq) over that of the run.
    speedup_predicted: float | None = None
    speedup_simulated: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the values by column name; the column of ``preset`` is ``class``."""
        return {COLUMN_NAMES.get(name, name): value for name, value in asdict(self).items()}


COLUMN_NAMES = {"preset": "class"}
COLUMNS = tuple(COLUMN_NAMES.get(field.name, field.name) for field in fields(Result))


Witness: TypeAlias = "Callable[[Answer, RunRecord, Result], None]"


@dataclass(frozen=True)
class Failure:
    """A target whose truth or evidence could not be simulated."""

    target: Target
    error: UserError | SimulationError


def compare(answer: Answer, truth: RunRecord, *, mapping: str) -> Result:
    """Return the result row of one answer."""
    target, predicted, probe = answer.target, _predicted(answer.prediction), _probe(answer)
    energy_j, error_pct = truth.used_energy_j, _error_pct(predicted.time_s, truth.time_s)
    iterations = target.iterations if target.problem.iterative else 0
    node_s, repeats = sum(e.cost.node_s for e in answer.evidence), truth.measured
    return Result(
        scenario=target.platform.name,
        network=target.platform.network,
        platform_hash=target.platform.content_hash,
        app=target.problem.name,
        preset=target.problem.label,
        ranks=target.nranks,
        mapping=mapping,
        predictor=answer.predictor,
        probe_cp_s=None if probe is None else probe.Tcp_slower_s,
        probe_cm_s=None if probe is None else probe.Tcm_s,
        compute_share=_compute_share(truth),
        predicted_s=predicted.time_s,
        simulated_s=truth.time_s,
        error_pct=error_pct,
        abs_error_pct=None if error_pct is None else abs(error_pct),
        evidence_node_s=node_s,
        evidence_share=sum(e.once_node_s for e in answer.evidence) / truth.once_node_s,
        simulation_wall_s=truth.wall_s,
        prediction_wall_s=answer.wall_s,
        evidence_wall_s=sum(e.cost.wall_s for e in answer.evidence),
        iterations=iterations,
        iterations_simulated=_iterations_simulated(truth, iterations),
        period=None if truth.extrapolation is None else truth.extrapolation.period,
        extrapolation_bound=_extrapolation_bound(truth),
        efficiency=truth.identity.get("efficiency", 1.0),  # a machine has its own
        flags=answer.refusal or "; ".join(predicted.flags),
        truth=truth.source,
        true_low_s=None if repeats is None else repeats.low_s,
        true_high_s=None if repeats is None else repeats.high_s,
        in_repeats=None
        if repeats is None or predicted.time_s is None
        else repeats.low_s <= predicted.time_s <= repeats.high_s,
        energy_predicted_j=predicted.energy_j,
        energy_simulated_j=energy_j,
        energy_error_pct=_error_pct(predicted.energy_j or None, energy_j),
        edp_predicted_js=_product(predicted.energy_j, predicted.time_s),
        edp_simulated_js=_product(energy_j, truth.time_s),
        energy_basis=None if answer.prediction is None else answer.prediction.energy_basis,
        predicted_compute_share=predicted.compute_share,
        range_low_pct=predicted.range_low_pct,
        range_high_pct=predicted.range_high_pct,
        in_range=_in_range(error_pct, predicted),
        **_interval(answer, truth),
        simulated_node_s=truth.node_seconds,
        clusters=" ".join(dict.fromkeys(target.platform.cluster_of(host).name for host in target.placement)),
        speedup_predicted=_speedup(target, truth, predicted.time_s),
        speedup_simulated=_speedup(target, truth, truth.time_s),
    )


@dataclass(frozen=True)
class _Predicted:
    """The values of a prediction that a result row needs; without a prediction there are none."""

    time_s: float | None = None
    energy_j: float | None = None
    compute_share: float | None = None
    range_low_pct: float | None = None
    range_high_pct: float | None = None
    flags: tuple[str, ...] = ()


def _predicted(prediction: Prediction | None) -> _Predicted:
    """Return the values of a prediction, or none of them without a prediction."""
    if prediction is None:
        return _Predicted()
    expected = prediction.error_range
    return _Predicted(
        time_s=prediction.time_s,
        energy_j=prediction.energy_j,
        compute_share=prediction.compute_share,
        range_low_pct=None if expected is None else expected.low_pct,
        range_high_pct=None if expected is None else expected.high_pct,
        flags=prediction.flags,
    )


def _error_pct(predicted: float | None, true: float | None) -> float | None:
    """Return 100 (predicted - true) / true, or None if a value is missing or the true one is 0."""
    return None if predicted is None or not true else 100 * (predicted - true) / true


def _product(energy_j: float | None, time_s: float | None) -> float | None:
    """Return the energy-delay product, or None if a value is missing."""
    return None if energy_j is None or time_s is None else energy_j * time_s


def _compute_share(truth: RunRecord) -> float | None:
    """Return the longest computation time of a rank over the run time, or None if it is unknown."""
    return max(truth.compute_s) / truth.time_s if truth.compute_s else None


def _speedup(target: Target, truth: RunRecord, time_s: float | None) -> float | None:
    """Return the time of all computation on the slowest host alone over a time, or None if either is unknown."""
    if not truth.compute_s or not time_s:
        return None
    speeds = [target.platform.host(host).speed_flops for host in truth.host]
    return sum(s * speed for s, speed in zip(truth.compute_s, speeds, strict=True)) / min(speeds) / time_s


def _iterations_simulated(truth: RunRecord, iterations: int) -> int:
    """Return how many of the problem's iterations the truth simulated; 0 for a measured truth."""
    if truth.extrapolation is not None:
        return truth.extrapolation.simulated
    return iterations if truth.source == "simulation" else 0


def _extrapolation_bound(truth: RunRecord) -> float | None:
    """Return the bound of the truth's relative error; 0 if all was simulated, None if unknown or measured."""
    if truth.extrapolation is not None:
        return truth.extrapolation.bound_rel
    return 0.0 if truth.source == "simulation" else None


def _in_range(error_pct: float | None, predicted: _Predicted) -> bool | None:
    """Return whether the error lies in the range of the validity map, or None if either is missing."""
    low_pct, high_pct = predicted.range_low_pct, predicted.range_high_pct
    if error_pct is None or low_pct is None or high_pct is None:
        return None
    return low_pct <= error_pct <= high_pct


def _interval(answer: Answer, truth: RunRecord) -> dict[str, Any]:
    """Return the columns about the interval and its features."""
    made = answer.prediction
    interval = None if made is None else made.interval
    features = None if made is None else features_of(made, answer.target, answer.evidence)
    return {
        "interval_low_s": None if interval is None else interval.low_s,
        "interval_high_s": None if interval is None else interval.high_s,
        "in_interval": None if interval is None else interval.low_s <= truth.time_s <= interval.high_s,
        "feature_compute_share": None if features is None else features.compute_share,
        "feature_ratio": None if features is None else features.ratio,
        "feature_fit_residual": None if features is None else features.fit_residual,
        "feature_surroundings": None if features is None else features.surroundings,
    }


def _probe(answer: Answer) -> Probe | None:
    """Return the probe, the run on one node per cluster, or None if the predictor did not ask for it."""
    wanted = probed_hosts(answer.target.platform)
    probes: list[Evidence] = [
        e
        for e in answer.evidence
        if e.request.kind == "run" and e.request.target.placement == wanted and e.record.compute_s
    ]
    return read_probe(probes[0]) if probes else None
