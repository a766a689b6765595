"""Compare the expected times of work units on volunteers with simulations, draw by draw.

SimGrid turns the hosts off and on at the drawn times, or stops them where units continue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path

from apps.child.process import run_bounded
from apps.child.run_folder import environment
from apps.child.verdict import final_record
from apps.options.exit_status import exit_status
from platforms.command.command import Command, Reply
from platforms.command.request import option
from platforms.files.scratch import scratch_folder
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import check_simgrid
from platforms.terminal.progress import Progress
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import table_lines
from predictor.blocks.volunteers.cli import VolunteersRequest, expectation
from predictor.blocks.volunteers.handing_out import Outcome
from predictor.blocks.volunteers.periods import Period
from predictor.blocks.volunteers.project import LEAVES, Project

TIME_LIMIT_S = 600.0  # wall time of a draw
_SOURCE = Path(__file__).with_name("volunteers.cpp")


@dataclass(frozen=True)
class SimulatedDraw:
    """A draw as it is expected, and as SimGrid finds it."""

    expected: Outcome
    time_s: float
    handed_out: int

    @property
    def error(self) -> float:
        """Relative error of the expected time."""
        return self.expected.time_s / self.time_s - 1


def simulated(project: Project, seed: int, draw: int, expected: Outcome) -> SimulatedDraw:
    """Simulate a draw.

    Args:
        project: The project.
        seed: Seed of all draws.
        draw: Number of the draw.
        expected: What is expected of it, which decides how many periods the simulation gets: three times as long.

    Raises:
        SimulationError: The simulation failed, or does not end within these periods.
    """
    check_simgrid()
    program = compile_once(
        "volunteers", [_SOURCE], compiler=["g++"], flags=["-O2", "-std=gnu++17"], libraries=["-lsimgrid"]
    )
    until_s = 3 * expected.time_s
    periods = [list(takewhile(lambda period: period[0] < until_s, rows)) for rows in project.periods(seed, draw)]
    with scratch_folder("s4u") as folder:
        (folder / "project").write_text("\n".join(_lines(project, periods)) + "\n")
        done = run_bounded(
            ["sh", "-c", '"$@" < project', "sh", str(program)],
            folder=folder,
            time_limit_s=TIME_LIMIT_S,
            environment=environment(folder),
        )
        record = final_record(done, f"draw {draw} of {project.name}")
    return SimulatedDraw(expected, record["time_s"], record["handed_out"])


def _lines(project: Project, periods: Sequence[Sequence[Period]]) -> Iterator[str]:
    timeout_s = project.timeout_s if project.timeout_s < float("inf") else 0.0
    numbers = (project.operations, timeout_s, project.contact_s)
    yield " ".join((str(project.units), *(f"{number:.17g}" for number in numbers)))
    yield f"{LEAVES.index(project.leave)} {len(project.volunteers)}"
    for volunteer, rows in zip(project.volunteers, periods, strict=True):
        times = " ".join(f"{from_s:.17g} {until_s:.17g}" for from_s, until_s in rows)
        yield f"{volunteer.speed_flops:.17g} {len(rows)} {times}"


@dataclass(frozen=True, kw_only=True)
class VolunteersComparisonRequest(VolunteersRequest):
    """A project of volunteers whose draws are simulated."""

    draws: int = option(10, "N", "draws, each simulated (default: 10; one if nothing is random)")


def _answer(request: VolunteersComparisonRequest) -> Reply:
    found = expectation(request)
    draws: list[SimulatedDraw] = []
    status = 130 if found.interrupted else 0
    progress = Progress()
    try:
        for draw, expected in enumerate(found.outcomes):
            draws.append(simulated(found.project, request.seed, draw, expected))
            progress("draw simulated", len(draws), len(found.outcomes))
    except KeyboardInterrupt:
        if not draws:
            raise
        status = 130
    finally:
        progress.close()
    return Reply(draws, lambda: _text(draws), lambda: [{**asdict(draw), "error": draw.error} for draw in draws], status)


def _text(draws: Sequence[SimulatedDraw]) -> str:
    rows: list[tuple[str, ...]] = [("draw", "expected", "simulated", "error %", "handed out", "simulated")]
    for number, draw in enumerate(draws, 1):
        times = duration(draw.expected.time_s, digits=5), duration(draw.time_s, digits=5)
        handed_out = str(draw.expected.handed_out), str(draw.handed_out)
        rows.append((str(number), *times, percent(100 * draw.error, signed=True), *handed_out))
    return "\n".join(table_lines(rows))


COMMAND = Command("blocks volunteers", VolunteersComparisonRequest, _answer, __doc__, status=exit_status)
main = COMMAND.main
