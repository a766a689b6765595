"""The search that the options of options.py describe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from apps.options.machines import machine_from_request, machines_platform
from apps.options.programs import parse_parameters
from apps.options.settings import settings_from_request
from apps.programs.kernel import sized_names
from apps.programs.problem import Problem
from apps.runs.plan import Plan
from apps.spec.settings import Settings
from platforms.command.request import given
from platforms.errors import UserError, known_names
from platforms.grids.grid import default_power
from platforms.model.platform import Cluster, Platform
from platforms.options import platform_from_request
from platforms.prices.options import CostQuestion, costs_from_request
from platforms.wording import number_of
from predictor.allocation.configuration import Limits
from predictor.allocation.objectives import TIME, Objective, carbon, cost, edp, energy
from predictor.allocation.search import ChosenConfiguration, branch_and_bound, cheapest_within, check_slack
from predictor.allocation.space import Space
from predictor.evidence.broker import Broker
from predictor.evidence.plan import planned
from predictor.nodes.changed_clusters import asked_shares, base_efficiency, powered_platform, sustained_platform
from predictor.nodes.choice import MODEL_OPTIONS, chosen_models
from predictor.nodes.drivers import Driver, Estimates, Noise, NptDriver, NptSettings
from predictor.nodes.graph_driver import examines_all, first_configurations
from predictor.nodes.graph_groups import PREDICTOR as GRAPH
from predictor.nodes.options import BOUNDED_FORMS, FORMS, OBJECTIVES, SEARCHES, UNPREDICTABLE, SearchOptions
from predictor.nodes.probes import PROBES, Probing, check_probes
from predictor.nodes.sizes import SIZE, classes_as_sizes, default_limits, sized_program, usual_construction
from predictor.nodes.study import Study
from predictor.npt.chosen_terms import ChosenTerms, declared_terms
from predictor.npt.predictor import NptPredictor
from predictor.npt.tables import names_with_equations
from predictor.options import problems_from_request
from predictor.registry import predictor

_Number = TypeVar("_Number", int, float)
_Options = TypeVar("_Options", bound=SearchOptions)
_NEARER = "then those near the best, which these decide"

MOST_RESAMPLINGS = 10_000  # of a bootstrap
OF_POWER = {"energy": energy, "edp": edp}  # objectives that need the watts of the nodes


def plan_from_request(request: SearchOptions, study: Study, settings: Settings, *, truths: bool) -> Plan:
    """Return the runs of a search, or also those of all its configurations, of which the best is the optimum.

    Raises:
        UserError: The options do not fit together.
    """
    size = asked_size(request)
    space = study.space(size)
    if request.predictor == GRAPH and not truths and not examines_all(space):
        asked = (study.target(one, size) for one in first_configurations(space))
        return planned(((settings, [target]) for target in asked), [predictor(GRAPH)], truths=False, remark=_NEARER)
    targets = [study.target(space.configuration(row), size) for row in range(len(space))]
    if request.predictor in FORMS and request.measurements is not None:
        return Plan(truths=tuple(map(settings.spec, targets)) if truths else ())
    if request.predictor in FORMS:
        sizes = construction_from_request(request, study)
        runs = (study.target(configuration, size) for configuration, size in study.homogeneous(sizes))
        alone = [settings.spec(target) for target in runs]
        truth = [spec for spec in map(settings.spec, targets) if truths and spec not in alone]
        probes = probes_from_request(request, study) * (1 + getattr(request, "then", 0))
        remark = (
            f"then at most {number_of(probes, 'probe')}, of configurations that these runs decide" if probes else ""
        )
        return Plan(tuple(dict.fromkeys(alone)), tuple(dict.fromkeys(truth)), remark=remark)
    # Each by itself: where the evidence contains runs of targets, it is gathered for one target after another.
    return planned(((settings, [target]) for target in targets), [predictor(given(request.predictor))], truths=truths)


def study_from_request(request: SearchOptions) -> Study:
    """Return the study that the options describe.

    Raises:
        UserError: An option is missing or wrong.
    """
    if request.app is None and request.program is None:
        raise UserError("--app", "not given", "Name a kernel, or give --program FILE")
    fixed = _fixed_problem(request)
    if fixed is None and request.size is None:
        raise UserError("--size", "not given", "Give the N that configurations are to be chosen for")
    machine = machine_from_request(request)
    platform = platform_from_request(request) if machine is None else machines_platform(request, machine)
    app = given(request.app) if fixed is None else fixed.name
    platform = platform if request.watts is None else powered_platform(platform, request.watts)
    shares = asked_shares(request.efficiency, app, platform)
    platform = sustained_platform(platform, shares, Problem(app) if fixed is None else fixed)
    limits = limits_from_request(request, app, platform)
    at_size = None if fixed is None or request.size is None else sized_program(request)
    return Study(app, platform, limits, parse_parameters(request.param) if fixed is None else {}, fixed, at_size)


def search_settings(request: SearchOptions) -> Settings:
    """Return the settings of runs; the platform of the study has the shares of single clusters already."""
    machine = machine_from_request(request)
    base = replace(request, efficiency=base_efficiency(request.efficiency))
    return settings_from_request(base, machine, request.repeats)


def _fixed_problem(request: SearchOptions) -> Problem | None:
    """Return the problem of a class or of the user's own program; None: a kernel with a free size."""
    if request.program is None and request.problem_class is None and request.app in sized_names():
        return None
    if request.program is not None and request.size is not None:
        return sized_program(request)(request.size)
    return problems_from_request(request)[0]


