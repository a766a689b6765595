"""Run a command on an emulated grid: what it needs of the machine, its processors and links, and its course."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from apps.emulate.report import Report, read_report
from apps.emulate.settings import COUNTED, FIFO, MOST_SHARE, MTU_BYTES, QUEUE_BYTES, TICK_S, WINDOW_BYTES, Settings
from apps.errors import SimulationError
from apps.programs.kernel import named_kernel
from platforms.errors import UserError, printable
from platforms.files.caching import cache_folder, unusable
from platforms.files.scratch import try_lock
from platforms.grids.grid import Grid
from platforms.simgrid.compiling import compile_once

FRONT = "front"  # name of the node in which the command runs
_NETWORK = "198.18.0."  # for benchmarks of networks; the addresses exist inside the grid only


@dataclass(frozen=True)
class EmulatedLink:
    """One direction of a link, or both if they share it: a first-come, first-served queue."""

    name: str
    rate_bit_s: float
    delay_s: float  # one way


@dataclass(frozen=True)
class EmulatedLinks:
    """The links of a grid and, for each pair of hosts, the numbers of the links on the path, in order."""

    hosts: tuple[str, ...]
    links: tuple[EmulatedLink, ...]
    paths: dict[tuple[str, str], tuple[int, ...]]

    def delay_s(self, source: str, destination: str) -> float:
        """Return the sum of the delays on the path from one host to another, s."""
        return sum(self.links[number].delay_s for number in self.paths[source, destination])

    def rate_bit_s(self, source: str, destination: str) -> float:
        """Return the rate of the slowest link on the path from one host to another, bit/s."""
        return min(self.links[number].rate_bit_s for number in self.paths[source, destination])


_FRONT_LINK = EmulatedLink("front link", 1e9, 10e-6)


def emulated_links(grid: Grid) -> EmulatedLinks:
    """Return the links of a grid and its paths: those of the simulated platform, by the same names.

    The two directions of a node's link are two links, as are those of a duplex wide-area link; a backbone and any
    other wide-area link are one link for both directions.
    """
    hosts = tuple(host for cluster in grid.clusters for host in cluster.host_names)
    numbers: dict[str, int] = {}
    links: list[EmulatedLink] = []
    paths = {}
    for route in grid.routes(list(permutations(hosts, 2))):
        for link in route.links:
            if link.name not in numbers:
                numbers[link.name] = len(links)
                links.append(EmulatedLink(link.name, 8 * link.bandwidth_Bps, link.latency_s))
        paths[route.source, route.destination] = tuple(numbers[link.name] for link in route.links)
    return EmulatedLinks(hosts, tuple(links), paths)


def description(grid: Grid, processor: int, queues: str = FIFO) -> str:
    """Return the description of a grid for the emulator; apps/emulate/grid/grid.h describes the format.

    Args:
        grid: The grid.
        processor: Number of the processor of router and ranks.
        queues: Order in which the first link of a packet, that of its node, serves connections.
    """
    emulated = emulated_links(grid)
    slots = {host: cluster.cores for cluster in grid.clusters for host in cluster.host_names}
    lines = [f"mtu {MTU_BYTES}", f"window {WINDOW_BYTES}", f"queue {QUEUE_BYTES}", f"tick {TICK_S!r}"]
    lines += [f"cpu {processor}", f"node {FRONT} {_NETWORK}1 0"]
    lines += [f"node {host} {_NETWORK}{number} {slots[host]}" for number, host in enumerate(emulated.hosts, 2)]
    devices = {path[0] for path in emulated.paths.values()}
    lines += [_link(link, queues if number in devices else FIFO) for number, link in enumerate(emulated.links)]
    lines.append(_link(_FRONT_LINK, FIFO))
    node = {host: number for number, host in enumerate(emulated.hosts, 1)}
    for number in node.values():
        lines += [f"path 0 {number} {len(emulated.links)}", f"path {number} 0 {len(emulated.links)}"]
    for (source, destination), path in emulated.paths.items():
        lines.append(f"path {node[source]} {node[destination]} {' '.join(map(str, path))}")
    return "\n".join(lines) + "\n"


def _link(link: EmulatedLink, order: str) -> str:
    return f"link {link.name.replace(' ', '_')} {link.rate_bit_s!r} {link.delay_s!r} {order}"


_TUN = Path("/dev/net/tun")
_RIGHTS = {12: "CAP_NET_ADMIN", 14: "CAP_IPC_LOCK", 21: "CAP_SYS_ADMIN", 23: "CAP_SYS_NICE"}


def check_machine() -> None:
    """Refuse a machine that cannot emulate a grid.

    Raises:
        UserError: Something is missing; the message says how to get it.
    """
    if not sys.platform.startswith("linux"):
        raise UserError("emulated grid", f"needs Linux, not {sys.platform}", "Start it on a Linux machine")
    if missing := missing_rights(Path("/proc/self/status").read_text()):
        raise UserError("emulated grid", f"the right {missing[0]} is missing", "Start it as root")
    if not _TUN.exists():
        remedy = "Run: modprobe tun; in a container, start it with --device /dev/net/tun"
        raise UserError("emulated grid", f"there is no {_TUN}", remedy)
    if not os.access(_TUN, os.R_OK | os.W_OK):
        raise UserError("emulated grid", f"{_TUN} may not be used", "Start it as root")


def missing_rights(status: str) -> list[str]:
    """Return the rights that a process lacks, by the text of its /proc/PID/status."""
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    return [name for bit, name in _RIGHTS.items() if not int(effective, 16) >> bit & 1]


def check_command(command: str) -> None:
    """Refuse a command that does not exist.

    Raises:
        UserError: It is not found.
    """
    if shutil.which(command) is None:
        packages = " (Run: apt-get install openmpi-bin)" if command in ("mpirun", "mpiexec") else ""
        raise UserError(f"command {printable(command)}", "not found", f"Install it, or correct its name{packages}")


PATIENCE_S = 60.0  # time to wait for the end of another grid


@contextmanager
def own_processor(wanted: int | None) -> Iterator[int]:
    """Keep other emulated grids of this user off a processor; yield its number.

    Ranks of two grids on one processor would wait for each other, and take up to a third longer.

    Args:
        wanted: Its number; None: the last one on which no grid runs.

    Raises:
        UserError: All of them, or the requested one, are in use for longer than PATIENCE_S.
    """
    folder = cache_folder() / "emulation"
    numbers = sorted(os.sched_getaffinity(0), reverse=True) if wanted is None else [wanted]
    ends_s = time.monotonic() + PATIENCE_S
    while True:
        for number in numbers:
            handle = _opened(folder, number)
            try:
                if try_lock(handle) is not False:
                    yield number
                    return
            finally:
                os.close(handle)
        if time.monotonic() >= ends_s:
            break
        time.sleep(0.2)
    which = "every processor" if wanted is None else f"processor {wanted}"
    raise UserError("emulated grid", f"another one runs on {which}", "Wait for its end, or take another with --cpu")


def _opened(folder: Path, number: int) -> int:
    try:
        folder.mkdir(exist_ok=True)
        return os.open(folder / f"processor-{number}", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err


_SOURCE = Path(__file__).parent / "carry" / "carry.c"
_MOST_RANKS = 512  # as in carry.c
_LIMIT_S = 60.0
_LIKE = "cg"  # kernel whose sparse matrix products the program computes


def carried_flops(processor: int, ranks: int) -> float:
    """Return the nominal speed that a processor can provide, flop/s: operations per second over their usual efficiency.

    Ranks with separate matrices compute in turn for a tenth of a second.

    Raises:
        SimulationError: The program does not succeed.
    """
    program = compile_once("carry", [_SOURCE], compiler=["gcc"], flags=["-O2", "-std=gnu11", "-Wall", "-Wextra"])
    words = [str(program), str(processor), str(min(ranks, _MOST_RANKS))]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
        return MOST_SHARE * float(done.stdout) / named_kernel(_LIKE).reference_efficiency
    except (subprocess.SubprocessError, ValueError) as err:
        raise SimulationError(f"the speed that processor {processor} can provide was not measured: {err}") from err


def overload(grid: Grid, processor: int) -> str | None:
    """Return a sentence with the necessary slowdown if a grid computes faster than the processor; None if not."""
    cores = sum(cluster.nodes * cluster.cores for cluster in grid.clusters)
    needed_flops = sum(cluster.nodes * cluster.cores * cluster.speed_flops for cluster in grid.clusters)
    flops = carried_flops(processor, cores)
    return None if needed_flops <= flops else overload_text(cores, needed_flops, processor, flops)


def overload_text(cores: int, needed_flops: float, processor: int, flops: float) -> str:
    """Return the sentence; the slowdown is rounded up to two digits."""
    factor = needed_flops / flops
    unit = 10.0 ** (math.floor(math.log10(factor)) - 1)
    slowdown = math.ceil(factor / unit) * unit
    return (
        f"if all {cores} cores of the grid compute at once they need {needed_flops / 1e9:.3g} Gflop/s, but processor "
        f"{processor} provides {flops / 1e9:.3g}: they would fall behind. Take --slowdown {slowdown:.3g} or more"
    )


_HERE = Path(__file__).parent
_FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra")
SPACES = "/dev/shm"  # as in grid/emulated.c: inside the grid a folder of its own
_ENTER = f"{SPACES}/emulated enter"  # runs a command in a node, as ssh would
PACER = f"{SPACES}/pacer.so"


def run_on_grid(grid: Grid, settings: Settings, command: Sequence[str], caution: Callable[[str], None]) -> Report:
    """Run a command in the front node of an emulated grid, and return the reports of router and pacers.

    In counted mode ``caution`` gets a sentence before the run begins if one processor is too slow for the grid.

    mpirun of Open MPI starts its ranks on the nodes without further options.  Nothing of the grid is left when this
    function returns or raises, nor when the calling process is killed.

    Raises:
        UserError: This machine lacks a requirement, or the grid cannot be emulated.
        SimulationError: The grid ended before the command.
    """
    settings.check(grid)
    check_machine()
    check_command(command[0])
    emulator, pacer = emulator_program(), pacer_library()
    with own_processor(settings.cpu) as processor, os.fdopen(os.memfd_create("grid"), "wb") as described:
        too_much = overload(grid, processor) if settings.pace == COUNTED else None
        if too_much:
            caution(too_much)
        described.write(f"pacer {pacer}\n{description(grid, processor, settings.queues)}".encode())
        described.flush()
        os.lseek(described.fileno(), 0, os.SEEK_SET)
        report = _run(emulator, described.fileno(), command, environment(grid, settings, processor))
    if report.error is not None:
        raise UserError("emulated grid", report.error, "Say `gridval platform emulate --help` for what it needs")
    if report.status is None:
        raise SimulationError("the emulated grid was killed before its command had ended")
    return report


def _run(emulator: Path, described: int, command: Sequence[str], variables: dict[str, str]) -> Report:
    source, sink = os.pipe()
    try:
        process = subprocess.Popen(
            [str(emulator), "run", str(described), str(sink), *command], env=variables, pass_fds=(described, sink)
        )
    finally:
        os.close(sink)
    try:
        with os.fdopen(source, encoding="utf-8") as lines:
            report = read_report(lines)
        process.wait()
    except BaseException:  # an interrupt: the command ends with the grid
        process.kill()
        process.wait()
        raise
    return report


def environment(grid: Grid, settings: Settings, processor: int) -> dict[str, str]:
    """Return the environment of the command: that of this process, with settings for Open MPI and the pacer."""
    speeds = settings.node_speeds(grid)
    limits = ("eager_limit", "rndv_eager_limit", "max_send_size") if settings.eager_bytes is not None else ()
    return {
        **os.environ,
        "GRIDVAL_PACE": settings.pace,
        "GRIDVAL_SPEEDS": " ".join(f"{host}={speed!r}" for host, speed in speeds.items()),
        "GRIDVAL_CPU": str(processor),
        "GRIDVAL_PACERS": f"{SPACES}/pacers",
        "GRIDVAL_PACER": PACER,
        "GRIDVAL_ENTER": _ENTER,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_plm_rsh_agent": _ENTER,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_orte_default_hostfile": f"{SPACES}/hosts",
        "OMPI_MCA_orte_tmpdir_base": SPACES,
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_oob_tcp_if_include": "tun0",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": "tun0",
        # Connections are opened by MPI_Init; otherwise the first message of each pair would wait for its connection.
        "OMPI_MCA_mpi_preconnect_mpi": "1",
        **{f"OMPI_MCA_btl_tcp_{limit}": str(settings.eager_bytes) for limit in limits},
    }


def emulator_program() -> Path:
    """Return the program that makes the grid; it is compiled on first use."""
    return _compiled("emulated", "grid", ())


def pacer_library() -> Path:
    """Return the library that paces a rank; it is compiled on first use."""
    return _compiled("pacer", "pacer", ("-shared", "-fPIC"))


def _compiled(name: str, folder: str, flags: Sequence[str]) -> Path:
    sources, headers = sorted((_HERE / folder).glob("*.c")), sorted((_HERE / folder).glob("*.h"))
    return compile_once(name, sources, compiler=["gcc"], flags=[*_FLAGS, *flags], libraries=["-ldl"], headers=headers)
