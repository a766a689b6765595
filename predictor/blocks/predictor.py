"""Block models as predictors of kernels.

J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing": a kernel is
described in blocks, a platform's blocks are calibrated by micro-benchmarks, and the
description is evaluated with the calibrated blocks.

``blocks`` uses Table 1's formulas; ``blocks:simgrid`` uses lines over message sizes and the shapes of the collectives'
algorithms.  T_min, the time of an operation, is measured by a run of the problem on one node of each cluster, which is
the probe of HCF.  Ranks compute at the speed of their own nodes; the slowest one decides, because the others wait for
it where they communicate.

Kernels as applications of blocks: the descriptions in their folders, adapted to a problem and a number of ranks.

A kernel's description is ``blocks.toml``; apps/traffic/layout.py says how it gets the values of a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from apps.probes.blocks.measure import BlockPlan, Experiment
from apps.probes.plan import Measurement
from apps.programs.kernel import Kernel, kernels_with, named_kernel
from apps.programs.problem import Problem
from apps.results.record import RunRecord
from apps.spec.target import Target
from apps.traffic.layout import Layout, NoLayout
from platforms.model.placement import probe_placement
from platforms.model.platform import Platform
from predictor.base import AsksOnce, Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction
from predictor.blocks.application import Application
from predictor.blocks.calibration.calibrate import Calibration, calibrate
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.calibration.experiments import Experiments, Sample, experiments
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.process_by_process import ProcessByProcess
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.target_machine import TargetMachine
from predictor.blocks.names import COLLECTIVES, MADE_OF
from predictor.blocks.programs import Collective, If, Repeat, Send, Step, While
from predictor.evidence.targets import in_range

_FILE, _MODULE = "blocks.toml", "blocks"
# Numbers of iterations that are evaluated; the difference of the times is the time of each further iteration.
FEW_ITERATIONS, MORE_ITERATIONS = 1, 2
_DOUBTFUL_PCT = 10.0  # mean error of a formula against its own calibration above which there is a caution
_MOST_PROCESSES = 64
_LARGEST_BLOCK_BYTES = 4 * 2**20  # largest measured block of a collective; times of larger ones are proportional


@dataclass(frozen=True)
class Description:
    """A kernel's application; if the kernel has iterations, their number is the variable ``iterations``."""

    application: Application
    iterations: int | None  # of a full run; None: the kernel has none
    posts_ahead: bool = False  # receives are posted before the sends ahead of them (machines.machine.Posted)
    # Blocks of at least this size are sent by MPI_Alltoallv, for which SMPI has one algorithm (all messages at once);
    # None: none are.
    vectors_from_bytes: float | None = None

    def of(self, iterations: int) -> Application:
        """Return the application with this number of iterations."""
        return self.application.changed(variables={"iterations": iterations})

    @property
    def blocks(self) -> frozenset[str]:
        """Names of predictor.blocks.model.COMMUNICATION that the application uses."""
        return frozenset(name for label in self.application.labels for name in _blocks(label.program))


def _blocks(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Repeat | While):
            yield from _blocks(step.steps)
        elif isinstance(step, If):
            yield from _blocks((*step.steps, *step.otherwise))
        elif isinstance(step, Send):
            yield "p2p"
        elif isinstance(step, Collective):
            yield from MADE_OF.get(step.block, (step.block,))


def described_names() -> tuple[str, ...]:
    """Return the names of the kernels that are described in blocks."""
    return tuple(sorted({*kernels_with(_FILE), *kernels_with(f"{_MODULE}.py")}))


def describe(problem: Problem, ranks: int) -> Description:
    """Return the description of a problem on this number of ranks.

    Raises:
        OutOfRange: If the problem has no description, or its description has no layout for this number of ranks.
    """
    if problem.program is not None or problem.name not in described_names():
        problem_text = "it has no description in blocks"
        raise OutOfRange(
            f"blocks, {problem}", problem_text, f"Described: {', '.join(described_names())}; or use dpgraph"
        )
    try:
        made: Description = _described(problem, ranks)
    except KeyError as err:
        problem_text = f"it has no parameter {err}, which its description needs"
        raise OutOfRange(f"blocks, {problem}", problem_text, "Give all the parameters of a class") from None
    except NoLayout as err:
        problem_text = f"its description in blocks has no layout for this number of ranks: {err}"
        remedy = "Use other numbers of ranks, or dpgraph"
        raise OutOfRange(f"blocks, {problem.name} on {ranks} ranks", problem_text, remedy) from None
    return made


