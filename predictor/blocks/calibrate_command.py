"""The command ``gridval blocks calibrate``: coefficients of a platform from simulated micro-benchmarks."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions
from apps.probes.blocks.measure import disks_of
from apps.spec.engine_options import parse_options
from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, WideOption, option
from platforms.errors import UserError, nearest
from platforms.files.writing import cell, write_text
from platforms.options import PlatformOptions, platform_from_request
from predictor.blocks.names import ERRORS

if TYPE_CHECKING:
    from platforms.model.platform import Platform
    from predictor.blocks.calibration.calibrate import Measured
    from predictor.blocks.measured.fitted import MeasuredModel, Samples


@dataclass(frozen=True, kw_only=True)
class BlocksCalibrationRequest(PlatformOptions, JsonOption, WideOption, DryRunOption, RunnerOptions):
    """A platform whose blocks are measured and fitted."""

    csv: str | None = option(
        None,
        "FILE.csv",
        "instead of measuring in simulation: measured blocks, in columns block, size_bytes, processes, time_s, and "
        "maybe node_power_w (docs/predictors/blocks.md)",
    )
    machine: str | None = option(
        None,
        "FILE.toml",
        "instead of measuring in simulation: measure on the real machine that this file describes "
        "(docs/programs/machines.md)",
    )
    cores: int | None = option(
        None, "N", "with --csv: P_low, cores of a node (default: the most threads that are as fast as one)"
    )
    threads: int | None = option(
        None, "N", "with --csv or --machine: P_hi, hardware threads of a node (default: P_low)"
    )
    only: str | None = option(
        None, "C1,C2,...", "use only hosts of these clusters, e.g. without file servers (default: all)"
    )
    processes: int = option(64, "P", "most processes to measure, one per host (default: 64)")
    unit_bytes: str = option("2048", "D_tu", "data transfer unit in bytes, or fit (default: 2048)")
    error: str | None = option(
        None,
        "E",
        f"{' or '.join(ERRORS)}: Table 1's fits minimise the mean percentage or the mean squared error (default: "
        "mpe; for computation, power and barriers mse)",
    )
    failure_rate: float | None = option(
        None, "LAMBDA", "failures per second of a node, stored with the calibration (default: none)"
    )
    out: str | None = option(None, "FILE.json", "write the calibration to this file, for --model FILE.json")
    table: str | None = option(None, "FILE.csv", "write the measured samples to this file")
    plot: str | None = option(
        None, "DIR", "write figures into this folder: compute, messages, bcast, collectives, disk"
    )
    cfg: tuple[str, ...] = option((), "KEY:VALUE", "a SimGrid option; may be given several times")


def answer(request: BlocksCalibrationRequest) -> Reply | int:
    """Calibrate; with --dry-run say what that takes, and return the exit status.

    Raises:
        UserError: An option is wrong.
    """
    unit = _unit(request.unit_bytes)
    _check(request)
    if request.csv is not None or request.machine is not None:
        return _measured(request, unit)
    for name in ("cores", "threads"):
        if getattr(request, name) is not None:
            raise UserError(f"--{name}", "goes with --csv or --machine", "Leave it out: the platform has cores")
    # Imported here for a quick start: they are slow to import.
    from apps.options.runner import runner_from_request
    from apps.traffic.collectives import SELECTOR
    from predictor.blocks.calibration.calibrate import calibrate, measured
    from predictor.blocks.calibration.experiments import experiments, selector
    from predictor.blocks.calibration.table import text, to_json

    options = parse_options(request.cfg)
    whole = platform_from_request(request)
    platform = whole if request.only is None else part_of(whole, request.only.split(","))
    if selector(platform, options) != SELECTOR:
        problem = "the shapes are those of SimGrid's default algorithms; check their errors"
        print(f"caution: smpi/coll-selector is {selector(platform, options)}: {problem}", file=sys.stderr)
    asked = experiments(platform, disks=disks_of(whole), most_processes=request.processes, options=options)
    if request.dry_run:
        # Imported here for a quick start: it is slow to import.
        from apps.runs.plan import Plan

        return print_plan(request, Plan(experiments=(asked.plan,)))
    with runner_from_request(request) as runner:
        measurement = runner.measure(asked.plan)
    calibration = calibrate(
        platform, asked, measurement, D_tu_bytes=unit, error=request.error, failure_rate_per_s=request.failure_rate
    )

    def as_json() -> dict[str, Any]:
        data = to_json(calibration)
        data["cautions"] += runner.cautions.lines()
        return data

    return Reply((calibration, measured(asked, measurement)), lambda: text(calibration, wide=request.wide), as_json)


_OF_SIMULATION = ("scenario", "platform", "only", "cfg", "hardware", "network", "factors", "speeds", "frequency")


def _measured(request: BlocksCalibrationRequest, unit: float | None) -> Reply | int:
    """Fit Table 1 to measured samples, of a file or of a machine."""
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.measured.fitted import fit_samples, read_samples, text, to_json

    where = "--csv" if request.csv is not None else "--machine"
    for name in _OF_SIMULATION:
        if getattr(request, name) not in (None, (), []):
            raise UserError(f"--{name}", f"does not go with {where}", "Drop one")
    if unit is None:
        raise UserError("--unit-bytes fit", f"does not go with {where}", "Give a number of bytes")
    if request.csv is not None:
        if request.machine is not None or request.dry_run:
            other = "--machine" if request.machine is not None else "--dry-run"
            raise UserError(other, "does not go with --csv", "Drop one")
        samples, cores, said = read_samples(request.csv, Path(request.csv).stem), request.cores, list[str]()
    else:
        made = _on_machine(request)
        if isinstance(made, int):
            return made
        samples, cores, said = made
    model = fit_samples(
        samples, cores=cores, threads=request.threads, unit_bytes=unit, error=request.error,
        failure_rate_per_s=request.failure_rate,
    )  # fmt: skip
    return Reply(
        (model, samples), lambda: text(model, wide=request.wide), lambda: to_json(model) | {"cautions": said}
    )  # fmt: skip


def _on_machine(request: BlocksCalibrationRequest) -> tuple[Samples, int, list[str]] | int:
    """Measure the blocks on a machine; with --dry-run say what that takes."""
    # Imported here for a quick start: they are slow to import.
    from apps.machines.machine_file import read_machine
    from apps.machines.machine_platform import machine_platform
    from apps.options.runner import runner_from_request
    from predictor.blocks.calibration.calibrate import measured, rows
    from predictor.blocks.calibration.experiments import experiments
    from predictor.blocks.measured.fitted import samples_of

    if request.cores is not None:
        raise UserError(f"--cores {request.cores}", "does not go with --machine", "Its file has the cores")
    machine = read_machine(str(request.machine))
    platform = machine_platform(machine)
    asked = experiments(platform, most_processes=request.processes)
    plan = asked.plan.under((), machine)
    if request.dry_run:
        # Imported here for a quick start: it is slow to import.
        from apps.runs.plan import Plan

        return print_plan(request, Plan(experiments=(plan,)))
    with runner_from_request(request) as runner:
        measurement = runner.measure(plan)
    samples = samples_of(machine.name, rows(measured(asked, measurement)))
    return samples, machine.clusters[0].cores, runner.cautions.lines()


def write(request: BlocksCalibrationRequest, reply: Reply) -> None:
    """Write the files that were asked for.

    Each file is written completely or not at all; an older file stays if the new one cannot be written.

    Raises:
        UserError: A file cannot be written.
    """
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.calibration.calibrated import Calibrated

    calibration, table = reply.value
    if request.csv is not None or request.machine is not None:
        _write_measured(request, calibration, table)
        return
    if request.out is not None:
        write_text("--out", request.out, calibration.text())
    if request.table is not None:
        write_text("--table", request.table, _table_text(table))
    if request.plot is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.blocks.calibration.plots import write_figures

        write_figures(Calibrated(calibration), table, Path(request.plot))


def _write_measured(request: BlocksCalibrationRequest, model: MeasuredModel, samples: Samples) -> None:
    if request.out is not None:
        write_text("--out", request.out, model.text())
    if request.table is not None:
        columns = "block,size_bytes,processes,time_s,node_power_w,use"
        lines = [
            f"{s.block},{s.amount:.12g},{s.processes},{s.time_s:.12g},"
            f"{'' if s.power_w is None else format(s.power_w, '.12g')},{'check' if s.held_out else 'fit'}"
            for s in samples.blocks
        ]
        write_text("--table", request.table, "\n".join([columns, *lines, ""]))
    if request.plot is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.blocks.measured.plots import write_measured_figures

        write_measured_figures(model, samples, Path(request.plot), "--plot")


def part_of(platform: Platform, clusters: Sequence[str]) -> Platform:
    """Return the platform with only the hosts of these clusters.

    Raises:
        UserError: If the platform has no cluster of a name.
    """
    known = [cluster.name for cluster in platform.clusters]
    for name in clusters:
        if name not in known:
            raise UserError(f"--only {name}", f"no such cluster in {platform.name}", nearest(name, known))
    return replace(platform, clusters=tuple(cluster for cluster in platform.clusters if cluster.name in clusters))


def _unit(text: str) -> float | None:
    if text == "fit":
        return None
    try:
        unit = float(text)
    except ValueError:
        unit = -1.0
    if not 1 <= unit < float("inf"):
        raise UserError(f"--unit-bytes {text}", "not a number of bytes", "Give 1 or more, or fit")
    return unit


def _check(request: BlocksCalibrationRequest) -> None:
    # Imported here for a quick start: it is slow to import.
    from platforms.files.writing import check_writable, usable_folder

    if request.processes < 2:
        raise UserError(f"--processes {request.processes}", "below two", "Give 2 or more")
    if request.error is not None and request.error not in ERRORS:
        raise UserError(f"--error {request.error}", "not known", nearest(request.error, ERRORS))
    if request.failure_rate is not None and not 0 <= request.failure_rate < float("inf"):
        raise UserError(f"--failure-rate {request.failure_rate}", "not a rate", "Give failures per second of a node")
    for name, path in (("--out", request.out), ("--table", request.table)):
        if path is not None:
            check_writable(name, path)
    if request.plot is not None:
        usable_folder("--plot", request.plot)


def _table_text(table: Measured) -> str:
    """Return the measured samples as CSV."""
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.calibration.calibrate import rows

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, ["block", "size_bytes", "processes", "where", "use", "time_s", "node_power_w"])
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows(table))
    return text.getvalue()


COMMAND = Command(
    "blocks calibrate",
    BlocksCalibrationRequest,
    answer,
    "Measure computation, messages, collectives and disks on a platform in simulation, and fit Table "
    "1's formulas and the shapes of SimGrid's algorithms to them; or fit Table 1 to measured blocks, of a file "
    "(--csv) or of a real machine (--machine) (docs/predictors/blocks.md).",
    after=write,
    status=exit_status,
)
main = COMMAND.main
