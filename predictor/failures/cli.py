"""Predict how long a run takes when nodes fail, and find the number of nodes that finishes it soonest.

More nodes compute faster but fail more often.  The command prints for every number of nodes the time without failures,
the probability that no node fails in that time, and the expected time if the run restarts after each failure, from the
beginning or from checkpoints at Young's and at Daly's interval (docs/planning/reliability.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions
from apps.options.settings import SettingsOptions
from apps.programs.kernel import kernel_names
from apps.results.cautions import Cautions
from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, WideOption, fields_of, option, titled
from platforms.errors import UserError, known_names, nearest
from platforms.options import PlatformOptions, platform_from_request
from platforms.plotting.pictures import check_picture, write_picture
from predictor.evidence.given import RecordingOptions, given_from_request
from predictor.failures.names import INTERVALS, SEGMENTS
from predictor.options import problems_from_request
from predictor.registry import help_text

if TYPE_CHECKING:
    from predictor.failures.expected import Failures
    from predictor.failures.run_times import FailureQuestion, RunTimes

MOST_NUMBERS = 5_000_000  # largest length of the list of numbers of nodes
MOST_REPEATS = 1_000_000_000
_RATES = ("rate", "node_mtbf_years", "node_mtbf_hours", "model")


_FAILING, _BY_PREDICTOR = "failures and checkpoints", "or by a predictor"
_EVIDENCE = "simulations for a predictor's evidence"


@dataclass(frozen=True, kw_only=True)
class FailuresRequest(
    WideOption,
    PlatformOptions,
    ProgramOptions,
    RecordingOptions,
    SettingsOptions,
    RunnerOptions,
    DryRunOption,
    JsonOption,
):
    """Request of ``gridval plan failures``."""

    sections: ClassVar[Mapping[str, str]] = {
        **titled(_BY_PREDICTOR, PlatformOptions, ProgramOptions, RecordingOptions),
        **titled(_EVIDENCE, DryRunOption, SettingsOptions, RunnerOptions),
    }
    section_help: ClassVar[Mapping[str, str]] = {
        _FAILING: "give one of the first four options",
        _BY_PREDICTOR: "nodes shared evenly among the clusters",
    }

    rate: float | None = option(None, "LAMBDA", "failure rate of one node, 1/s", section=_FAILING)
    node_mtbf_years: float | None = option(None, "Y", "mean time between failures of one node", section=_FAILING)
    node_mtbf_hours: float | None = option(None, "H", "the same in hours", section=_FAILING)
    model: str | None = option(
        None, "NAME|FILE", "the failure rate of a block model, such as galera+", section=_FAILING
    )
    checkpoint: float = option(MISSING, "S", "seconds to write a checkpoint", section=_FAILING)
    restart: float = option(0.0, "S", "seconds of a restart (default: 0)", section=_FAILING)
    intervals: str = option(
        "young,daly",
        "I1,I2,...",
        f"intervals between checkpoints, of {', '.join(INTERVALS)} (default: young,daly)",
        section=_FAILING,
    )
    segments: str = option(
        SEGMENTS[0],
        "HOW",
        "how segments between checkpoints are counted: whole, those of a real run, without a checkpoint after the "
        "last (default), or daly, T/tau segments, each with a checkpoint, as in Daly's cost function",
        section=_FAILING,
    )
    work: float | None = option(
        None,
        "S",
        "seconds that one node takes: T(P) = S (f + (1 - f)/P)",
        section="time of the run without failures, by a law",
    )
    serial: float | None = option(
        None, "F", "f, the serial share (default: 0)", section="time of the run without failures, by a law"
    )
    times: str | None = option(None, "FILE.csv", "file with the columns nodes and time_s", section="or by a table")
    nodes: str | None = option(
        None,
        "A:B|N1,N2,...",
        "numbers of nodes (default: 1:10000 with a law; 1, 2, 4, ... and all with a predictor; those of a table)",
    )
    ranks_per_host: int = option(1, "K", "ranks on each node, up to its cores (default: 1)", section=_BY_PREDICTOR)
    repeat: int = option(1, "N", "number of runs in a row that make up the job (default: 1)")
    rows: int = option(16, "N", "rows of the table, about (default: 16)")
    plot: str | None = option(None, "FILE", "write a figure to this file: .png, .svg or .pdf")
    app: str | None = option(None, "NAME", lambda _: f"one of {', '.join(kernel_names())}")
    predictor: str | None = option(
        None, "NAME", lambda _: f"{help_text()} (default: dpgraph:known)", section=_BY_PREDICTOR
    )


def failures_from_request(request: FailuresRequest) -> Failures:
    """Return the failure rate and the times of checkpoints and restarts from the options.

    Raises:
        UserError: The rate is not given exactly once, or a value is out of its range.
    """
    # Imported here because they are slow to import.
    from predictor.failures.expected import Failures
    from predictor.failures.report import HOUR_S, YEAR_S

    given = [name for name in _RATES if getattr(request, name) is not None]
    if len(given) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in _RATES)
        problem = "is not given" if not given else f"is given {len(given)} times"
        raise UserError("failure rate", problem, f"Give one of {options}")
    (name,) = given
    value = getattr(request, name)
    if name == "model":
        # Imported here because it is slow to import.
        from predictor.blocks.setting import block_model

        rate_per_s = block_model(value).failure_rate_per_s
        if rate_per_s is None:
            raise UserError(f"--model {value}", "it has no failure rate", "Give --rate or --node-mtbf-years")
    elif name == "rate":
        rate_per_s = value
    elif not value > 0:
        raise UserError(f"--{name.replace('_', '-')} {value:g}", "not a time", "Give more than 0")
    else:
        rate_per_s = 1 / (value * (YEAR_S if name == "node_mtbf_years" else HOUR_S))
    return Failures(rate_per_s, request.checkpoint, request.restart)


def intervals_from_request(request: FailuresRequest) -> list[str]:
    """Return the names of the checkpoint intervals, each once.

    Raises:
        UserError: A name is not known, or there is none.
    """
    names = [part.strip() for part in request.intervals.split(",") if part.strip()]
    for name in names:
        if name not in INTERVALS:
            raise UserError(f"--intervals {name}", "no such interval", nearest(name, INTERVALS))
    if not names:
        raise UserError(f"--intervals {request.intervals!r}", "names none", f"Give some of {', '.join(INTERVALS)}")
    return list(dict.fromkeys(names))


def parse_nodes(text: str) -> list[int]:
    """Parse numbers of nodes: ``A:B``, every number from A to B, or a comma-separated list.

    Raises:
        UserError: The text is not of this form, or the numbers are too many or too large.
    """
    # Imported here because it is slow to import.
    from predictor.failures.run_times import MOST_NODES

    try:
        if ":" in text:
            first, last = (int(part) for part in text.split(":"))
            if last - first >= MOST_NUMBERS:
                raise UserError(f"--nodes {text}", f"more than {MOST_NUMBERS} numbers", "Give fewer, or a list")
            numbers = list(range(first, last + 1))
        else:
            numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1:
        raise UserError(f"--nodes {text}", "not numbers of nodes", "Write for example 1:1000, or 1,2,4,8")
    if numbers[-1] > MOST_NODES:
        raise UserError(f"--nodes {text}", "too many nodes", f"Give numbers up to {MOST_NODES}")
    return numbers


def run_times_from_request(request: FailuresRequest, said: Cautions) -> RunTimes:
    """Return the run times without failures, from a law, a table or a predictor.

    ``said`` collects the cautions about the runs that a predictor uses, which are printed.
    Errors of the engine while a predictor gathers its evidence are passed on.

    Raises:
        UserError: The options do not fit together, or a value is wrong.
    """
    # Imported here because it is slow to import.
    import numpy as np

    from predictor.failures.run_times import amdahl, read_times

    _check_sources(request)
    if request.times is not None:
        if request.nodes is not None:
            raise UserError(f"--nodes {request.nodes}", "does not go with --times", "The file has them: drop it")
        return read_times(request.times)
    if request.work is not None:
        return amdahl(request.work, request.serial or 0.0, np.array(parse_nodes(request.nodes or "1:10000"), float))
    return _predicted(request, said)


def _check_sources(request: FailuresRequest) -> None:
    """Raise UserError unless the run times have one source, and the other options go with it."""
    platform = request.scenario is not None or bool(request.platform)
    sources = [name for name, given in (("--work", request.work is not None), ("--times", request.times is not None),
                                            ("--scenario or --platform", platform)) if given]  # fmt: skip
    if len(sources) != 1:
        problem = "is not given" if not sources else f"is given by {' and '.join(sources)}"
        raise UserError("run time", problem, "Give --work, --times, or --scenario with --app or --program")
    if request.serial is not None and request.work is None:
        raise UserError(f"--serial {request.serial:g}", "goes with --work", "Drop it")
    if not platform:
        _refuse_predictor_options(request)


def _refuse_predictor_options(request: FailuresRequest) -> None:
    """Raise UserError if an option is given that only a predictor and its evidence use."""
    for field in fields_of(FailuresRequest):
        if field.section in (_BY_PREDICTOR, _EVIDENCE) and getattr(request, field.key) != field.default:
            raise UserError(field.option, "goes with --scenario or --platform", "Drop it, or name the platform")


def _predicted(request: FailuresRequest, said: Cautions) -> RunTimes:
    # Imported here because they are slow to import.
    from apps.options.runner import runner_from_request
    from predictor.failures.run_times import predicted

    asked = _asked(request)
    with runner_from_request(request, cautions=said) as runner:
        return predicted(asked, runner)


def _asked(request: FailuresRequest) -> FailureQuestion:
    """Return the runs whose times a predictor gives."""
    # Imported here because they are slow to import.
    from apps.options.settings import settings_from_request
    from predictor.failures.run_times import FailureQuestion
    from predictor.registry import predictor

    each = request.ranks_per_host
    if each < 1:
        raise UserError(f"--ranks-per-host {each}", "below one", "Give 1 or more")
    given = given_from_request(request)
    if request.app is None and request.program is None and given is None:
        raise UserError("--app", "is not given", "Name a kernel, or give --program or --recording")
    model = predictor(request.predictor or "dpgraph:known")
    problems = problems_from_request(request) if given is None else [given.problem]
    if len(problems) > 1:
        raise UserError(f"--app {request.app}", f"{len(problems)} kernels", "Name one of them")
    settings = settings_from_request(request)
    platform = platform_from_request(request)
    most = len(platform.hosts)
    powers = [2**i for i in range(most.bit_length()) if 2**i < most]
    nodes = [*powers, most] if request.nodes is None else parse_nodes(request.nodes)
    if given is not None:
        if given.recording.nranks % each:
            problem = f"the recording is of {given.recording.nranks} ranks"
            raise UserError(f"--ranks-per-host {each}", problem, "Give a number that divides them")
        nodes = [given.recording.nranks // each]
        if request.nodes not in (None, str(nodes[0])):
            remedy = "Leave it out, or give --program, which is recorded on every number of ranks"
            raise UserError(f"--nodes {request.nodes}", f"the recording is of {given.recording.nranks} ranks", remedy)
    return FailureQuestion(model, problems[0], platform, tuple(nodes), settings, given, each)


def _say_plan(request: FailuresRequest) -> int:
    """Print what would be simulated for the predictor's evidence."""
    # Imported here because it is slow to import.
    from predictor.evidence.plan import planned

    asked = _asked(request)
    targets = [target for _, target in asked.targets() if target is not None]
    return print_plan(request, planned([(asked.settings, [target]) for target in targets], [asked.model], truths=False))