def asked_size(request: SearchOptions) -> int:
    """Return the size N of the problem; 1 for a problem that has none, for which all sizes stand."""
    return 1 if request.size is None else request.size


def with_models(request: _Options, study: Study) -> tuple[_Options, Study, str]:
    """Return the request with the models that drive the search, the study with their limits, and why they were chosen.

    Raises:
        UserError: The models are of kernels with a free size, and the program is none.
    """
    chosen = chosen_models(request, study)
    if chosen.name in FORMS and study.fixed is not None and study.at_size is None:
        classes = classes_as_sizes(study.fixed)
        if classes is None:
            problem = f"its models need runs at several sizes, which {study.fixed} has not"
            remedy = f"Write {SIZE} into --program-args and give --size, or leave --predictor out"
            raise UserError(f"--predictor {chosen.name}", problem, remedy)
        size, at_size = classes
        request, study = replace(request, size=size), replace(study, at_size=at_size)
    request = replace(request, predictor=chosen.name)
    return request, study.within(limits_from_request(request, study.app, study.platform)), chosen.why


def limits_from_request(request: SearchOptions, app: str, platform: Platform) -> Limits:
    """Return the limits of --nodes and --processes, or their defaults."""
    by_cores = request.machine is not None or (request.predictor is not None and request.predictor not in FORMS)
    usual = default_limits(app, platform, request.scenario, by_cores=by_cores)
    return Limits(
        usual.pes if request.nodes is None else numbers(request.nodes, "--nodes", int),
        usual.processes if request.processes is None else numbers(request.processes, "--processes", int),
    )


def numbers(text: str, option: str, kind: type[_Number]) -> tuple[_Number, ...]:
    """Parse a comma-separated list of numbers given to ``option``.

    Raises:
        UserError: The text is not such a list.
    """
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option} {text}", "not numbers", "Write them with commas, such as 4,4,4") from None


def construction_from_request(request: SearchOptions, study: Study) -> tuple[int, ...]:
    """Return the sizes that are measured.

    Raises:
        UserError: A size is given more than once, or none is given and the problem has no smaller ones.
    """
    if request.construction is not None:
        sizes = numbers(request.construction, "--construction", int)
        check_distinct(sizes, "--construction")
        return sizes
    size = asked_size(request)
    return usual_construction(study.app, study.problem(size), size)


def terms_from_request(request: SearchOptions, study: Study) -> ChosenTerms | None:
    """Return the terms of the models: those of --terms, else the kernel's; None: the measured runs decide.

    Raises:
        UserError: A term is not known, or does not go with the form of the models.
    """
    if request.terms is not None:
        if request.predictor != "npt":
            problem = f"gives the terms of the models npt, not {request.predictor}"
            raise UserError("--terms", problem, "Leave it out, or give --predictor npt")
        return declared_terms([name.strip() for name in request.terms.split(",")])
    if study.app in names_with_equations() and (study.fixed is None or study.fixed.program is None):
        return ChosenTerms(study.equations, "")
    if request.predictor != "npt":
        problem = f"the terms of {study.app} are not known, and only those of npt are chosen by the runs"
        raise UserError(f"--predictor {request.predictor}", problem, "Use --predictor npt")
    return None


def check_distinct(sizes: Sequence[int], where: str) -> None:
    """Refuse a size that is given more than once, because its second run would add cost but no information.

    Raises:
        UserError: A size is given more than once.
    """
    for size in sizes:
        if sizes.count(size) > 1:
            raise UserError(where, f"{size} is given more than once", "Name every size once")


def npt_settings_from_request(request: SearchOptions) -> NptSettings:
    """Return the settings of the models from the options.

    Raises:
        UserError: A name or value is not valid, or a seed is given without noise.
    """
    if request.seed is not None and not request.noise:
        raise UserError(f"--seed {request.seed}", "has no effect without noise", "Give --noise too, or leave it out")
    return NptSettings(
        form=given(request.predictor),
        method="nnls" if request.fit is None else request.fit,
        weights="relative" if request.weights is None else request.weights,
        drop=tuple(dict.fromkeys(request.drop)),
        glitch_k=request.glitches,
        outliers="keep" if request.outliers is None else request.outliers,
        noise=Noise(0.0 if request.noise is None else request.noise, 0 if request.seed is None else request.seed),
    )


