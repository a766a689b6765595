"""Effects of SimGrid's options on predictions: an option that a predictor does not follow is said, or refused."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Literal

from apps.spec.target import Target
from predictor.base import Evidence, OutOfRange, Prediction

Effect = Literal["followed", "none", "caution", "refused", "engine"]  # engine: users cannot set it
_EFFECTS: tuple[Effect, ...] = ("followed", "none", "caution", "refused", "engine")
UNKNOWN = "it is not known whether predictions follow it"
_TABLE = Path(__file__).with_name("options.csv")
_YES, _NO = {"yes", "on", "true"}, {"no", "off", "false"}
_COLUMNS = ("structural", "dpgraph", "dpgraph:known", "others")
# Kernels whose own models follow an option (docs/predictors/structural.md).
_OF_KERNELS = {("structural", "hpl"): {"smpi/os", "smpi/or", "smpi/ois", "smpi/async-small-thresh"}}


@dataclass(frozen=True)
class Option:
    """An option of SimGrid, or a pattern of names."""

    name: str
    defaults: tuple[str, ...]  # values that change nothing
    effects: Mapping[str, Effect]  # by column
    why: str


@cache
def options() -> tuple[Option, ...]:
    """Return the table of all options."""
    with _TABLE.open(newline="") as file:
        return tuple(_option(row) for row in csv.DictReader(file))


def with_options(prediction: Prediction, predictor: str, target: Target, evidence: Sequence[Evidence]) -> Prediction:
    """Return the prediction, without an interval and with a caution for each option that the predictor does not follow.

    Raises:
        OutOfRange: The predictor does not represent an option.
    """
    given = evidence[0].options if evidence else None
    if given is None:  # a real machine, where nothing is simulated, or no evidence
        return prediction
    said: dict[str, str] = {}
    for key, value in {**dict(target.platform.options), **dict(given)}.items():
        effect, why = effect_of(key, value, predictor, target.problem.name)
        if effect == "refused":
            raise OutOfRange(f"{predictor}, {key}:{value}", f"it does not model this option: {why}", "Leave it out")
        if effect == "caution" and not any(flag.startswith(f"{key}:") for flag in prediction.flags):
            said.setdefault(why, f"{key}:{value}")
    flags = tuple(f"{option} is not followed: {why}" for why, option in said.items())
    if not flags:
        return prediction
    reason = prediction.no_interval or f"calibrated without {next(iter(said.values()))}"
    return replace(prediction, flags=(*prediction.flags, *flags), no_interval=reason)


def effect_of(key: str, value: str, predictor: str, problem: str = "") -> tuple[Effect, str]:
    """Return what an option does to a predictor's answers, and the reason where they do not follow it."""
    option = next((option for option in options() if fnmatchcase(key, option.name)), None)
    if option is None:
        return "caution", UNKNOWN
    if _is_one_of(value, option.defaults):
        return "none", ""
    column = _column(predictor)
    if key in _OF_KERNELS.get((column, problem), ()):
        return "followed", ""
    return option.effects[column], option.why


def _column(predictor: str) -> str:
    if predictor in _COLUMNS:
        return predictor
    return "dpgraph" if predictor.partition(":")[0] in ("dpgraph", "blocks") else "others"


def _is_one_of(value: str, defaults: Sequence[str]) -> bool:
    return any(value == default or _meaning(value) == _meaning(default) for default in defaults)


def _meaning(value: str) -> object:
    """Return a number, a truth, or whether any cost in THRESHOLD:COST:COST;... is not zero."""
    if value.lower() in _YES | _NO:
        return value.lower() in _YES
    try:
        numbers = [[float(part) for part in segment.split(":")] for segment in value.split(";")]
    except ValueError:
        return value
    if len(numbers) == len(numbers[0]) == 1:
        return numbers[0][0]
    return any(cost for segment in numbers for cost in segment[1:]) and value


def _option(row: Mapping[str, str]) -> Option:
    effects: dict[str, Effect] = {column: _effect(row[column]) for column in _COLUMNS}
    return Option(row["option"], tuple(part for part in row["default"].split("|") if part), effects, row["why"])


def _effect(text: str) -> Effect:
    (effect,) = [known for known in _EFFECTS if known == text]
    return effect
