"""The search that ``gridval plan nodes`` makes, and its output."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from apps.options.dry_run import print_plan
from apps.options.runner import runner_from_request
from apps.results.cautions import Cautions
from platforms.command.request import given
from platforms.errors import UserError
from platforms.files.writing import check_writable
from platforms.model.placement import Placement, configured, write_host_file
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration
from platforms.wording import number_of
from predictor.allocation.configuration import remaining
from predictor.allocation.objectives import TIME, Objective
from predictor.allocation.search import ChosenConfiguration
from predictor.base import Cost
from predictor.hierarchical.allocation import wall_time_s
from predictor.nodes import arguments
from predictor.nodes.alternatives import Alternatives, BreakEven, alternatives, break_even, slurm_lines
from predictor.nodes.drivers import Driver, Gathered, Measured, NptDriver, NptSettings, measure, npt_driver
from predictor.nodes.graph_driver import GraphDriver
from predictor.nodes.graph_groups import PREDICTOR as GRAPH
from predictor.nodes.options import FORMS, NodesRequest, SearchOptions
from predictor.nodes.own_measurements import alone, read_measured, write_measured
from predictor.nodes.predictor_driver import PredictorDriver, brokers
from predictor.nodes.probes import Probed, Probing, choose_by_probes, comparison_text
from predictor.nodes.rank_orders import RankOrders, ordered
from predictor.nodes.study import Study
from predictor.npt.chosen_terms import ChosenTerms, chosen_terms
from predictor.npt.predictability import FINE, REFUSED, checks
from predictor.registry import predictor

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from apps.spec.settings import Settings


NOTHING = Gathered()
_MARGIN = 0.2  # of the time to ask a batch system for


@dataclass(frozen=True)
class Found:
    """The choice of one search, and the times of the search."""

    choice: ChosenConfiguration
    configurations: int  # number of configurations in the space
    search_s: float  # wall time of estimating and choosing, without gathering evidence
    gather_s: float  # wall time of gathering evidence during the search
    probed: tuple[Probed, ...] = ()  # the probed configurations, by increasing time
    probes: Gathered = NOTHING  # cost of the probes
    probability: float | None = None  # share of resampled measurements by which the choice is the best
    searched: str | None = None  # how many configurations were examined, if not simply all
    others: Alternatives | None = None  # None: the search does not estimate all configurations
    paid: BreakEven | None = None  # None: nothing was measured, or all nodes have no estimate


def search(
    driver: Driver,
    study: Study,
    size: int,
    how: arguments.Search,
    probing: Probing | None = None,
    *,
    resamplings: int = 0,
) -> Found:
    """Search the study's space for problems of size N = ``size``; ``resamplings``: of the bootstrap, 0 for none."""
    started, before_s = time.perf_counter(), driver.gathered.wall_s
    space = study.space(size)
    searched = None
    if isinstance(driver, GraphDriver):
        whole, space = space, driver.examined(space, size)
        searched = driver.searched_text(whole)
    estimates = driver.estimate(space, size) if how.lists else None
    probed: tuple[Probed, ...] = ()
    probes = NOTHING
    if probing is None or not probing.count:
        choice = how.choose(driver, space, size, estimates)
    else:
        made = choose_by_probes(study, space, size, estimates or driver.estimate(space, size), probing)
        choice, probed, probes = made.choice, made.probed, made.gathered
    gather_s = driver.gathered.wall_s - before_s + probes.wall_s
    search_s = time.perf_counter() - started - gather_s
    probability = None
    if resamplings and isinstance(driver, NptDriver):
        probability = driver.probability_best(space, size, choice.configuration, resamplings)
    found = None if estimates is None else alternatives(space, estimates, study.platform, how.costs)
    spent_s = driver.gathered.measured_s + probes.measured_s
    paid = None
    if estimates is not None and how.objective is TIME and how.slack is None:
        paid = break_even(space, estimates, study.platform, choice.time_s, spent_s)
    return Found(choice, space.count, search_s, gather_s, probed, probes, probability, searched, found, paid)