def probes_from_request(request: SearchOptions, study: Study) -> int:
    """Return the number of configurations to probe: --probe, or its default for the program and the search.

    Raises:
        UserError: The options do not fit together.
    """
    plain = request.objective == "time" and request.search == "exhaustive" and request.measurements is None
    if request.probe is None:
        return PROBES if plain and _is_probed(request, study) else 0
    where = f"--probe {request.probe}"
    check_probes(request.probe, where)
    if request.probe and not plain:
        problem = "probes are simulated times, compared after an exhaustive search for the least time"
        raise UserError(where, problem, "Leave it out, or leave out --objective, --search and --measurements")
    number: int = request.probe
    return number


def _is_probed(request: SearchOptions, study: Study) -> bool:
    """Return whether the best configurations are probed by default.

    Models of measured runs are probed by a few iterations.  A program of the user's without iterations is recorded
    whole for its graph, so that whole runs cost no more, and show where its course depends on the time: a recording
    does not.
    """
    problem = study.problem(asked_size(request))
    if request.predictor in FORMS:
        return problem.iterative
    return request.predictor == GRAPH and problem.program is not None and not problem.iterative


def check_choice_arguments(request: SearchOptions, study: Study) -> None:
    """Check --probe, --bootstrap and --measurements before anything runs.

    Raises:
        UserError: A value is out of its range, or the options do not fit together.
    """
    probes_from_request(request, study)
    if request.bootstrap is not None and not 0 <= request.bootstrap <= MOST_RESAMPLINGS:
        remedy = f"Give 0 to {MOST_RESAMPLINGS}, 0 for no bootstrap"
        raise UserError(f"--bootstrap {request.bootstrap}", "not a number of resamplings", remedy)
    if request.machine is not None and request.noise:
        raise UserError(f"--noise {request.noise:g}", "a machine has its own", "Leave it out with --machine")
    if request.measurements is None:
        if request.unpredictable is not None and request.machine is None:
            raise UserError("--unpredictable", "goes with --measurements or --machine", "Leave it out")
        return
    if request.machine is not None:
        raise UserError("--machine", "does not go with --measurements, which are there already", "Drop one")
    if request.unpredictable is not None and request.unpredictable not in UNPREDICTABLE:
        known = known_names(request.unpredictable, UNPREDICTABLE)
        raise UserError(f"--unpredictable {request.unpredictable}", "no such word", known)
    for name in ("construction", "noise", "seed"):
        if getattr(request, name) is not None:
            raise UserError(f"--{name}", "is about simulated measurements, not --measurements", "Leave it out")


def probing_from_request(request: SearchOptions, study: Study, broker: Broker) -> Probing:
    """Return the way to probe, with the noise of the measurements.

    Raises:
        UserError: The options do not fit together.
    """
    noise = npt_settings_from_request(request).noise if request.predictor in FORMS else Noise()
    return Probing(probes_from_request(request, study), broker, noise)


def refuse_model_arguments(request: SearchOptions) -> None:
    """Refuse options about measured models where a predictor drives the search.

    Raises:
        UserError: Such an option is given.
    """
    for name in MODEL_OPTIONS:
        if getattr(request, name) not in (None, ()):
            problem = f"is about measured models ({', '.join(FORMS)}), not {request.predictor}"
            raise UserError(f"--{name}", problem, "Leave it out")


@dataclass(frozen=True)
class Search:
    """Settings of the search for the best configuration."""

    how: str  # of SEARCHES
    objective: Objective
    slack: float | None  # not None: only configurations within 1 + slack of the best time count
    costs: CostQuestion | None = None

    def choose(
        self, driver: Driver, space: Space, size: int, estimates: Estimates | None = None
    ) -> ChosenConfiguration:
        """Return the best configuration by the driver's estimates; branch and bound needs none of them.

        Raises:
            OutOfRange: No configuration has an estimate.
        """
        find = self._find(driver, space, size, estimates)
        if self.slack is None:
            return find(self.objective)
        return cheapest_within(find, self.objective, self.slack)

    @property
    def lists(self) -> bool:
        """True if the search needs the estimates of all configurations."""
        return self.how != "branch-and-bound"

    def _find(
        self, driver: Driver, space: Space, size: int, estimates: Estimates | None
    ) -> Callable[..., ChosenConfiguration]:
        if self.how == "branch-and-bound":
            if not isinstance(driver, NptDriver):
                raise ValueError("branch and bound needs the models of an NptDriver")
            return partial(_bounded, driver, space, size)
        return partial((driver.estimate(space, size) if estimates is None else estimates).choose, space)


