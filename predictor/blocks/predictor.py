"""Block models as predictors of the NAS kernels.

J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing": a program is
described in blocks (predictor/blocks/kernels), a platform's blocks are calibrated by micro-benchmarks, and evaluating
the description with them gives the time.

``blocks`` takes Table 1's formulas, ``blocks-simgrid`` lines and the shapes of the collectives' algorithms.  T_min, the
time of an operation, is measured: a run of the problem on one node of each cluster, the probe of HCF.  Ranks compute at
the speed of their own node; the slowest decides, as the others wait for it where they communicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from apps.blockprobe.measure import BlockPlan, Experiment
from apps.catalog import Problem
from apps.netprobe.measure import Measurement
from apps.record import RunRecord
from apps.spec import Target
from platforms.placement import probe_placement
from platforms.platform import Platform
from predictor.base import Evidence, EvidenceRequest, HostLoad, OutOfRange, Prediction
from predictor.blocks.calibration.calibrate import Calibration, calibrate
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.calibration.experiments import Experiments, Sample, experiments
from predictor.blocks.evaluation.process_by_process import ProcessByProcess
from predictor.blocks.kernels import Description, describe
from predictor.blocks.machines.target_machine import TargetMachine
from predictor.blocks.model import COLLECTIVES
from predictor.targets import in_range

# Iterations that are evaluated; the difference is the period of the others.
FEW_ITERATIONS, MORE_ITERATIONS = 1, 2
_DOUBTFUL_PCT = 10.0  # mean error of a formula against its own calibration that is worth a caution
_MOST_PROCESSES = 64
_LARGEST_BLOCK_BYTES = 4 * 2**20  # of a collective's blocks; times of larger ones are in proportion


def description_of(name: str, target: Target) -> Description:
    """Raises OutOfRange for a program or a number of ranks without one, and for nodes with several ranks."""
    found = describe(target.problem, target.nranks)
    if target.nranks != target.nodes:
        raise OutOfRange(
            f"{name}, {target.nranks} ranks on {target.nodes} nodes",
            "blocks are calibrated with one process on each node",
            "Use one rank per node, or another predictor",
        )
    return found


@lru_cache(maxsize=8)
def _experiments(platform: Platform) -> Experiments:
    """A part of a calibration's experiments: nothing held out, because it is fitted here and not judged."""
    most = min(_MOST_PROCESSES, len(platform.hosts))
    whole = experiments(platform, most_processes=most)
    kept = [pair for pair in zip(whole.samples, whole.plan.experiments, strict=True) if _is_wanted(*pair, most)]
    samples, made = zip(*kept, strict=True)
    return Experiments(BlockPlan(platform, made), samples)


def _is_wanted(sample: Sample, experiment: Experiment, most: int) -> bool:
    """Of collectives: sizes 1, 4, 16, ... and the powers of two of processes, and the most, and three."""
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
    """An evaluated description: its time, and computation by rank."""

    time_s: float
    compute_s: tuple[float, ...]

    def extrapolated(self, less: _Seconds, iterations: int, extra: int) -> _Seconds:
        """With so many iterations besides; ``less`` has ``iterations`` fewer than this."""

        def on(more_s: float, less_s: float) -> float:
            return more_s + extra * (more_s - less_s) / iterations

        both = zip(self.compute_s, less.compute_s, strict=True)
        return _Seconds(on(self.time_s, less.time_s), tuple(on(*pair) for pair in both))


def evaluate(description: Description, machine: TargetMachine) -> _Seconds:
    """All iterations, or a few and their period."""
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
    """Descriptions, calibrations by platform (content hash), and probes by problem and platform."""

    name: str
    family: str  # of predictor.blocks.calibration.calibrated
    calibrations: Mapping[str, Evidence]
    probes: Mapping[tuple[Problem, str], Evidence]

    def predict(self, target: Target) -> Prediction:
        """Raises OutOfRange for what has no description, and for nodes with several ranks."""
        description, key = description_of(self.name, target), target.platform.content_hash
        measured, probe = self.calibrations[key], self.probes[target.problem, key]
        calibration = _calibration(target.platform, measured.measurement)
        machine = TargetMachine(
            Calibrated(calibration, self.family),
            target,
            s_per_operation=_s_per_operation(self.name, probe.record, target.platform),
            vectors_from_bytes=description.vectors_from_bytes,
        )
        found = evaluate(description, machine)
        compute_s = max(found.compute_s)
        return Prediction(
            time_s=found.time_s,
            parts={"compute_s": compute_s, "comm_s": found.time_s - compute_s},
            flags=_flags(calibration, machine, description),
            evidence=(measured.id, probe.id),
            cost=measured.cost + probe.cost,
            loads={host: HostLoad(s, s, s) for host, s in zip(target.placement, found.compute_s, strict=True)},
        )


def _s_per_operation(name: str, probe: RunRecord, platform: Platform) -> dict[str, float]:
    """T_min by cluster.  Raises OutOfRange where a rank of the probe computes nothing."""
    found = {}
    for host, compute_s, flops in zip(probe.host, probe.compute_s, probe.rank_flops, strict=True):
        cluster = platform.cluster_of(host).name
        if not flops:
            problem = f"its rank on cluster {cluster} computes nothing, which tells no time of an operation"
            raise OutOfRange(f"{name}, probe on {platform.name}", problem, "Use dpgraph")
        found[cluster] = compute_s / flops
    return found


def _flags(calibration: Calibration, machine: TargetMachine, description: Description) -> tuple[str, ...]:
    """Formulas that already miss what they were fitted to."""
    if not machine.is_paper:
        return ()
    used = description.blocks
    return tuple(
        f"Table 1's {row.block} misses its own calibration by {row.quality.mpe_pct:.0f} % on average"
        for row in calibration.table
        if row.block in used and row.quality.mpe_pct > _DOUBTFUL_PCT
    )


@dataclass(frozen=True)
class BlocksPredictor:
    """One calibration for each platform, one probe for each problem on it."""

    name: str
    family: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Of the targets in range."""
        probes: dict[Target, None] = {}
        platforms: dict[str, Target] = {}
        for target, _ in in_range(partial(description_of, self.name), targets):
            probes[replace(target, placement=probe_placement(target.platform))] = None
            platforms.setdefault(target.platform.content_hash, target)
        measured = [EvidenceRequest("blocks", t, plan=_experiments(t.platform).plan) for t in platforms.values()]
        return [EvidenceRequest("run", probe) for probe in probes] + measured

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> BlocksModel:
        def key(one: Evidence) -> str:
            return one.request.target.platform.content_hash

        calibrations = {key(one): one for one in evidence if one.request.kind == "blocks"}
        probes = {(one.request.target.problem, key(one)): one for one in evidence if one.request.kind == "run"}
        return BlocksModel(self.name, self.family, calibrations, probes)


BLOCKS = BlocksPredictor("blocks", "paper")
BLOCKS_SIMGRID = BlocksPredictor("blocks-simgrid", "simgrid")
