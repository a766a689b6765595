"""A real machine on which runs are made instead of simulated, as far as the core knows it.

The add-on ``apps.machines`` reads its file, starts programs on it and makes its platform.
"""

from __future__ import annotations

from typing import Protocol


class RealMachine(Protocol):
    """A real machine (apps/machines/machine_file.py).  Two with the same ``content_hash`` measure the same."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of all hosts, cluster by cluster."""

    @property
    def content_hash(self) -> str:
        """Hash of everything that can change a measured time."""

    @property
    def described(self) -> str:
        """Its name and the command that starts programs on it, for readers."""