def _bounded(
    driver: NptDriver, space: Space, size: int, objective: Objective = TIME, **limit: float
) -> ChosenConfiguration:
    """Return the choice of branch and bound, with the reasons to distrust the models."""
    choice = branch_and_bound(space, driver.models.table_s(space, size), objective, **limit)
    return replace(choice, flags=(*choice.flags, *driver.flags(size)))


def search_from_request(request: SearchOptions, platform: Platform) -> Search:
    """Return the settings of the search from the options.

    Raises:
        UserError: A name is not known, or the options do not fit together.
    """
    if request.objective not in OBJECTIVES:
        raise UserError(
            f"--objective {request.objective}", "no such objective", known_names(request.objective, OBJECTIVES)
        )
    if request.search not in SEARCHES:
        raise UserError(f"--search {request.search}", "no such search", known_names(request.search, SEARCHES))
    if request.search == "branch-and-bound" and request.predictor not in BOUNDED_FORMS:
        problem = f"it needs the times of sub-clusters, which only npt and npt:pt models have, not {request.predictor}"
        raise UserError("--search branch-and-bound", problem, "Use --search exhaustive")
    costs = costs_from_request(request)
    costs.check(platform)
    needed = {"cost": "price", "cheapest": "price", "carbon": "carbon"}.get(request.objective)
    if needed is not None and getattr(request, needed) is None:
        raise UserError(f"--objective {request.objective}", f"needs --{needed}", "Give both, or another objective")
    if costs.carbon is not None and len(set(map(costs.carbon.of_name, _cluster_names(platform)))) > 1:
        problem = "the energy of a configuration is known for all its nodes together, not for each cluster"
        raise UserError(f"--carbon {request.carbon}", problem, "Give one value or profile for all clusters")
    return Search(request.search, _objective(request, platform, costs), _slack(request), costs)


def _cluster_names(platform: Platform) -> list[str]:
    return [cluster.name for cluster in platform.clusters]


def _slack(request: SearchOptions) -> float | None:
    if request.objective != "cheapest":
        if request.slack is not None:
            raise UserError(f"--slack {request.slack:g}", "goes with --objective cheapest", "Leave it out")
        return None
    slack = 0.1 if request.slack is None else request.slack
    check_slack(slack)
    return slack


def _objective(request: SearchOptions, platform: Platform, costs: CostQuestion) -> Objective:
    if request.objective == "time":
        return TIME
    if request.objective in OF_POWER:
        return OF_POWER[request.objective](_full_power_w(platform, request.objective))
    if request.objective == "carbon":
        site = given(costs.carbon).of_name(*_cluster_names(platform))
        if site is None:
            raise UserError(f"--carbon {request.carbon}", "no value for the clusters", "Give one for all of them")
        return carbon(_full_power_w(platform, request.objective), site, costs.start_s)
    prices = given(costs.prices)
    each = prices.of_clusters(platform)
    for cluster, price in zip(platform.clusters, each, strict=True):
        if price is None:
            problem = f"no price for cluster {cluster.name}, so that the cost is unknown"
            raise UserError(f"--price {request.price}", problem, "Give one, or another objective")
    objective = cost([price for price in each if price is not None], prices.currency)
    objective.check(len(platform.clusters))
    return objective


def objective_cautions(request: SearchOptions, platform: Platform) -> list[str]:
    """Return reasons to distrust the objective."""
    if request.objective not in (*OF_POWER, "carbon"):
        return []
    cautions = []
    if request.predictor in FORMS or isinstance(predictor(given(request.predictor)), NptPredictor):
        cautions.append(
            f"models of {request.predictor} do not distinguish computing from waiting: energy counts the nodes in use "
            "at full power all the time; models of dpgraph and hcf do distinguish them"
        )
    if all(_usual_power(cluster) for cluster in platform.clusters):
        cautions.append(
            "the watts of the nodes are the default, in proportion to their speeds: where most of the time is "
            "computing, energy hardly differs between configurations; give the clusters of a scenario file their power"
        )
    return cautions


def _usual_power(cluster: Cluster) -> bool:
    """Return whether the cluster's nodes have the default power of a grid's nodes."""
    host = cluster.hosts[0]
    usual_w = default_power(cluster.speed_flops * host.cores).full_w
    return host.power is not None and math.isclose(host.power.full_w, usual_w, rel_tol=1e-9)


def _full_power_w(platform: Platform, objective: str) -> Sequence[float]:
    """Return the power of a node of each cluster with all cores busy, W; raise UserError where it is not given."""
    full_w = []
    for cluster in platform.clusters:
        power = cluster.hosts[0].power
        if power is None:
            where = f"--objective {objective}, cluster {cluster.name}"
            raise UserError(where, "the platform gives no watts", "Give its hosts a wattage_per_state")
        full_w.append(power.full_w)
    return full_w
