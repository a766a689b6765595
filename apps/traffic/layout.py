"""The layout of a kernel in blocks: ``blocks.toml`` in its folder, and ``blocks.py`` beside it where it needs one.

The description (docs/blocks/applications.md) gets the values of the problem for those of its variables that are numbers
and have the names of the kernel's parameters, the number of ranks for its variable ``ranks``, and the number of
iterations for ``iterations``.  ``blocks.py`` has a function ``layout(params, nranks)`` with all else that depends on
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class NoLayout(Exception):
    """The description has no layout for a number of ranks; the text says why."""


@dataclass(frozen=True)
class Layout:
    """Parts that a problem and a number of ranks decide in the description of a kernel."""

    variables: Mapping[str, Any] = field(default_factory=dict)  # values of its variables
    posts_ahead: bool = False  # the kernel posts receives before the sends ahead of them
    # Blocks of at least this size are sent by MPI_Alltoallv, for which SMPI has one algorithm (all messages at once);
    # None: none are.
    vectors_from_bytes: float | None = None
    description: Path | None = None  # None: blocks.toml in the kernel's folder
