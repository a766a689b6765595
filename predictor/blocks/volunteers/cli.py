"""Expect how long work units take on volunteers' computers, which join and leave.

Volunteers are available and absent by turns, for drawn times or by a trace.  The file says what a unit does when its
volunteer leaves, and when the master hands it out again.  Each draw is followed event by event; the expected time has
an interval (docs/planning/shared.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, argument, option
from platforms.errors import UserError
from platforms.terminal.progress import Progress
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration, interval_text, percent, significant

if TYPE_CHECKING:
    from predictor.blocks.volunteers.handing_out import Outcome
    from predictor.blocks.volunteers.project import Project

CONFIDENCE, SHARE = 0.95, 0.9  # of the interval of the mean, and of the draws between the quantiles
MOST_DRAWS = 100_000


@dataclass(frozen=True, kw_only=True)
class VolunteersRequest(JsonOption):
    """A project of volunteers."""

    project: str = argument("FILE.toml", "units and volunteers (docs/planning/shared.md)")
    draws: int = option(100, "N", "draws of all periods (default: 100; one if nothing is random)")
    seed: int = option(1, "S", "seed of all draws (default: 1)")


@dataclass(frozen=True)
class Expectation:
    """Time until all units are done, over the draws."""

    project: Project
    outcomes: tuple[Outcome, ...]
    interrupted: bool = False  # there are fewer draws than were asked for

    @property
    def time_s(self) -> float:
        """The mean."""
        return math.fsum(done.time_s for done in self.outcomes) / len(self.outcomes)

    def interval_s(self) -> tuple[float, float]:
        """Return Student's interval of the mean."""
        # Imported here because it is slow to import.
        from scipy.special import stdtrit

        count, mean_s = len(self.outcomes), self.time_s
        variance = math.fsum((done.time_s - mean_s) ** 2 for done in self.outcomes) / max(1, count - 1)
        half_s = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2)) * math.sqrt(variance / count) if count > 1 else 0.0
        return mean_s - half_s, mean_s + half_s

    def quantiles_s(self) -> tuple[float, float]:
        """Return the times between which SHARE of the draws lie."""
        times_s = sorted(done.time_s for done in self.outcomes)
        outside = math.floor((1 - SHARE) / 2 * len(times_s))
        return times_s[outside], times_s[-1 - outside]

    @property
    def handed_out(self) -> float:
        """Mean number of units that are handed out, with those that are handed out again."""
        return sum(done.handed_out for done in self.outcomes) / len(self.outcomes)

    @property
    def useful(self) -> float:
        """Operations of one result of each unit, as a share of all that are computed."""
        computed = sum(done.computed_flops for done in self.outcomes)
        return self.project.units * self.project.operations * len(self.outcomes) / computed


def expectation(request: VolunteersRequest) -> Expectation:
    """Return the expectation that a request asks for, over the draws that were made if it is interrupted."""
    # Imported here for a quick help.
    from predictor.blocks.volunteers.handing_out import outcome
    from predictor.blocks.volunteers.project import read_project

    for name, value, least, most in (("draws", request.draws, 1, MOST_DRAWS), ("seed", request.seed, 0, 2**63)):
        if not least <= value <= most:
            raise UserError(f"--{name} {value}", "out of its range", f"Give {least} to {most}")
    project = read_project(request.project)
    draws = request.draws if project.random else 1
    outcomes: list[Outcome] = []
    progress = Progress()
    try:
        for draw in range(draws):
            outcomes.append(outcome(project, project.periods(request.seed, draw)))
            progress("draw", len(outcomes), draws)
    except KeyboardInterrupt:
        if not outcomes:
            raise
    finally:
        progress.close()
    return Expectation(project, tuple(outcomes), len(outcomes) < draws)


def _answer(request: VolunteersRequest) -> Reply:
    found = expectation(request)
    status = 130 if found.interrupted else 0
    return Reply(found, lambda: "\n".join(folded_lines(_lines(found))), lambda: _to_json(found), status)


def _lines(found: Expectation) -> Sequence[str]:
    project, (low_s, high_s) = found.project, found.interval_s()
    lines = [f"{project.name}: {project.units} units on {len(project.volunteers)} volunteers"]
    if project.random:
        between = interval_text(*found.quantiles_s(), like_s=found.time_s)
        lines += [
            f"expected time {duration(found.time_s)}, {100 * CONFIDENCE:g} % interval "
            f"{interval_text(low_s, high_s, like_s=found.time_s)}, over {len(found.outcomes)} draws",
            f"{100 * SHARE:g} % of the draws take {between}",
        ]
    else:
        lines.append(f"time {duration(found.time_s, digits=6)}; nothing is random")
    used = percent(100 * found.useful)
    lines.append(f"{significant(found.handed_out, 4)} units handed out; {used} % of the work is used")
    rate = project.units_per_s
    if rate is not None:
        lines.append(
            f"with a unit for every volunteer at all times: {significant(3600 * rate)} units/h, "
            f"{duration(project.units / rate)} for all"
        )
    return lines


def _to_json(found: Expectation) -> dict[str, Any]:
    rate = found.project.units_per_s
    return {
        "project": found.project.name,
        "units": found.project.units,
        "volunteers": len(found.project.volunteers),
        "draws": len(found.outcomes),
        "time_s": found.time_s,
        "interval_s": found.interval_s(),
        "quantiles_s": found.quantiles_s(),
        "handed_out": found.handed_out,
        "useful": found.useful,
        "long_run_s": None if rate is None else found.project.units / rate,
    }


COMMAND = Command("blocks volunteers", VolunteersRequest, _answer, __doc__)
main = COMMAND.main
