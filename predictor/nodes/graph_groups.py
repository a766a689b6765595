"""Estimates of configurations with the same number of ranks, which share one recording of the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apps.options.runner import PoolOptions, RunnerOptions, checked_pool, store_from_request
from apps.results.cautions import Cautions
from apps.results.steady import FIRST_TRY
from apps.runs.engines import run_identity
from apps.spec.settings import Settings
from apps.spec.target import Target
from predictor.answers.answers import fit
from predictor.answers.energy import with_energy
from predictor.base import OutOfRange
from predictor.evidence.broker import Broker
from predictor.registry import predictor
from predictor.series.pool import Failure, Kept, answers, sources_hash

if TYPE_CHECKING:  # NumPy takes long to import
    from predictor.dpgraph.program import Sections

PREDICTOR = "dpgraph:known"
KIND = "prediction"  # of apps.store.KINDS
_SOURCES = ("platforms", "apps/recording", "apps/results", "predictor")


@dataclass(frozen=True)
class Group:
    """Targets of one problem on one number of ranks."""

    targets: tuple[Target, ...]
    settings: Settings
    runs: RunnerOptions  # how the recording is made and kept


@dataclass(frozen=True)
class GroupEstimates:
    """The estimates of a group, in the order of its targets."""

    times_s: tuple[float | None, ...]  # None: no answer
    energies_j: tuple[float | None, ...]
    flags: tuple[tuple[str, ...], ...]
    refusals: tuple[str | None, ...]
    flops: float  # of the program on that many ranks; 0: some of its computation does not depend on the speed of a host
    messages: int  # of one evaluation
    node_s: float  # cost of the recording
    wall_s: float
    cautions: tuple[tuple[str, ...], ...]  # about the recording: its name, and a sentence


def estimated(group: Group) -> GroupEstimates:
    """Return the estimates of a group.

    Raises:
        UserError: The program does not run on that many ranks, or cannot be recorded.
        SimulationError: The recording fails.
    """
    # Imported here for a quick start: they are slow to import.
    from apps.options.runner import runner_from_request
    from apps.recording.events import Elapse
    from predictor.dpgraph.predictors import GraphModel

    model, said, first = predictor(PREDICTOR), Cautions(), group.targets[0]
    with runner_from_request(group.runs, cautions=said, saying=False) as runner:
        fitted, evidence = fit(model, group.targets, Broker.of(group.settings, group.targets, runner))
        made: list[tuple[float | None, float | None, tuple[str, ...], str | None]] = []
        for target in group.targets:
            try:
                prediction = with_energy(fitted.predict(target), target)
                made.append((prediction.time_s, prediction.energy_j, prediction.flags, None))
            except OutOfRange as err:
                made.append((None, None, (), f"{err.problem}. {err.remedy}."))
    assert isinstance(fitted, GraphModel)
    sections, iterations = fitted.sections(first), first.iterations
    elapsed_s = sum(float(sections.elapsed_s(iterations, how).sum()) for how in Elapse)
    times_s, energies_j, flags, refusals = zip(*made, strict=True)
    return GroupEstimates(
        times_s,
        energies_j,
        flags,
        refusals,
        float(sections.flops(iterations).sum()) if elapsed_s == 0 else 0.0,
        _evaluated_messages(sections, iterations),
        sum(piece.cost.node_s for piece in evidence),
        sum(piece.cost.wall_s for piece in evidence),
        said.by_run(),
    )


def _evaluated_messages(sections: Sections, iterations: int) -> int:
    """Return the messages of the evaluation of as many iterations as may show that they repeat."""
    program = sections.looped(min(iterations, FIRST_TRY)) if sections.iterations else sections.program()
    if program.loop is None:
        return program.nmessages
    return program.loop.fixed + (program.nmessages - program.loop.fixed) * program.loop.copies


def estimates(groups: Sequence[Group], pool: PoolOptions) -> list[GroupEstimates | Failure]:
    """Return the estimates of each group, or why there are none; several are made at a time and kept in the store.

    Raises:
        UserError: An option is wrong, or a process was killed.
        KeyboardInterrupt: With the number of groups that are kept.
    """
    timed = any(group.settings.compute == "measured" for group in groups)
    names = [f"{len(group.targets)} choices of nodes for {group.targets[0].nranks} ranks" for group in groups]
    with store_from_request(pool) as store:
        kept = Kept(KIND, GroupEstimates, None if timed else store)
        return answers(groups, estimated, list(map(_identity, groups)), kept, jobs=checked_pool(pool), names=names)


def _identity(group: Group) -> dict[str, Any]:
    """Return all that decides the estimates of a group, as JSON values."""
    return {
        "answer": "configurations",
        "predictor": PREDICTOR,
        "run": run_identity(group.settings.spec(group.targets[0])),
        "placements": [_runs_of(target.placement) for target in group.targets],
        "sources": sources_hash(*_SOURCES),
    }


def _runs_of(placement: Sequence[str]) -> str:
    """Return the hosts of a placement with the number of consecutive ranks on each.

    >>> _runs_of(["a", "a", "b"])
    'a*2 b*1'
    """
    hosts = list(dict.fromkeys(placement))
    return " ".join(f"{host}*{list(placement).count(host)}" for host in hosts)
