"""The option --paper of ``gridval plan nodes --simulate``: Figures 21 to 28 of the NP-T paper, simulated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from apps.options.dry_run import print_plan
from apps.options.runner import runner_from_request
from apps.results.cautions import Cautions
from apps.runs.plan import Plan
from platforms.errors import UserError
from platforms.files.writing import usable_folder, write_csv, written_into
from platforms.terminal.prose import prose_lines
from platforms.terminal.table import table_lines
from validation.nodes.campaign import refuse_search_arguments
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
