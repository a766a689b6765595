"""Predict the steps of a batch script on one number of nodes.

Times that a given share of runs stay below, from the interval of a prediction and the spread of the machine.

A share r below is the upper end of the central interval of level 2 r - 1 (predictor/intervals/calibration.py), so that
95 % is the upper end of the 90 % interval that ``gridval predict`` prints.  The spread of runs multiplies it by
exp(z s), with z the quantile of the normal distribution: as if both were at their worst together.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import NormalDist

from apps.batch.launchers import Launch
from apps.batch.script import Script
from apps.batch.steps import groups
from apps.programs.problem import Problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.options import placement_from_request
from platforms.prices.bill import Bill, bill
from platforms.prices.options import CostQuestion
from predictor.answers.answers import Answer, predict
from predictor.answers.energy import host_energy
from predictor.base import HostLoad
from predictor.costs.bills import host_energies
from predictor.defaults.choice import best_answer
from predictor.evidence.broker import Broker
from predictor.intervals.cases import features_of
from predictor.intervals.interval import bounds, calibration_of
from predictor.job.request import JobRequest
from predictor.job.sizes import Size, StepTime, size_of
from predictor.options import predictors_from_request, problems_from_request

_IDLE = HostLoad(0.0, 0.0, 0.0)
_LEAST_LEVEL = 1e-6  # of the interval that stands for the median


@dataclass
class Forecaster:
    """Predicts steps; each combination of program, ranks and ranks per node is predicted once."""

    request: JobRequest
    settings: Settings
    platform: Platform
    runner: Runner
    on_machine: bool
    costs: CostQuestion
    notes: list[str] = field(default_factory=list)  # on steps
    _answers: dict[tuple[Problem, int, int], Answer] = field(default_factory=dict)

    def size(self, script: Script, nodes: int) -> Size:
        """Return the job that a script describes, on its number of nodes."""
        launches = launches_of(script, self.request)
        made = size_of(nodes, [[self._step(launch, nodes) for launch in group] for group in groups(launches)])
        return replace(made, bill=self._bill(made)) if self.costs.asked and made.complete else made

    def _bill(self, size: Size) -> Bill:
        """Return the bill of a job: all its nodes for all its time; a node without a step is idle."""
        assert size.time_s is not None
        of_job = placement_from_request(replace(self.request, ranks_per_host=1), self.platform, size.nodes)
        hosts = list(dict.fromkeys([*(host for step in size.steps for host in step.hosts), *of_job]))[: size.nodes]
        lacking = [step for step in size.steps if step.energies_j is None]
        why = lacking[0].no_energy if lacking else None
        known = None if lacking else {host: self._energy_j(host, size) for host in hosts}
        return bill(self.costs, self.platform, hosts, time_s=size.time_s, energies_j=known, no_energy=why)

    def _energy_j(self, host: str, size: Size) -> float:
        """Return the energy of a host during a job whose steps have energies, J."""
        own = [step for step in size.steps if host in step.hosts]
        of_steps = math.fsum((step.energies_j or {}).get(host, 0.0) * step.times for step in own)
        busy_s = math.fsum((step.time_s or 0.0) * step.times for step in own)
        power, cores = self.platform.host(host).power, self.platform.host(host).cores
        idle_s = max((size.time_s or 0.0) - busy_s, 0.0)
        if power is None or idle_s == 0:  # without watts the steps have no energy either
            return of_steps
        return of_steps + host_energy(power, cores, idle_s, _IDLE).middle_j

    def _step(self, launch: Launch, nodes: int) -> StepTime:
        command = " ".join(filter(None, (launch.launcher, launch.program, *launch.arguments)))
        made = StepTime(launch.line, command, launch.ranks, launch.nodes or nodes, launch.times, None)
        if launch.doubt is not None:
            return replace(made, reason=launch.doubt)
        problem = self._problem(launch)
        if isinstance(problem, str):
            return replace(made, reason=problem)
        per_node = launch.per_node or self.room(launch.cpus_per_rank)
        if -(-launch.ranks // per_node) > nodes:
            reason = f"{launch.ranks} ranks, {per_node} on a node, do not fit on {nodes} nodes"
            return replace(made, reason=reason)
        self._check_cores(launch, per_node)
        answer = self._answer(problem, launch, per_node)
        return self._timed(made, answer)

    def _timed(self, made: StepTime, answer: Answer) -> StepTime:
        prediction = answer.prediction
        if prediction is None:
            return replace(made, predictor=answer.predictor, reason=answer.refusal)
        if prediction.communication_only:
            reason = "only its communication is predicted, as the computation of the program is not known"
            return replace(made, predictor=answer.predictor, reason=reason)
        risk, spread = self.request.risk / 100, self.request.spread
        factor = spread_factor(risk, spread)
        model_s = below_s(answer, risk)
        if model_s is None and spread is not None:
            model_s = prediction.time_s
        interval = prediction.interval
        compute_s = prediction.parts.get("compute_s")
        return replace(
            made,
            nodes=answer.target.nodes,
            time_s=prediction.time_s,
            low_s=None if interval is None else interval.low_s,
            high_s=None if interval is None else interval.high_s,
            below_s=None if model_s is None else model_s * factor,
            predictor=answer.predictor,
            reason=prediction.no_interval,
            work_s=None if compute_s is None else compute_s * answer.target.nranks,
            hosts=tuple(dict.fromkeys(answer.target.placement)),
            energies_j=host_energies(prediction, answer.target),
            no_energy=prediction.energy_basis,
            most_energy=prediction.loads is None,
        )

    def _problem(self, launch: Launch) -> Problem | str:
        """Return the program of a step, or why it cannot be run here."""
        if self.request.app is not None or self.request.program is not None:
            return problems_from_request(self.request)[0]
        found = program_file(launch)
        if found is None:
            return f"{launch.program} is not found here: name it with --program"
        arguments = shlex.join(launch.arguments)
        return problems_from_request(replace(self.request, program=found, program_args=arguments or None))[0]

    def room(self, cpus_per_rank: int) -> int:
        """Return how many ranks a node has cores for."""
        cores = min(host.cores for host in self.platform.hosts)
        return max(cores // cpus_per_rank, 1)

    def _check_cores(self, launch: Launch, per_node: int) -> None:
        cores = min(host.cores for host in self.platform.hosts)
        wanted = per_node * max(launch.cpus_per_rank, launch.threads)
        if wanted > cores:
            self._note(launch, f"{wanted} cores on a node, where {self.platform.name} has {cores}")
        if launch.threads > 1:
            self._note(launch, f"{launch.threads} threads per rank: how much faster they compute is not predicted")

    def _note(self, launch: Launch, text: str) -> None:
        note = f"line {launch.line}: {text}"
        if note not in self.notes:
            self.notes.append(note)

    def _answer(self, problem: Problem, launch: Launch, per_node: int) -> Answer:
        key = (problem, launch.ranks, per_node)
        if key in self._answers:
            return self._answers[key]
        asked = replace(self.request, ranks_per_host=per_node)
        placement = placement_from_request(asked, self.platform, launch.ranks)
        target = Target(problem, self.platform, placement)
        broker = Broker.of(self.settings, [target], self.runner)
        if self.request.predictor is None:
            answer = best_answer(target, broker, on_machine=self.on_machine).answer
        else:
            (model,) = predictors_from_request(self.request)
            (answer,) = predict(model, [target], broker)
        self._answers[key] = answer
        return answer


def launches_of(script: Script, request: JobRequest) -> Sequence[Launch]:
    """Return the steps of a script; with --program or --app, one step where the script has no launcher.

    Raises:
        UserError: No line of the script starts a program.
    """
    given = request.app or request.program
    launches = script.launches
    if given is None and not launches:
        problem = "no line starts a program with srun, mpirun, mpiexec, aprun, jsrun or ibrun"
        raise UserError(script.path, problem, "Name it with --program FILE")
    asked = script.asked
    if given is None:
        return launches
    if not launches:
        return [Launch(0, "", asked.total, asked.least_nodes, asked.per_node, asked.cpus_per_task or 1, given, ())]
    return [_overridden(launch, given, script) for launch in launches]


def _overridden(launch: Launch, given: str, script: Script) -> Launch:
    """Return a step whose program the options name: without ranks of its own it has those of the job."""
    if launch.ranks:
        return replace(launch, program=given)
    asked = script.asked
    return replace(
        launch, program=given, ranks=asked.total, per_node=asked.per_node, nodes=asked.least_nodes, doubt=None
    )


def program_file(launch: Launch) -> str | None:
    """Return the file of a step's program, or None where it is not here; folders of PATH are not searched."""
    if not launch.program or (launch.folder is None and not Path(launch.program).is_absolute()):
        return None
    place = Path(launch.folder or "/", launch.program)
    with suppress(OSError, ValueError):
        return str(place) if place.is_file() else None
    return None


