"""Baselines: predictions that are kept in a file, with which those of a changed program are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from platforms.errors import UserError
from platforms.files.reading import input_text
from platforms.files.writing import write_text
from validation.change.calls import Amount

_FORMAT = "gridval baseline 1"
_REMEDY = "Make it again: another file, and --update"


@dataclass(frozen=True)
class Case:
    """One predicted time, and what it depends on beside the program's code."""

    what: Mapping[str, Any]  # program, arguments, ranks, platform, hosts, predictor and settings
    time_s: float
    low_s: float  # ends of the interval of what was measured; both are time_s where nothing was
    high_s: float
    timed: bool  # computation was timed, or the runs were made on a machine: it varies from run to run
    parts: Mapping[str, float] = field(default_factory=dict)  # s
    recorded: int | None = None  # ranks of the largest recording, from which ``calls`` comes
    calls: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the program on its ranks."""
        label = f" {self.what['problem']}" if self.what.get("problem") else ""
        return f"{self.what['app']}{label} on {self.what['ranks']} ranks of {self.what['platform']}"


def write_baseline(option: str, path: str, cases: Sequence[Case]) -> None:
    """Write a baseline, whole or not at all.

    Raises:
        UserError: The file cannot be written.
    """
    content = {"format": _FORMAT, "cases": [asdict(case) for case in cases]}
    write_text(option, path, json.dumps(content, indent=1, sort_keys=True) + "\n")


def read_baseline(option: str, path: str) -> list[Case]:
    """Return the cases of a baseline.

    Raises:
        UserError: The file cannot be read, or is no baseline.
    """
    where = f"{option} {path}"
    try:
        text = input_text(path)
    except OSError as err:
        raise UserError(where, str(err.strerror), "Make it with --update") from err
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise UserError(where, f"not a file of the form {_FORMAT!r}", _REMEDY)
        cases = [_case(entry) for entry in content["cases"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as err:
        raise UserError(where, f"not a baseline ({type(err).__name__})", _REMEDY) from err
    if not cases:
        raise UserError(where, "a baseline without cases", _REMEDY)
    return cases


def _case(entry: Mapping[str, Any]) -> Case:
    calls = {
        str(name): Amount(int(one["times"]), float(one["amount"]), float(one["most"]))
        for name, one in entry["calls"].items()
    }
    time_s, low_s, high_s = (float(entry[key]) for key in ("time_s", "low_s", "high_s"))
    if not 0 < low_s <= time_s <= high_s < math.inf:
        raise ValueError("times")
    what = dict(entry["what"])
    for key in ("app", "ranks", "platform", "predictor"):
        what[key]
    return Case(
        what,
        time_s,
        low_s,
        high_s,
        bool(entry["timed"]),
        {str(name): float(value) for name, value in entry["parts"].items()},
        None if entry["recorded"] is None else int(entry["recorded"]),
        calls,
    )


def matching(case: Case, baseline: Sequence[Case], where: str) -> Case:
    """Return the case of the baseline that a case is compared with.

    Raises:
        UserError: There is none, or it depends on something else.
    """
    alike = [other for other in baseline if other.what["app"] == case.what["app"]]
    if not alike:
        known = ", ".join(sorted({str(other.what["app"]) for other in baseline}))
        raise UserError(where, f"no program {case.what['app']} in it", f"It has {known}. {_REMEDY}")
    for other in alike:
        if other.what == case.what:
            return other
    differing = [key for key in sorted({*case.what, *alike[0].what}) if case.what.get(key) != alike[0].what.get(key)]
    said = ", ".join(
        f"{key.replace('_', ' ')} {alike[0].what.get(key)} (now {case.what.get(key)})" for key in differing
    )
    raise UserError(where, f"made with another {said}", f"Ask for the same, or: {_REMEDY.lower()}")
