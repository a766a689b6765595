"""What a reader must know to trust or repeat the numbers: settings, versions, words."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version

from apps.spec import ENGINE_OPTIONS, Settings
from platforms.simgrid import simgrid_version

PROJECT = "grid-prediction-validator"
_PACKAGES = ("numpy", "pandas", "scipy", "matplotlib", "numba", "lxml", "jinja2")
_MEANINGS = {
    "compute": "computation",
    "efficiency": "efficiency: share of a node's speed that a kernel sustains",
    "iterations": "iterations that are simulated",
    "options": "SimGrid options (--cfg)",
    "host_speed_flops": "speed of this computer, flop/s",
    "engine": "engine",
    "memory_bus": "memory bus of a node",
    "bytes_per_flop": "bytes over it per operation",
}
_DEFAULTS = {
    "iterations": "steady: until they repeat, the rest extrapolated; all on a platform that changes over time",
    "options": "none besides those of the platforms",
    "host_speed_flops": "not used",
    "engine": "smpi; s4u for a program in Python",
    "memory_bus": "none: memory never limits",
    "bytes_per_flop": "as the kernel declares",
}

Facts = list[tuple[str, str]]  # what, and its value


def settings_facts(all_settings: Sequence[Settings]) -> Facts:
    """Every setting, with all the values that were used."""
    facts = [
        (_MEANINGS.get(one.name, one.name), _several(_setting(one.name, settings) for settings in all_settings))
        for one in fields(Settings)
    ]
    always = ", ".join(f"{key}:{value}" for key, value in ENGINE_OPTIONS.items())
    return [*facts, ("SimGrid options that the engine sets itself", always)]


def _setting(name: str, settings: Settings) -> str:
    value = getattr(settings, name)
    if value is None or value == ():
        return _DEFAULTS[name]
    if name == "options":
        return ", ".join(f"{key}:{text}" for key, text in value)
    if name == "memory_bus" and not isinstance(value, str):
        return f"{value / 1e9:g} GB/s"
    return str(value)


def _several(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))


def version_facts() -> Facts:
    """What made the numbers."""
    return [
        ("project", f"{PROJECT} {_version(PROJECT)}"),
        ("SimGrid", simgrid_version()),
        ("Python", sys.version.split()[0]),
        *((name, _version(name)) for name in _PACKAGES),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} processors"),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


GLOSSARY: Facts = [
    ("error", "100 (predicted - true) / true, in %. The true time is the simulated one, or a measured one."),
    (
        "mean |error|",
        "mean of the absolute errors; the mean percentage error of the HCF paper. The signed mean lets errors cancel.",
    ),
    (
        "95 % interval",
        "BCa bootstrap interval of the mean absolute error over these cases; too narrow where there are few.",
    ),
    (
        "R²",
        "1 - sum (predicted - true)² / sum (true - mean true)²: 1 is perfect, below 0 is worse than always saying the "
        "mean. The longest runs decide.",
    ),
    ("computation, %", "time that the busiest rank computes, as a share of the run; the rest is communication."),
    ("probe T_cp, T_cm", "computation of the slowest task of a run on one node per cluster, and the rest of its time."),
    ("evidence", "what a predictor was allowed to see: short runs, recordings, messages. Never the target's own run."),
    ("node-seconds", "nodes in use times the time they are in use for: what a run would cost on the real machines."),
    ("% of the full run", "node-seconds of the evidence as a share of those of the full run that is predicted."),
    ("bound", "relative error that extrapolating the simulated iterations may have caused, at most."),
    (
        "caution",
        "what the model itself, or the validity map, says of a prediction: most often that the case lies outside what "
        "the model was made for.",
    ),
    ("no answer", "the case lies outside the model's assumptions, or its evidence cannot be had; the reason is told."),
]
