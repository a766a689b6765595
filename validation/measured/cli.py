"""Command line: predict measured runs of a real cluster from a few of them, and compare."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import MISSING, dataclass
from typing import ClassVar

from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions, own_problem_from_request
from apps.options.settings import ComputeOptions
from apps.spec.settings import Settings
from platforms.command.command import Command
from platforms.command.request import JsonOption, argument, option
from platforms.command.status import EXIT_STATUSES
from platforms.files.writing import cell, check_writable, write_text
from platforms.options import read_platforms
from platforms.plotting.pictures import check_picture, write_picture

_EVIDENCE = "1,2,8@8"


@dataclass(frozen=True, kw_only=True)
class MeasuredRequest(ProgramOptions, ComputeOptions, JsonOption):
    """Request of ``gridval series measured``."""

    without: ClassVar[frozenset[str]] = frozenset({"app", "problem_class", "size", "param"})  # the file has them

    runs: str = argument("RUNS.csv", "measured runs, with the columns app, class, ranks, nodes, time_s")
    platform: str = option(MISSING, "FILE", "the cluster, its nodes and its network: .xml, .so or .toml")
    evidence: str = option(
        _EVIDENCE,
        "LIST",
        "runs that are evidence, by their nodes or as RANKS@NODES; the others are judged (default: %(default)s)",
    )
    apart: str = option("", "LIST", "runs whose errors are reported separately, in the same form (default: none)")
    out: str | None = option(None, "FILE.csv", "write a row per run there")
    picture: str | None = option(None, "FILE", "draw the times there (.png, .svg, .pdf)")


def _run(request: MeasuredRequest) -> int:
    if request.out is not None:
        check_writable("--out", request.out)
    if request.picture is not None:
        check_picture("--picture", request.picture)
    # Imported here because they are slow to import.
    from validation.measured.judge import as_json, as_rows, as_text, judged
    from validation.measured.picture import runs_figure
    from validation.measured.runs import choices, read_runs

    evidence, apart = choices("--evidence", request.evidence), choices("--apart", request.apart)
    own = own_problem_from_request(request)
    settings = Settings(
        compute=request.compute, host_speed_flops=None if request.host_speed is None else request.host_speed * 1e9
    )
    judgements = judged(
        read_runs(request.runs), read_platforms([request.platform])[0], evidence, apart, own=own, settings=settings
    )
    if request.out is not None:
        text, rows = io.StringIO(newline=""), as_rows(judgements)
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
        write_text("--out", request.out, text.getvalue())
    if request.picture is not None:
        write_picture("--picture", request.picture, runs_figure(judgements))
    print(json.dumps(as_json(judgements), indent=2) if request.json else as_text(judgements))
    return 0


COMMAND = Command(
    "series measured",
    MeasuredRequest,
    _run,
    "Predict measured runs of kernels, or of a program of your own, on a real cluster of equal nodes from a few of "
    "them, and compare. The evidence shows how much longer an operation takes when more cores of a node are busy; "
    "messages follow the declared structure of a kernel, or the recording of your program, on a platform that "
    "describes the network. Runs of your program have its name in the column app.",
    epilog=f"docs/validation/clusters.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
