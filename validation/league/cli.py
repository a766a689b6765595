"""Simulate every choice of clusters and mapping on a grid and compare the choices of the predictors.

The output has rank correlation and regret beside errors and costs (docs/validation/league.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, cautions, settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.common import JsonOption, OutOption, WideOption
from platforms.command.request import option
from platforms.errors import UserError, known_names
from platforms.model.placement import MAPPINGS
from platforms.options import check_usable
from predictor.answers.answers import names
from predictor.options import (
    PredictorOption,
    predictor_help,
    predictors_from_request,
    problems_from_request,
)
from predictor.registry import ALL
from validation.league.candidates import candidates
from validation.options import PlatformsOptions, asked_platforms
from validation.output.fail_above import EXIT_STATUSES_AND_LIMIT, FailAboveOption, limit_from_request
from validation.output.output import Output

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
    # Imported here for a quick start: it is slow to import.
    from validation.ranking.evidence_costs import EvidenceCosts

    fail_above = limit_from_request(request)
    models = predictors_from_request(request)
    problems = problems_from_request(request)
    settings = settings_from_request(request)
    mappings = _mappings(request)
    if request.probed not in PROBED:
        raise UserError(f"--probed {request.probed}", "no such choice", known_names(request.probed, PROBED))
    said = Cautions()
    said.say(*cautions(settings))
    platforms = asked_platforms(request)
    for platform in platforms:
        check_usable(platform, tuple(host.name for host in platform.hosts))
    found = [
        one
        for platform in platforms
        for one in candidates(platform, problems, mappings, own_grids=request.probed == "subset")
    ]
    for one in found:
        settings.spec(one.target)  # raises an error for impossible settings before anything runs
    if request.dry_run:
        # Imported here for a quick start: it is slow to import.
        from predictor.evidence.plan import planned

        return print_plan(request, planned([(settings, [one.target for one in found])], models))
    costs = EvidenceCosts()
    with (
        Output(
            request.out,
            as_json=request.json,
            figures=False,
            wide=request.wide,
            fail_above=fail_above,
            decision_costs=costs,
            cautions=said,
        ) as output,
        runner_from_request(request, cautions=said, saying=False) as runner,
    ):
        # Imported here for a quick start: it is slow to import.
        from validation.comparison.compare import runs, validate

        by_mapping = {mapping: [one.target for one in found if one.mapping == mapping] for mapping in mappings}
        runner.start(spec for targets in by_mapping.values() for spec in runs(targets, models, settings))
        for mapping, targets in by_mapping.items():
            for outcome in validate(targets, models, settings, mapping=mapping, runner=runner, witness=costs.witness):
                output.add(outcome)
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