def driver_from_request(
    request: SearchOptions, study: Study, settings: Settings, runner: Runner, objective: Objective = TIME
) -> Driver:
    """Return the driver that --predictor names; for measured models, make and fit their runs.

    Raises:
        UserError: The options do not fit together, or the runs do not suffice.
    """
    gathering = brokers(settings, runner)
    if request.predictor not in FORMS:
        model = predictor(given(request.predictor))
        arguments.refuse_model_arguments(request)
        if request.predictor == GRAPH:
            return GraphDriver(study, settings, request, objective, runner.cautions)
        size = arguments.asked_size(request)
        study.check_iterations((size, ranks) for ranks in study.space(size).ranks)
        return PredictorDriver(model, study, gathering)
    models = arguments.npt_settings_from_request(request)
    if request.measurements is not None:
        return own_driver(request, study, models)
    known = arguments.terms_from_request(request, study)
    runs = list(study.homogeneous(arguments.construction_from_request(request, study)))
    if known is not None:
        models.check(known.equations, runs)
    study.check_iterations((size, configuration.total) for configuration, size in runs)
    # As in the paper, homogeneous runs are made at all sizes, also those for which configurations are chosen.
    measured = measure(study, runs, gathering(()))
    if request.machine is not None:
        return judged_driver(request, study, models, measured, where=f"--machine {request.machine}")
    return _fitted(measured, known, models, near=arguments.asked_size(request))


def _fitted(measured: Measured, known: ChosenTerms | None, models: NptSettings, *, near: float) -> NptDriver:
    """Return a driver by measured runs; without known terms they decide these too, with the noise of the settings."""
    if known is None:
        known = chosen_terms(models.noise.of(measured.measurements))
    return replace(npt_driver(measured, known.equations, models, near=near), terms=known.why)


def own_driver(request: SearchOptions, study: Study, models: NptSettings) -> NptDriver:
    """Return a driver by the user's own measurements; say how predictable they are.

    Raises:
        UserError: The file is wrong, its runs do not suffice, or they are not predictable.
    """
    measured = read_measured(given(request.measurements), study.app, study.limits.sub_clusters)
    if not len(alone(measured).measurements):
        raise UserError(given(request.measurements), "no run on a single cluster", "Measure each cluster alone")
    return judged_driver(request, study, models, measured, where=given(request.measurements))


def judged_driver(
    request: SearchOptions, study: Study, models: NptSettings, measured: Measured, *, where: str
) -> NptDriver:
    """Return a driver by measurements of real machines; say how predictable they are.

    Raises:
        UserError: The runs do not suffice, or they are not predictable.
    """
    single = alone(measured)
    known = arguments.terms_from_request(request, study)
    judging = replace(models, weights="relative", outliers="reject")
    judged = checks(measured.measurements, _fitted(single, known, judging, near=arguments.asked_size(request)).models)
    failed = [check for check in judged if check.verdict == REFUSED]
    if failed and request.unpredictable != "caution":
        remedy = "Find the cause and measure again, or give --unpredictable caution"
        raise UserError(f"{where}, {failed[0].name}", f"not predictable: {failed[0].text}", remedy)
    driver = _fitted(single, known, models, near=arguments.asked_size(request))
    return replace(driver, cautions=tuple(f"predictability, {check}" for check in judged if check.verdict != FINE))


def run(request: NodesRequest) -> int:
    """Run the command and return its exit status.

    Raises:
        UserError: An option is wrong, or no configuration has an estimate.
    """
    request, study, why = arguments.with_models(request, arguments.study_from_request(request))
    size = arguments.asked_size(request)
    if request.then < 0:
        raise UserError(f"--then {request.then}", "below zero", "Give 0 or more")
    how = arguments.search_from_request(request, study.platform)
    study.space(size)  # raises errors in the limits before anything runs
    for name, path in (
        ("--write-hostfile", request.write_hostfile),
        ("--write-measurements", request.write_measurements),
    ):
        if path is not None:
            check_writable(name, path)
    if request.write_measurements is not None and (request.predictor not in FORMS or request.measurements):
        raise UserError("--write-measurements", f"{request.predictor} measures no runs", "Give --predictor npt")
    arguments.check_choice_arguments(request, study)
    settings = arguments.search_settings(request)
    general = arguments.objective_cautions(request, study.platform)
    said = Cautions()
    said.say(*general)
    if request.dry_run:
        return print_plan(request, arguments.plan_from_request(request, study, settings, truths=False))
    with runner_from_request(request, cautions=said) as runner:
        driver = driver_from_request(request, study, settings, runner, how.objective)
        probing = arguments.probing_from_request(request, study, brokers(settings, runner)(()))
        again = partial(search, driver, size=size, how=how, probing=probing, resamplings=request.bootstrap or 0)
        outcomes, ended = _in_turn(study, again, searches=1 + request.then)
        placements, orders = _placements(study, outcomes), None
        if request.rank_order:
            target = replace(study.target(outcomes[0].choice.configuration, size), placement=placements[0])
            orders = ordered(target, brokers(settings, runner)(()))
            placements = [orders.best.placement, *placements[1:]]
    why = "; ".join(filter(None, (why, driver.terms if isinstance(driver, NptDriver) else "")))
    spent = driver.gathered.cost + sum((outcome.probes.cost for outcome in outcomes), Cost())
    spent = spent if orders is None else spent + orders.cost
    results = Results(request, study, how, outcomes, placements, spent, ended, why, orders)
    everything = {**results.to_json(), "cautions": [*general, *runner.cautions.lines()]}
    print(json.dumps(everything) if request.json else results.text())
    if request.write_measurements is not None and isinstance(driver, NptDriver):
        write_measured(request.write_measurements, driver.runs)
    if request.write_hostfile is not None:
        write_host_file(request.write_hostfile, results.placements[0])
    return 0


