"""Notes for this predictor in the file ``structural.toml`` in the folder of a kernel.

``form = "panels"``: the kernel is evaluated panel by panel (predictor/factorisation) instead of by declared steps.
``refused``: the reason, in words, why the kernel is not predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from apps.programs.kernel import kernel_names, kernels_with, named_kernel
from apps.programs.problem import Problem
from platforms.errors import UserError
from platforms.files.checked_toml import read_checked

_FILE = "structural.toml"
PANELS = "panels"


@dataclass(frozen=True)
class Notes:
    """The notes of a kernel."""

    panels: bool = False
    refused: str | None = None


def notes(problem: Problem) -> Notes:
    """Return the notes of a problem's kernel; they are empty for a program, or a kernel without the file.

    Raises:
        UserError: Something in the file is wrong.
    """
    return _of(problem.name) if problem.program is None and problem.name in kernel_names() else Notes()


@cache
def _of(name: str) -> Notes:
    path = named_kernel(name).file(_FILE)
    if path is None:
        return Notes()
    table = read_checked(path, {"": ("form", "refused")}, _FILE)
    form = table.text("form", "")
    if form not in ("", PANELS):
        raise UserError(str(path), f"form = {form!r} is unknown", f"Give {PANELS!r}, or leave it out")
    return Notes(form == PANELS, table.text("refused", "") or None)


def follows(problem: Problem) -> bool:
    """Return whether a problem is evaluated panel by panel."""
    return notes(problem).panels


def panel_names() -> tuple[str, ...]:
    """Return the names of the kernels that are evaluated panel by panel."""
    return tuple(name for name in kernels_with(_FILE) if _of(name).panels)