def answer(request: FailuresRequest) -> Reply | int:
    """Return the expected times; with --dry-run say what their evidence takes, and return the exit status."""
    # Imported here because they are slow to import.
    from predictor.failures.expected import outlook
    from predictor.failures.report import as_json, as_text

    if request.rows < 2:
        raise UserError(f"--rows {request.rows}", "below two", "Give 2 or more")
    if request.repeat < 1:
        raise UserError(f"--repeat {request.repeat}", "below one", "Give 1 or more")
    if request.repeat > MOST_REPEATS:
        raise UserError(f"--repeat {request.repeat}", "too many", f"Give at most {MOST_REPEATS}")
    if request.segments not in SEGMENTS:
        raise UserError(
            f"--segments {request.segments}", "no such way to count segments", known_names(request.segments, SEGMENTS)
        )
    if request.plot is not None:
        check_picture("--plot", request.plot)
    failures, intervals = failures_from_request(request), intervals_from_request(request)
    said = Cautions()
    if request.dry_run:
        _check_sources(request)
        return _say_plan(request)
    times = run_times_from_request(request, said).repeated(request.repeat)
    outlook_found = outlook(times.nodes, times.time_s, failures, intervals, segments=request.segments)
    if request.plot is not None:
        # Imported here because it is slow to import.
        from predictor.failures.plot import figure

        write_picture("--plot", request.plot, figure(outlook_found, f"{times.source}: expected time when nodes fail"))

    def to_json() -> dict[str, Any]:
        data = as_json(times, failures, outlook_found, request.rows)
        data["cautions"] += said.lines()
        return data

    return Reply(
        outlook_found, lambda: as_text(times, failures, outlook_found, request.rows, wide=request.wide), to_json
    )


COMMAND = Command(
    "plan failures",
    FailuresRequest,
    answer,
    __doc__,
    first="--node-mtbf-years --restart --work --serial --nodes --scenario --app --predictor --simulate".split(),
    status=exit_status,
)
main = COMMAND.main
