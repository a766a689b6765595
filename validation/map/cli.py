"""Determine where predictors are valid: their error as a function of the compute share of the run.

Network speed and efficiency of the kernels are scaled over five decades, so that the runs range from almost only
communication to almost only computation.  Finished runs are kept in the store, so an interrupted command continues
where it stopped.
"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.common import JsonOption, OutOption
from platforms.command.parser import any_case
from platforms.command.request import option
from platforms.command.values import words_of
from platforms.errors import UserError, known_names
from platforms.files.writing import check_writable, write_text
from platforms.grids.network import network_names
from platforms.grids.scenario import SCENARIOS
from platforms.model.placement import MAPPINGS
from predictor.answers.answers import names
from predictor.evidence.given import NOT_SIMULATED
from predictor.options import (
    PredictorOption,
    predictor_help,
    predictors_from_request,
    problems_from_request,
)
from predictor.registry import HCF_FAMILY, PREDICTORS
from validation.map.error_map import map_text
from validation.series.carry_out import carry_out
from validation.series.series import Series

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from validation.map.sweep import Sweep

DEFAULT = tuple(name for name in (*HCF_FAMILY, "structural") if name in PREDICTORS)


@dataclass(frozen=True, kw_only=True)
class MapRequest(PredictorOption, ProgramOptions, SettingsOptions, RunnerOptions, DryRunOption, OutOption, JsonOption):
    """A sweep over compute shares."""

    absent: ClassVar[Mapping[str, str]] = NOT_SIMULATED
    # The sweep itself sets the efficiency; the other settings would make another experiment.
    without: ClassVar[frozenset[str]] = frozenset(
        {"efficiency", "iterations", "engine", "memory_bus", "bytes_per_flop", "cfg"}
    )
    default_predictors: ClassVar[str] = ",".join(DEFAULT)
    out_files: ClassVar[str] = "results.csv, thresholds.csv, means.csv, published.csv and a figure per app"

    scenario: str = option(
        "all",
        "S1,S2,...",
        f"grids or scenario files; all (default) for {SCENARIOS[0]} to {SCENARIOS[-1]}; none, with --random",
        parse=any_case("all", "none"),
    )
    network: str = option(
        "gigabit", "N1,N2,...", f"networks to scale: of {', '.join(network_names())} (default: gigabit)"
    )
    network_scales: str | None = option(
        None, "S1,S2,...", "bandwidths are multiplied and latencies divided by each (default: 0.1,10,1000)"
    )
    efficiency_scales: str | None = option(
        None,
        "E1,E2,...",
        "the kernels' reference efficiency, or for a program of your own the speed of the nodes, is multiplied by each "
        "(default: 1,0.316,0.1,0.0316, half decades between the network scales)",
    )
    problem_class: str | None = option(None, "C1,C2,...", "problem classes (default: B)", name="--class")
    predictor: str | None = option(",".join(DEFAULT), "P1,P2,...", predictor_help)
    mapping: str = option("block", "NAME", f"of {', '.join(MAPPINGS)} (default: block)", parse=str.lower)
    ranks: int | None = option(None, "P", "ranks of every run (default: one on each node)")
    random: int = option(
        0, "COUNT", "number of random grids in addition to the scenarios, each at one step of the sweep in turn"
    )
    seed: int = option(1, "N", "seed of the random grids (default: 1)")
    write_map: str | None = option(
        None,
        "FILE.csv",
        "write the errors by predicted compute share as a validity map, the file that gives every prediction its "
        "error range (docs/validation/regimes.md)",
    )


def _problems(request: MapRequest) -> tuple[Problem, ...]:
    """Return the program, the kernels with --size, or every kernel with every class."""
    classes = None if request.problem_class is None else names(request.problem_class, "--class")
    if classes is None or request.program is not None or request.size is not None:
        return tuple(problems_from_request(request))
    each = [replace(request, problem_class=name) for name in classes]
    by_app = zip(*map(problems_from_request, each), strict=True)  # of an app all classes, then those of the next
    return tuple(dict.fromkeys(chain.from_iterable(by_app)))


def sweep_from_request(request: MapRequest) -> Sweep:
    """Return the sweep that the options describe.

    Raises:
        UserError: The options do not fit together.
    """
    # Imported here because it is slow to import.
    from validation.map.sweep import EFFICIENCY_SCALES, NETWORK_SCALES, Sweep

    if request.mapping not in MAPPINGS:
        raise UserError(f"--mapping {request.mapping}", "no such mapping", known_names(request.mapping, MAPPINGS))
    for name, value in (("--random", request.random), ("--seed", request.seed)):
        if value < 0:
            raise UserError(f"{name} {value}", "negative", "Give 0 or more")
    scenarios = [] if request.scenario == "none" else names(request.scenario, "--scenario")
    scenarios = [scenario for name in scenarios for scenario in (SCENARIOS if name == "all" else (name,))]
    if not scenarios and not request.random:
        raise UserError("--scenario none", "no grids are left", "Give --random COUNT, or a scenario")
    return Sweep(
        problems=_problems(request),
        scenarios=tuple(dict.fromkeys(scenarios)),
        networks=tuple(names(request.network, "--network")),
        network_scales=_scales(request.network_scales, "--network-scales", NETWORK_SCALES),
        efficiency_scales=_scales(request.efficiency_scales, "--efficiency-scales", EFFICIENCY_SCALES),
        mapping=request.mapping,
        ranks=request.ranks,
        random_grids=request.random,
        seed=request.seed,
        settings=settings_from_request(request),
    )


def _scales(text: str | None, option: str, default: tuple[float, ...]) -> tuple[float, ...]:
    if text is None:
        return default
    try:
        values = [float(part) for part in names(text, option)]
    except ValueError:
        values = [0.0]
    if not all(0 < value < math.inf for value in values):
        raise UserError(f"{option} {text}", "not positive numbers", "Write them with commas, such as 0.1,1,10")
    return tuple(dict.fromkeys(values))


def run(request: MapRequest) -> int:
    """Sweep over networks and efficiencies, and print the errors; return the exit status."""
    models = predictors_from_request(request)
    sweep = sweep_from_request(request)
    # Imported here because they are slow to import.
    from validation.map.output import MapOutput
    from validation.map.sweep import cases, results_table

    said = Cautions()
    output = MapOutput(request.out, as_json=request.json, cautions=said)
    if request.write_map is not None:
        check_writable("--write-map", request.write_map)
    series = Series(tuple(cases(sweep)), models, alone=True)
    print(f"{len(series.cases)} cases, {len(models)} predictors", file=sys.stderr)
    if request.dry_run:
        return print_plan(request, series.plan())
    with output, runner_from_request(request, cautions=said, saying=False) as runner:
        carry_out(series, runner, output)
    if request.write_map is not None and output.rows:
        write_text("--write-map", request.write_map, map_text(results_table(output.rows), _command(request)))
    return output.status


def _command(request: MapRequest) -> str:
    """Return the command that makes the same map again, without options that do not change the map."""
    same = replace(request, out=None, write_map=None, json=False, jobs=None, store=None, no_store=False)
    return shlex.join(["gridval", *COMMAND.name.split(), *words_of(same)])


COMMAND = Command(
    "series map",
    MapRequest,
    run,
    __doc__,
    status=exit_status,
)
main = COMMAND.main
