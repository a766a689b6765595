"""Read any SimGrid platform, XML or compiled ``.so``, through SimGrid itself.

A small C++ helper program (``describe.cpp``) loads the platform and describes it as JSON.  The helper is compiled once
into the cache folder, which also keeps the descriptions by content hash.  The helper is a separate process because
SimGrid allows only one engine per process.
"""

import functools
import hashlib
import json
import math
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from platforms.errors import PlatformError, printable
from platforms.files.caching import cache_folder, read_checked, write_atomically, write_checked
from platforms.files.scratch import scratch_folder
from platforms.grids.grid import Grid
from platforms.grids.xml import platform_xml
from platforms.model.platform import Change, Host, KernelEfficiency, Link, Platform, Power, PState, Route, RouteTable
from platforms.read.clusters import by_kind
from platforms.read.content import content_of, kept_copy, loadable
from platforms.read.xml_check import check_platform_xml
from platforms.simgrid.child import die_with_parent
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.repairs import loaded_first, simgrid_identity

TIME_LIMIT_S = 120.0
MOST_PAIRWISE = 512  # hosts up to which describe.cpp checks the routes of all pairs
_HELPER = Path(__file__).with_name("describe.cpp")
_REASON = re.compile(r"(?:\[\w+/(?:CRITICAL|ERROR)\]|what\(\):)\s*(?:Uncaught exception [\w:]+(?: by \S+)?: )?(.+)")
_EMPTY_REASONS = ("Current backtrace:", "Backtrace:")
_IN_CONFIG = re.compile(r"-> .*ETag\w*_config\b")  # in the backtrace: the error lies in <config>
_EFFICIENCY = re.compile(r"([a-z0-9_-]+)=([0-9.e-]*[0-9]):([0-9.e-]*[0-9])")
_POINTER = re.compile(r"\s*\(0x[0-9a-f]+\)")


def read_platform(path: str | Path, name: str | None = None) -> Platform:
    """Return the platform in this file; its name is ``name``, or else the file's name without its ending.

    Every zone with hosts is a cluster.  A zone with hosts of different speeds or numbers of cores becomes one cluster
    per kind, called zone.1, zone.2, ...

    Raises:
        PlatformError: SimGrid cannot load the file (the message quotes SimGrid's own), or it has no hosts.
    """
    path = _existing(path)
    file_hash, kept = kept_copy(path)
    content_hash = file_hash
    description = _describe(path, content_hash, "", "changes", file_hash=file_hash)
    if path.suffix == ".so":  # its code may read other files, so the hash includes the resulting hosts
        content_hash = hashlib.sha256(f"{content_hash} {json.dumps(description['zones'])}".encode()).hexdigest()
    zones = [(zone["name"], [_host(entry, path) for entry in zone["hosts"]]) for zone in description["zones"]]
    clusters = by_kind(zones)
    if not clusters:
        raise PlatformError(str(path), "the platform has no hosts", "Give one with at least one host")
    options = tuple((key, value) for key, value in description["options"])
    changes = tuple(sorted((Change(**entry) for entry in description["changes"]), key=lambda change: change.from_s))
    return Platform(
        name or printable(path.stem), path, content_hash, clusters,
        options=options, changes=changes, kept=kept, file_hash=file_hash,
    )  # fmt: skip


def read_routes(platform: Platform, pairs: Sequence[tuple[str, str]]) -> list[Route]:
    """Return the routes of these pairs of host names (source, destination), in the order of the pairs.

    Latencies are those of the platform in s, before any correction factor of a network model.

    Raises:
        PlatformError: A host is unknown, or SimGrid finds no route.
    """
    for pair in pairs:
        for host in pair:
            platform.host(host)
    if not pairs:
        return []
    with _loaded(platform) as path:
        description = _describe(path, platform.content_hash, _lines(pairs))
    return [_route(entry) for entry in description["routes"]]