def _in_turn(study: Study, again: Callable[..., Found], *, searches: int) -> tuple[list[Found], str | None]:
    """Search repeatedly, each time on the nodes that remain (section 8); return why the searches ended early, if so."""
    outcomes: list[Found] = []
    for _ in range(searches):
        if not any(study.limits.most_processes):
            return outcomes, "no node is left"
        try:
            outcomes.append(again(study=study))
        except UserError as err:
            if not outcomes:
                raise
            return outcomes, f"{err.where}: {err.problem}"
        study = study.within(remaining(study.limits, outcomes[-1].choice.configuration))
    return outcomes, None


def _placements(study: Study, outcomes: Sequence[Found]) -> list[Placement]:
    """Return the hosts of each choice in rank order; each choice takes nodes that earlier choices have left."""
    taken = [0] * len(study.platform.clusters)
    placements = []
    for outcome in outcomes:
        shares = outcome.choice.configuration.shares
        placements.append(configured(study.platform, shares, skip=taken))
        taken = [before + pes for before, (pes, _) in zip(taken, shares, strict=True)]
    return placements


def of_size(request: SearchOptions) -> str:
    """Return the size of a program of the user's own, which its name does not have."""
    return f", N = {request.size}" if request.program is not None and request.size is not None else ""


def driver_name(request: SearchOptions) -> str:
    """Return a description of the driver of the search."""
    name = given(request.predictor)
    if name not in FORMS:
        return name
    settings = arguments.npt_settings_from_request(request)
    return f"{settings.name}; noise: {settings.noise}"


def settings_to_json(request: SearchOptions, study: Study, how: arguments.Search) -> dict[str, Any]:
    """Return the settings, including the noise, as JSON values; None for settings that only measured models have."""
    asked = {
        "app": study.app,
        "size": request.size,
        "params": {
            name: value
            for name, value in study.problem(arguments.asked_size(request)).params
            if name in study.parameters
        },
        "platform": study.platform.name,
        "platform_hash": study.platform.content_hash,
        "most_nodes": list(study.limits.pes),
        "most_processes": list(study.limits.processes),
        "predictor": request.predictor,
        "objective": request.objective,
        "slack": how.slack,
        "search": how.how,
        "unit": how.objective.unit,
    }
    asked["probe"] = arguments.probes_from_request(request, study)
    names = (
        "fit",
        "weights",
        "drop",
        "glitches",
        "outliers",
        "bootstrap",
        "construction",
        "measurements",
        "noise",
        "seed",
    )
    if request.predictor not in FORMS:
        return asked | dict.fromkeys(names)
    settings = arguments.npt_settings_from_request(request)
    return {
        **asked,
        "fit": settings.method,
        "weights": settings.weights,
        "drop": list(settings.drop),
        "glitches": settings.glitch_k,
        "outliers": settings.outliers,
        "bootstrap": request.bootstrap or None,
        "construction": None if request.measurements else list(arguments.construction_from_request(request, study)),
        "measurements": request.measurements,
        "noise": settings.noise.sigma,
        "seed": settings.noise.seed if settings.noise.sigma else None,
    }


