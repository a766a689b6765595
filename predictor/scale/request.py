"""Request of ``gridval scale``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from apps.options.dry_run import DryRunOption
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions
from apps.options.settings import SettingsOptions
from apps.programs.problem import Problem
from platforms.command.request import JsonOption, OutOption, WideOption, option
from platforms.errors import UserError
from platforms.options import PlacementOptions, PlatformOptions
from platforms.prices.options import CostOptions
from predictor.options import LearningOptions, problems_from_request

PREDICTOR = "dpgraph:known"
_WEAK = re.compile(r"(\w+)(?:=(\d{1,15}))?(?::([1-9]))?")
_WEAK_REMEDY = "Write for example size, size=1000, or size:2 where the work grows with the square of the size"


@dataclass(frozen=True, kw_only=True)
class ScaleRequest(
    PlatformOptions,
    ProgramOptions,
    PlacementOptions,
    SettingsOptions,
    LearningOptions,
    CostOptions,
    RunnerOptions,
    DryRunOption,
    OutOption,
    WideOption,
    JsonOption,
):
    """A program to be predicted on several numbers of ranks."""

    pooled: ClassVar[str] = "predictions"
    out_files: ClassVar[str] = "scale.csv, scale.png and scale.svg"

    app: str | None = option(None, "A", "a kernel, such as cg")
    ranks: str | None = option(
        None,
        "P1,P2|P:Q[:STEP]",
        "numbers of ranks: a list; 4:1024 for the powers of two between; 4:64:4 for steps of 4; the ends always belong "
        "to it (default: from 1 to as many as fit)",
    )
    weak: str | None = option(
        None,
        "NAME[=FIRST][:D]",
        "weak scaling: size, a parameter of the kernel or {NAME} in the program's arguments grows with the ranks, from "
        "FIRST (default: the value that is given) on the smallest number; with D as the D-th root, such as 2 for the "
        "side of a square (default: strong scaling, the same problem on all numbers)",
    )
    predictor: str = option(
        PREDICTOR,
        "NAME",
        f"the predictor of all points (default: {PREDICTOR}, which records the program on every number of ranks and "
        "reads the network from the platform file; learned and learned:known record it on a few small numbers only, "
        "which the curve shows too)",
    )
    advise: bool = option(
        False,
        help="say for each call path that a predictor named learned doubts which further recording would settle it",
    )
    plot: str | None = option(None, "FILE", "draw the curves to this .png, .svg or .pdf")


@dataclass(frozen=True)
class Growth:
    """The parameter that grows in weak scaling: first x (ranks / least ranks)^(1 / root)."""

    name: str
    first: int
    root: int

    def value(self, ranks: int, least: int) -> int:
        """Return the value on a number of ranks.

        >>> [Growth("size", 100, 2).value(ranks, 4) for ranks in (4, 8, 16)]
        [100, 141, 200]
        """
        growth: float = (ranks / least) ** (1 / self.root)
        return round(self.first * growth)


def growth_from_request(request: ScaleRequest) -> Growth | None:
    """Return what grows in weak scaling; None: nothing, the scaling is strong.

    Raises:
        UserError: --weak is wrong, or what grows has no first value.
    """
    if request.weak is None:
        return None
    where, match = f"--weak {request.weak}", _WEAK.fullmatch(request.weak)
    if match is None:
        raise UserError(where, "not of the form NAME, NAME=FIRST or NAME:D", _WEAK_REMEDY)
    name, first, root = match[1], match[2], int(match[3] or 1)
    known = first if first is not None else _value_of(request, name)
    if request.program is not None and f"{{{name}}}" not in (request.program_args or ""):
        remedy = f"Write {{{name}}} there in the place of the number that grows"
        raise UserError(where, f"--program-args has no {{{name}}}", remedy)
    if known is None:
        remedy = f"Write --weak {name}=FIRST, its value on the smallest number of ranks"
        raise UserError(where, f"no first value of {name} is given", remedy)
    if not known.isdigit() or int(known) < 1:
        raise UserError(where, f"{name} is {known}, not a whole number from 1", "Let a size grow")
    return Growth(name, int(known), root)


def _value_of(request: ScaleRequest, name: str) -> str | None:
    """Return the value of a kernel's size or parameter that the options give."""
    if name == "size":
        return None if request.size is None else str(request.size)
    return next((value for key, _, value in (text.partition("=") for text in request.param) if key == name), None)


def problems(request: ScaleRequest, ranks: Sequence[int], growth: Growth | None) -> list[Problem]:
    """Return the problem on each number of ranks.

    Raises:
        UserError: No program is named, or several, or a problem is impossible.
    """
    if request.app is None and request.program is None:
        raise UserError("program", "none is given", "Give --program FILE or --app NAME")
    if request.app is not None and "," in request.app:
        raise UserError(f"--app {request.app}", "several kernels", "Name one")
    if growth is None:
        return problems_from_request(request) * len(ranks)
    return [
        problem
        for count in ranks
        for problem in problems_from_request(_grown(request, growth, growth.value(count, ranks[0])))
    ]


def _grown(request: ScaleRequest, growth: Growth, value: int) -> ScaleRequest:
    """Return the request with a value of what grows."""
    if request.program is not None:
        arguments = (request.program_args or "").replace(f"{{{growth.name}}}", str(value))
        return replace(request, program_args=arguments)
    if growth.name == "size":
        return replace(request, size=value)
    others = tuple(text for text in request.param if text.partition("=")[0] != growth.name)
    return replace(request, param=(*others, f"{growth.name}={value}"))
