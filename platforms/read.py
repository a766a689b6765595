"""Read any SimGrid platform, XML or compiled ``.so``, through SimGrid itself.

A small C++ program (``describe.cpp``) loads the platform and says what it found; it is compiled once into the cache
folder, and so is kept what it said, by content hash.  SimGrid allows one engine per process, hence a process.
"""

import functools
import hashlib
import json
import math
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from platforms.caching import cache_folder, write_atomically
from platforms.compiling import compile_once
from platforms.errors import PlatformError
from platforms.grid import Grid
from platforms.platform import Cluster, Host, Link, Platform, Power, PState, Route
from platforms.simgrid import simgrid_version
from platforms.xml import platform_xml

TIME_LIMIT_S = 120.0
_HELPER = Path(__file__).with_name("describe.cpp")
_NAMED_FILES = re.compile(rb"""\b(?:file|\w+_file)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REASON = re.compile(r"(?:\[\w+/(?:CRITICAL|ERROR)\]|what\(\):)\s*(.+)")
_EMPTY_REASONS = ("Current backtrace:",)


def read_platform(path: str | Path, name: str | None = None) -> Platform:
    """The platform in this file, called ``name``, or as the file is called.

    Every zone that holds hosts is a cluster; where a zone mixes hosts of different speeds or cores it becomes one
    cluster per kind, called zone.1, zone.2, ...  Raises PlatformError, with SimGrid's own message, for a file that
    SimGrid cannot load, and for one without hosts.
    """
    path = _existing(path)
    content_hash = _content_hash(path)
    description = _describe(path, content_hash, ())
    clusters = tuple(cluster for zone in description["zones"] for cluster in _clusters(zone, path))
    if not clusters:
        raise PlatformError(str(path), "the platform has no hosts", "Give one with at least one host")
    options = tuple((key, value) for key, value in description["options"])
    return Platform(name or path.stem, path, content_hash, clusters, options=options)


def read_routes(path: str | Path, pairs: Sequence[tuple[str, str]]) -> list[Route]:
    """The routes of these pairs of host names, source first, in their order.

    Latency in s as the platform says it, before any factor of a network model.  Raises PlatformError for an unknown
    host, and where SimGrid finds no route.
    """
    path = _existing(path)
    platform = read_platform(path)
    for pair in pairs:
        for host in pair:
            platform.host(host)
    if not pairs:
        return []
    description = _describe(path, platform.content_hash, tuple((a, b) for a, b in pairs))
    return [_route(entry) for entry in description["routes"]]


def materialise(grid: Grid) -> Platform:
    """The platform of a grid: its XML, kept in the cache folder under its content hash, read back by SimGrid."""
    return replace(read_platform(kept_file(platform_xml(grid)), grid.name), network=grid.network)


def kept_file(content: bytes) -> Path:
    """A platform file of this content in the cache folder, under its hash."""
    path = cache_folder() / "platforms" / f"{hashlib.sha256(content).hexdigest()[:24]}.xml"
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
    return path


def _existing(path: str | Path) -> Path:
    """Absolute: SimGrid aborts on a relative platform .so."""
    path = Path(path).absolute()
    if not path.is_file():
        problem = "not a file" if path.exists() else "no such file"
        raise PlatformError(str(path), problem, "Give a SimGrid platform, XML or .so")
    if not os.access(path, os.R_OK):
        raise PlatformError(str(path), "cannot be read", "Give yourself the permission")
    return path


def _content_hash(path: Path) -> str:
    """SHA-256 of the file, and of the files that it names (availability and state profiles)."""
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    for match in _NAMED_FILES.finditer(content) if path.suffix != ".so" else ():
        named = path.parent / os.fsdecode(match[1] or match[2] or b"")
        if named.is_file():
            digest.update(hashlib.sha256(named.read_bytes()).digest())
    return digest.hexdigest()


def _describe(path: Path, content_hash: str, pairs: tuple[tuple[str, str], ...]) -> dict:
    """What the helper says of the platform, from memory, the cache folder, or itself."""
    request = "".join(f"{source}\n{destination}\n" for source, destination in pairs)
    if path.suffix == ".so":  # what it does may depend on more than its content: asked anew in each process
        return _asked(path, content_hash, request)
    key = hashlib.sha256(f"{content_hash} {_helper_hash()} {simgrid_version()} {request}".encode()).hexdigest()
    return _kept(path, key, request)


@functools.lru_cache(maxsize=256)
def _kept(path: Path, key: str, request: str) -> dict:
    known = cache_folder() / "descriptions" / f"{key}.json"
    try:
        return json.loads(known.read_bytes())
    except (OSError, ValueError):
        description = _ask(path, request)
        write_atomically(known, json.dumps(description).encode())
        return description


@functools.lru_cache(maxsize=16)
def _asked(path: Path, content_hash: str, request: str) -> dict:
    return _ask(path, request)


def _ask(path: Path, request: str) -> dict:
    flags = ["-O1", "-std=gnu++17"]
    helper = compile_once("describe", [_HELPER], compiler=["g++"], flags=flags, libraries=["-lsimgrid"])
    try:
        done = subprocess.run(
            [helper, path, "--log=root.thres:warning", "--log=no_loc", "--log=root.fmt:[%c/%p]%e%m%n"],
            input=request, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as err:
        problem = f"SimGrid has not loaded it within {TIME_LIMIT_S:g} s"
        raise PlatformError(str(path), problem, "Give a smaller platform") from err
    if done.returncode != 0:
        raise _failure(path, done)
    # A platform .so may print lines of its own; ours is the last.
    description = json.loads(done.stdout[done.stdout.rindex('{"zones": ') :])
    description["options"] = _options(path)
    return description


@functools.cache
def _helper_hash() -> str:
    return hashlib.sha256(_HELPER.read_bytes() + Path(__file__).read_bytes()).hexdigest()


def _failure(path: Path, done: subprocess.CompletedProcess) -> PlatformError:
    """SimGrid's reason in one line, and the route it was asked for, if it had come that far."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    routes = [line.removeprefix("ROUTE ") for line in lines if line.startswith("ROUTE ")]
    where = f"{path}, route {routes[-1].replace(' ', ' to ')}" if routes else str(path)
    reasons = [match[1].rstrip(".") for match in map(_REASON.match, lines) if match and match[1] not in _EMPTY_REASONS]
    others = [line.rstrip(".") for line in lines if not line.startswith("ROUTE ")]
    reason = (reasons or others or [f"nothing, and ends with status {done.returncode}"])[0]
    return PlatformError(where, f"SimGrid says: {reason}", "Mend the platform")


def _options(path: Path) -> list[tuple[str, str]]:
    """The options in the <config> of an XML platform."""
    if path.suffix == ".so":
        return []
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    root = etree.fromstring(path.read_bytes(), parser)
    return [] if root is None else [(prop.get("id"), prop.get("value")) for prop in root.iterfind("config/prop")]


def _clusters(zone: dict, path: Path) -> list[Cluster]:
    hosts = [_host(entry, path) for entry in zone["hosts"]]
    kinds = list(dict.fromkeys((host.speed_flops, host.cores) for host in hosts))
    if len(kinds) == 1:
        return [Cluster(zone["name"], tuple(hosts))]
    hosts.sort(key=lambda host: kinds.index((host.speed_flops, host.cores)))  # stable
    groups = groupby(hosts, key=lambda host: (host.speed_flops, host.cores))
    return [Cluster(f"{zone['name']}.{i}", tuple(group)) for i, (_, group) in enumerate(groups, 1)]


def _host(entry: dict, path: Path) -> Host:
    where = f"{path}, host {entry['name']!r}"
    speeds, at = [float(speed) for speed in entry["speeds_flops"]], entry["pstate"]
    if not speeds[at] > 0:
        raise PlatformError(where, "its speed is not positive", "Give it a speed")
    powers = _powers(entry, where)
    several = len(speeds) > 1
    pstates = tuple(map(PState, speeds, powers)) if several else ()
    return Host(entry["name"], speeds[at], entry["cores"], powers[at], pstates, _memory_Bps(entry, where))


def _memory_Bps(entry: dict, where: str) -> float | None:
    """From the property memory_bandwidth, a number of byte/s."""
    text = entry["memory"]
    try:
        value = None if text is None else float(text)
    except ValueError:
        value = 0.0
    if value is not None and not 0 < value < math.inf:
        problem = f"memory_bandwidth {text!r} is not a positive number"
        raise PlatformError(where, problem, "Give byte/s of the node, without a unit")
    return value


def _powers(entry: dict, where: str) -> list[Power | None]:
    """Of each pstate, from wattage_per_state: Idle:Epsilon:AllCores or Idle:AllCores of each, by commas."""
    states = len(entry["speeds_flops"])
    if entry["watts"] is None:
        return [None] * states
    powers = [_power(text, where) for text in entry["watts"].split(",")]
    if len(powers) != states:
        problem = f"wattage_per_state {entry['watts']!r} is of {len(powers)} states, but the host has {states}"
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


def _route(entry: dict) -> Route:
    links = tuple(
        Link(link["name"], float(link["bandwidth_Bps"]), float(link["latency_s"]), link["sharing"])
        for link in entry["links"]
    )
    return Route(entry["source"], entry["destination"], float(entry["latency_s"]), links)
