"""Estimates, from counts alone, of the wall time of evidence and of simulating the targets instead.

Counted are the starts of SimGrid, the declared messages of a program and the experiments of a plan.  The rates are
those of this project on one core of a virtual machine of 2026 (docs/results/growth.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from apps.errors import KernelError
from apps.probes.network.measure import NetworkPlan
from apps.results.cautions import Cautions
from apps.results.steady import FIRST_TRY
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import describes
from platforms.terminal.quantities import significant
from platforms.wording import number_of
from predictor.answers.answers import Answer
from predictor.base import EvidenceRequest

if TYPE_CHECKING:
    from predictor.structural.schedule import Schedule

PREDICTORS = ("structural", "dpgraph")  # names of predictors, or their beginnings up to a colon
START_S = 0.04  # of smpirun, until the first rank runs
_EXPERIMENT_S = 3e-5  # that its ranks meet
# Messages per second by ranks: SMPI simulates fewer of them where more ranks wait.
_RATES = ((32, 130e3), (128, 73e3), (512, 37e3), (1024, 20e3))
_AT_ONCE_S = 7e-8  # of a message, for each other one that begins with it
_RECORDING = 1.1  # time of a recording over that of a run


def warn(answers: Sequence[Answer], settings: Settings, cautions: Cautions) -> None:
    """Add a caution if the evidence of answers should take more than half of the time of simulating their targets.

    Nothing is said where a duration is not known: runs on a machine, programs without declared messages.
    """
    if settings.machine is not None:
        return
    for name in dict.fromkeys(answer.predictor for answer in answers):
        if name.partition(":")[0] not in PREDICTORS:
            continue
        mine = [answer for answer in answers if answer.predictor == name and answer.prediction is not None]
        evidence = {item.id: item.request for answer in mine for item in answer.evidence}
        with suppress(KernelError, LookupError):
            simulated_s = [simulation_s(answer.target, settings.iterations) for answer in mine]
            needed_s = sum(evidence_s(request, settings.iterations) for request in evidence.values())
            least_s, most_s = (sum(ends_s) for ends_s in zip(*simulated_s, strict=True))
            if needed_s > least_s / 2:
                more = f" and {number_of(len(mine) - 1, 'more target')}" if len(mine) > 1 else ""
                cautions.add(f"{mine[0].target}{more}", [_sentence(name, needed_s, least_s, most_s)], key=name)


def _sentence(predictor: str, needed_s: float, least_s: float, most_s: float) -> str:
    """Return the durations of the evidence and of the simulations in place of it."""
    rest = "" if most_s <= 1.05 * least_s else f", and up to {significant(most_s, 1)} s if iterations repeat late"
    faster = "may be faster" if needed_s > least_s else "takes less than twice as long"
    faster = "is faster" if needed_s > most_s else faster
    return (
        f"the evidence of {predictor} should take {significant(needed_s, 1)} s on one core, simulating instead "
        f"{significant(least_s, 1)} s{rest}: simulating {faster} (gridval program run)"
    )


def simulation_s(target: Target, iterations: str | int | None) -> tuple[float, float]:
    """Return the least and the most seconds that a simulation of a target should take.

    The least is that of a run which repeats after the first iterations, the most that of one which never does.

    Args:
        target: The target.
        iterations: As in apps/spec/settings.py.

    Raises:
        LookupError: The messages of the program are not declared.
        KernelError: The program refuses this number of ranks.
    """
    if not describes(target.problem):
        raise LookupError(target.problem.name)
    # Imported here because NumPy is slow to import.
    from predictor.structural.schedule import schedule

    before, each, last = _message_s(schedule(target.problem, target.nranks), rate(target.nranks))
    whole = target.iterations if target.problem.iterative else 1
    fixed_s = START_S + before + last - each
    if isinstance(iterations, int) or iterations == "full" or whole <= FIRST_TRY:
        once_s = fixed_s + each * (min(iterations, whole) if isinstance(iterations, int) else whole)
        return once_s, once_s
    tries = [FIRST_TRY]
    while tries[-1] < whole:
        tries.append(min(2 * tries[-1], whole))
    return fixed_s + each * FIRST_TRY, sum(fixed_s + each * count for count in tries)


def evidence_s(request: EvidenceRequest, iterations: str | int | None) -> float:
    """Return the least seconds that a piece of evidence should take.

    Raises:
        LookupError: Nothing is known about such evidence.
        KernelError: As ``simulation_s``.
    """
    if request.kind == "run":
        return simulation_s(request.target, iterations)[0]
    if request.kind == "recording" and request.iterations is not None:
        return _RECORDING * simulation_s(request.target, request.iterations)[0]
    if isinstance(request.plan, NetworkPlan):
        plan, each_s = request.plan, 1 / rate(len(request.plan.hosts))
        messages = sum(2 * (len(e) if isinstance(e, tuple) else 1) for e in plan.experiments)
        return START_S + _EXPERIMENT_S * len(plan.experiments) + each_s * messages
    raise LookupError(request.kind)


def rate(ranks: int) -> float:
    """Return the messages that SMPI simulates in a second on this many ranks, interpolated in logarithms.

    >>> [round(rate(ranks)) for ranks in (8, 32, 1024, 4096)]
    [130000, 130000, 20000, 20000]
    """
    if ranks <= _RATES[0][0]:
        return _RATES[0][1]
    for (fewer, upper), (more, lower) in pairwise(_RATES):
        if ranks <= more:
            return float(upper * (lower / upper) ** (math.log(ranks / fewer) / math.log(more / fewer)))
    return _RATES[-1][1]


def _message_s(schedule: Schedule, messages_per_s: float) -> tuple[float, float, float]:
    """Return the seconds for the messages before the iterations, of one iteration, and of the last and all after it."""
    # Imported here because it is slow to import.
    from predictor.structural.schedule import EXCHANGE, SWEEP

    exchanges = schedule.first[1:] - schedule.first[:-1]
    at_once = 1 / messages_per_s + _AT_ONCE_S * exchanges * schedule.at_once
    swept = [_swept(int(row[0]), int(row[1]), int(row[3])) / messages_per_s for row in schedule.shape]
    of_kind = {EXCHANGE: exchanges * at_once, SWEEP: swept}
    parts = []
    for start, end in zip(schedule.segment[:-1], schedule.segment[1:], strict=True):
        steps = zip(schedule.kind[start:end].tolist(), schedule.item[start:end].tolist(), strict=True)
        parts.append(float(sum(of_kind[kind][item] for kind, item in steps if kind in of_kind)))
    return parts[0] + parts[1], parts[2], parts[3] + parts[4]


def _swept(width: int, height: int, planes: int) -> int:
    """Return the messages of a sweep, in either direction."""
    return planes * ((width - 1) * height + width * (height - 1))
