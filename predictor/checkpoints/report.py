"""Output of expected times and energies of placed applications, as text and as JSON."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import table_lines
from predictor.checkpoints.expectation import NO_FAILURES, Expectation, best
from predictor.checkpoints.placed import Placed

_JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True)
class CheckpointRow:
    """One placement and its expectations by strategy."""

    varied: Mapping[str, Any]  # values that were changed, by name
    run: Placed
    expected: Mapping[str, Expectation]

    @property
    def success(self) -> float:
        """Probability that no node fails during the work."""
        return math.exp(-self.run.rate_per_s * self.run.work_s)


def as_text(source: str, rows: Sequence[CheckpointRow], *, restart_s: float, wide: bool = False) -> str:
    """Return the best placement of each strategy, and a table of all placements.

    Args:
        source: Description of the application, the system and the model.
        rows: The placements.
        restart_s: Time of a restart, s.
        wide: Show intervals and energies of all strategies too.
    """
    strategies = list(dict.fromkeys(name for row in rows for name in row.expected))
    rows_expected = [row.expected for row in rows]
    lines: list[str] = []
    for name in strategies:
        fastest, thriftiest = best(rows_expected, name), best(rows_expected, name, energy=True)
        said = "none ends" if fastest is None else _said(rows[fastest], name)
        if thriftiest is not None and thriftiest != fastest:
            said += f"; least energy: {_said(rows[thriftiest], name)}"
        lines += prose_lines(f"best, {name}: {said}")
    lines += ["", *prose_lines(f"{source}; restart {restart_s:g} s")]
    cells = [[name, *(str(row.varied[name]) for row in rows)] for name in rows[0].varied]
    cells.append(["nodes", *(f"{row.run.nodes:,}" for row in rows)])
    if wide:
        cells.append(["success", *(significant(row.success) for row in rows)])
    cells.append(["checkpoint", *(duration(row.run.checkpoint_s) for row in rows)])
    for name in strategies:
        those = [row.expected.get(name) for row in rows]
        if wide and name != NO_FAILURES:
            cells.append(
                [f"{name} every", *("-" if interval is None else _time(interval.interval_s) for interval in those)]
            )
        cells.append([name, *("-" if expectation is None else _time(expectation.time_s) for expectation in those)])
        if wide or name == strategies[-1]:
            cells.append(
                [f"{name} kWh", *("-" if expectation is None else _energy(expectation) for expectation in those)]
            )
    lines += ["", *table_lines(list(zip(*cells, strict=True)), wide=wide)]
    cautions = folded_lines(f"caution: {text}" for text in cautions_of(rows))
    return "\n".join([*lines, *([""] * bool(cautions)), *cautions])


def cautions_of(rows: Sequence[CheckpointRow]) -> list[str]:
    """Return the cautions of the placements, and one where the best of several is the first or the last of them."""
    texts = list(dict.fromkeys(text for row in rows for text in row.run.cautions))
    for name in dict.fromkeys(name for row in rows for name in row.expected):
        place = best([row.expected for row in rows], name)
        if name != NO_FAILURES and len(rows) > 1 and place in (0, len(rows) - 1):
            texts.append(f"{name}: the best number of nodes, {rows[place].run.nodes:,}, is an end of the range")
    return texts


def as_json(source: str, rows: Sequence[CheckpointRow], *, restart_s: float) -> dict[str, Any]:
    """Return the results as JSON values; infinite values are None."""
    strategies = dict.fromkeys(name for row in rows for name in row.expected)
    rows_expected = [row.expected for row in rows]
    shown = [
        {
            "varied": dict(row.varied),
            **asdict(row.run),
            "success": row.success,
            "expected": {name: _values(expectation) for name, expectation in row.expected.items()},
        }
        for row in rows
    ]
    return {
        "run": source,
        "restart_s": restart_s,
        "rows": shown,
        "best_time": {name: best(rows_expected, name) for name in strategies},
        "best_energy": {name: best(rows_expected, name, energy=True) for name in strategies},
        "cautions": cautions_of(rows),
    }


def _values(expectation: Expectation) -> dict[str, float | None]:
    values = {**asdict(expectation), "time_s": expectation.time_s}
    return {name: value if value is not None and math.isfinite(value) else None for name, value in values.items()}


def _said(row: CheckpointRow, name: str) -> str:
    varied = "".join(f"{key} {value}, " for key, value in row.varied.items())
    nodes = f"{row.run.nodes:,} {'node' if row.run.nodes == 1 else 'nodes'}"
    expectation = row.expected[name]
    energy = "" if expectation.energy_j is None else f", {_energy(expectation)} kWh"
    return f"{varied}{nodes}, {_time(expectation.time_s)}{energy}"


def _energy(expectation: Expectation) -> str:
    return "-" if expectation.energy_j is None else significant(expectation.energy_j / _JOULES_PER_KWH)


def _time(time_s: float) -> str:
    return duration(time_s) if math.isfinite(time_s) else "inf"
