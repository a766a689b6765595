"""Determine where predictors are valid: their error as a function of the compute share of the run.

Network speed and efficiency of the kernels are scaled over five decades, so that the runs range from almost only
communication to almost only computation.  Finished runs are kept in the store, so an interrupted command continues
where it stopped.
"""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.parser import any_case
from platforms.command.request import JsonOption, OutOption, option
from platforms.command.values import words_of
from platforms.errors import UserError, known_names
from platforms.files.writing import check_writable, write_text
from platforms.grids.network import network_names
from platforms.grids.scenario import SCENARIOS
from platforms.model.placement import MAPPINGS
from platforms.simgrid.installed import simgrid_version
from predictor.answers.answers import names
from predictor.answers.regime import COVERAGE, MAP_COLUMNS
from predictor.evidence.given import NOT_SIMULATED
from predictor.options import (
    PredictorOption,
    predictor_help,
    predictors_from_request,
    problems_from_request,
)
from predictor.registry import HCF_FAMILY, PREDICTORS
from validation.series.series import Series, carry_out

if TYPE_CHECKING:
    import pandas as pd

    from apps.programs.problem import Problem
    from validation.map.sweep import Sweep

BINS_PER_DECADE = 2  # bins per decade of computation over communication
LEAST_SAMPLES = round(2 / (1 - COVERAGE)) - 1  # 19: smallest and largest enclose a further error with COVERAGE


def error_map(results: pd.DataFrame) -> pd.DataFrame:
    """Return the validity map, with MAP_COLUMNS, from the results of a sweep.

    The cases of an app and predictor are ordered by the compute share c of the prediction itself, and cut into pieces
    at the half decades of computation over communication, c / (1 - c).  A piece in which no network has LEAST_SAMPLES
    cases is joined with the next piece.

    The range of n cases lies between the order statistics between which a further case falls with a probability of
    COVERAGE: the k-th smallest and the k-th largest with k = (1 - COVERAGE) (n + 1) / 2, rounded down, but at least 1
    (S. S. Wilks, "Determination of sample sizes for setting tolerance limits", Ann. Math. Stat. 12, 1941).  With
    several networks, of which the random grids are one, the range of a piece spans the ranges of all networks, so that
    it is valid on each network and not only on their mixture.

    The last piece extends to 1, no communication.  The ranks are those of all cases of the app and predictor.
    """
    # Imported here because it is slow to import.
    import pandas as pd

    usable = results[results["error_pct"].notna() & results["predicted_compute_share"].notna()]
    rows = []
    for (predictor, app), cases in usable.groupby(["predictor", "app"], sort=False):
        cases = cases.sort_values("predicted_compute_share", kind="stable")
        ranks = {"ranks_low": cases["ranks"].min(), "ranks_high": cases["ranks"].max()}
        rows += [{"predictor": predictor, "app": app, **_row(*piece), **ranks} for piece in _pieces(cases)]
    return pd.DataFrame(rows, columns=list(MAP_COLUMNS))


def map_text(results: pd.DataFrame, command: str) -> str:
    """Return the contents of a map file: comments on its origin, then the rows.

    Args:
        results: The results of a sweep.
        command: The command that makes the map again.
    """
    programs = dict.fromkeys(zip(results["app"], results["class"], strict=True))
    networks = results["base_network"].value_counts(sort=False)
    of = ", ".join(f"{app} {preset}" for app, preset in programs)
    lines = [
        "# The validity map: errors of predictions, 100 (predicted - simulated) / simulated, by the compute share that",
        f"# the prediction itself says; {100 * COVERAGE:g} % of cases like these lie between low_pct and high_pct.",
        f"# Made by: {command}",
        f"# From the simulated runs of {of}",
        f"# on {', '.join(dict.fromkeys(results['scenario'].map(_family)))};",
        f"# networks {', '.join(networks.index)}; SimGrid {simgrid_version()}; docs/validation/regimes.md.",
        error_map(results).to_csv(index=False, float_format="%.9g").rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"


def _family(scenario: str) -> str:
    """Return one name for all random grids of a seed, and the name of any other scenario."""
    return re.sub(r"^random-(\d+)-\d+$", r"random grids of seed \1", scenario)


def _pieces(cases: pd.DataFrame) -> list[tuple[float, float, pd.DataFrame]]:
    """Cut ordered cases into pieces (share from, share to, cases); empty if there are too few cases."""
    bins = cases["predicted_compute_share"].map(_bin)
    groups: list[list[int]] = [[]]  # bins of each piece; the last piece is still incomplete
    for number in sorted(bins.unique()):
        groups[-1].append(number)
        if cases["base_network"][bins.isin(groups[-1])].value_counts().max() >= LEAST_SAMPLES:
            groups.append([])
    left = groups.pop()
    if not groups:
        return []
    groups[-1] += left
    begins = [_floor(cases["predicted_compute_share"].min()), *(_edge(group[-1] + 1) for group in groups[:-1])]
    ends = [*begins[1:], 1.0]
    return [(begin, end, cases[bins.isin(group)]) for begin, end, group in zip(begins, ends, groups, strict=True)]


def _row(share_from: float, share_to: float, cases: pd.DataFrame) -> dict[str, Any]:
    by_network = [coverage_range(errors_pct.to_list()) for _, errors_pct in cases.groupby("base_network")["error_pct"]]
    low_pct, high_pct = min(low for low, _ in by_network), max(high for _, high in by_network)
    true_shares = cases["compute_share"]
    return {
        "share_from": share_from,
        "share_to": share_to,
        "low_pct": _rounded(low_pct),
        "high_pct": _rounded(high_pct),
        "samples": len(cases),
        "true_share_low": _rounded(true_shares.min()),
        "true_share_high": _rounded(true_shares.max()),
    }


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def coverage_range(errors_pct: list[float]) -> tuple[float, float]:
    """Return the order statistics between which a further error falls with probability COVERAGE, or about that."""
    ordered = sorted(errors_pct)
    k = max(1, math.floor((1 - COVERAGE) * (len(ordered) + 1) / 2 + 1e-9))
    return ordered[k - 1], ordered[-k]


def _bin(share: float) -> int:
    """Return the half decade of share / (1 - share), counted from 1; shares of 0 and 1 are beyond all others."""
    if share >= 1:
        return 1000
    if share <= 0:
        return -1000
    return math.floor(BINS_PER_DECADE * math.log10(share / (1 - share)))


def _edge(number: int) -> float:
    """Return the share at which a half decade begins, to nine digits, as in the file."""
    if number > 900:
        return 1.0
    odds = 10 ** (number / BINS_PER_DECADE)
    return float(f"{odds / (1 + odds):.9g}")


def _floor(share: float) -> float:
    """Return a share rounded down to three digits."""
    if share <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(share)) - 2)
    return float(f"{math.floor(share / unit) * unit:.3g}")


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
