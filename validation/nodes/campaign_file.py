"""The file of a campaign of choices.  It is read and checked before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apps.programs.problem import Problem, sized_problem
from apps.spec.settings import Settings, parse_memory_bus, resolve_efficiency
from platforms.errors import UserError, inside
from platforms.files.checked_toml import CheckedTable, read_checked
from platforms.grids.scenario import named_grid
from platforms.model.platform import Platform
from platforms.system.convert import materialise_file
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.sizes import kernel_sizes
from predictor.nodes.arguments import check_distinct
from predictor.nodes.changed_clusters import parse_shares, sustained_platform
from predictor.nodes.drivers import Noise, NptSettings
from predictor.nodes.probes import check_probes
from predictor.nodes.sizes import default_limits
from predictor.nodes.study import Study
from predictor.plugins import within
from predictor.registry import predictor

_KEYS = {
    "": ("scenario", "network", "studies", "seeds"),
    "studies": (
        *("app", "construction", "evaluation", "nodes", "processes", "params", "efficiency"),
        *("memory_bus", "bytes_per_flop"),
        *("small_below", "models", "predictors", "static"),
    ),
    "models": ("form", "fit", "weights", "drop", "glitches", "outliers", "probe", "noise", "largest"),
}


@dataclass(frozen=True)
class ModelCase:
    """Models that choose configurations: their settings and the sizes they are fitted to."""

    settings: NptSettings  # without the seed
    largest: int | None  # largest size that they are fitted to; None: all sizes
    probe: int = 0  # number of their best configurations that are probed

    @property
    def name(self) -> str:
        """Name of the models in tables and figures."""
        probed = f", best of {self.probe} probed" if self.probe else ""
        return self.settings.name + ("" if self.largest is None else f", N to {self.largest}") + probed


@dataclass(frozen=True)
class StudyCase:
    """One app: the sizes to measure, the sizes to choose configurations for, and the models and predictors to use."""

    study: Study
    settings: Settings
    construction: tuple[int, ...]
    evaluation: tuple[int, ...]
    models: tuple[ModelCase, ...]
    predictors: tuple[str, ...]
    static: tuple[Configuration, ...]  # used for every size (section 6.1)
    small_below: int = 0  # the mean epsilon is given also without the sizes below it

    @property
    def homogeneous(self) -> list[tuple[Configuration, int]]:
        """The runs that the models are fitted to; N-T models use other runs."""
        if all(model.settings.form == "npt:nt" for model in self.models):
            return []
        return list(self.study.homogeneous(self.construction))


@dataclass(frozen=True)
class AllocationCampaign:
    """The contents of a campaign file."""

    studies: tuple[StudyCase, ...]
    seeds: int  # number of seeds (1, 2, ...) for every noise other than 0


def read_allocation_campaign(path: str | Path) -> AllocationCampaign:
    """Read a campaign from a TOML file.

    The file has these keys::

        scenario = "ichikawa"               # a name, a scenario file or a system file
        network = "gigabit"                 # default: the scenario's own
        seeds = 20                          # seeds 1 to 20 of every noise; default 1
        [[studies]]
        app = "himeno"                      # an app with free sizes
        construction = [32, 48]             # sizes to measure; default: those of the NP-T paper
        evaluation = [64, 256]              # sizes to choose configurations for; default likewise
        small_below = 48                    # give the mean epsilon also without smaller sizes; default: the paper's
        nodes = [4, 4, 4]                   # most nodes of each cluster; default: the paper's on its cluster, else all
        processes = [2, 2, 1]               # most processes on a node of each cluster; default likewise
        params = { niter = 100 }            # parameters of the app
        efficiency = "reference"            # or "0.09,xeon=0.053": also shares of single clusters
        memory_bus = 3.2                    # GB/s of a node, which its processes share, or "platform"; default: none
        bytes_per_flop = 2.1                # with memory_bus; default: the kernel's
        predictors = ["dpgraph"]            # predictors that drive the search, in addition to the models
        static = ["(4,1,0,0,0,0)"]          # configurations used for every size
        [[studies.models]]
        form = "npt"                        # or "npt:nt", "npt:pt", "npt:pt-printed"
        fit = "nnls"                        # or "ls"
        weights = "absolute"                # as in the paper; or "relative", as in single choices, or "local"
        drop = ["log P"]                    # terms to leave out
        glitches = 0.9                      # k of the glitch rule; glitches are left out
        outliers = "cross-validate"         # or "reject"; default "keep"
        probe = 3                           # number of the best configurations that are probed; default 0
        noise = [0, 0.02]                   # standard deviations of the noise of the measured times
        largest = 112                       # largest size that the models are fitted to

    File names are relative to the campaign file.

    Raises:
        UserError: The file cannot be read or a key is wrong; the error names the file and the key.
    """
    path = Path(path)
    table = read_checked(path, _KEYS, "campaign file")
    scenario = table.text("scenario", "ichikawa")
    platform = _platform(table, scenario, path.parent)
    seeds = table.integer("seeds", 1)
    if seeds < 1:
        raise UserError(f"{path}, seeds", f"{seeds} is not positive", "Give at least 1")
    studies = tuple(_study(entry, platform, scenario, folder=path.parent) for entry in table.tables("studies"))
    if not studies:
        raise UserError(str(path), "no [[studies]]", "Give at least one, with an app")
    return AllocationCampaign(studies, seeds)


def _platform(table: CheckedTable, name: str, folder: Path) -> Platform:
    # Imported here for a quick start: it is slow to import.
    from platforms.read.read import materialise

    network = table.text("network", "") or None
    with _about(table, "scenario, network"):
        return (
            materialise_file(folder / name, network)
            if name.endswith(".toml")
            else materialise(named_grid(name, network))
        )


def _study(entry: CheckedTable, platform: Platform, scenario: str, *, folder: Path) -> StudyCase:
    app = entry.text("app")
    paper = kernel_sizes(app)

    def integers(key: str, default: Sequence[int] | None) -> tuple[int, ...]:
        if not entry.has(key) and default is None:
            raise UserError(entry.at(key), f"the NP-T paper has no {key} sizes for {app}", "Give them")
        return tuple(entry.list_of(key, list(default or ()), int, "whole numbers"))

    with _about(entry, "app"):
        sized_problem(app, 1)
    usual = default_limits(app, platform, scenario)
    pes, processes = integers("nodes", usual.pes), integers("processes", usual.processes)
    params = entry.value("params", {})
    if not isinstance(params, dict):
        raise UserError(entry.at("params"), f"{params!r} is not a table", "Write for example { niter = 100 }")
    with _about(entry, "efficiency"):
        shares = parse_shares(str(entry.value("efficiency", "reference")))
        resolve_efficiency(shares.base, Problem(app))
        platform = sustained_platform(platform, shares, Problem(app))
    with _about(entry, "nodes and processes"):
        study = Study(app, platform, Limits(pes, processes), params)
    evaluation = integers("evaluation", paper.evaluation if paper else None)
    if not evaluation:
        raise UserError(entry.at("evaluation"), "no sizes", "Give at least one")
    with _about(entry, "memory_bus"):
        settings = Settings(
            efficiency=shares.base,
            memory_bus=parse_memory_bus(str(entry.value("memory_bus", None))) if entry.has("memory_bus") else None,
            bytes_per_flop=entry.number("bytes_per_flop") if entry.has("bytes_per_flop") else None,
        )
    with _about(entry, "evaluation, params"):
        for size in evaluation:
            study.space(size)
    tables = entry.tables("models")
    construction = integers("construction", (paper.construction if paper else None) if tables else ())
    for key, sizes in (("construction", construction), ("evaluation", evaluation)):
        check_distinct(sizes, entry.at(key))
    case = StudyCase(
        study=study,
        settings=settings,
        construction=construction,
        evaluation=evaluation,
        models=tuple(model for table in tables for model in _models(table, study, construction)),
        predictors=tuple(within(folder, name) for name in entry.list_of("predictors", [], str, "names")),
        small_below=entry.integer("small_below", paper.small_below if paper else 0),
        static=tuple(_static(entry, text, limits=study.limits) for text in entry.list_of("static", [], str, "texts")),
    )
    with _about(entry, "evaluation, params"):
        study.check_iterations((size, ranks) for size in evaluation for ranks in study.space(size).ranks)
    with _about(entry, "construction, params"):
        study.check_iterations(_measured(case))
    with _about(entry, "predictors"):
        for name in case.predictors:
            predictor(name)
    if not (case.models or case.predictors or case.static):
        raise UserError(entry.where, "no models or other choices", "Give [[studies.models]], predictors or static")
    return case


def _measured(case: StudyCase) -> Iterator[tuple[int, int]]:
    """Yield N and P of all runs that are measured for models."""
    yield from ((size, configuration.total) for configuration, size in case.homogeneous)
    if any(model.settings.form == "npt:nt" for model in case.models):
        yield from ((size, ranks) for size in case.construction for ranks in case.study.space(size).ranks)


def _static(entry: CheckedTable, text: str, *, limits: Limits) -> Configuration:
    with _about(entry, "static"):
        configuration = Configuration.parse(text)
    if not limits.allow(configuration):
        problem = f"{configuration} is not within nodes {list(limits.pes)} and processes {list(limits.processes)}"
        raise UserError(entry.at("static"), problem, "Give another one, or raise the limits")
    return configuration


def _models(entry: CheckedTable, study: Study, construction: Sequence[int]) -> Iterator[ModelCase]:
    largest = entry.integer("largest") if entry.has("largest") else None
    runs = list(study.homogeneous(size for size in construction if largest is None or size <= largest))
    for noise in entry.list_of("noise", [0], (int, float), "numbers"):
        form, method = entry.text("form", "npt"), entry.text("fit", "nnls")
        weights, drop = entry.text("weights", "absolute"), entry.list_of("drop", [], str, "names of terms")
        glitch_k = entry.number("glitches") if entry.has("glitches") else None
        with _about(entry):
            settings = NptSettings(
                form, method, weights, tuple(drop), glitch_k, entry.text("outliers", "keep"), Noise(float(noise))
            )
            settings.check(study.equations, runs)
            check_probes(probe := entry.integer("probe", 0), "probe")
        yield ModelCase(settings, largest, probe)


@contextmanager
def _about(entry: CheckedTable, keys: str = "") -> Iterator[None]:
    """Add the file, the place and the keys to the UserErrors of this context."""
    try:
        yield
    except UserError as err:
        place = inside(entry.where, f", {keys}", re.split(r"\W+", keys)[0]) if keys else entry.where
        raise err.at(inside(place, f": {err.where}")) from None
