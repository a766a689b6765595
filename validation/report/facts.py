"""Facts for a reader of the report: settings, versions, a glossary, and pictures of the platforms."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version

from apps.spec.engine_options import ENGINE_OPTIONS
from apps.spec.settings import Settings
from platforms.addons import provided
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.simgrid.installed import simgrid_version
from platforms.wording import number_of
from validation.report.gather import Gathered
from validation.report.pictures import Picture
from validation.report.svg import inline_svg
from validation.report.tables import Cell, Table, number, numbers, table, words

PROJECT = "gridval"
_PACKAGES = ("numpy", "pandas", "scipy", "matplotlib", "lxml", "jinja2")
_MEANINGS = {
    "compute": "computation",
    "efficiency": "efficiency: share of a node's speed that a kernel sustains",
    "iterations": "simulated iterations",
    "options": "SimGrid options (--cfg)",
    "host_speed_flops": "speed of this computer, flop/s",
    "engine": "engine",
    "memory_bus": "memory bus of a node",
    "machine": "real machine",
    "repeats": "repeats of a run on a machine",
    "bytes_per_flop": "bytes over the memory bus per operation",
}
_DEFAULTS = {
    "iterations": "steady: until they repeat, the rest extrapolated; all if the platform changes over time",
    "options": "none in addition to those of the platforms",
    "host_speed_flops": "not used",
    "engine": "smpi; s4u for a program in Python",
    "memory_bus": "none: memory is no limit",
    "bytes_per_flop": "as the kernel declares",
    "machine": "none: all runs are simulated",
}

Facts = list[tuple[str, str]]  # name and value


def settings_facts(all_settings: Sequence[Settings]) -> Facts:
    """Return every setting with all values that were used."""
    facts = [
        (_MEANINGS.get(field.name, field.name), _several(_setting(field.name, settings) for settings in all_settings))
        for field in fields(Settings)
    ]
    always = ", ".join(f"{key}:{value}" for key, value in ENGINE_OPTIONS.items())
    return [*facts, ("SimGrid options that the engine always sets", always)]


def _setting(name: str, settings: Settings) -> str:
    value = getattr(settings, name)
    if value is None or value == ():
        return _DEFAULTS[name]
    if name == "repeats" and settings.machine is None:
        return "not used"
    if name == "machine" and settings.machine is not None:
        return settings.machine.described
    if name == "options":
        return ", ".join(f"{key}:{text}" for key, text in value)
    if name == "memory_bus" and not isinstance(value, str):
        return f"{value / 1e9:g} GB/s"
    return str(value)


def _several(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))


def version_facts() -> Facts:
    """Return the versions of the software and the system that produced the results."""
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
        "BCa bootstrap interval of the mean absolute error over these cases; too narrow for few cases.",
    ),
    (
        "R²",
        "1 - sum (predicted - true)² / sum (true - mean true)²: 1 is perfect, below 0 is worse than always predicting "
        "the mean. The longest runs dominate.",
    ),
    ("computation, %", "computation time of the busiest rank as a share of the run; the rest is communication."),
    ("probe T_cp, T_cm", "computation of the slowest task of a run on one node per cluster, and the rest of its time."),
    ("evidence", "what a predictor is given: short runs, recordings, messages; never the target's own run."),
    ("node-seconds", "nodes in use times the time of their use: the cost of a run on the real machines."),
    ("% of the full run", "node-seconds of the evidence as a share of the node-seconds of the predicted full run."),
    ("bound", "upper bound of the relative error that extrapolating the simulated iterations may cause."),
    (
        "caution",
        "a warning of the model itself or of the validity map about a prediction, most often that the case lies "
        "outside the range the model was made for; or what a reader must know of the simulated runs.",
    ),
    ("no answer", "the case violates the model's assumptions, or its evidence is not available; the reason is given."),
]


MOST_PLATFORMS = 8
_SCALE = 1.3  # enlarges the small labels for a screen


def platform_pictures(gathered: Gathered) -> Iterator[Picture | str]:
    """Yield a picture of each platform, or a note on platforms that are not drawn."""
    platforms = {
        (platform.name, platform.content_hash): platform
        for platform in (case.target.platform for case in gathered.cases)
    }
    for place, drawn in enumerate(list(platforms.values())[:MOST_PLATFORMS]):
        network = f", network {drawn.network}" if drawn.network else ""
        hosts, clusters = number_of(len(drawn.hosts), "host"), number_of(len(drawn.clusters), "cluster")
        title = f"{drawn.name}{network}: {hosts} in {clusters}"
        try:
            svg = inline_svg(
                provided("platforms.picture:platform_figure")(drawn),
                f"n{place}",
                title=title,
                themed=False,
                scale=_SCALE,
            )
        except UserError as err:
            yield f"{drawn.name}: no picture: {err}"
            continue
        yield Picture(f"platform-{place}", svg, f"{title}.", _clusters(drawn, title, place), themed=False)
    if len(platforms) > MOST_PLATFORMS:
        yield f"Not drawn: {number_of(len(platforms) - MOST_PLATFORMS, 'more platform')}."


def _clusters(platform: Platform, title: str, place: int) -> Table:
    rows: list[list[Cell | str]] = [
        [
            cluster.name,
            number(len(cluster.hosts), "{:,}"),
            number(cluster.cores),
            number(cluster.speed_flops / 1e9, "{:.6g}"),
        ]
        for cluster in platform.clusters
    ]
    columns = [*words("cluster"), *numbers("hosts", "cores of each", "speed of a core, Gflop/s")]
    return table(f"platform-{place}-data", f"Clusters of {title}", columns, rows)
