"""The option --shares: how a kernel's data are divided among the ranks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from platforms.command.request import Request, option
from platforms.errors import UserError, known_names
from platforms.files.commented_csv import read_table
from platforms.model.placement import core_parts

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from platforms.model.platform import Platform

EQUAL, SPEED = "equal", "speed"
_OF = ("cluster", "host")
_SHARE = "share"


@dataclass(frozen=True, kw_only=True)
class SharesOption(Request):
    """The option --shares."""

    shares: str = option(
        EQUAL,
        "equal|speed|FILE.csv",
        "how the data are divided among the ranks: equal (default), speed (in proportion to the speed of each "
        "rank's host), or a file with the columns cluster, share or host, share (docs/planning/cores.md)",
    )


def with_asked_shares(request: SharesOption, problem: Problem, platform: Platform, placement: Sequence[str]) -> Problem:
    """Return the problem, divided according to --shares.

    Raises:
        UserError: The kernel divides its data evenly only; or the file cannot be read or does not name every cluster or
            host in use.
    """
    asked = request.shares
    if asked.lower() == EQUAL:
        return problem
    if asked.lower() == SPEED:
        return problem.divided(by_speed(platform, placement))
    where = f"--shares {asked}"
    kind, given = read_shares(asked, where)
    if kind == "cluster":
        places = [platform.cluster_of(host).name for host in placement]
        known = [cluster.name for cluster in platform.clusters]
    else:
        places, known = list(placement), [host.name for host in platform.hosts]
    for name in given:
        if name not in known:
            raise UserError(where, f"{platform.name} has no {kind} {name}", known_names(name, known))
    missing = next((place for place in places if place not in given), None)
    if missing is not None:
        raise UserError(where, f"no share of {kind} {missing}", f"Add a line for every {kind} in use")
    return problem.divided(shared_evenly(places, given))


def shared_evenly(places: Sequence[str], shares: Mapping[str, float]) -> list[float]:
    """Return the share of every rank; ranks at one place divide its share evenly.

    >>> shared_evenly(["left", "left", "right"], {"left": 1.0, "right": 3.0})
    [0.5, 0.5, 3.0]
    """
    ranks = Counter(places)
    return [shares[place] / ranks[place] for place in places]


def by_speed(platform: Platform, placement: Sequence[str]) -> list[float]:
    """Return the speed of every rank, flop/s: that of a core, or less if a host has more ranks than cores."""
    parts = core_parts(platform, placement)
    return [platform.host(name).speed_flops * part for name, part in zip(placement, parts, strict=True)]


def read_shares(path: str, where: str) -> tuple[str, dict[str, float]]:
    """Return ``cluster`` or ``host``, and the share of each that the file names; ``where`` begins error messages.

    Raises:
        UserError: The file cannot be read, or a line of it is wrong.
    """
    remedy = "Give equal, speed, or a CSV file with the columns cluster, share or host, share"
    columns, rows = read_table(path, remedy, where=where)
    kind = next((name for name in _OF if set(columns) == {name, _SHARE}), None)
    if kind is None or not rows:
        raise UserError(where, "no shares" if kind else f"its columns are {', '.join(columns) or 'missing'}", remedy)
    shares: dict[str, float] = {}
    for number, row in rows:
        name, share = (row[kind] or "").strip(), _positive(row[_SHARE])
        here = f"{where}, line {number}"
        if share is None or not name or None in row:
            raise UserError(here, f"no {kind} with a positive share", f"Write for example {kind}-name,0.25")
        if name in shares:
            raise UserError(here, f"{kind} {name} again", "Leave one of the lines out")
        shares[name] = share
    return kind, shares


def _positive(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < math.inf else None
