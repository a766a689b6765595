"""Simulate every choice of clusters and mapping on a grid and compare the choices of the predictors.

The output has rank correlation and regret beside errors and costs (docs/validation/league.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.programs.problem import Problem
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.command.request import JsonOption, OutOption, WideOption, option
from platforms.errors import UserError, known_names
from platforms.model.placement import MAPPINGS
from platforms.model.platform import Cluster, Platform
from platforms.options import check_usable
from predictor.answers.answers import names
from predictor.evidence.given import NOT_SIMULATED
from predictor.options import (
    PredictorOption,
    predictor_help,
    predictors_from_request,
    problems_from_request,
)
from predictor.registry import ALL
from validation.options import PlatformsOptions, asked_platforms
from validation.output import EXIT_STATUSES_AND_LIMIT, FailAboveOption, Output, limit_from_request
from validation.series.case import Case
from validation.series.series import Series, carry_out

MOST_CLUSTERS = 8  # they have 255 subsets


def candidates(
    platform: Platform, problems: Sequence[Problem], mappings: Sequence[str], settings: Settings, *, own_grids: bool
) -> Iterator[Case]:
    """Yield every problem on every non-empty subset of the clusters with every mapping, one rank per host.

    Args:
        platform: The whole platform.
        problems: The problems to run.
        mappings: Names of mappings.
        settings: Settings of the runs.
        own_grids: Make each subset a platform of its own for the predictors, so that it has its own probe; otherwise a
            subset is a placement on the whole platform, and one probe serves all subsets.

    Raises:
        UserError: The platform has more than MOST_CLUSTERS clusters.
    """
    number = len(platform.clusters)
    if number > MOST_CLUSTERS:
        many = f"{number} clusters have {2**number - 1:,} subsets"
        raise UserError(f"platform {platform.name}", many, f"Join clusters, so that at most {MOST_CLUSTERS} are left")
    for subset in subsets(platform.clusters):
        part = replace(platform, clusters=subset)  # the SimGrid platform is the same, so runs on these hosts are too
        for mapping in mappings:
            placement = MAPPINGS[mapping](part, len(part.hosts))
            for problem in problems:
                yield Case(Target(problem, part if own_grids else platform, placement), mapping, settings)


def subsets(clusters: Sequence[Cluster]) -> Iterator[tuple[Cluster, ...]]:
    """Yield all non-empty subsets, the smallest first."""
    for size in range(1, len(clusters) + 1):
        yield from combinations(clusters, size)


PROBED = ("subset", "grid")


@dataclass(frozen=True, kw_only=True)
class LeagueRequest(
    PlatformsOptions,
    ProgramOptions,
    PredictorOption,
    SettingsOptions,
    RunnerOptions,
    OutOption,
    WideOption,
    DryRunOption,
    FailAboveOption,
    JsonOption,
):
    """Platforms, programs and predictors to rank."""

    absent: ClassVar[Mapping[str, str]] = NOT_SIMULATED
    default_predictors: ClassVar[str] = ALL
    out_files: ClassVar[str] = (
        "results.csv, summary.csv, league.csv, pareto.csv, decisions.csv and the figures pareto and regret"
    )

    predictor: str | None = option(ALL, "P1,P2,...", predictor_help)
    mappings: str = option(
        ",".join(MAPPINGS),
        "M1,M2,...",
        f"mappings to choose from: of {', '.join(MAPPINGS)} (default: all)",
        parse=str.lower,
    )
    probed: str = option(
        PROBED[0],
        "|".join(PROBED),
        "subset: each subset of clusters is a grid with its own probe for the predictors (default); grid: they "
        "see the whole grid, whose probe serves all subsets",
        parse=str.lower,
    )


def _mappings(request: LeagueRequest) -> list[str]:
    mappings = names(request.mappings, "--mappings")
    for mapping in mappings:
        if mapping not in MAPPINGS:
            raise UserError(f"--mappings {mapping}", "no such mapping", known_names(mapping, MAPPINGS))
    return mappings


def run(request: LeagueRequest) -> int:
    """Rank the predictors, and print; return the exit status."""
    # Imported here because it is slow to import.
    from validation.ranking.output import EvidenceCosts

    fail_above = limit_from_request(request)
    models = predictors_from_request(request)
    problems = problems_from_request(request)
    settings = settings_from_request(request)
    mappings = _mappings(request)
    if request.probed not in PROBED:
        raise UserError(f"--probed {request.probed}", "no such choice", known_names(request.probed, PROBED))
    said = Cautions()
    platforms = asked_platforms(request)
    for platform in platforms:
        check_usable(platform, tuple(host.name for host in platform.hosts))
    own_grids = request.probed == "subset"
    cases = (candidates(platform, problems, mappings, settings, own_grids=own_grids) for platform in platforms)
    series = Series(tuple(chain.from_iterable(cases)), models)
    if request.dry_run:
        return print_plan(request, series.plan())
    with (
        Output(
            request.out,
            as_json=request.json,
            figures=False,
            wide=request.wide,
            fail_above=fail_above,
            decision_costs=EvidenceCosts(),
            cautions=said,
        ) as output,
        runner_from_request(request, cautions=said, saying=False) as runner,
    ):
        carry_out(series, runner, output)
    return output.status


COMMAND = Command(
    "series league",
    LeagueRequest,
    run,
    __doc__,
    epilog=EXIT_STATUSES_AND_LIMIT,
    status=exit_status,
)
main = COMMAND.main
