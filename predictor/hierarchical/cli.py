"""Choose the number of cores and nodes to request, by speed-up and efficiency from the hierarchical model.

The machine is one of the paper's table, a scenario, or a TOML file (docs/planning/cores.md).  The program is one of the
paper's table, a kernel with its class or size, one of your own, or the trace of a run.  Of those that do not declare
what they compute and exchange, recordings have it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import ComputeOptions
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.request import JsonOption, given, option, titled
from platforms.errors import UserError, known_names
from platforms.terminal.table import table_lines
from predictor.evidence.given import RecordingOptions, given_from_request
from predictor.hierarchical.memory import memory_from
from predictor.hierarchical.model import BETAS, COUNTED, SCALING, named_beta
from predictor.hierarchical.recorded_request import (
    OF_RECORDINGS,
    RecordedOptions,
    is_recorded,
    recorded_question,
    refuse_recording_options,
)

if TYPE_CHECKING:
    from predictor.hierarchical.applications import Formulas
    from predictor.hierarchical.multicore_cluster import MulticoreCluster
    from predictor.hierarchical.recorded_plan import RecordedPlan


@dataclass(frozen=True, kw_only=True)
class CoresRequest(RecordedOptions, RecordingOptions, RunnerOptions, DryRunOption, JsonOption):
    """Request of ``gridval plan cores``."""

    sections: ClassVar[Mapping[str, str]] = titled(OF_RECORDINGS, ComputeOptions, RunnerOptions, DryRunOption)

    system: str | None = option(
        None,
        "FILE|NAME",
        "bwGRiD, bwUniCluster, 'bwForHLR 1', bwForCluster, a scenario of one cluster, or a TOML file: of a "
        "machine, a scenario, or a system",
    )
    app: str | None = option(
        None,
        "NAME",
        lambda _: (
            "a program of the paper: scalar-product, matrix-product, hpl, fft, fftw, with --n; or a kernel with "
            f"--class or --size: {', '.join(kernel_names())}"
        ),
        parse=str.lower,
    )
    n: int | None = option(None, "N", "size, of a program of the paper's table")
    problem_class: str | None = option(None, "C", "class, of a kernel", name="--class")
    operations: str | None = option(
        None,
        "F",
        "instead of --app: #op of a program of your own, a number or a formula in n such as '2/3 n^3' or 'n log2(n)', "
        "with --bytes and --exchange (docs/planning/cores.md)",
    )
    bytes: str | None = option(None, "F", "with --operations: #b, bytes between cores and memory, in n")
    exchange: str | None = option(
        None, "F", "with --operations: #x, bytes that the nodes exchange, all together, in n, q and p"
    )
    ratio: str | None = option(
        None, "F", "instead of --exchange: r = #b / #x = c(x) / d(p), a product of powers, such as '2 x p^(-1/2)'"
    )
    messages: str | None = option(
        None, "F", "with --operations: messages of a node that wait for each other, in n and p; each costs a latency"
    )
    flat: bool = option(False, help="the flat cluster: every core is a node of its own, q = 1")
    cores_per_node: int | None = option(None, "Q", "cores per node (default: the best)")
    nodes: int | None = option(None, "P", "number of nodes (default: the best)")
    most_nodes: int | None = option(None, "P", "most nodes available (default: all)")
    variant: str = option(
        COUNTED,
        "NAME",
        "counted: operations, bytes and messages counted from this project's kernels, latency included "
        "(default); or the rows of the paper's table, with its equations as they follow from its definitions: derived, "
        "or as printed: printed",
    )
    scaling: str = option(
        "hockney",
        "NAME",
        f"{' or '.join(SCALING)}: s(z) = z / (1 + z), computing and memory traffic alternate, or min(1, z), they "
        "overlap (default: hockney)",
    )
    beta: str | None = option(
        None,
        "FORM",
        f"how the network is shared, beta(q, p), for the paper's table and NAS kernels: {', '.join(BETAS)} "
        "(default: the program's)",
    )
    beta0: float | None = option(None, "B", "with --beta: a factor before it (default: 1)")
    memory: str | None = option(
        None,
        "GB/S|FILE",
        "memory bandwidth of a node, for a scenario or system file; inf: memory never limits; FILE.xml: that of a "
        "calibrated platform; FILE.toml: that measured on a machine by gridval program speed --memory --machine",
    )
    efficiency: float | None = option(
        None, "SHARE", "share of a core's speed in a scenario or system file that it sustains in DGEMM (default: all)"
    )
    within: float = option(
        0.05, "SHARE", "share of the best speed-up that the smallest allocation may lose (default: 0.05)"
    )
    whole_nodes: bool = option(False, help="nodes are not shared: an allocation costs all their cores")
    margin: float = option(0.2, "SHARE", "added share of the expected time (default: 0.2)")
    batch: str | None = option(None, "NAME", "slurm or moab (default: what the system has)")
    measured: str | None = option(
        None,
        "FILE.csv",
        "measured runs beside the model: columns cores_per_node, nodes, and time_s or speedup (docs/planning/cores.md)",
    )
    figure: str | None = option(None, "FILE", "draw the speed-up over q and p")
    figures: str | None = option(None, "DIR", "only draw the paper's surfaces, printed and derived")
    derivation: bool = option(False, help="only compare printed and derived equations")


def _run(request: CoresRequest) -> int:
    refuse_recording_options(request)
    if request.derivation:
        return _derivation(request.json)
    if request.figures is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.hierarchical.figures import write_paper_figures

        for path in write_paper_figures(request.figures):
            print(path)
        return 0
    return _answer(request)


def _derivation(as_json: bool) -> int:
    # Imported here for a quick start: it is slow to import.
    from predictor.hierarchical.derivation import findings

    findings_made = findings()
    if as_json:
        print(json.dumps({"findings": [{**asdict(finding), "agrees": finding.agrees} for finding in findings_made]}))
        return 0
    rows = [
        (finding.where, finding.what, finding.printed, finding.derived, finding.verdict) for finding in findings_made
    ]
    print("\n".join(table_lines(rows, left=range(5))))
    return 0


def _recorded(request: CoresRequest, system: MulticoreCluster) -> RecordedPlan | int:
    """Return the recordings of a program; with --dry-run say what they take, and return the exit status."""
    # Imported here for a quick start: they are slow to import.
    from predictor.dpgraph.predictors import iterations_to_record
    from predictor.evidence.plan import recordings_plan

    trace = given_from_request(request)
    asked = recorded_question(request, system, trace)
    if request.dry_run:
        return print_plan(request, recordings_plan(asked.settings, asked.targets, iterations_to_record))
    said = Cautions()
    with runner_from_request(request, cautions=said, saying=False) as runner:
        return asked.plan(runner, said, trace)


def _formulas(request: CoresRequest) -> Formulas | None:
    """Return the formulas of a program of one's own; None: there are none."""
    # Imported here for a quick start: it is slow to import.
    from predictor.hierarchical.applications import Formulas

    names = ("operations", "bytes", "exchange", "ratio", "messages")
    texts = {name: getattr(request, name) for name in names if getattr(request, name) is not None}
    if not texts:
        return None
    for name in ("operations", "bytes"):
        if name not in texts:
            raise UserError(f"--{next(iter(texts))}", f"--{name} is not given", "Give #op and #b")
    for name in ("app", "program", "recording", "problem_class", "size"):
        if getattr(request, name) is not None:
            option_name = "--class" if name == "problem_class" else f"--{name}"
            raise UserError(option_name, "does not go with formulas", "Leave it out")
    return Formulas(**texts)


