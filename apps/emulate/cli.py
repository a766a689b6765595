"""The command ``gridval platform emulate``: run a command on an emulated grid."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apps.emulate.report import as_json, gates, summary
from apps.emulate.running import PACER, emulated_links, run_on_grid
from apps.emulate.settings import COUNTED, DISTURBED, FIFO, PACES, QUEUES, Settings, slowed_down
from apps.options.exit_status import exit_status
from platforms.command.command import Command
from platforms.command.request import Request, argument, option, words_behind
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_text
from platforms.grids.grid import Grid
from platforms.grids.scenario import named_grid, names_file, read_grid
from platforms.grids.xml import platform_xml

_MPIRUN = ("mpirun", "-np", "{ranks}", "--hostfile", "{hostfile}", "--map-by", "seq", "{options}", "{program}")


def machine_text(grid: Grid, emulate: Sequence[str]) -> str:
    """Return the text of a machine file.

    Args:
        grid: The grid, slowed down as it is emulated.
        emulate: The arguments of ``gridval platform emulate`` for this grid.
    """
    command = [*own_command(), *emulate, "--", *_MPIRUN]
    lines = [
        f"# The emulated grid {grid.name}; its nodes are name spaces of this computer.",
        f"name = {json.dumps(grid.name)}",
        f"preload = [{json.dumps(PACER)}]  # inside the grid: paces the ranks",
        "",
        "[launcher]",
        f"command = {json.dumps(command)}",
        'version = ["mpirun", "--version"]',
        f"retry_status = {DISTURBED}  # a gate refused the run",
        "",
        "[compilers]",
        'c = "mpicc"',
        'cxx = "mpicxx"',
        'fortran = "mpif90"',
    ]
    for cluster in grid.clusters:
        lines += [
            "",
            "[[clusters]]",
            f"name = {json.dumps(cluster.name)}",
            f"hosts = {json.dumps(list(cluster.host_names))}",
            f"cores = {cluster.cores}",
            f"gflops = {cluster.speed_flops / 1e9:.12g}",
        ]
    return "\n".join([*lines, *_wires(grid)]) + "\n"


def own_command() -> list[str]:
    """Return the command that starts ``gridval platform emulate`` from any folder."""
    gridval = shutil.which("gridval")
    return [gridval, "platform", "emulate"] if gridval else [sys.executable, "-m", "gridval", "platform", "emulate"]


def _wires(grid: Grid) -> list[str]:
    """Return the nominal network of the first two hosts of a cluster, and of two hosts of different clusters."""
    links = emulated_links(grid)
    cluster_of = {host: cluster.name for cluster in grid.clusters for host in cluster.host_names}
    lines = []
    for title, same in (("network", True), ("between_clusters", False)):
        pairs = [pair for pair in links.paths if (cluster_of[pair[0]] == cluster_of[pair[1]]) == same]
        if not pairs and same:  # all clusters have one node
            pairs = list(links.paths)
        if pairs:
            rate, delay = links.rate_bit_s(*pairs[0]), links.delay_s(*pairs[0])
            lines += ["", f"[{title}]", f"bandwidth_gbit_s = {rate / 1e9:.12g}", f"latency_us = {delay * 1e6:.12g}"]
    return lines


_DESCRIPTION = """Run a command, such as mpirun of Open MPI, on a grid that this machine emulates: every node is a
network name space with its own address, packets take the rates and delays of the grid's links, and ranks compute no
faster than their nodes. The grid exists as long as the command. It needs root and /dev/net/tun."""
_EPILOG = f"""docs/validation/league.md. Exit status: that of the command, otherwise as for all commands.
{EXIT_STATUSES}"""
_USAGE = "%(prog)s GRID [options] [-- COMMAND ...]"


@dataclass(frozen=True, kw_only=True)
class EmulateRequest(Request):
    """Request of ``gridval platform emulate``."""

    grid: str = argument("GRID", "a grid of up to 16 nodes: its name or a scenario file (.toml)")
    slowdown: float = option(
        1.0,
        "F",
        "emulate the grid in slow motion: speeds and bandwidths divided by F, latencies multiplied (default: 1)",
    )
    pace: str = option(
        COUNTED,
        "",
        "time that computing takes: counted, the node's time for the operations counted by the program, "
        "as in all kernels; free, derived from the CPU time used here (default: %(default)s)",
        choices=PACES,
    )
    core_gflops: float | None = option(None, "G", "with --pace free: speed of a core of this machine, in Gflop/s")
    eager_limit: int | None = option(
        None,
        "BYTES",
        "let Open MPI send messages of up to this size at once, without a handshake (default: Open MPI's, 65536)",
    )
    queues: str = option(
        FIFO,
        "",
        "order in which a node sends packets: fifo, first come, first served; turns, those for different nodes in "
        "turn, as fq and fq_codel of Linux do (default: %(default)s)",
        choices=QUEUES,
    )
    cpu: int | None = option(
        None, "N", "processor of the router and of all ranks (default: the last one on which no emulated grid runs)"
    )
    strict: bool = option(False, help=f"end with exit status {DISTURBED} if a gate fails, instead of a caution")
    validity: str | None = option(None, "FILE.json", "write the gates and the statistics of router and pacers")
    write_machine: str | None = option(None, "FILE.toml", "write the machine file that runs on this grid")
    write_platform: str | None = option(None, "FILE.xml", "write the grid as a SimGrid platform, not calibrated")
    command: tuple[str, ...] = words_behind("the command to run on the grid")


def answer(request: EmulateRequest) -> int:
    """Run the command on the emulated grid, and return the exit status."""
    command = list(request.command)
    if not command and not (request.write_machine or request.write_platform):
        raise UserError("command", "is missing", "Write it behind --, for example: -- mpirun -np 4 ./program")
    if not command and (request.validity or request.strict):
        judge = "--validity" if request.validity else "--strict"
        raise UserError(judge, "applies to a run, but no command is given", "Write one behind --, or leave it out")
    for name in ("validity", "write_machine", "write_platform"):
        if getattr(request, name):
            check_writable(f"--{name.replace('_', '-')}", getattr(request, name))
    core_flops = None if request.core_gflops is None else request.core_gflops * 1e9
    settings = Settings(request.pace, core_flops, request.eager_limit, request.queues, request.cpu)
    grid = slowed_down(
        read_grid(request.grid) if names_file(request.grid) else named_grid(request.grid), request.slowdown
    )
    settings.check(grid)
    _write(request, grid)
    if not command:
        return 0
    report = run_on_grid(grid, settings, command, lambda text: print(f"caution: {text}.", file=sys.stderr, flush=True))
    checked_gates = gates(report, settings.pace)
    sys.stdout.flush()
    print(summary(report), file=sys.stderr)
    refused = False
    for gate in checked_gates:
        if not gate.passed:
            refused |= request.strict and gate.decides
            print(f"{'error' if request.strict and gate.decides else 'caution'}: {gate.caution}.", file=sys.stderr)
    if request.validity:
        write_text("--validity", request.validity, json.dumps(as_json(report, checked_gates), indent=2) + "\n")
    return report.status or (DISTURBED if refused else 0)


def _write(request: EmulateRequest, grid: Grid) -> None:
    if request.write_platform:
        write_text("--write-platform", request.write_platform, platform_xml(grid).decode())
    if request.write_machine:
        name = str(Path(request.grid).resolve()) if names_file(request.grid) else request.grid
        words = [name, "--strict", "--pace", request.pace]
        given = {
            "--slowdown": request.slowdown,
            "--core-gflops": request.core_gflops,
            "--eager-limit": request.eager_limit,
        }
        for name, value in {**given, "--cpu": request.cpu, "--queues": request.queues}.items():
            if value not in (None, 1.0, FIFO):
                words += [name, str(value)]
        write_text("--write-machine", request.write_machine, machine_text(grid, words))


COMMAND = Command(
    "platform emulate",
    EmulateRequest,
    answer,
    _DESCRIPTION,
    epilog=_EPILOG,
    usage=_USAGE,
    status=exit_status,
)
main = COMMAND.main