@lru_cache(maxsize=64)
def _described(problem: Problem, ranks: int) -> Description:
    kernel, params = named_kernel(problem.name), dict(problem.params)
    declared_layout = kernel.optional(_MODULE, "layout")
    layout = Layout() if declared_layout is None else declared_layout(params, ranks)
    made = read_application(layout.description or kernel.folder / _FILE)
    iterations = None if kernel.iterations_parameter is None else int(params[kernel.iterations_parameter])
    made = made.changed(variables={**dict(_values(made, kernel, params, ranks)), **layout.variables})
    if made.name != kernel.name:  # kernels may share a description
        made = replace(made, name=kernel.name, labels=made.given)
    return Description(made, iterations, layout.posts_ahead, layout.vectors_from_bytes)


def _values(
    application: Application, kernel: Kernel, params: Mapping[str, Any], ranks: int
) -> Iterator[tuple[str, Any]]:
    """Yield the values of the description's numbers that a problem and a number of ranks decide."""
    size = () if kernel.size_parameter is None else (kernel.size_parameter,)
    parameters = {*size, *kernel.parameters, *(name for values in kernel.classes.values() for name in values)}
    for name in _numbers(application):
        if name == "ranks":
            yield name, ranks
        elif name == "iterations" and kernel.iterations_parameter is not None:
            yield name, params[kernel.iterations_parameter]
        elif name in parameters:
            yield name, params[name]


def _numbers(application: Application) -> Iterator[str]:
    """Yield the variables whose values in the description are numbers, and not expressions."""
    for name, value in application.variables.items():
        if isinstance(value, Expression) and not value.names:
            yield name


def description_of(name: str, target: Target) -> Description:
    """Return the description of a target's problem.

    Raises:
        OutOfRange: If there is no description of the problem or for its number of ranks, or nodes have several ranks.
    """
    description = describe(target.problem, target.nranks)
    if target.nranks != target.nodes:
        raise OutOfRange(
            f"{name}, {target.nranks} ranks on {target.nodes} nodes",
            "blocks are calibrated with one process on each node",
            "Use one rank per node, or another predictor",
        )
    return description


@lru_cache(maxsize=8)
def _experiments(platform: Platform) -> Experiments:
    """Return a part of a calibration's experiments, without held-out samples, as the fits are not assessed here."""
    most = min(_MOST_PROCESSES, len(platform.hosts))
    whole = experiments(platform, most_processes=most)
    kept = [pair for pair in zip(whole.samples, whole.plan.experiments, strict=True) if _is_wanted(*pair, most)]
    samples, made = zip(*kept, strict=True)
    return Experiments(BlockPlan(platform, made), samples)


def _is_wanted(sample: Sample, experiment: Experiment, most: int) -> bool:
    """Return whether a sample is used: for collectives, sizes 1, 4, 16, ... on powers of two, 3 and most processes."""
    if sample.block not in COLLECTIVES:
        return sample.use != "check"
    P, size_bytes = sample.processes, int(experiment.amount)
    counted = P & (P - 1) == 0 or P in (3, most)
    sized = size_bytes == 0 or (size_bytes.bit_length() % 2 == 1 and size_bytes <= _LARGEST_BLOCK_BYTES)
    return sample.use == "fit" and counted and sized


@lru_cache(maxsize=8)
def _calibration(platform: Platform, measurement: Measurement) -> Calibration:
    return calibrate(platform, _experiments(platform), measurement)


@dataclass(frozen=True)
class _Seconds:
    """Times of an evaluated description: of the whole run, and of each rank's computation."""

    time_s: float
    compute_s: tuple[float, ...]

    def extrapolated(self, less: _Seconds, iterations: int, extra: int) -> _Seconds:
        """Return the times with ``extra`` more iterations; ``less`` has ``iterations`` fewer than this."""

        def on(more_s: float, less_s: float) -> float:
            return more_s + extra * (more_s - less_s) / iterations

        both = zip(self.compute_s, less.compute_s, strict=True)
        return _Seconds(on(self.time_s, less.time_s), tuple(on(*pair) for pair in both))


def evaluate(description: Description, machine: TargetMachine) -> _Seconds:
    """Return the times of all iterations, extrapolated from the first few."""
    wanted = description.iterations
    if wanted is None or wanted <= MORE_ITERATIONS:
        return _evaluated(description, machine, wanted)
    few, more = (_evaluated(description, machine, count) for count in (FEW_ITERATIONS, MORE_ITERATIONS))
    return more.extrapolated(few, MORE_ITERATIONS - FEW_ITERATIONS, wanted - MORE_ITERATIONS)