@dataclass(frozen=True)
class Results:
    """Results of one command, with the settings that its output shows."""

    request: NodesRequest
    study: Study
    how: arguments.Search
    outcomes: Sequence[Found]  # the first search, then the searches on the nodes that remained
    placements: Sequence[Placement]  # of each choice
    cost: Cost  # of all evidence
    ended: str | None  # why there were fewer searches than asked for
    why: str = ""  # why these models drive the search; empty: the user has named them
    orders: RankOrders | None = None  # of the ranks of the first choice; None: not asked for

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        choices = [
            {
                "chosen": str(outcome.choice.configuration),
                "ranks": outcome.choice.configuration.total,
                "nodes": outcome.choice.configuration.nodes,
                "estimated_s": outcome.choice.time_s,
                "value": outcome.choice.value,
                "configurations": outcome.configurations,
                "examined": outcome.choice.examined,
                "search_s": outcome.search_s,
                "gather_s": outcome.gather_s,
                "probed": [{**asdict(probe), "configuration": str(probe.configuration)} for probe in outcome.probed],
                "probability_best": outcome.probability,
                "break_even": None if outcome.paid is None else asdict(outcome.paid),
                "flags": list(outcome.choice.flags),
                "searched": outcome.searched,
                **({} if outcome.others is None else outcome.others.to_json()),
                "sbatch": self._sbatch(outcome),
                "hostfile": list(placement),
            }
            for outcome, placement in zip(self.outcomes, self.placements, strict=True)
        ]
        return {
            **settings_to_json(self.request, self.study, self.how),
            **choices[0],
            "then": choices[1:],
            "ended": self.ended,
            "predictor_chosen_because": self.why or None,
            "rank_orders": None if self.orders is None else {one.name: one.time_s for one in self.orders.orders},
            "evidence": asdict(self.cost),
        }

    def text(self) -> str:
        """Return the results as text."""
        study = self.study
        problem = study.problem(arguments.asked_size(self.request))
        lines = [
            f"{problem}{of_size(self.request)} on {study.platform.name}, by {driver_name(self.request)}",
            *([self.why] if self.why else []),
        ]
        for number, (outcome, placement) in enumerate(zip(self.outcomes, self.placements, strict=True)):
            choice = outcome.choice
            nodes = ", ".join(
                f"{pes} {cluster.name} x {processes}"
                for cluster, (pes, processes) in zip(study.platform.clusters, choice.configuration.shares, strict=True)
                if pes
            )
            ranks = number_of(choice.configuration.total, "rank")
            lines.append(f"{'then' if number else 'chosen'} {choice.configuration}: {nodes}; {ranks}")
            how = "probed at" if outcome.probed else "estimated"
            lines.append(f"    {how} {duration(choice.time_s)}" + _value(self.how, choice))
            how = "" if outcome.searched is None else f" ({outcome.searched})"
            lines.append(f"    of {outcome.configurations} configurations{how}, in {duration(outcome.search_s)}")
            lines += [f"    {line}" for line in said_of(outcome, self.request)]
            lines += [f"    {self.orders}"] if self.orders is not None and not number else []
            lines += [f"    caution: {flag}" for flag in choice.flags]
            best_s = choice.time_s if self.how.objective is TIME else 0.0  # else the second best is not by time
            others = [] if outcome.others is None else outcome.others.lines(best_s, wide=self.request.wide)
            lines += [f"    {line}" if line else "" for line in others]
            lines += [
                "",
                f"    host file: {_hosts_text(placement)}",
                *(f"    {line}" for line in self._sbatch(outcome)),
            ]
        if self.ended is not None:
            lines.append(f"then nothing: {self.ended}")
        how = (
            "measured"
            if self.request.measurements or self.request.machine
            else f"simulated in {self.cost.wall_s:.3g} s"
        )
        lines.append(f"evidence costs {self.cost.node_s:.4g} node-seconds, {how}")
        return "\n".join(folded_lines(lines))

    def _sbatch(self, outcome: Found) -> list[str]:
        """Return the lines of a Slurm script; none where the time is too long for any job, or not a time."""
        wall_s = wall_time_s(outcome.choice.time_s, _MARGIN) if outcome.choice.time_s > 0 else None
        clusters = [cluster.name for cluster in self.study.platform.clusters]
        return [] if wall_s is None else slurm_lines(outcome.choice.configuration, clusters, wall_s)


def _hosts_text(placement: Placement) -> str:
    """Return the hosts in rank order; a host with several consecutive ranks once, with their number."""
    return " ".join(f"{host}*{count}" if count > 1 else host for host, count in Counter(placement).items())


def said_of(outcome: Found, request: SearchOptions) -> list[str]:
    """Return sentences about the probes and the bootstrap of a search, where it had any."""
    said = [comparison_text(outcome.probed)] if outcome.probed else []
    said += [str(outcome.paid)] if outcome.paid is not None else []
    if outcome.probability is not None:
        share = "no model" if math.isnan(outcome.probability) else f"{100 * outcome.probability:.0f} %"
        said.append(f"the best by the models of {share} of {request.bootstrap} resamplings of the measurements")
    return said


def _value(how: arguments.Search, choice: ChosenConfiguration) -> str:
    objective = how.objective
    return "" if objective.name == "time" else f", {objective.name} {choice.value:.4g} {objective.unit}".rstrip()
