"""Command line: predict measured runs of any programs from small ones, by models with few terms, and compare."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, WideOption, argument, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import cell, check_writable, usable_folder, write_text
from platforms.perflogs import experiment_text, profile_text
from platforms.plotting.pictures import check_picture, write_picture
from validation.few_terms.columns import KEYS

if TYPE_CHECKING:
    from validation.few_terms.judge import Table


@dataclass(frozen=True, kw_only=True)
class FewTermsRequest(WideOption, JsonOption):
    """Request of ``gridval series measured --terms``."""

    runs: str = argument(
        "RUNS",
        "measured runs: a CSV file with a row per case, app, nodes, time_s and more; or a performance log or report of "
        "ReFrame, a Caliper profile, an Extra-P experiment (docs/programs/traces.md)",
    )
    series: str = option("app", "COLUMNS", "columns that distinguish series (default: %(default)s)")
    evidence: str = option("", "LIST", "numbers of nodes that are evidence (default: of each series the smaller half)")
    nodes: str = option("", "LIST", "further numbers of nodes to predict, without a row (default: none)")
    columns: str = option(
        "",
        "KEY=NAME,...",
        f"columns that have another name; keys: {', '.join(KEYS)}, allreduce_us, size_bytes, and part_NAME",
    )
    allreduces: str | None = option(
        None, "FILE.csv", "times of MPI_Allreduce: nodes, allreduce_us, and maybe size_bytes and columns of --series"
    )
    out: str | None = option(None, "FILE.csv", "write a row per prediction there")
    picture: str | None = option(None, "FILE", "draw the times there (.png, .svg, .pdf)")
    write_extrap: str | None = option(None, "FILE.json", "write the measured runs there as an experiment of Extra-P")
    write_caliper: str | None = option(
        None, "DIR", "write a Caliper profile of each measured run there, which hatchet and thicket open"
    )


def _numbers(name: str, text: str) -> list[int]:
    numbers = []
    for word in filter(None, text.split(",")):
        if not word.strip().isascii() or not word.strip().isdigit() or not 0 < int(word[:9]) <= 1_000_000:
            raise UserError(f"{name} {text}", f"{word!r} is no number of nodes", "Write for example 1,2,4")
        numbers.append(int(word))
    return numbers


def _written(request: FewTermsRequest, table: Table) -> None:
    """Write the runs for other tools."""
    runs = [("->".join(name) or "program", run) for name, series in table.series.items() for run in series]
    if request.write_extrap is not None:
        points = [(name, {"nodes": run.nodes, "ranks": run.ranks}, [run.time_s]) for name, run in runs]
        write_text("--write-extrap", request.write_extrap, experiment_text(points))
    if request.write_caliper is not None:
        folder = usable_folder("--write-caliper", request.write_caliper)
        for number, (name, run) in enumerate(runs, 1):
            text = profile_text(name, run.nodes, run.ranks, run.time_s, run.parts_s)
            write_text("--write-caliper", str(folder / f"run-{number:04}.json"), text)


def _answer(request: FewTermsRequest) -> Reply:
    if request.out is not None:
        check_writable("--out", request.out)
    if request.picture is not None:
        check_picture("--picture", request.picture)
    if request.write_extrap is not None:
        check_writable("--write-extrap", request.write_extrap)
    evidence, further = _numbers("--evidence", request.evidence), _numbers("--nodes", request.nodes)
    columns = tuple(word.strip() for word in request.series.split(",") if word.strip())
    # Imported here because they are slow to import.
    from validation.few_terms.judge import as_json, as_rows, as_text, judged, read_table, renamed
    from validation.few_terms.picture import series_figure

    table = read_table(request.runs, columns, renamed(request.columns), request.allreduces)
    _written(request, table)
    outcome = judged(table, evidence, further)
    if not outcome.judged:
        name, reason = outcome.refused[0]
        raise UserError(f"{request.runs}: {', '.join(name)}", reason, "Choose --evidence and --series for its rows")
    if request.out is not None:
        text, rows = io.StringIO(newline=""), as_rows(outcome, columns)
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
        write_text("--out", request.out, text.getvalue())
    if request.picture is not None:
        write_picture("--picture", request.picture, series_figure(table, outcome))
    return Reply(outcome, lambda: as_text(outcome, wide=request.wide), lambda: as_json(outcome, columns))


COMMAND = Command(
    "series measured --terms",
    FewTermsRequest,
    _answer,
    "Predict runs of any programs on many nodes from runs on few, without their structure or a platform: work that is "
    "divided among the processes, and one added term of a few shapes, with the probabilities that the small runs give "
    "them. Rows on more nodes than the evidence has are compared.",
    epilog=f"docs/validation/clusters.md. {EXIT_STATUSES}",
)
main = COMMAND.main