def _evaluated(description: Description, machine: TargetMachine, iterations: int | None) -> _Seconds:
    application = description.application if iterations is None else description.of(iterations)
    done = ProcessByProcess(application, machine, posted=machine.posted if description.posts_ahead else None)
    done.run()
    return _Seconds(max(done.ended_s.values()), tuple(s for _, s in sorted(done.compute_s.items())))


@dataclass(frozen=True)
class BlocksModel:
    """Model with calibrations by platform (content hash), and probes by problem and platform."""

    name: str
    family: str  # one of predictor.blocks.calibration.calibrated.FAMILIES
    calibrations: Mapping[str, Evidence]
    probes: Mapping[tuple[Problem, str], Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict a target.

        Raises:
            OutOfRange: If there is no description of the problem or for its number of ranks, or nodes have several
                ranks.
        """
        description, key = description_of(self.name, target), target.platform.content_hash
        measured, probe = self.calibrations[key], self.probes[target.problem, key]
        calibration = _calibration(target.platform, measured.measurement)
        machine = TargetMachine(
            Calibrated(calibration, self.family),
            target,
            s_per_operation=_s_per_operation(self.name, probe.record, target.platform),
            vectors_from_bytes=description.vectors_from_bytes,
        )
        evaluation = evaluate(description, machine)
        compute_s = max(evaluation.compute_s)
        return Prediction(
            time_s=evaluation.time_s,
            parts={"compute_s": compute_s, "comm_s": evaluation.time_s - compute_s},
            flags=_flags(calibration, machine, description),
            evidence=(measured.id, probe.id),
            cost=measured.cost + probe.cost,
            loads={host: HostLoad(s, s, s) for host, s in zip(target.placement, evaluation.compute_s, strict=True)},
        )


def _s_per_operation(name: str, probe: RunRecord, platform: Platform) -> dict[str, float]:
    """Return T_min by cluster, s; raise OutOfRange if a rank of the probe computes nothing."""
    speeds = {}
    for host, compute_s, flops in zip(probe.host, probe.compute_s, probe.rank_flops, strict=True):
        cluster = platform.cluster_of(host).name
        if not flops:
            problem = f"its rank on cluster {cluster} computes nothing, so the time of an operation is unknown"
            raise OutOfRange(f"{name}, probe on {platform.name}", problem, "Use dpgraph")
        speeds[cluster] = compute_s / flops
    return speeds


def _flags(calibration: Calibration, machine: TargetMachine, description: Description) -> tuple[str, ...]:
    """Return cautions about formulas that miss the samples they were fitted to."""
    if not machine.is_paper:
        return ()
    used = description.blocks
    return tuple(
        f"Table 1's {row.block} misses its own calibration by {row.quality.mpe_pct:.0f} % on average"
        for row in calibration.table
        if row.block in used and row.quality.mpe_pct > _DOUBTFUL_PCT
    )


@dataclass(frozen=True)
class BlocksPredictor(AsksOnce):
    """Predictor with one calibration for each platform, and one probe for each problem on it."""

    name: str
    family: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for the targets in range."""
        probes: dict[Target, None] = {}
        platforms: dict[str, Target] = {}
        for target, _ in in_range(partial(description_of, self.name), targets):
            probes[replace(target, placement=probe_placement(target.platform))] = None
            platforms.setdefault(target.platform.content_hash, target)
        measured = [EvidenceRequest("blocks", t, plan=_experiments(t.platform).plan) for t in platforms.values()]
        return [EvidenceRequest("run", probe) for probe in probes] + measured

    def fit(self, evidence: Sequence[Evidence]) -> BlocksModel:
        """Return the model of the calibrations and probes in the evidence."""

        def key(evidence: Evidence) -> str:
            return evidence.request.target.platform.content_hash

        calibrations = {key(item): item for item in evidence if item.request.kind == "blocks"}
        probes = {(item.request.target.problem, key(item)): item for item in evidence if item.request.kind == "run"}
        return BlocksModel(self.name, self.family, calibrations, probes)


BLOCKS = BlocksPredictor("blocks", "paper")
BLOCKS_SIMGRID = BlocksPredictor("blocks:simgrid", "simgrid")
