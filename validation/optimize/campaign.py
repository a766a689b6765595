"""Many choices: programs x sizes x models x noises, against whole spaces simulated."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.catalog import Problem, sized_problem
from apps.options import add_runner_arguments, runner_from_arguments
from apps.spec import Settings, resolve_efficiency
from platforms.checked_toml import CheckedTable, read_checked
from platforms.errors import UserError
from platforms.scenario import named_grid, read_grid
from predictor.base import OutOfRange
from predictor.evidence import Broker
from predictor.npt.configuration import Configuration, Limits
from predictor.npt.measurements import Measurements
from predictor.npt.search import exhaustive
from predictor.npt.sizes import paper_sizes
from predictor.npt.tables import equations
from predictor.optimize.arguments import add_search_arguments
from predictor.optimize.drivers import Driver, Measured, Noise, NptSettings, PredictorDriver, measure, npt_driver
from predictor.optimize.study import Study
from predictor.registry import predictor
from validation.optimize.errors import estimation_error, judge
from validation.optimize.truth import Truth, simulate_space, specs

if TYPE_CHECKING:
    from apps.runner import Runner
    from platforms.platform import Platform

NO_NOISE = Noise()
_KEYS = {
    "": ("scenario", "network", "studies", "seeds"),
    "studies": (
        *("app", "construction", "evaluation", "nodes", "processes", "params", "efficiency"),
        *("models", "predictors", "static"),
    ),
    "models": ("form", "fit", "weights", "drop", "glitches", "noise", "largest"),
}


@dataclass(frozen=True)
class ModelCase:
    """Models that choose: how they are made, and of which of the sizes."""

    settings: NptSettings  # but for the seed
    largest: int | None  # of the sizes that they are made of; None: all

    @property
    def name(self) -> str:
        return self.settings.name + ("" if self.largest is None else f", N to {self.largest}")


@dataclass(frozen=True)
class StudyCase:
    """One program: what is measured, where configurations are chosen, and by what."""

    study: Study
    settings: Settings
    construction: tuple[int, ...]
    evaluation: tuple[int, ...]
    models: tuple[ModelCase, ...]
    predictors: tuple[str, ...]
    static: tuple[Configuration, ...]  # that are used whatever the size (section 6.1)


@dataclass(frozen=True)
class AllocationCampaign:
    """What a campaign file asks for."""

    studies: tuple[StudyCase, ...]
    seeds: int  # of every noise that is not 0: 1, 2, ...


@dataclass(frozen=True)
class Row:
    """One choice, or one static allocation, beside the truth.  None: there is no estimate, or no answer at all."""

    app: str
    size: int
    model: str
    noise: float
    seed: int
    chosen: str | None
    ranks: int | None
    estimated_s: float | None
    simulated_s: float | None
    optimum: str
    optimum_s: float
    epsilon: float | None
    delta: float | None
    configurations: int
    evidence_node_s: float
    evidence_wall_s: float
    fit_s: float  # wall time of making the models
    search_s: float  # wall time of estimating all configurations and choosing
    flags: str


def read_allocation_campaign(path: str | Path) -> AllocationCampaign:
    """The campaign in a TOML file.

    ::

        scenario = "ichikawa"               # a name, or a scenario file
        network = "gigabit"                 # default: the scenario's own
        seeds = 20                          # of every noise; default 1
        [[studies]]
        app = "himeno"                      # a program with free sizes
        construction = [32, 48]             # sizes that are measured; default those of the NP-T paper
        evaluation = [64, 256]              # sizes that configurations are chosen for; default as above
        nodes = [4, 4, 4]                   # most nodes of each cluster; default as above
        processes = [2, 2, 1]               # most processes on a node of each cluster; default as above
        params = { niter = 100 }            # of the program
        efficiency = "reference"
        predictors = ["dpgraph"]            # that drive the search beside the models
        static = ["(4,1,0,0,0,0)"]          # configurations whatever the size
        [[studies.models]]
        form = "npt"                        # or "nt", "pt", "pt-printed"
        fit = "nnls"                        # or "ls"
        weights = "absolute"                # or "relative"
        drop = ["log P"]                    # terms to leave out
        glitches = 0.9                      # leave glitches out
        noise = [0, 0.02]                   # of the measured times
        largest = 112                       # of the sizes that it is made of

    File names are relative to the campaign file.  Raises UserError naming the file and the key for what is wrong.
    """
    path = Path(path)
    table = read_checked(path, _KEYS, "campaign file")
    platform = _platform(table, path.parent)
    seeds = table.integer("seeds", 1)
    if seeds < 1:
        raise UserError(f"{path}, seeds", f"{seeds} is not positive", "Give at least 1")
    studies = tuple(_study(one, platform) for one in table.tables("studies"))
    if not studies:
        raise UserError(str(path), "no [[studies]]", "Give at least one, with an app")
    return AllocationCampaign(studies, seeds)


def _platform(table: CheckedTable, folder: Path) -> Platform:
    from platforms.read import materialise

    name, network = table.text("scenario", "ichikawa"), table.text("network", "") or None
    with _about(table, "scenario, network"):
        return materialise(read_grid(folder / name, network) if name.endswith(".toml") else named_grid(name, network))


def _study(entry: CheckedTable, platform: Platform) -> StudyCase:
    app = entry.text("app")
    paper = paper_sizes().get(app)

    def integers(key: str, default: Sequence[int] | None) -> tuple[int, ...]:
        if not entry.has(key) and default is None:
            raise UserError(f"{entry.where}, {key}", f"the NP-T paper has none for {app}", "Give them")
        return tuple(entry.list_of(key, list(default or ()), int, "whole numbers"))

    with _about(entry, "app"):
        sized_problem(app, 1)
    pes = integers("nodes", paper and paper.limits.pes)
    processes = integers("processes", paper and paper.limits.processes)
    params = entry.value("params", {})
    if not isinstance(params, dict):
        raise UserError(f"{entry.where}, params", f"{params!r} is not a table", "Write for example { niter = 100 }")
    with _about(entry, "nodes and processes"):
        study = Study(app, platform, Limits(pes, processes), params)
    evaluation = integers("evaluation", paper and paper.evaluation)
    if not evaluation:
        raise UserError(f"{entry.where}, evaluation", "no sizes", "Give at least one")
    settings = Settings(efficiency=str(entry.value("efficiency", "reference")))
    with _about(entry, "efficiency"):
        resolve_efficiency(settings.efficiency, Problem(app))
    with _about(entry, "evaluation, params"):
        for size in evaluation:
            study.space(size)
    tables = entry.tables("models")
    construction = integers("construction", paper and paper.construction if tables else ())
    case = StudyCase(
        study=study,
        settings=settings,
        construction=construction,
        evaluation=evaluation,
        models=tuple(model for one in tables for model in _models(one, study, construction)),
        predictors=tuple(entry.list_of("predictors", [], str, "names")),
        static=tuple(_static(entry, text, limits=study.limits) for text in entry.list_of("static", [], str, "texts")),
    )
    with _about(entry, "predictors"):
        for name in case.predictors:
            predictor(name)
    if not (case.models or case.predictors or case.static):
        raise UserError(entry.where, "nothing chooses a configuration", "Give [[studies.models]], predictors or static")
    return case


def _static(entry: CheckedTable, text: str, *, limits: Limits) -> Configuration:
    with _about(entry, "static"):
        configuration = Configuration.parse(text)
    if not limits.allow(configuration):
        problem = f"{configuration} is not within nodes {list(limits.pes)} and processes {list(limits.processes)}"
        raise UserError(f"{entry.where}, static", problem, "Give one that is, or raise them")
    return configuration


def _models(entry: CheckedTable, study: Study, construction: Sequence[int]) -> Iterator[ModelCase]:
    largest = entry.integer("largest") if entry.has("largest") else None
    runs = list(study.homogeneous(size for size in construction if largest is None or size <= largest))
    for noise in entry.list_of("noise", [0], (int, float), "numbers"):
        form, method = entry.text("form", "npt"), entry.text("fit", "nnls")
        weights, drop = entry.text("weights", "absolute"), entry.list_of("drop", [], str, "names of terms")
        glitch_k = entry.number("glitches") if entry.has("glitches") else None
        with _about(entry):
            settings = NptSettings(form, method, weights, tuple(drop), glitch_k, Noise(float(noise)))
            settings.check(equations(study.app), runs)
        yield ModelCase(settings, largest)


@contextmanager
def _about(entry: CheckedTable, keys: str = "") -> Iterator[None]:
    """Complaints in this context name the file, the place and the keys in it."""
    try:
        yield
    except UserError as err:
        place = f"{entry.where}, {keys}" if keys else entry.where
        raise UserError(f"{place}: {err.where}", err.problem, err.remedy) from None


class Outcomes:
    """What comes of one study: ``rows()`` makes it all."""

    def __init__(self, case: StudyCase, runner: Runner, seeds: int):
        self.case, self.runner, self.seeds = case, runner, seeds
        self.equations = equations(case.study.app) if case.models else None
        self.truths: dict[int, Truth] = {}  # by size
        self.measured: list[tuple[Noise, Measurements]] = []  # homogeneous runs, as models were made of them

    def rows(self) -> Iterator[Row]:
        case = self.case
        broker = self._broker()
        runs = list(case.study.homogeneous(case.construction)) if case.models else []
        self.runner.start(specs(case.study, case.evaluation, case.settings))
        measured = measure(case.study, runs, broker)
        everywhere = self._everywhere()
        self.truths = {size: simulate_space(case.study, size, case.settings, self.runner) for size in case.evaluation}
        noises = {model.settings.noise.sigma for model in case.models if model.settings.form != "nt"}
        for noise in (Noise(sigma, seed) for sigma in sorted(noises) for seed in self._seeds(sigma)):
            self.measured.append((noise, noise.of(measured.measurements)))
        for model in case.models:
            for seed in self._seeds(model.settings.noise.sigma):
                yield from self._by_model(model, seed, everywhere if model.settings.form == "nt" else measured)
        for name in case.predictors:
            driver = PredictorDriver(predictor(name), case.study, broker)
            for size in case.evaluation:
                yield self._row(size, name, driver)
        for configuration in case.static:
            yield from self._static(configuration)

    def _seeds(self, sigma: float) -> Sequence[int]:
        return range(1, self.seeds + 1) if sigma else (0,)

    def _broker(self) -> Broker:
        runner = self.runner
        return Broker(
            self.case.settings,
            (),
            record=runner.record,
            trace=runner.trace,
            measure=runner.measure,
            start=runner.start,
        )

    def _everywhere(self) -> Measured | None:
        """All configurations at the sizes of construction: N-T models need no less (section 5.1).

        But those whose number of ranks too few of the sizes allow.
        """
        case = self.case
        if all(model.settings.form != "nt" for model in case.models):
            return None
        needed = len(self.equations.nt) + 1  # the size that is chosen for is left out
        least = min(model.largest or np.inf for model in case.models if model.settings.form == "nt")
        runs: dict[int, list[tuple[Configuration, int]]] = {}
        for size in case.construction:
            space = case.study.space(size)
            for row, total in enumerate(space.total.tolist()):
                runs.setdefault(total, []).append((space.configuration(row), size))
        kept = [run for some in runs.values() if len({n for _, n in some if n <= least}) >= needed for run in some]
        return measure(case.study, kept, self._broker())

    def _by_model(self, model: ModelCase, seed: int, measured: Measured) -> Iterator[Row]:
        settings = replace(model.settings, noise=replace(model.settings.noise, seed=seed))
        name = replace(model, settings=settings).name
        noisy = Measured(settings.noise.of(measured.measurements), measured.cost)
        quiet = replace(settings, noise=Noise())  # it is in the measurements now
        sizes = noisy.measurements.size
        used = sizes <= (np.inf if model.largest is None else model.largest)
        fitted = None
        for size in self.case.evaluation:
            if settings.form == "nt":  # of all configurations: those of the size itself would be the answer
                fitted = None
                use = used & (sizes != size)
            else:
                use = used
            if fitted is None:
                part = Measured(noisy.measurements.where(use), noisy.cost)
                fitted = npt_driver(part, self.equations, quiet)
            yield self._row(size, name, fitted, noise=settings.noise, fit_s=fitted.fit_s)

    def _row(self, size: int, name: str, driver: Driver, *, noise: Noise = NO_NOISE, fit_s: float = 0.0) -> Row:
        truth = self.truths[size]
        started = time.perf_counter()
        times_s, table_s = driver.times_s(truth.space, size)
        try:
            choice = exhaustive(truth.space, times_s, table_s=table_s)
        except OutOfRange as err:
            choice, refusal = None, str(err)
        search_s = time.perf_counter() - started
        judged = None if choice is None else judge(choice, truth)
        optimum = truth.optimum()
        return Row(
            app=self.case.study.app,
            size=size,
            model=name,
            noise=noise.sigma,
            seed=noise.seed,
            chosen=None if judged is None else str(judged.chosen),
            ranks=None if judged is None else judged.chosen.total,
            estimated_s=None if judged is None else judged.estimated_s,
            simulated_s=None if judged is None else judged.simulated_s,
            optimum=str(optimum),
            optimum_s=truth.time_s(optimum),
            epsilon=None if judged is None else judged.epsilon,
            delta=None if judged is None else judged.delta,
            configurations=len(truth.space),
            evidence_node_s=driver.cost.node_s,
            evidence_wall_s=driver.cost.wall_s,
            fit_s=fit_s,
            search_s=search_s,
            flags=refusal if judged is None else "; ".join(judged.flags),
        )

    def _static(self, configuration: Configuration) -> Iterator[Row]:
        """The same configuration for every size that allows its number of ranks (section 6.1)."""
        for size, truth in self.truths.items():
            if truth.space.rows([configuration])[0] < 0:
                continue
            optimum, simulated_s = truth.optimum(), truth.time_s(configuration)
            yield Row(
                app=self.case.study.app,
                size=size,
                model=f"always {configuration}",
                noise=0.0,
                seed=0,
                chosen=str(configuration),
                ranks=configuration.total,
                estimated_s=None,
                simulated_s=simulated_s,
                optimum=str(optimum),
                optimum_s=truth.time_s(optimum),
                epsilon=estimation_error(simulated_s, truth.time_s(optimum)),
                delta=None,
                configurations=len(truth.space),
                evidence_node_s=0.0,
                evidence_wall_s=0.0,
                fit_s=0.0,
                search_s=0.0,
                flags="",
            )


def refuse_search_arguments(args: argparse.Namespace) -> None:
    """Raises UserError for an option that the campaign file has a key for, or that means nothing beside it."""
    parser = argparse.ArgumentParser()
    add_search_arguments(parser)
    add_runner_arguments(own := argparse.ArgumentParser())
    for name, usual in vars(parser.parse_args([])).items():
        if name not in vars(own.parse_args([])) and getattr(args, name) != usual:
            option = f"--{name.replace('_', '-')}"
            raise UserError(option, "does not go with a campaign file", "Leave it out, and see the keys of the file")


def run_campaign(args: argparse.Namespace) -> int:
    """The campaign that the command line names."""
    from validation.optimize.output import AllocationOutput

    refuse_search_arguments(args)
    campaign = read_allocation_campaign(args.campaign)
    with AllocationOutput(args.out, as_json=args.json) as output, runner_from_arguments(args) as runner:
        for case in campaign.studies:
            study = Outcomes(case, runner, campaign.seeds)
            for row in study.rows():
                output.add(row)
            output.add_times(case.study.app, study.truths, study.measured)
    return 0
