"""Requests to a worker that show where in a program the time of a run goes: its graph beside its simulation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.runs.runner import Runner
from validation.workbench.work.campaigns import case_of

if TYPE_CHECKING:
    from validation.graph.simulated import Elements

RECORDING_S = 120.0  # longest recording of a run
_MOST_ROWS = 200


def graph(folder: Path, text: str, case: int, known: str) -> Iterator[dict[str, Any]]:
    """Yield the times of a run's elements by place in the program, by the graph on the platform and simulated.

    The graph has the run's messages and the platform's links, and its times come without a simulation, so that what it
    and the simulation disagree about is where models of messages err.

    Args:
        folder: The project folder.
        text: The suite.
        case: The number of the run in the suite.
        known: The hash of the run's platform when it was queued.

    Raises:
        UserError: The platform has changed since, or the run cannot be recorded.
        OutOfRange: The platform has links or options that the graph does not represent.
    """
    # Imported here for a quick start of the worker: few ask for a graph.
    from predictor.graph.on_platform import analysis, iterations_of
    from predictor.graph.places import places_of
    from predictor.graph.request import GraphRequest
    from validation.graph.compare import simulation
    from validation.graph.simulated import elements_of_analysis, simulated_elements

    chosen = case_of(folder, text, case, known)
    target, spec = chosen.target, chosen.settings.spec(chosen.target)
    request = GraphRequest(cfg=tuple(f"{key}:{value}" for key, value in chosen.settings.options))
    with Runner(jobs=1, time_limit_s=RECORDING_S) as runner:
        made = analysis(request, target, runner.recording(spec, iterations_of(request, target)), runner)
        simulate = simulation(runner.timed(spec), made.iterations or target.iterations, time_limit_s=RECORDING_S)
        recording = simulate(target)
    predicted = elements_of_analysis(made)
    simulated = simulated_elements(recording, places_of(target.problem, recording.paths))
    yield {
        "title": str(target), "iterations": made.iterations, "what": made.what, "predicted_s": predicted.time_s,
        "simulated_s": simulated.time_s, "cautions": list(made.cautions), "rows": _rows(predicted, simulated),
    }  # fmt: skip


def _rows(predicted: Elements, simulated: Elements) -> list[list[Any]]:
    """Return rows of kind, place, and the times of the critical path and of all processes, each by both, s."""
    keys = dict.fromkeys(
        key for elements in (simulated, predicted) for key in (*elements.path_s, *elements.spent_s)
    )  # fmt: skip
    rows: list[list[Any]] = [
        [
            what, place or "", predicted.path_s.get((what, place), 0.0), simulated.path_s.get((what, place), 0.0),
            predicted.spent_s.get((what, place), 0.0), simulated.spent_s.get((what, place), 0.0),
        ]
        for what, place in keys
    ]  # fmt: skip
    spent = [row for row in rows if any(row[2:])]
    return sorted(spent, key=lambda row: (max(row[2:4]), max(row[4:])), reverse=True)[:_MOST_ROWS]
