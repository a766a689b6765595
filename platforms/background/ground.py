"""The part of a grid or platform with background load: its clusters, and the links between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from platforms.model.platform import Route


class LoadedCluster(Protocol):
    """A cluster with background load."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names of its hosts."""

    @property
    def cores(self) -> int:
        """Cores of a host."""


class LoadedLink(Protocol):
    """A wide-area link with background load."""

    @property
    def name(self) -> str:
        """Its name."""


class LoadableGrid(Protocol):
    """A grid, or the site of a platform file (site.py)."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def clusters(self) -> Sequence[LoadedCluster]:
        """Its clusters."""

    @property
    def wan_links(self) -> Sequence[LoadedLink]:
        """Its wide-area links."""

    def routes(self, pairs: Iterable[tuple[str, str]]) -> list[Route]:
        """Return the routes of these pairs of hosts."""