def _answer(request: CoresRequest) -> int:
    # Imported here for a quick start: they are slow to import.
    from predictor.hierarchical.answer import AllocationQuestion, answer, surface_of
    from predictor.hierarchical.applications import NAME, flat
    from predictor.hierarchical.multicore_cluster import BATCH_SYSTEMS, read_cluster
    from predictor.hierarchical.output import as_json, text

    recorded, formulas = is_recorded(request), _formulas(request)
    for name in (
        ("system",)
        if formulas is not None or (recorded and (request.program or request.recording))
        else ("system", "app")
    ):
        if getattr(request, name) is None:
            raise UserError(f"--{name}", "not given", "Give it; --help lists what is known")
    if request.scaling not in SCALING:
        raise UserError(f"--scaling {request.scaling}", "no such choice", known_names(request.scaling, SCALING))
    if request.batch not in (None, *BATCH_SYSTEMS):
        raise UserError(f"--batch {request.batch}", "no such batch system", known_names(request.batch, BATCH_SYSTEMS))
    if request.beta is None and request.beta0 is not None:
        raise UserError(f"--beta0 {request.beta0:g}", "goes with --beta", "Give the form too")
    system = read_cluster(
        given(request.system), memory_gbyte_s=memory_from(request.memory, request), efficiency=request.efficiency
    )
    if request.flat:
        system = flat(system)
    plan = _recorded(request, system) if recorded else None
    if isinstance(plan, int):
        return plan
    question = AllocationQuestion(
        system=system,
        app=NAME if formulas is not None else given(request.app) if plan is None else plan.problem.name,
        n=request.n,
        preset=request.problem_class,
        variant=request.variant,
        overlap=request.scaling == "overlap",
        beta=None if request.beta is None else named_beta(request.beta, 1 if request.beta0 is None else request.beta0),
        cores_per_node=request.cores_per_node,
        nodes=request.nodes,
        most_nodes=request.most_nodes,
        within=request.within,
        margin=request.margin,
        whole_nodes=request.whole_nodes,
        batch=request.batch,
        recorded=plan,
        own=None if formulas is None else formulas.application(request.n, system),
    )
    if request.figure is not None:
        # Imported here for a quick start: it is slow to import.
        from platforms.plotting.pictures import check_picture

        check_picture("--figure", request.figure)
    made = answer(question)
    points = None
    if request.measured is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.hierarchical.output import points_json, points_lines, read_points

        core_flops = float(system.core_flops)
        points = read_points(
            request.measured, surface_of(question), operations=made.operations, core_flops=core_flops
        )  # fmt: skip
    if request.json:
        more = {} if points is None else {"measured": points_json(points)}
        print(json.dumps({**as_json(made), **more}), flush=True)
    else:
        lines = [text(made), *([] if points is None else ["", *points_lines(points)])]
        print("\n".join(lines), flush=True)
    if request.figure is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.hierarchical.figures import draw_answer

        draw_answer(made, surface_of(question), request.figure)
    return 0


COMMAND = Command(
    "plan cores",
    CoresRequest,
    _run,
    __doc__,
    first="--system --app --n --class --program --program-args --ranks --cores-per-node --nodes --simulate".split(),
    status=exit_status,
)
main = COMMAND.main
