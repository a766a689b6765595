"""Exchanges of nodes in FT: transpositions of all points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def _points(params: Mapping[str, Any]) -> int:
    return int(params["nx"] * params["ny"] * params["nz"])


def operations(params: Mapping[str, Any]) -> float:
    """Return #op."""
    log = math.log(_points(params))
    return float(_points(params) * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * params["niter"]))


def exchanged_bytes(params: Mapping[str, Any], p: int) -> float:
    """Return #x: all points except a share 1 / p, at the start and in every iteration."""
    return float(16 * _points(params) * (params["niter"] + 1) * (1 - 1 / p))


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages of a node that wait for each other: one to each other node in every transposition."""
    return float((params["niter"] + 1) * (p - 1))


def rank_messages(params: Mapping[str, Any], nranks: int) -> float:
    """Return the rough messages of a rank: one all-to-all."""
    return nranks
