"""Campaign of choices: apps x sizes x models x noises, compared with simulations of the whole spaces."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.runner import RunnerOptions, runner_from_request
from apps.results.cautions import Cautions
from apps.runs.plan import Plan
from apps.runs.runner import Runner
from platforms.command.request import fields_of, given
from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.search import ChosenConfiguration
from predictor.base import OutOfRange
from predictor.nodes.drivers import Driver, Gathered, Measured, Noise, measure, npt_driver
from predictor.nodes.options import SearchOptions
from predictor.nodes.predictor_driver import PredictorDriver, brokers
from predictor.nodes.probes import Probing, choose_by_probes
from predictor.npt.measurements import Measurements
from predictor.registry import predictor
from validation.nodes.campaign_file import AllocationCampaign, ModelCase, StudyCase, read_allocation_campaign
from validation.nodes.errors import Truth, best_constant, estimation_error, judge, simulate_space, specs
from validation.nodes.output import AllocationOutput, AllocationRow
from validation.nodes.request import NodesComparisonRequest
from validation.series.case import Case
from validation.series.series import Series

NO_NOISE = Noise()


class Outcomes:
    """Outcomes of one study; ``rows`` makes the runs and fills the attributes."""

    def __init__(self, case: StudyCase, runner: Runner, seeds: int):
        self.case, self.runner, self.seeds = case, runner, seeds
        self.brokers = brokers(case.settings, runner)
        if case.models:
            _ = case.study.equations  # raises an error for an app without equations
        self.truths: dict[int, Truth] = {}  # by size
        self.measured: list[tuple[Noise, Measurements]] = []  # homogeneous runs that the models were fitted to

    def rows(self) -> Iterator[AllocationRow]:
        """Yield a row for every choice and static allocation of the study."""
        case = self.case
        self.runner.start(specs(case.study, case.evaluation, case.settings))
        measured = measure(case.study, case.homogeneous, self.brokers(())) if case.homogeneous else None
        everywhere = self._everywhere()
        self.truths = {size: simulate_space(case.study, size, case.settings, self.runner) for size in case.evaluation}
        noises = {model.settings.noise.sigma for model in case.models if model.settings.form != "npt:nt"}
        if measured is not None:
            for noise in (Noise(sigma, seed) for sigma in sorted(noises) for seed in self._seeds(sigma)):
                self.measured.append((noise, noise.of(measured.measurements)))
        for model in case.models:
            runs = everywhere if model.settings.form == "npt:nt" else measured
            assert runs is not None  # measured for every form of the models
            for seed in self._seeds(model.settings.noise.sigma):
                yield from self._by_model(model, seed, runs)
        for driving in map(predictor, case.predictors):
            for size in case.evaluation:  # a driver of its own, so that the cost is that of this size alone
                yield self._row(size, driving.name, PredictorDriver(driving, case.study, self.brokers))
        for configuration in case.static:
            yield from self._static(f"always {configuration}", configuration)
        constant = best_constant(list(self.truths.values())) if len(self.truths) > 1 else None
        if constant is not None:
            yield from self._static(f"best constant {constant}", constant)

    def _seeds(self, sigma: float) -> Sequence[int]:
        return range(1, self.seeds + 1) if sigma else (0,)

    def _everywhere(self) -> Measured | None:
        runs = everywhere(self.case)
        return measure(self.case.study, runs, self.brokers(())) if runs else None

    def _by_model(self, model: ModelCase, seed: int, measured: Measured) -> Iterator[AllocationRow]:
        noise = replace(model.settings.noise, seed=seed)
        noisy = measured.with_noise(noise)
        quiet = replace(model.settings, noise=NO_NOISE)  # the measurements contain the noise already
        sizes = noisy.measurements.size
        used = sizes <= (np.inf if model.largest is None else model.largest)
        fitted, tuning = None, None
        for size in self.case.evaluation:
            if quiet.form == "npt:nt":  # all configurations: the runs of this size would be the answer
                fitted, use = None, used & (sizes != size)
            else:
                use = used
            try:
                if fitted is None or quiet.weights == "local":
                    runs, terms = noisy.where(use), self.case.study.equations
                    if tuning is None or quiet.form == "npt:nt":  # the same at all sizes that have the same runs
                        tuning = quiet.tuned(runs.measurements, terms)
                    fitted = npt_driver(runs, terms, quiet, near=size, tuning=tuning)
            except UserError as err:  # such as too many glitches: no answer with this seed
                yield self._answer(size, model.name, None, str(err), noisy.where(use).gathered, noise=noise)
            else:
                yield self._row(size, model.name, fitted, noise=noise, fit_s=fitted.fit_s, probe=model.probe)

    def _row(
        self,
        size: int,
        name: str,
        driver: Driver,
        *,
        noise: Noise = NO_NOISE,
        fit_s: float = 0.0,
        probe: int = 0,
    ) -> AllocationRow:
        """Return the row of a driver's choice, among the ``probe`` best configurations if it is not 0."""
        started, before_s = time.perf_counter(), driver.gathered.wall_s
        choice, refusal, space = None, "", self.truths[size].space
        probes = Gathered()
        try:
            estimates = driver.estimate(space, size)
            if probe:
                probing = Probing(probe, self.brokers(()), noise)
                made = choose_by_probes(self.case.study, space, size, estimates, probing)
                choice, probes = made.choice, made.gathered
            else:
                choice = estimates.choose(space)
        except OutOfRange as err:
            refusal = str(err)
        gathered = driver.gathered + probes
        search_s = time.perf_counter() - started - (gathered.wall_s - before_s)
        return self._answer(size, name, choice, refusal, gathered, noise=noise, fit_s=fit_s, search_s=search_s)

    def _answer(
        self,
        size: int,
        name: str,
        choice: ChosenConfiguration | None,
        refusal: str,
        gathered: Gathered,
        *,
        noise: Noise,
        fit_s: float = 0.0,
        search_s: float = 0.0,
    ) -> AllocationRow:
        judged: dict[str, Any] = {"flags": refusal}
        if choice is not None:
            made = judge(choice, self.truths[size])
            judged = {
                "chosen": str(made.chosen),
                "ranks": made.chosen.total,
                "estimated_s": made.estimated_s,
                "simulated_s": made.simulated_s,
                "epsilon": made.epsilon,
                "delta": made.delta,
                "flags": "; ".join(made.flags),
            }
        return self._beside_truth(
            size,
            name,
            noise=noise.sigma,
            seed=noise.seed,
            evidence_node_s=gathered.cost.node_s,
            evidence_wall_s=gathered.cost.wall_s,
            measured_s=gathered.measured_s,
            gather_s=gathered.wall_s,
            fit_s=fit_s,
            search_s=search_s,
            **judged,
        )

    def _static(self, name: str, configuration: Configuration) -> Iterator[AllocationRow]:
        """Yield a row of the configuration for every size that allows its number of ranks (section 6.1)."""
        for size, truth in self.truths.items():
            if truth.space.rows([configuration])[0] < 0:
                continue
            simulated_s = truth.time_s(configuration)
            yield self._beside_truth(
                size,
                name,
                chosen=str(configuration),
                ranks=configuration.total,
                simulated_s=simulated_s,
                epsilon=estimation_error(simulated_s, truth.time_s(truth.optimum())),
            )

    def _beside_truth(self, size: int, model: str, **said: Any) -> AllocationRow:
        """Return the row of an answer for a size, with the optimum of that size."""
        truth = self.truths[size]
        optimum = truth.optimum()
        return AllocationRow(
            app=self.case.study.app,
            size=size,
            small=size < self.case.small_below,
            model=model,
            optimum=str(optimum),
            optimum_s=truth.time_s(optimum),
            configurations=len(truth.space),
            **said,
        )


