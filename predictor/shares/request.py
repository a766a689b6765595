"""Requests of ``gridval plan shares``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from apps.options.dry_run import DryRunOption
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions
from apps.options.settings import SettingsOptions
from apps.programs.kernel import shared_names
from platforms.command.request import JsonOption, WideOption, option
from platforms.options import PlacementOptions, PlatformOptions
from predictor.evidence.given import RecordingOptions
from predictor.families import knowing_shares


@dataclass(frozen=True, kw_only=True)
class ShareSearchOptions(
    PlatformOptions,
    ProgramOptions,
    PlacementOptions,
    SettingsOptions,
    RunnerOptions,
    DryRunOption,
    WideOption,
    JsonOption,
):
    """Add the options that asked_from_request reads, and those of the runner and the output."""

    default_class: ClassVar[str] = "B"
    absent: ClassVar[Mapping[str, str]] = {
        "--recording": "a trace has its data divided already. Give --program, with {shares} in --program-args"
    }

    app: str | None = option(
        None,
        "A1,A2,...",
        f"of {', '.join(shared_names())} (default: all that have classes, or with --size all that have a size)",
    )
    ranks: int | None = option(None, "P", "number of ranks (default: as many as fit)")
    predictor: str | None = option(None, "NAME", f"predicts both times: {knowing_shares()} (default: structural)")
    write: str | None = option(None, "FILE.csv", "write the advised shares there, for --shares; goes with one --app")


@dataclass(frozen=True, kw_only=True)
class PlanSharesRequest(ShareSearchOptions, RecordingOptions):
    """Request of ``gridval plan shares``."""

    absent: ClassVar[Mapping[str, str]] = {}

    graph: bool = option(
        False,
        help="for any program, also one that takes no shares, and for --recording: what the graph of a recording would "
        "save if work moved between its processes, at equal messages",
    )
