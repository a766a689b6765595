"""The simulations behind the results, and the commands that repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from platforms.errors import UserError
from validation.report import repeat
from validation.report.gather import Gathered, ListedRun

MOST_RUNS = 60  # runs whose commands are listed
MOST_FILES = 60  # platform files that are listed


@dataclass(frozen=True)
class Repeated:
    """A run and the shell commands that repeat it."""

    name: str
    lines: tuple[str, ...]
    note: str = ""


def platform_files(gathered: Gathered) -> tuple[dict[str, repeat.PlatformFile], int]:
    """Return the platform files of targets, then of evidence on other platforms, by path; and the number not listed."""
    platforms = {run.spec.target.platform.path: run.spec.target.platform
                 for run in chain((case.run for case in gathered.cases if case.run), gathered.runs)}  # fmt: skip
    words = gathered.invocation.platform_words
    made = {}
    for path, platform in list(platforms.items())[:MOST_FILES]:
        tried = repeat.scenario_words(platform)
        file = repeat.platform_file(platform, tried)
        if file.command is None and words and words != tried:
            file = repeat.platform_file(platform, words)
        made[str(path)] = file
    return made, max(0, len(platforms) - MOST_FILES)


def repeated(runs: Sequence[ListedRun], platform_files: dict[str, repeat.PlatformFile]) -> tuple[list[Repeated], int]:
    """Return the commands that repeat each run, the truths first, and the number of runs that are not listed."""
    ordered = sorted(runs, key=lambda run: run.asked_by != "")
    made = []
    for place, run in enumerate(ordered[:MOST_RUNS], 1):
        name, file = f"{place}. {_named(run)}", platform_files.get(str(run.spec.target.platform.path))
        try:
            lines = repeat.commands(run, file)
        except UserError as err:
            made.append(Repeated(name, (), f"No command: {err}"))
            continue
        made.append(Repeated(name, lines, _note(run) if lines else "No command line can describe this run."))
    return made, max(0, len(ordered) - MOST_RUNS)


def _named(run: ListedRun) -> str:
    target = run.spec.target
    network = f", network {target.platform.network}" if target.platform.network else ""
    role = f"evidence, first asked for by {run.asked_by}" if run.asked_by else "the target"
    return f"{target}{network}: {role}"


def _note(run: ListedRun) -> str:
    iterations, official = run.iterations, run.spec.target.iterations
    note = ""
    if iterations < official:
        note = f"Simulates {iterations} of {official} iterations; the whole run was extrapolated to {run.time_s:.6g} s."
    if run.spec.compute == "measured":
        note += " Computation is measured during the run, so times vary."
    return note.strip()