def everywhere(case: StudyCase) -> list[tuple[Configuration, int]]:
    """Return all configurations at the sizes of construction, which N-T models need (section 5.1), if there are any.

    Configurations whose number of ranks is allowed by too few of the sizes are left out.
    """
    if all(model.settings.form != "npt:nt" for model in case.models):
        return []
    needed = len(case.study.equations.nt) + 1  # the size of the choice is left out of the fit
    least = min(model.largest or np.inf for model in case.models if model.settings.form == "npt:nt")
    runs: dict[int, list[tuple[Configuration, int]]] = {}
    for size in case.construction:
        space = case.study.space(size)
        for row, total in enumerate(space.total.tolist()):
            runs.setdefault(total, []).append((space.configuration(row), size))
    return [run for some in runs.values() if len({n for _, n in some if n <= least}) >= needed for run in some]


def plan(campaign: AllocationCampaign) -> Plan:
    """Return the simulations of a campaign."""
    joined = Plan()
    for case in campaign.studies:
        measured = [*case.homogeneous, *everywhere(case)]
        alone = tuple(case.settings.spec(case.study.target(*run)) for run in measured)
        truths = specs(case.study, case.evaluation, case.settings)
        cases = tuple(Case(spec.target, "", case.settings) for spec in truths)
        series = Series(cases, [predictor(name) for name in case.predictors], alone=True)
        joined = joined.joined(series.plan().joined(Plan(evidence=alone)))
    return joined


def refuse_search_arguments(
    request: NodesComparisonRequest,
    beside: str = "a campaign file",
    remedy: str = "Leave it out, and use the keys of the file",
) -> None:
    """Refuse the options of a single search beside a campaign file, or another thing that replaces the search.

    Raises:
        UserError: Such an option is given.  A campaign file has a key for it, or it has no meaning there.
    """
    runner_keys = {field.key for group in (RunnerOptions, DryRunOption) for field in fields_of(group)}
    for field in fields_of(SearchOptions):
        if field.key not in runner_keys and getattr(request, field.key) != field.default:
            raise UserError(field.option, f"does not go with {beside}", remedy)


def run_campaign(request: NodesComparisonRequest) -> int:
    """Run the campaign that the command line names and return the exit status."""
    refuse_search_arguments(request)
    campaign = read_allocation_campaign(given(request.campaign))
    if request.dry_run:
        return print_plan(request, plan(campaign))
    said = Cautions()
    with (
        AllocationOutput(request.out, as_json=request.json, wide=request.wide, cautions=said) as output,
        runner_from_request(request, cautions=said, saying=False) as runner,
    ):
        for case in campaign.studies:
            study = Outcomes(case, runner, campaign.seeds)
            for row in study.rows():
                output.keep(asdict(row))
            output.add_times(case.study.app, study.truths, study.measured)
    return 0
