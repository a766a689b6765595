"""The comparison that ``gridval plan nodes --simulate`` makes, with --paper too, and its output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pandas as pd

from apps.options.dry_run import print_plan
from apps.options.runner import runner_from_request
from apps.results.cautions import Cautions
from apps.runs.plan import Plan
from platforms.errors import UserError
from platforms.files.writing import usable_folder, write_csv, written_into
from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import table_lines
from predictor.nodes.arguments import (
    asked_size,
    check_choice_arguments,
    objective_cautions,
    plan_from_request,
    probing_from_request,
    search_from_request,
    search_settings,
    study_from_request,
    with_models,
)
from predictor.nodes.command import driver_from_request, driver_name, of_size, said_of, search, settings_to_json
from predictor.nodes.drivers import NptDriver
from predictor.nodes.predictor_driver import brokers
from validation.nodes.campaign import refuse_search_arguments, run_campaign
from validation.nodes.errors import Judged, judge, simulate_space
from validation.nodes.pitfalls import Line, lines, planned
from validation.nodes.plots.pitfalls import LOOKS, write_pitfalls
from validation.nodes.request import NodesComparisonRequest


def run_paper(request: NodesComparisonRequest) -> int:
    """Simulate the pitfalls of section 7, print and write them, and return the exit status.

    Raises:
        UserError: Another option is given that has no meaning here.
    """
    if request.campaign is not None:
        raise UserError("--paper", f"does not go with a campaign file, {request.campaign}", "Leave one of them out")
    refuse_search_arguments(request, "--paper", "Leave it out")
    if request.dry_run:
        return print_plan(request, Plan(truths=tuple(planned())))
    folder, said = None if request.out is None else usable_folder("--out", request.out), Cautions()
    with runner_from_request(request, cautions=said) as runner:
        paper_lines = lines(runner)
    if folder is not None:
        with written_into("--out", folder):
            _write_table(paper_lines, folder)
            write_pitfalls(paper_lines, folder)
    if request.json:
        print(json.dumps({"lines": [asdict(line) for line in paper_lines], "cautions": said.lines()}))
    else:
        print(paper_text(paper_lines, wide=request.wide))
    return 0


def paper_text(paper_lines: Sequence[Line], *, wide: bool = False) -> str:
    """Return a table with a row for each line: its values over those of the first line of its figure."""
    rows = [["figure", "", "line", "over the first line"]]
    for number, look in LOOKS.items():
        of_figure = [line for line in paper_lines if line.figure == number]
        for line in of_figure:
            ratios = [value / first for value, first in zip(line.y, of_figure[0].y, strict=True)]
            beside = "-" if line is of_figure[0] else f"{min(ratios):.3f} to {max(ratios):.3f}"
            rows.append([str(number), look.title, line.label, beside])
    said = "Section 7 of the NP-T paper, simulated; the anomalies of its drivers, switches and libraries are not."
    return "\n".join([*prose_lines(said), "", *table_lines(rows, left={1, 2}, wide=wide)])


def _write_table(paper_lines: Sequence[Line], folder: Path) -> None:
    rows = [
        {"figure": line.figure, "line": line.label, "x": x, "y": y}
        for line in paper_lines
        for x, y in zip(line.x, line.y, strict=True)
    ]
    write_csv(pd.DataFrame(rows), folder / "pitfalls.csv")


def run(request: NodesComparisonRequest) -> int:
    """Run the command and return its exit status.

    Raises:
        UserError: An option is wrong, or no configuration has an estimate.
    """
    if request.paper:
        return run_paper(request)
    if request.campaign is not None:
        return run_campaign(request)
    if request.out is not None:
        raise UserError(f"--out {request.out}", "needs a campaign file or --paper", "Leave it out, or give one")
    if request.machine is not None:
        problem = "every configuration would be measured to compare"
        raise UserError(f"--machine {request.machine}", problem, "Leave out --simulate")
    request, study, why = with_models(request, study_from_request(request))
    size = asked_size(request)
    how = search_from_request(request, study.platform)
    settings = search_settings(request)
    check_choice_arguments(request, study)
    space = study.space(size)  # raises an error for impossible options before anything runs
    study.check_iterations((size, ranks) for ranks in space.ranks)
    general = objective_cautions(request, study.platform)
    said = Cautions()
    said.say(*general)
    if request.dry_run:
        return print_plan(request, plan_from_request(request, study, settings, truths=True))
    with runner_from_request(request, cautions=said) as runner:
        driver = driver_from_request(request, study, settings, runner, how.objective)
        probing = probing_from_request(request, study, brokers(settings, runner)(()))
        outcome = search(driver, study, size, how, probing, resamplings=request.bootstrap or 0)
        truth = simulate_space(study, size, settings, runner)
    why = "; ".join(filter(None, (why, driver.terms if isinstance(driver, NptDriver) else "")))
    judged = judge(outcome.choice, truth, how.objective, how.slack)
    spent = driver.gathered.cost + outcome.probes.cost
    if request.json:
        asked = settings_to_json(request, study, how)
        took = {"search_s": outcome.search_s, "gather_s": outcome.gather_s, "probability_best": outcome.probability}
        notes = {"cautions": [*general, *runner.cautions.lines()]}
        print(json.dumps({**asked, **_to_json(judged), "evidence": asdict(spent), **took, **notes}))
        return 0
    print(
        "\n".join(
            folded_lines(
                [f"{study.problem(size)}{of_size(request)} on {study.platform.name}, by {driver_name(request)}"]
            )
        )
    )
    print_lines([why] if why else [])
    print(text(judged))
    print_lines(said_of(outcome, request))
    evidence = (
        f"evidence   {spent.node_s:.4g} node-seconds, {significant(100 * spent.node_s / truth.node_s)} % of what all "
        "configurations take"
    )
    print("\n".join(folded_lines([evidence, f"search     {duration(outcome.search_s)}"])))
    return 0


def print_lines(lines: list[str]) -> None:
    """Print sentences, folded to the terminal's width; nothing for none."""
    if lines:
        print("\n".join(folded_lines(lines)))


def _to_json(judged: Judged) -> dict[str, Any]:
    values = {field.name: getattr(judged, field.name) for field in fields(judged) if field.name != "objective"}
    return {**values, "chosen": str(judged.chosen), "optimum": str(judged.optimum), "flags": list(judged.flags)}


def text(judged: Judged) -> str:
    """Return a text with a choice and the optimum."""
    objective = judged.objective
    chosen_value, optimum_value = (
        "" if objective.name == "time" else f", {objective.name} {value:.4g} {objective.unit}".rstrip()
        for value in (judged.chosen_value, judged.optimum_value)
    )
    of = "" if objective.name == "time" else f", of its {objective.name}"
    lines = [
        f"chosen     {judged.chosen}: estimated {duration(judged.estimated_s)}, "
        f"simulated {duration(judged.simulated_s)}{chosen_value}",
        f"optimum    {judged.optimum}: simulated {duration(judged.optimum_s)}{optimum_value}, "
        f"of {judged.configurations} configurations",
        f"epsilon    {100 * judged.epsilon:+.2f} %{of}, the chosen one against the optimum",
        f"delta      {100 * judged.delta:+.2f} %, its estimated time against its simulated time",
    ]
    return "\n".join(folded_lines([*lines, *(f"caution: {flag}" for flag in judged.flags)]))
