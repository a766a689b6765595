"""Options of ``gridval plan cores`` for programs that are recorded, and the recordings that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.options.programs import ProgramOptions, own_problem_from_request, problem_from_request
from apps.options.settings import ComputeOptions, check_timed
from apps.programs.kernel import kernel_names
from apps.spec.settings import Settings
from platforms.command.request import fields_of, given, option
from platforms.errors import UserError
from predictor.series.grid import counts

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from apps.results.cautions import Cautions
    from apps.runs.runner import Runner
    from apps.spec.target import Target
    from predictor.evidence.given import Given
    from predictor.hierarchical.multicore_cluster import MulticoreCluster
    from predictor.hierarchical.recorded_plan import RecordedPlan

MOST_RANKS = 64  # recorded unasked
OF_RECORDINGS = "programs that are recorded"


@dataclass(frozen=True, kw_only=True)
class RecordedOptions(ProgramOptions, ComputeOptions):
    """A program, and the numbers of ranks on which it is recorded."""

    ranks: str | None = option(
        None,
        "LIST",
        f"numbers of ranks on which it is recorded, such as 1:64 or 8,16,24; the allocations have as many cores "
        f"(default: powers of two up to {MOST_RANKS})",
        section=OF_RECORDINGS,
    )
    bytes_per_flop: float | None = option(
        None,
        "B",
        "bytes between cores and memory per operation (default: those that a kernel declares, else none)",
        unit="byte/flop",
        section=OF_RECORDINGS,
    )


@dataclass(frozen=True)
class RecordedQuestion:
    """A program on a machine, and how it is recorded on some numbers of ranks."""

    problem: Problem
    system: MulticoreCluster
    bytes_per_operation: float
    settings: Settings
    targets: Sequence[Target]

    def plan(self, runner: Runner, said: Cautions, trace: Given | None = None) -> RecordedPlan:
        """Return the plan from the recordings.

        Raises:
            UserError: The program runs on none of the numbers of ranks, or computes nothing.
        """
        # Imported here for a quick start: it is slow to import.
        from predictor.hierarchical.recorded_plan import RecordedPlan, gathered

        recordings, left_out = gathered(self.targets, self.settings, runner, trace)
        cautions = (*left_out, *said.lines())
        return RecordedPlan(self.problem, self.system, recordings, self.bytes_per_operation, cautions)


def counts_unasked(system: MulticoreCluster) -> tuple[int, ...]:
    """Return the powers of two up to MOST_RANKS, and to the cores of the machine."""
    most = min(MOST_RANKS, system.cores * system.nodes)
    return tuple(2**power for power in range(most.bit_length()) if 2**power <= most)


def is_recorded(request: RecordedOptions) -> bool:
    """Return whether the program is recorded: no row of the paper's table, and no kernel with declared exchanges."""
    if request.program is not None or getattr(request, "recording", None) is not None or request.size is not None:
        return True
    if request.app not in kernel_names():
        return False
    # Imported here for a quick start: it is slow to import.
    from predictor.hierarchical.answer import known_apps

    return request.app not in known_apps()


def refuse_recording_options(request: RecordedOptions) -> None:
    """Raise UserError if an option is given that only a recorded program has."""
    if is_recorded(request):
        return
    for field in fields_of(type(request)):
        if field.section == OF_RECORDINGS and getattr(request, field.key) != field.default:
            remedy = "Leave it out, or give --program, --recording or --app with --size"
            raise UserError(field.option, "goes with a program that is recorded", remedy)
    own_problem_from_request(request)  # raises an error for other options of a program


def recorded_question(request: RecordedOptions, system: MulticoreCluster, trace: Given | None) -> RecordedQuestion:
    """Return what is to be recorded; ``trace`` is a recording from the user, in place of the program.

    Raises:
        UserError: The options do not fit together, or a value is out of its range.
    """
    # Imported here for a quick start: it is slow to import.
    from predictor.hierarchical.recorded_plan import recorded_targets

    own = own_problem_from_request(request) if trace is None else trace.problem
    problem = own or problem_from_request(request, given(request.app))
    moved = problem.bytes_per_flop if request.bytes_per_flop is None else request.bytes_per_flop
    if moved is not None and not 0 <= moved < float("inf"):
        raise UserError(f"--bytes-per-flop {moved:g}", "not a number of bytes", "Give 0 or more")
    if trace is not None:
        ranks: tuple[int, ...] = (trace.recording.nranks,)
    else:
        ranks = counts_unasked(system) if request.ranks is None else counts("--ranks", request.ranks)
    check_timed(request)
    settings = Settings(
        compute=request.compute,
        efficiency="1" if problem.program is None else "reference",  # l_c is the speed at which kernels are counted
        host_speed_flops=None if request.host_speed is None else request.host_speed * 1e9,
    )
    return RecordedQuestion(problem, system, moved or 0.0, settings, recorded_targets(problem, system, ranks))
