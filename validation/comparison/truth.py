"""Times measured on a real machine, used as truth instead of simulated ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from apps.results.record import RunRecord
from apps.runs.engines import run_identity
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import PlatformError, UserError, known_names
from platforms.files.commented_csv import read_table
from platforms.files.writing import cell_text
from platforms.model.placement import MAPPINGS

N = TypeVar("N", int, float)
_Key = tuple[str, str | None, str, int, str | None, str | None]  # app, class, platform, ranks, network and mapping
_Optional = str | None
_NEEDED = ("platform", "ranks", "time_s")
_NAMES = ("app", "program")  # either


@dataclass(frozen=True)
class MeasuredTimes:
    """Measured run times, s, of programs on platforms."""

    source: str  # the file
    times_s: Mapping[_Key, float]

    def record(self, spec: RunSpec) -> RunRecord:
        """Return a record with the measured time of the spec's target and nothing else about the run.

        Raises:
            UserError: The target was not measured.
        """
        time_s = self._time_s(spec.target)
        if time_s is None:
            raise UserError(self.source, f"no measured time of {_case(spec.target)}", "Add a row, or leave it out")
        return measured_record(spec, time_s)

    def knows(self, target: Target) -> bool:
        """Return whether the target was measured."""
        return self._time_s(target) is not None

    def _time_s(self, target: Target) -> float | None:
        where = target.problem.name, target.platform.name, target.nranks
        mappings = [key[5] for key in self.times_s if key[5] is not None]
        fitting = [mapping for mapping in dict.fromkeys(mappings) if _is_mapped(target, mapping)]
        return self.time_s(
            *where, classes=(target.problem.label, None), networks=(target.platform.network, None),
            mappings=(*fitting, None),
        )  # fmt: skip

    def time_s(
        self, app: str, platform: str, ranks: int, *, classes: Sequence[_Optional], networks: Sequence[_Optional],
        mappings: Sequence[_Optional],
    ) -> float | None:  # fmt: skip
        """Return the time of a case, s; None: it was not measured.

        Args:
            app: Kernel or program.
            platform: The name of the platform.
            ranks: Number of ranks.
            classes: Classes that fit, the best first; None stands for rows without a class.
            networks: Networks that fit.
            mappings: Mappings that fit.
        """
        keys = (
            (app, preset, platform, ranks, network, mapping)
            for preset, network, mapping in product(classes, networks, mappings)
        )
        return next((self.times_s[key] for key in keys if key in self.times_s), None)


def read_measured(path: str | Path) -> MeasuredTimes:
    """Read measured times from a CSV file with the columns app (or program), platform, ranks, time_s.

    The columns class, network and mapping are optional; a row without them is for any.  Column ``platform`` is the name
    of the scenario or of the platform file; ``app`` is the name of the kernel or of the program's file without its
    extension.  Several rows of one case are repeated runs, whose median is taken.

    Raises:
        UserError: The file cannot be read or a line is wrong; the error names the line.
    """
    where = f"--truth {path}"
    columns, rows = read_table(path, "Name a CSV file", where=where)
    missing = [name for name in _NEEDED if name not in columns]
    if not any(name in columns for name in _NAMES):
        missing.insert(0, " or ".join(_NAMES))
    if missing:
        raise UserError(where, f"no column {', '.join(missing)}", "Name the columns in the first line")
    runs: dict[_Key, list[float]] = {}
    for line, row in rows:
        key, time_s = _row(row, f"{where}, line {line}")
        runs.setdefault(key, []).append(time_s)
    if not runs:
        raise UserError(where, "no times", "Give at least one row")
    return MeasuredTimes(str(path), {key: statistics.median(times) for key, times in runs.items()})


def _row(row: Mapping[str, str | None], where: str) -> tuple[_Key, float]:
    values = {name: cell_text((value or "").strip()) for name, value in row.items() if isinstance(value, str)}
    app = next((values[name] for name in _NAMES if values.get(name)), "")
    if not app or not values.get("platform"):
        raise UserError(where, "no app or program, or no platform", "Fill in every column")
    ranks = _number(values.get("ranks", ""), int, f"{where}, ranks")
    time_s = _number(values.get("time_s", ""), float, f"{where}, time_s")
    rest = values.get("network") or None, values.get("mapping") or None
    if rest[1] is not None and rest[1] not in MAPPINGS:
        raise UserError(f"{where}, mapping", f"no mapping {rest[1]!r}", known_names(rest[1], MAPPINGS))
    return (app, values.get("class") or None, values["platform"], ranks, *rest), time_s


def _is_mapped(target: Target, mapping: str) -> bool:
    """Return whether a mapping places the ranks of a target as they are placed, one on each host."""
    try:
        return MAPPINGS[mapping](target.platform, target.nranks, 1) == target.placement
    except PlatformError:  # they do not fit so
        return False


def _number(text: str, kind: Callable[[str], N], where: str) -> N:
    value: N | None
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not 0 < value < math.inf:
        raise UserError(
            where, f"{text!r} is not a positive number", "Give seconds" if kind is float else "Give a count"
        )
    return value


def _case(target: Target) -> str:
    return str(target)


def measured_record(spec: RunSpec, time_s: float) -> RunRecord:
    """Return the record of a measured run, of which only the time and the hosts are known."""
    unknown: dict[str, Any] = {
        name: ()
        for prefix in ("", "iteration_")
        for name in (prefix + part for part in ("messages", "bytes", "self_messages", "self_bytes"))
    }
    return RunRecord(
        identity=run_identity(spec),
        time_s=time_s,
        simulated_s=0.0,
        compute_s=(),
        comm_s=(),
        flops=0.0,
        rank_flops=(),
        **unknown,
        collectives={},
        iteration_collectives={},
        iteration_flops=(),
        host=spec.target.placement,
        iteration_s=(),
        iteration_compute_s=(),
        verified=None,
        checks={},
        wall_s=0.0,
        timed_wall_s=0.0,
        peak_memory_bytes=0,
        command=(),
        source="measurement",
    )
