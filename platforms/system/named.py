"""Find the system that a user names: a system file, a scenario file, or the name of a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from platforms.errors import PlatformError
from platforms.grids.scenario import is_system_file, named_grid, names_file, read_grid
from platforms.system.description import read_system
from platforms.system.grids import of_grid
from platforms.system.model import System


def system_named(text: str, *, network: str | None = None, hardware: Iterable[str | Path] = ()) -> System:
    """Return a system from a system file, from a scenario file, or from a scenario's name.

    Args:
        text: The name of the file or scenario.
        network: Replaces the network of a scenario.
        hardware: Further hardware files, for a system file.

    Raises:
        PlatformError: The file is wrong, the name is unknown, or an argument does not fit it.
    """
    hardware = tuple(hardware)
    if text.endswith(".xml"):
        problem = "a platform file of SimGrid has no slots for processes"
        raise PlatformError(text, problem, "Describe it as a system in TOML (docs/platforms/platform-files.md)")
    if names_file(text) and is_system_file(text):
        if network is not None:
            raise PlatformError(f"network {network!r}", "does not go with a system file", "Write it into the file")
        return read_system(text, hardware)
    if hardware:
        raise PlatformError(f"hardware {hardware[0]}", "does not go with a scenario", "Name a system file")
    return of_grid(read_grid(text, network) if names_file(text) else named_grid(text, network))
