"""The planner's advice compared with the fastest allocation that simulations of many find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from platforms.errors import UserError
from platforms.terminal.quantities import duration
from platforms.terminal.table import table_lines
from predictor.hierarchical.allocation import best
from predictor.hierarchical.counts.declared import kernel_problem
from predictor.hierarchical.kernels import notes
from validation.cores.communication import SHOWN, Study, machine

Place = tuple[int, int]  # q, p
LISTED, ALL = "those simulated", "all"


@dataclass(frozen=True)
class Advice:
    """The allocation that a variant of the model advises."""

    variant: str
    among: str  # LISTED: the simulated numbers of cores and nodes; ALL: all whole numbers up to the largest ones
    place: Place
    time_s: float  # simulated
    loss: float  # of this time over the fastest of those that it is chosen among, relative


@dataclass(frozen=True)
class Search:
    """The simulated times of many allocations, and the advice."""

    study: Study
    times_s: Mapping[Place, float]
    advice: tuple[Advice, ...]

    @property
    def fastest(self) -> Place:
        """The allocation with the shortest simulated time."""
        return min(self.times_s, key=lambda place: self.times_s[place])


def _places(study: Study) -> list[Place]:
    """Return the cores and nodes of the study on which the kernel runs; UserError if there are none."""
    asked = kernel_problem(study.app, study.n)
    any_ranks = notes(asked.name).grid_rows is not None  # its grid follows the ranks
    places = [(q, p) for q in study.cores for p in study.nodes if any_ranks or asked.allows(q * p)]
    if not places:
        raise UserError("--cores, --nodes", f"{asked} runs on none of these", "Give powers of two")
    return places


def _advised(study: Study) -> dict[tuple[str, str], Place]:
    """Return the advised allocation by variant and by the numbers that it is chosen among."""
    advised: dict[tuple[str, str], Place] = {}
    for variant in SHOWN:
        surface = study.surface(variant)
        advised[variant, LISTED] = max(_places(study), key=lambda place: (float(surface.speedup(*place)), -place[0]))
        allocation = best(surface, range(1, max(study.cores) + 1), range(1, max(study.nodes) + 1))
        place = allocation.cores_per_node, allocation.nodes
        if kernel_problem(study.app, study.n).allows(place[0] * place[1]):
            advised[variant, ALL] = place
    return advised


def search_specs(study: Study) -> dict[Place, RunSpec]:
    """Return the runs of a search: all allocations of the study, and those that are advised.

    Raises:
        UserError: The study is inconsistent, or the kernel runs on none of its allocations.
    """
    study.check_machine()
    platform = machine(study.system, max(study.nodes), inside=study.inside)
    places = dict.fromkeys([*_places(study), *_advised(study).values()])
    return {place: study.spec(*place, platform) for place in places}


def search(study: Study, runner: Runner) -> Search:
    """Simulate all allocations of the study and those that are advised.

    Raises:
        UserError: As ``search_specs``.
        SimulationError: A simulation failed.
    """
    specs = search_specs(study)
    runner.start(specs.values())
    times_s = {place: runner.record(spec).time_s for place, spec in specs.items()}
    listed_s, least_s = min(times_s[place] for place in _places(study)), min(times_s.values())
    return Search(
        study,
        times_s,
        tuple(
            Advice(
                variant, among, place, times_s[place],
                times_s[place] / (listed_s if among == LISTED else least_s) - 1,
            )
            for (variant, among), place in _advised(study).items()
        ),
    )  # fmt: skip


def search_table(searched: Search) -> pd.DataFrame:
    """Return a table with a row per simulated allocation."""
    rows = [{"cores_per_node": q, "nodes": p, "time_s": time_s} for (q, p), time_s in searched.times_s.items()]
    return pd.DataFrame(rows)


def search_text(searched: Search) -> str:
    """Return a text with the fastest allocation and the advice of every variant."""
    (q, p), study = searched.fastest, searched.study
    head = (
        f"{study.app}, n = {study.n}, on {study.system.name}: {len(searched.times_s)} allocations simulated, fastest "
        f"on {q} x {p} (cores per node x nodes), {duration(searched.times_s[q, p])}"
    )
    rows: list[Sequence[str]] = [("variant", "advice among", "q x p", "simulated", "slower than the fastest")]
    rows += [
        (
            advice.variant,
            advice.among,
            f"{advice.place[0]} x {advice.place[1]}",
            duration(advice.time_s),
            f"{100 * advice.loss:.1f} %",
        )
        for advice in searched.advice
    ]
    return "\n".join((head, "", *table_lines(rows, left={0, 1})))


def search_json(searched: Search) -> dict[str, Any]:
    """Return the search as one JSON object."""
    return {
        "system": searched.study.system.name,
        "app": searched.study.app,
        "n": searched.study.n,
        "fastest": {"cores_per_node": searched.fastest[0], "nodes": searched.fastest[1]},
        "times": [{"cores_per_node": q, "nodes": p, "time_s": time_s} for (q, p), time_s in searched.times_s.items()],
        "advice": [
            {
                "variant": advice.variant,
                "among": advice.among,
                "cores_per_node": advice.place[0],
                "nodes": advice.place[1],
                "time_s": advice.time_s,
                "loss_pct": 100 * advice.loss,
            }
            for advice in searched.advice
        ],
    }