def below_s(answer: Answer, risk: float) -> float | None:
    """Return the time that a share of runs like the predicted one stay below, in s; None: there is no interval.

    Args:
        answer: The answer, with a prediction.
        risk: The share, from 0.5.
    """
    prediction = answer.prediction
    if prediction is None or prediction.interval is None:
        return None
    features = features_of(prediction, answer.target, answer.evidence)
    calibration = calibration_of(answer.predictor, features.surroundings)
    if calibration is None:
        return None
    level = max(2 * risk - 1, _LEAST_LEVEL)
    _, usual = bounds(features, calibration)
    _, asked = bounds(features, replace(calibration, level=level, _stretches={}))
    # Each level is calibrated apart, so that intervals need not lie in each other: a larger share never gets less.
    more = max(asked - usual, 0.0) if level >= calibration.level else min(asked - usual, 0.0)
    return prediction.interval.high_s * math.exp(more)  # high_s also has what timing leaves unknown


def spread_factor(risk: float, spread_percent: float | None) -> float:
    """Return by which the spread of runs raises the time that a share of them stay below.

    >>> round(spread_factor(0.95, 10.0), 4), spread_factor(0.5, 10.0), spread_factor(0.95, None)
    (1.1788, 1.0, 1.0)
    """
    return math.exp(NormalDist().inv_cdf(risk) * (spread_percent or 0.0) / 100)