def read_route_table(platform: Platform, pairs: Sequence[tuple[str, str]]) -> RouteTable:
    """Return the routes of many pairs of host names as read_routes, with each link once.

    Raises:
        PlatformError: As read_routes.
    """
    for host in {host for pair in pairs for host in pair}:
        platform.host(host)
    with _loaded(platform) as path:
        description = _describe(path, platform.content_hash, _lines(pairs), "table")
    return RouteTable(
        description["latency_s"], description["first"], description["link"], tuple(map(_link, description["links"]))
    )


def check_connected(platform: Platform, hosts: Iterable[str]) -> None:
    """Check that there is a route from each of these hosts to each other one.

    With more than MOST_PAIRWISE hosts, only the routes between each host and the first one, and between each host and
    its predecessor, are checked.  Routes from a host to itself are not checked: not every platform has them, and not
    every program needs them.

    Raises:
        PlatformError: A route is missing; the message quotes SimGrid's own.
    """
    request = "".join(f"{name}\n" for name in dict.fromkeys(hosts))
    with _loaded(platform) as path:
        _describe(path, platform.content_hash, request, "connected")


def read_survey(path: str | Path, pairs: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], int, list[Route | None]]:
    """Return the tree of zones (as describe.cpp writes it), the number of links, and the routes of pairs of hosts.

    A route is None if SimGrid finds none.

    Raises:
        PlatformError: As read_platform.
    """
    path = _existing(path)
    description = _ask(path, _lines(pairs), "survey")
    routes = [_route(entry) if "links" in entry else None for entry in description["routes"]]
    hosts = {zone["name"]: [host["name"] for host in zone["hosts"]] for zone in description["zones"]}
    return _with_hosts(description["tree"], hosts), description["links"], routes


def _with_hosts(tree: dict[str, Any], hosts: dict[str, list[str]]) -> dict[str, Any]:
    children = [_with_hosts(child, hosts) for child in tree["children"]]
    return tree | {"hosts": hosts.get(tree["name"], []), "children": children}


def materialise(grid: Grid) -> Platform:
    """Return the platform of a grid.

    Its XML file is kept in the cache folder under its content hash and is read by SimGrid.
    """
    return replace(read_platform(kept_file(platform_xml(grid)), grid.name), network=grid.network)


def kept_file(content: bytes) -> Path:
    """Return the path of a platform file with this content in the cache folder; write it if it is not there yet."""
    path = cache_folder() / "platforms" / f"{hashlib.sha256(content).hexdigest()[:24]}.xml"
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
    return path


def _existing(path: str | Path) -> Path:
    """Return the absolute path of a readable file (SimGrid aborts on a relative path of a platform .so)."""
    path = Path(path).absolute()
    if not os.path.isfile(path):
        problem = "not a file" if os.path.exists(path) else "no such file"
        raise PlatformError(str(path), problem, "Give a SimGrid platform, XML or .so")
    if not os.access(path, os.R_OK):
        raise PlatformError(str(path), "cannot be read", "Change its permissions")
    return path


@contextmanager
def _loaded(platform: Platform) -> Iterator[Path]:
    """Give the file that SimGrid loads; errors about it name the user's own file, which the user can correct."""
    path = _existing(loadable(platform))
    try:
        yield path
    except PlatformError as err:
        raise err.renamed(str(path), str(platform.path)) from err


