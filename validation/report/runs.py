"""The simulations behind the results, and how each is made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from apps.wording import number_of
from platforms.errors import UserError
from validation.report import repeat
from validation.report.gather import Gathered, Run

MOST_RUNS = 60  # whose commands are listed
MOST_FILES = 60  # of platforms


@dataclass(frozen=True)
class Repeated:
    """A run, and the shell's lines that make it again."""

    name: str
    lines: tuple[str, ...]
    note: str = ""


def platform_files(gathered: Gathered) -> tuple[dict[str, repeat.PlatformFile], int]:
    """By path: those of the targets, then those of evidence on other platforms; and how many are not listed."""
    platforms = {run.spec.target.platform.path: run.spec.target.platform
                 for run in chain((case.run for case in gathered.cases if case.run), gathered.runs)}  # fmt: skip
    words = gathered.asked.platform_words
    made = {}
    for path, platform in list(platforms.items())[:MOST_FILES]:
        tried = repeat.scenario_words(platform)
        one = repeat.platform_file(platform, tried)
        if one.command is None and words and words != tried:
            one = repeat.platform_file(platform, words)
        made[str(path)] = one
    return made, max(0, len(platforms) - MOST_FILES)


def repeated(runs: Sequence[Run], platform_files: dict[str, repeat.PlatformFile]) -> tuple[list[Repeated], int]:
    """How each run is made again, the truth first, and how many are not listed."""
    ordered = sorted(runs, key=lambda run: run.asked_by != "")
    made = []
    for place, run in enumerate(ordered[:MOST_RUNS], 1):
        name, file = f"{place}. {_named(run)}", platform_files.get(str(run.spec.target.platform.path))
        try:
            lines = repeat.commands(run, file)
        except UserError as err:
            made.append(Repeated(name, (), f"No command: {err}"))
            continue
        made.append(Repeated(name, lines, _note(run) if lines else "No command line can name it."))
    return made, max(0, len(ordered) - MOST_RUNS)


def _named(run: Run) -> str:
    target = run.spec.target
    network = f", network {target.platform.network}" if target.platform.network else ""
    role = f"evidence, first asked for by {run.asked_by}" if run.asked_by else "the target"
    return f"{target.problem} on {number_of(target.nranks, 'rank')} of {target.platform.name}{network}: {role}"


def _note(run: Run) -> str:
    iterations, official = run.iterations, run.spec.target.iterations
    note = ""
    if iterations < official:
        note = f"Simulates {iterations} of {official} iterations; the others were extrapolated to {run.time_s:.6g} s."
    if run.spec.compute == "measured":
        note += " Computation is timed as it runs: times vary."
    return note.strip()
