"""The runs that a command is going to make, counted and priced before any is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from apps.results.record import RunRecord
from apps.runs.engines import run_identity
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.read.visible_resources import part_hash
from platforms.wording import number_of
from predictor.base import Predictor
from predictor.evidence.broker import Broker, RefusedEvidence


@dataclass(frozen=True)
class Plan:
    """Distinct runs, each in one of the two groups only."""

    evidence: tuple[RunSpec, ...]  # those that predictors ask for at first; some ask for more when they have seen them
    truths: tuple[RunSpec, ...]  # those of the targets
    others: tuple[str, ...]  # predictors that also ask for recordings or messages

    @property
    def specs(self) -> tuple[RunSpec, ...]:
        """All runs."""
        return (*self.evidence, *self.truths)


def planned(
    groups: Iterable[tuple[Settings, Sequence[Target]]],
    models: Sequence[Predictor] | Callable[[Target], Sequence[Predictor]],
    *,
    truths: bool = True,
) -> Plan:
    """Return the runs that the models and their comparison with the truth need.

    Args:
        groups: Targets that are run under the same settings.
        models: The predictors, of every target or by target.
        truths: The targets themselves are run too.
    """
    evidence: dict[tuple[object, ...], RunSpec] = {}
    targeted: dict[tuple[object, ...], RunSpec] = {}
    others: dict[str, None] = {}
    for settings, targets in groups:
        broker = Broker(settings, targets, record=simulate)
        for target in targets:
            for model in models(target) if callable(models) else models:
                requests = model.requests([target])
                if any(request.kind not in ("run", "declared") for request in requests):
                    others[model.name] = None
                with suppress(RefusedEvidence):  # reported when this target is evaluated
                    evidence |= {_same_run(spec): spec for spec in broker.specs(requests)}
        if truths:
            targeted |= {_same_run(spec): spec for spec in map(settings.spec, targets)}
    own = tuple(spec for key, spec in evidence.items() if key not in targeted)
    return Plan(own, tuple(targeted.values()), tuple(others))


def plan_text(plan: Plan, store: Store | None, jobs: int) -> str:
    """Return a plan in words: how many runs, how many of them the store has, how long the others may take.

    Args:
        plan: The plan.
        store: The store of the command; None: it has none.
        jobs: Number of simulations at a time.
    """
    known = {spec: record for spec in plan.specs if (record := _kept(spec, store)) is not None}
    missing = [spec for spec in plan.specs if spec not in known]
    counts = [f"{len(plan.truths)} of targets"] if plan.truths else []
    counts += [f"{len(plan.evidence)} for evidence"] if plan.evidence else []
    lines = [number_of(len(plan.specs), "run") + (f" ({', '.join(counts)})" if counts else "")]
    lines[0] += f": {len(known)} in the store, {len(missing)} to simulate"
    if missing:
        at_once = min(jobs, len(missing))
        lines[0] += f", about {rough_duration(wall_s(missing, jobs))} with {at_once} at a time"
    lines += _costs(plan, known)
    if plan.others:
        lines.append(f"besides these, recordings and messages for {', '.join(plan.others)}")
    return "\n".join(lines)


def _costs(plan: Plan, known: dict[RunSpec, RunRecord]) -> Iterator[str]:
    """Yield a line about the cost of the evidence."""
    if not plan.evidence:
        return
    paid = [known[spec].node_seconds for spec in plan.evidence if spec in known]
    unknown = len(plan.evidence) - len(paid)
    said = [f"{sum(paid):.3g} node-seconds for {number_of(len(paid), 'run')} in the store"] if paid else []
    said += [f"not known yet for {number_of(unknown, 'run')}"] if unknown else []
    yield f"cost of the evidence: {', '.join(said)}"


def _kept(spec: RunSpec, store: Store | None) -> RunRecord | None:
    return None if store is None else store.get_record(run_identity(spec))


def wall_s(specs: Iterable[RunSpec], jobs: int) -> float:
    """Return a rough wall time, s, to simulate these runs, ``jobs`` at a time.

    The estimate assumes 0.1 s to start a run and 1e5 messages per second and job.  The messages of an iteration follow
    from the kernels' patterns, within a factor of about two; steady runs are assumed to take five iterations.
    """
    return sum(map(_run_s, specs)) / jobs


def rough_duration(time_s: float) -> str:
    """Return a rough time in words.

    >>> rough_duration(5), rough_duration(600)
    ('5 s', '10 minutes')
    """
    for unit, seconds in (("hours", 3600), ("minutes", 60)):
        if time_s >= 2 * seconds:
            return f"{time_s / seconds:.0f} {unit}"
    return f"{max(1, time_s):.0f} s"


def _same_run(spec: RunSpec) -> tuple[object, ...]:
    """Return a key that is equal for runs that the runner makes only once (apps/runs/runner.py)."""
    target = spec.target
    return target.problem, part_hash(target.platform, target.placement), target.placement, spec.efficiency


def _run_s(spec: RunSpec) -> float:
    target = spec.target
    params, ranks = dict(target.problem.params), target.nranks
    official = target.iterations
    policies = {"full": official, "steady": min(5, official)}
    iterations = spec.iterations if isinstance(spec.iterations, int) else policies[spec.iterations]
    per_rank = {
        "cg": 53 * max(1.0, math.log2(ranks)),  # 26 products and 52 scalar sums, each with log P partners
        "mg": 24 * math.log2(float(params.get("n", 2))),  # four halos of six faces on every level
        "lu": 4 * float(params.get("n", 0)),  # two neighbours for every plane of both sweeps
        "ep": 6 * math.log2(ranks),  # three all-reduce sums over trees
        "ft": ranks,  # all-to-all
    }.get(target.problem.name, 100)
    return 0.1 + iterations * ranks * per_rank / 1e5
