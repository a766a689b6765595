"""A case of a series of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.spec.settings import Settings
from apps.spec.target import Target


@dataclass(frozen=True)
class Case:
    """A target with the name of its mapping and its run settings."""

    target: Target
    mapping: str
    settings: Settings
    axes: Mapping[str, Any] = field(default_factory=dict, hash=False)  # further columns of the rows, by name