def _lines(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{source}\n{destination}\n" for source, destination in pairs)


def _describe(
    path: Path, content_hash: str, request: str, *mode: str, file_hash: str | None = None
) -> dict[str, Any]:  # fmt: skip
    """Return the helper's description of the platform, from memory, from the cache folder, or by running the helper.

    Args:
        path: The file that the helper loads.
        content_hash: The hash of the platform.
        request: What the helper reads.
        mode: Its further arguments.
        file_hash: The hash of the file, which may change while the helper loads it; None: it is a private copy, or it
            has been checked.
    """
    if path.suffix == ".so":  # its code may depend on other files, so each process runs the helper again
        return _asked(path, content_hash, file_hash, request, *mode)
    asked = " ".join([content_hash, _helper_hash(), simgrid_identity(), *mode, request])
    return _kept(path, hashlib.sha256(asked.encode()).hexdigest(), file_hash, request, *mode)


@functools.lru_cache(maxsize=256)
def _kept(path: Path, key: str, file_hash: str | None, request: str, *mode: str) -> dict[str, Any]:
    """Return the description that the cache folder keeps; run the helper if it is absent or damaged."""
    known = cache_folder() / "descriptions" / f"{key}.json"
    kept = read_checked(known)
    if kept is not None:
        whole: dict[str, Any] = json.loads(kept)
        return whole
    description = _unchanged(path, file_hash, _ask(path, request, *mode))
    write_checked(known, json.dumps(description).encode())
    return description


@functools.lru_cache(maxsize=16)
def _asked(path: Path, content_hash: str, file_hash: str | None, request: str, *mode: str) -> dict[str, Any]:
    return _unchanged(path, file_hash, _ask(path, request, *mode))


def _unchanged(path: Path, file_hash: str | None, description: dict[str, Any]) -> dict[str, Any]:
    """Return a description, unless the file has another content than the one that it is kept for."""
    if file_hash is not None and content_of(path) != file_hash:
        raise PlatformError(str(path), "it was changed while it was read", "Start the command again")
    return description


def _ask(path: Path, request: str, *mode: str) -> dict[str, Any]:
    flags = ["-O0", "-std=gnu++17"]  # the compiler takes longer than the helper ever does
    options = [] if path.suffix == ".so" else check_platform_xml(path)
    helper = compile_once("describe", [_HELPER], compiler=["g++"], flags=flags, libraries=["-lsimgrid"])
    command = [
        str(helper),
        str(path),
        *mode,
        "--log=root.thres:warning",
        "--log=no_loc",
        "--log=root.fmt:[%c/%p]%e%m%n",
    ]
    try:
        with scratch_folder("describe") as folder:  # a <config> may make SimGrid write files
            done = subprocess.run(
                [*die_with_parent(), *loaded_first(folder), *command], input=request.encode(), cwd=folder,
                capture_output=True, timeout=TIME_LIMIT_S, check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired as err:
        problem = f"SimGrid has not loaded it within {TIME_LIMIT_S:g} s"
        raise PlatformError(str(path), problem, "Give a smaller platform") from err
    if done.returncode != 0:
        raise _failure(path, done.stderr.decode("utf-8", "replace"), done.returncode)
    # A platform .so may print lines of its own; the helper's line is the last.
    _, begin, rest = done.stdout.rpartition(b'{"zones": ')
    if not begin:
        raise PlatformError(str(path), "it ends the process that loads it", "Correct the platform file")
    try:
        description: dict[str, Any] = json.loads((begin + rest).decode())
    except UnicodeDecodeError:
        raise PlatformError(str(path), "a name in it is not UTF-8 text", "Save it as UTF-8") from None
    description["options"] = options
    return description


@functools.cache
def _helper_hash() -> str:
    files = (_HELPER, Path(__file__), Path(__file__).with_name("xml_check.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _failure(path: Path, log: str, status: int) -> PlatformError:
    """Return an error with SimGrid's reason in one line, and the requested route if it was loaded that far."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    routes = [line.removeprefix("ROUTE ") for line in lines if line.startswith("ROUTE ")]
    reasons = [match[1].rstrip(".") for match in map(_REASON.match, lines) if match and match[1] not in _EMPTY_REASONS]
    others = [line.rstrip(".") for line in lines if not line.startswith("ROUTE ")]
    reason = (reasons or others or [f"nothing, and ends with status {status}"])[0]
    if "bad_alloc" in reason:  # SimGrid reports only C++'s name of the error
        problem = "loading it takes more than 8 GiB of memory, or more than is available"
        return PlatformError(str(path), problem, "Give a smaller platform")
    problem = f"SimGrid says: {_POINTER.sub('', reason).rstrip('?')}"
    if not routes:
        in_config = any(_IN_CONFIG.search(line) for line in lines)
        return PlatformError(f"{path}{', <config>' if in_config else ''}", problem, "Correct the platform file")
    ends = routes[-1].replace("\t", " to ")
    remedy = "Correct the platform file, or leave such hosts out (--clusters, --hostfile)"
    return PlatformError(f"{path}, route {ends}", problem, remedy)


def _host(entry: dict[str, Any], path: Path) -> Host:
    where = f"{path}, host {entry['name']!r}"
    speeds, at = [float(speed) for speed in entry["speeds_flops"]], entry["pstate"]
    if not speeds[at] > 0:
        raise PlatformError(where, "its speed is not positive", "Give it a speed")
    powers = _powers(entry, where)
    several = len(speeds) > 1
    pstates = tuple(map(PState, speeds, powers)) if several else ()
    known = _memory_Bps(entry, where), _efficiencies(entry, where)
    return Host(entry["name"], speeds[at], entry["cores"], powers[at], pstates, *known)


def _memory_Bps(entry: dict[str, Any], where: str) -> float | None:
    """Return the value of the property memory_bandwidth in byte/s, or None if it is absent."""
    text = entry["memory"]
    try:
        value = None if text is None else float(text)
    except ValueError:
        value = 0.0
    if value is not None and not 0 < value < math.inf:
        problem = f"memory_bandwidth {text!r} is not a positive number"
        raise PlatformError(where, problem, "Give byte/s of the node, without a unit")
    return value


def _efficiencies(entry: dict[str, Any], where: str) -> tuple[KernelEfficiency, ...]:
    """Return the value of the property kernel_efficiency: ``KERNEL=ALONE:BUSY``, separated by blanks."""
    efficiencies = []
    for word in (entry["efficiencies"] or "").split():
        match = _EFFICIENCY.fullmatch(word)
        try:
            shares = [float(group) for group in match.groups()[1:]] if match else []
        except ValueError:
            shares = []
        if match is None or not shares or not all(0 < share <= 1 for share in shares):
            problem = f"kernel_efficiency has {word!r}, which is not KERNEL=ALONE:BUSY with shares in (0, 1]"
            raise PlatformError(where, problem, "Write for example cg=0.12:0.05")
        efficiencies.append(KernelEfficiency(match[1], *shares))
    return tuple(efficiencies)


def _powers(entry: dict[str, Any], where: str) -> list[Power | None]:
    """Return the power of each pstate, from the property wattage_per_state.

    The property has Idle:Epsilon:AllCores or Idle:AllCores for each pstate, separated by commas.
    """
    states = len(entry["speeds_flops"])
    if entry["watts"] is None:
        return [None] * states
    powers: list[Power | None] = [_power(text, where) for text in entry["watts"].split(",")]
    if len(powers) != states:
        problem = f"wattage_per_state {entry['watts']!r} gives {len(powers)} states, but the host has {states}"
        raise PlatformError(where, problem, "Give as many as it has speeds")
    return powers


def _power(text: str, where: str) -> Power:
    try:
        watts = [float(part) for part in text.split(":")]
        idle_w, full_w = watts[0], watts[-1]
        epsilon_w = {2: idle_w, 3: watts[1]}[len(watts)]
    except (ValueError, KeyError) as err:
        problem = f"wattage_per_state {text!r} is not Idle:Epsilon:AllCores"
        raise PlatformError(where, problem, "Write three numbers for each state, in W") from err
    return Power(idle_w, full_w, epsilon_w)


def _link(entry: dict[str, Any]) -> Link:
    return Link(entry["name"], float(entry["bandwidth_Bps"]), float(entry["latency_s"]), entry["sharing"])


def _route(entry: dict[str, Any]) -> Route:
    links = tuple(map(_link, entry["links"]))
    return Route(entry["source"], entry["destination"], float(entry["latency_s"]), links)
