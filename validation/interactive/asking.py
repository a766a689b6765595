"""Turn the arguments of a function into the options of the command that does the same."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from apps.spec.settings import Settings
from platforms.errors import UserError
from platforms.model.placement import RanksPerHost

Names = str | Sequence[str]
PathLike = str | os.PathLike[str]
_PLATFORM_FILES = (".xml", ".so")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One platform, the programs to run on it, and how; None leaves a choice to the command's default."""

    platform: PathLike
    app: Names | None = None
    problem_class: str | None = None
    size: int | None = None
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    program: PathLike | None = None
    program_args: str | None = None
    program_iterations: int | None = None
    ranks: int | None = None
    ranks_per_host: RanksPerHost | None = None
    mapping: str | None = None
    hostfile: PathLike | None = None
    network: str | None = None
    predictors: Names | None = None
    store: PathLike | Literal[False] | None = None
    jobs: int | None = None

    def options(self, parser: argparse.ArgumentParser) -> argparse.Namespace:
        """Return the values of the command's options, as its parser would return them.

        Raises:
            UserError: ``platform`` is empty.
        """
        args = parser.parse_args([])
        where = os.fspath(self.platform)
        if not where:
            raise UserError("platform", "an empty name", "Name a scenario or a file")
        if Path(where).suffix in _PLATFORM_FILES:
            args.platform = [where]
        else:
            args.scenario = where
        args.param = [f"{name}={value}" for name, value in self.parameters.items()]
        given = {
            "app": _joined(self.app),
            "preset": self.problem_class,
            "size": self.size,
            "program": _text(self.program),
            "program_args": self.program_args,
            "program_iterations": self.program_iterations,
            "ranks": self.ranks,
            "ranks_per_host": self.ranks_per_host,
            "mapping": self.mapping,
            "hostfile": _text(self.hostfile),
            "network": self.network,
            "predictor": _joined(self.predictors),
            "store": _text(self.store) if self.store is not False else None,
            "no_store": True if self.store is False else None,
            "jobs": self.jobs,
        }
        for name, value in given.items():
            if value is not None:
                setattr(args, name, value)
        return args


def checked(settings: Settings | None) -> Settings:
    """Return the settings, or the defaults."""
    return Settings() if settings is None else settings


def _joined(names: Names | None) -> str | None:
    return names if names is None or isinstance(names, str) else ",".join(names)


def _text(path: PathLike | None) -> str | None:
    return None if path is None else os.fspath(path)
