"""The command ``gridval platform calibrate``, which calibrates a platform from measured times."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.calibrate.request import ENDING, MOST_BUDGET_S, MOST_CORES, MOST_NODES, NEEDED, OWN, CalibrateRequest
from apps.options.exit_status import exit_status
from platforms.command.command import Command, Reply
from platforms.command.request import given
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError, printable
from platforms.files.reading import input_bytes
from platforms.files.writing import check_writable, write_text
from platforms.plotting.pictures import write_picture

if TYPE_CHECKING:
    from apps.calibrate.points import Measured
    from apps.calibrate.readers import Sample
    from apps.calibrate.report import Calibration

_DESCRIPTION = """Calibrate a SimGrid platform of a machine of one or several clusters, which is measured first, or of a
cluster from measured times of MPI calls between two of its nodes (MPI_Send, MPI_Isend, MPI_Recv of a message that has
arrived, and ping-pongs), or from calls of several nodes at once, which show how links are shared. The platform carries
all factors of SMPI in its <config>. It is judged by repeating the measurement in SMPI at sizes, between nodes, or on
numbers of ranks, that were not fitted."""


def answer(request: CalibrateRequest) -> Reply:
    """Calibrate, and write the platform and the files beside it."""
    request = _completed(request)
    _check(request)
    if request.patterns:
        # Imported here because they are slow to import.
        from apps.calibrate.patterns import calibrate as patterns

        shared = patterns.calibrated(request, _files(request))
        return Reply(shared, lambda: patterns.as_text(shared, wide=request.wide), lambda: patterns.as_json(shared))
    if not request.p2p:
        # Imported here because they are slow to import.
        from apps.calibrate.machine import report as machines
        from apps.calibrate.machine.command import calibrated as of_machine

        machine, files = of_machine(request, _files(request)), _files(request)
        return Reply(
            machine,
            lambda: machines.as_text(machine, files, wide=request.wide),
            lambda: machines.as_json(machine, files),
        )
    # Imported here because they are slow to import.
    from apps.calibrate.report import as_json, as_text

    calibration = calibrated(request)
    return Reply(calibration, lambda: as_text(calibration, wide=request.wide), lambda: as_json(calibration))


def calibrated(request: CalibrateRequest) -> Calibration:
    """Calibrate from calls between two nodes according to the options, and write the files.

    Raises:
        UserError: A file cannot be read or written, or its content is wrong.
        SimulationError: The replay does not succeed.
    """
    # Imported here because they are slow to import.
    from apps.calibrate.model import model_of
    from apps.calibrate.picture import calibration_figure
    from apps.calibrate.platform_file import Cluster, platform_file, smpi_options
    from apps.calibrate.points import ends, fitted_and_held_out, held_out_sizes, property_of
    from apps.calibrate.readers import measured_of, read_samples
    from apps.calibrate.report import Calibration, replayed
    from platforms.read.read import kept_file, read_platform

    samples = read_samples(request.p2p, given(request.cluster))
    measured = measured_of(samples, ", ".join(request.p2p))
    fit, held_out = fitted_and_held_out(measured, held_out_sizes(measured, given(request.hold_out)))
    model = model_of(fit, async_bytes=request.async_small_thresh, detached_bytes=request.send_is_detached_thresh)
    cluster = Cluster(
        given(request.cluster), given(request.nodes), given(request.cores), given(request.core_gflops)[0] * 1e9
    )
    options = smpi_options(model, given(request.collectives))
    trips = measured["pingpong"]
    known = property_of(ends(trips.times_s / model.predicted("pingpong", trips.sizes)))
    content = platform_file(cluster, model, options, _provenance(request, fit, held_out), known)
    errors = replayed(read_platform(kept_file(content), given(request.cluster)), model, fit, held_out)
    files = _files(request)
    write_text("--out", files["platform"], content.decode())
    write_text("--out", files["data"], _data(given(request.cluster), samples))
    write_picture("--out", files["picture"], calibration_figure(given(request.cluster), model, fit, errors))
    return Calibration(cluster, model, options, fit, errors, files)


def _check(request: CalibrateRequest) -> None:
    """Check the options before anything is read.

    Raises:
        UserError: An option has a wrong value, or a file cannot be written.
    """
    # Imported here because it is slow to import.
    from platforms.grids.grid import SPEED_RANGE_FLOPS

    for name, value, least, most in (
        ("--nodes", request.nodes, 2, MOST_NODES),
        ("--cores", request.cores, 1, MOST_CORES),
        ("--hold-out", request.hold_out, 2, 1000),
        ("--fit-ranks", request.fit_ranks, 2, MOST_NODES),
        ("--latency-us", request.latency_us, 0, 1e6),
        ("--budget", request.budget, 1, MOST_BUDGET_S),
        ("--async-small-thresh", request.async_small_thresh, 0, 2**31 - 1),
        ("--send-is-detached-thresh", request.send_is_detached_thresh, 0, 2**31 - 1),
    ):
        if value is not None and not least <= value <= most:
            raise UserError(f"{name} {value}", "out of range", f"Give a number from {least:.7g} to {most:.10g}")
    low, high = (flops / 1e9 for flops in SPEED_RANGE_FLOPS)
    for gflops in request.core_gflops or []:
        if not low <= gflops <= high:
            raise UserError(f"--core-gflops {gflops:g}", "out of range", f"Give a number from {low:g} to {high:g}")
    small, detached = request.async_small_thresh, request.send_is_detached_thresh
    if small is not None and detached is not None and small > detached:
        remedy = "Give at most that: the sender of a message that is sent at once does not wait"
        raise UserError(f"--async-small-thresh {small}", f"above --send-is-detached-thresh {detached}", remedy)
    if request.cluster is not None and not _is_name(request.cluster):
        raise UserError(
            f"--cluster {request.cluster}", "not a name that SimGrid can use", "Use letters, digits, '_' and '-'"
        )
    if Path(request.out).suffix != ENDING:
        raise UserError(f"--out {request.out}", "its name does not end with .xml", "Write for example --out dahu.xml")
    for file in _files(request).values():
        check_writable("--out", file)
        read = (
            request.p2p
            or request.patterns
            or [source for source in (request.measured, request.machine) if source is not None]
        )
        if os.path.exists(file) and any(
            os.path.exists(file_read) and os.path.samefile(file, file_read) for file_read in read
        ):
            raise UserError(f"--out {request.out}", f"it would replace {file}, which is read", "Choose another name")


def _is_name(text: str) -> bool:
    return text.isascii() and text.replace("-", "a").replace("_", "a").isidentifier()


def _completed(request: CalibrateRequest) -> CalibrateRequest:
    """Check that the options belong to the kind of measured times, and return the request with their defaults."""
    kinds = [kind for kind in OWN if getattr(request, kind) not in (None, ())]
    if kinds == ["p2p", "patterns"]:
        problem = (
            "their times come from different runs and sizes, and give a link different rates: --p2p by factors of the "
            "size, with links that nothing slows down, --patterns without factors, with links that flows share"
        )
        raise UserError("--p2p, --patterns", problem, "Give one of them; --machine and --measured fit both together")
    if len(kinds) != 1:
        problem = "none is given" if not kinds else f"{' and '.join(f'--{kind}' for kind in kinds)} are given"
        raise UserError(", ".join(f"--{kind}" for kind in OWN), problem, "Give one of them")
    own_options = OWN[kinds[0]]
    defaults: dict[str, Any] = {}
    for name in dict.fromkeys(name for options in OWN.values() for name in options):
        shown, value = f"--{name.replace('_', '-')}", getattr(request, name)
        if value is not None and name not in own_options:
            raise UserError(f"{shown} {value}", f"has no effect with --{kinds[0]}", "Leave it out")
        if value is None and own_options.get(name) == NEEDED:
            raise UserError(f"--{kinds[0]}", f"{shown} is missing", "Give it: the measured times do not contain it")
        if value is None:
            defaults[name] = own_options.get(name)
    if "nodes" in own_options and len(request.core_gflops or ()) != 1:
        raise UserError("--core-gflops", "several speeds for one cluster", "Give one")
    return replace(request, **defaults)


def _files(request: CalibrateRequest) -> dict[str, str]:
    stem = request.out.removesuffix(ENDING)
    if request.p2p:
        return {"platform": request.out, "data": f"{stem}.p2p.csv", "picture": f"{stem}.png"}
    if request.patterns:
        return {"platform": request.out, "picture": f"{stem}.png"}
    return {"platform": request.out, "data": f"{stem}.rows.csv", "picture": f"{stem}.png", "page": f"{stem}.html"}


def _provenance(request: CalibrateRequest, fit: Measured, held_out: Measured) -> list[str]:
    """Return lines about the origin of the platform."""
    names = [
        f"{printable(os.path.basename(path))}, sha256 {hashlib.sha256(input_bytes(path)).hexdigest()[:16]}"
        for path in request.p2p
    ]
    sizes = ", ".join(f"{call} {len(points)} + {len(held_out[call])}" for call, points in fit.items())
    return [
        "Calibrated by gridval platform calibrate (docs/platforms/calibration.md).",
        *(f"Measured times: {name}" for name in names),
        f"Cluster {request.cluster}; sizes fitted + held out (one in {request.hold_out}): {sizes}",
    ]


def _data(cluster: str, samples: Sequence[Sample]) -> str:
    """Return the measured times as CSV, in the form that the command reads."""
    rows = [f"{cluster},{sample.call},{sample.size_bytes},{sample.time_s:.9g}\n" for sample in samples]
    return "".join(["cluster,call,size_bytes,time_s\n", *rows])


COMMAND = Command(
    "platform calibrate",
    CalibrateRequest,
    answer,
    _DESCRIPTION,
    epilog=f"docs/platforms/calibration.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
