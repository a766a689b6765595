"""Helpers for hostile input to readers: seeds, files with given content, and protection of the system."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from platforms.errors import UserError
from platforms.grids.grid import Grid
from platforms.model.platform import Cluster, Host, Platform

ROOT = Path(__file__).parents[3]
CORPUS = Path(__file__).parents[1] / "corpus"


class Started(UserError):
    """A reader has accepted its input and would start a process now."""


def seeds(*patterns: str) -> list[Path]:
    """Return the files of the repository that match; each pattern must match at least one."""
    found = []
    for pattern in patterns:
        matching = sorted(ROOT.glob(pattern))
        if not matching:
            raise FileNotFoundError(pattern)
        found += matching
    return found


@contextmanager
def fenced(folder: Path) -> Iterator[None]:
    """Within the context, no process starts (Started is raised), nothing is downloaded, caches are in ``folder``."""

    def started(*words: Any, **_: Any) -> NoReturn:
        raise Started("a process", str(words[:1]), "There is none in these tests")

    def fetched(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a reader looks into the network")

    environment = {"GRID_VALIDATOR_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}
    with (
        patch.dict(os.environ, environment),
        patch.object(subprocess, "Popen", started),
        patch.object(os, "system", started),
        patch.object(os, "posix_spawn", started),
        patch.object(socket.socket, "connect", fetched),
        patch.object(socket, "create_connection", fetched),
        patch.object(socket, "getaddrinfo", fetched),
    ):
        yield


_kept: dict[int, Path] = {}


def file_of(content: bytes, suffix: str) -> Path:
    """Return a file with this content; its name is always the same, so that messages and caches stay few."""
    folder = _kept.get(os.getpid())
    if folder is None:
        folder = _kept[os.getpid()] = Path(tempfile.mkdtemp(prefix="hostile-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"input{suffix}"
    path.write_bytes(content)
    return path


def platform_of(grid: Grid) -> Platform:
    """Return the platform of a grid without SimGrid, for readers that need a platform."""
    if sum(cluster.nodes for cluster in grid.clusters) > 5000:
        raise Started("platform", "too large for these tests", "They are quick")
    clusters = tuple(
        Cluster(one.name, tuple(Host(name, one.speed_flops, one.cores, one.node_power) for name in one.host_names))
        for one in grid.clusters
    )
    return Platform(grid.name, Path("/none.xml"), "0" * 64, clusters, network=grid.network)


def is_one_line(error: UserError) -> bool:
    """Return whether the error is one printable line of limited length, as every error must be."""
    text = str(error)
    return text.isprintable() and len(text) < 10_000
