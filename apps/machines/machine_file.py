"""Description of a real machine: the file ``machine.toml`` (docs/programs/machines.md)."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from platforms.errors import PlatformError
from platforms.files.caching import cache_folder, write_atomically
from platforms.files.checked_toml import CheckedTable, read_checked

# Set-up lines of a machine, such as ``module load openmpi``, executed before its compilers and its launcher.
#
# Each tool gets a script of its own in the cache folder, which runs the lines in a login shell and then the tool.

_SHELL = "/bin/bash"


def behind(lines: Sequence[str], tool: str) -> str:
    """Return the name of a script that runs the lines and becomes the tool; the tool itself without any line.

    A line that fails ends the script with its message, which the tool's caller reports, and its status; but with 1
    instead of 127, which would look like a missing tool.
    """
    if not lines:
        return tool
    text = script_text(lines, f'exec {shlex.quote(tool)} "$@"')
    folder = cache_folder() / "set-up" / hashlib.sha256(text.encode()).hexdigest()[:16]
    script = folder / Path(tool).name
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(script, text.encode(), executable=True)
    return str(script)


def script_text(lines: Sequence[str], last: str) -> str:
    """Return a login shell script: the lines, each of which must succeed, and the last one."""
    checked = [f"{line} || exit $(($? == 127 ? 1 : $?))" for line in lines]
    return "\n".join([f"#!{_SHELL} -l", *checked, last, ""])


def with_lines(script: str, lines: Sequence[str]) -> str:
    """Return a batch script with the lines before its first command, after the comments read by a batch system."""
    if not lines:
        return script
    text = script.splitlines()
    place = next((i for i, line in enumerate(text) if line.strip() and not line.startswith("#")), len(text))
    return "\n".join([*text[:place], *lines, *text[place:], ""])


PROGRAM, SCRIPT = "{program}", "{script}"
# Placeholders in braces in a launcher's command, in addition to PROGRAM and SCRIPT.
PLACEHOLDERS = (
    "ranks", "nodes", "hostfile", "hosts", "job", "wall_s", "wall_minutes", "output", "errors", "options", "slurm",
)  # fmt: skip
_KEYS: dict[str, Sequence[str]] = {
    "": ("name", "source", "folder", "preload", "launcher", "compilers", "environment", "limits", "clusters",
         "network", "between_clusters", "setup", "slurm"),
    "launcher": ("command", "options", "script", "cancel", "version", "retry_status"),
    "slurm": ("account", "partition", "constraint", "qos", "reservation"),
    "compilers": ("c", "cxx", "fortran", "flags"),
    "limits": ("wall_s", "ranks", "command_s"),
    "clusters": ("name", "hosts", "cores", "gflops"),
    "network": ("bandwidth_gbit_s", "latency_us"),
}  # fmt: skip
_BRACES = re.compile(r"\{(\w*)\}")
_RANGE = re.compile(r"(?P<before>[^\[\]]*)\[(?P<first>\d{1,6})-(?P<last>\d{1,6})\](?P<after>[^\[\]]*)")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_MOST_HOSTS = 10_000
_MOST_STATUS = 255
_WALL_S, _RANKS, _COMMAND_S = 3600.0, 4096, 60.0  # limits if the file gives none


@dataclass(frozen=True)
class Launcher:
    """The machine's way of starting an MPI program."""

    command: tuple[str, ...]  # words with placeholders
    options: tuple[str, ...] = ()  # words that replace the word {options}
    script: str | None = None  # text of the batch script whose file replaces {script}
    cancel: tuple[str, ...] = ()  # command that ends a job that the launcher has left behind, with {job}
    version: tuple[str, ...] = ()  # command that prints the version of MPI
    slurm: tuple[str, ...] = ()  # options that replace the word {slurm}: such as account and partition
    retry_status: int | None = None  # exit status if a run was disturbed and must be repeated


@dataclass(frozen=True)
class Compilers:
    """The machine's compilers for MPI programs; None: it has none for the language."""

    c: str = "mpicc"
    cxx: str | None = None
    fortran: str | None = None
    flags: tuple[str, ...] = ("-O2",)


@dataclass(frozen=True)
class Limits:
    """Limits of what the project does on the machine."""

    wall_s: float = _WALL_S  # wall time of one run, including its start
    ranks: int = _RANKS
    command_s: float = _COMMAND_S  # wall time of a short command, such as one that prints a version


@dataclass(frozen=True)
class MachineCluster:
    """Hosts of one kind."""

    name: str
    hosts: tuple[str, ...]
    cores: int
    speed_flops: float  # nominal, of one core, flop/s


@dataclass(frozen=True)
class Wire:
    """Nominal properties of a network."""

    bandwidth_Bps: float
    latency_s: float  # one way, between two hosts


@dataclass(frozen=True)
class Machine:
    """A real machine.  Two machines with the same ``content_hash`` measure the same."""

    name: str
    launcher: Launcher
    compilers: Compilers
    clusters: tuple[MachineCluster, ...]
    network: Wire  # between two hosts of a cluster
    between_clusters: Wire
    environment: tuple[tuple[str, str], ...] = ()  # variables for every rank
    preload: tuple[str, ...] = ()  # libraries loaded by every rank before those of the project
    setup: tuple[str, ...] = ()  # shell lines executed before its compilers and its launcher
    folder: Path | None = None  # seen by every host; None: all hosts share the cache folder and the temporary folder
    limits: Limits = field(default_factory=Limits)
    path: Path = field(default_factory=Path, compare=False)  # of the file

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of all hosts, cluster by cluster."""
        return tuple(host for cluster in self.clusters for host in cluster.hosts)

    @property
    def described(self) -> str:
        """Its name and the launcher's command, for messages."""
        return f"{self.name}: {', '.join(self.launcher.command)}"

    @property
    def compiled_folder(self) -> Path | None:
        """Folder in which executables for the machine are kept; None: the cache folder, which all its hosts see."""
        return None if self.folder is None else self.folder / "compiled"

    @property
    def content_hash(self) -> str:
        """Return a hash of everything that can change a measured time; nominal speeds and limits cannot."""
        decides = {
            "name": self.name,
            "launcher": [list(self.launcher.command), list(self.launcher.options), self.launcher.script],
            **({"setup": list(self.setup)} if self.setup else {}),
            **({"slurm": list(self.launcher.slurm)} if self.launcher.slurm else {}),
            "compilers": [self.compilers.c, self.compilers.cxx, self.compilers.fortran, list(self.compilers.flags)],
            "environment": dict(self.environment),
            "preload": list(self.preload),
            "hosts": [[list(cluster.hosts), cluster.cores] for cluster in self.clusters],
        }
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def read_machine(path: str | Path) -> Machine:
    """Return the machine that a file describes.

    Raises:
        PlatformError: The file cannot be read, or a value in it is wrong; the message names file and key.
    """
    path = Path(path)
    keys = {**_KEYS, "between_clusters": _KEYS["network"]}
    table = read_checked(path, keys, "machine file")
    table.text("source", "")
    clusters = tuple(_clusters(table))
    if not table.has("network"):
        remedy = "Give the nominal bandwidth_gbit_s and latency_us between two hosts of a cluster"
        raise PlatformError(str(path), "'network' is missing", remedy)
    network = _wire(table.table("network", "network"))
    between = _wire(table.table("between_clusters", "network")) if table.has("between_clusters") else network
    setup = _setup(table)
    return Machine(
        name=_name(table, path.stem),
        launcher=_launcher(table.table("launcher", "launcher"), setup, _slurm(table)),
        compilers=_compilers(table.table("compilers", "compilers"), setup),
        clusters=clusters,
        network=network,
        between_clusters=between,
        environment=_environment(table),
        preload=_preload(table),
        setup=setup,
        folder=_folder(table),
        limits=_limits(table.table("limits", "limits")),
        path=path,
    )


def _name(table: CheckedTable, default: str) -> str:
    name = table.text("name", default)
    if not name.strip():
        raise PlatformError(table.of("name"), "name is empty", "Name the machine")
    return name


def _setup(table: CheckedTable) -> tuple[str, ...]:
    """Return the shell lines that load modules and prepare the environment."""
    lines = table.list_of("setup", [], str, "lines of a shell")
    for line in lines:
        if not line.strip() or not line.isprintable():
            raise PlatformError(table.of("setup"), f"setup has the line {line!r}", "Give commands, one a line")
    return tuple(lines)


def _slurm(table: CheckedTable) -> tuple[str, ...]:
    """Return the options of sbatch and srun for the keys of the table ``slurm``."""
    if not table.has("slurm"):
        return ()
    keys = table.table("slurm", "slurm")
    options = []
    for key in _KEYS["slurm"]:
        if keys.has(key):
            value = keys.text(key)
            if not value or not value.isprintable() or any(character.isspace() for character in value):
                raise PlatformError(keys.of(key), f"{key} = {value!r} is no word", f"Write what --{key} of Slurm takes")
            options.append(f"--{key}={value}")
    return tuple(options)


def _launcher(table: CheckedTable, setup: Sequence[str], slurm: Sequence[str]) -> Launcher:
    command = tuple(_words(table, "command", needed=True))
    script = table.value("script", None)
    if script is not None and (not isinstance(script, str) or "\0" in script):
        raise PlatformError(
            table.of("script"), f"script = {script!r} is not a text", "Give the text of the batch script"
        )
    options = tuple(_words(table, "options"))
    for key, words in (("command", command), ("script", [script or ""]), ("cancel", _words(table, "cancel"))):
        _check_braces(table.of(key), key, words)
    if script is None:
        _check_program(table.of("command"), "command", command)
        if any(SCRIPT in word for word in command):
            raise PlatformError(table.of("command"), f"command has {SCRIPT}, but script is missing", "Give it too")
    else:
        _check_program(table.of("script"), "script", re.findall(r"\S+", script))
        if SCRIPT not in command:
            raise PlatformError(
                table.of("command"), f"command has no word {SCRIPT} for the script", "Write it in command"
            )
    if options and not any("{options}" in word for word in (*command, script or "")):
        problem = "options are given, but neither command nor script has a word {options}"
        raise PlatformError(table.of("options"), problem, "Write it where they belong")
    if slurm and not any("{slurm}" in word for word in (*command, script or "")):
        problem = "the table slurm is given, but neither command nor script has a word {slurm}"
        raise PlatformError(table.of("command"), problem, "Write it behind sbatch or srun")
    version = tuple(_words(table, "version")) or (command[0], "--version")
    command, version = ((behind(setup, words[0]), *words[1:]) for words in (command, version))
    script = None if script is None else with_lines(script, setup)
    cancel = tuple(_words(table, "cancel"))
    return Launcher(command, options, script, cancel, version, tuple(slurm), _retry_status(table))


def _retry_status(table: CheckedTable) -> int | None:
    status = table.integer("retry_status", 0)
    if table.has("retry_status") and not 1 <= status <= _MOST_STATUS:
        problem = f"retry_status = {status} is no exit status of a failure"
        raise PlatformError(table.of("retry_status"), problem, f"Give 1 to {_MOST_STATUS}, or leave it out")
    return status or None


def _words(table: CheckedTable, key: str, *, needed: bool = False) -> list[str]:
    """Return a list of words, such as those of a command; every one is a text with at least one character."""
    if needed and not table.has(key):
        raise PlatformError(table.where, f"{key!r} is missing", "Give a list of words")
    words = table.list_of(key, [], str, "words")
    if (needed or table.has(key)) and not words:
        raise PlatformError(table.of(key), f"{key} is empty", "Give a list of words, or leave it out")
    for word in words:
        if not word or not word.isprintable():
            raise PlatformError(table.of(key), f"{key} has the word {word!r}", "Give words that can be shown")
    return words


def _check_braces(where: str, key: str, words: Sequence[str]) -> None:
    known = (*PLACEHOLDERS, "program", "script")
    for word in words:
        for name in _BRACES.findall(word):
            if name not in known:
                listed = ", ".join(f"{{{name}}}" for name in known)
                raise PlatformError(where, f"{key} has the unknown placeholder {{{name}}}", f"Known: {listed}")
    if key == "cancel" and words and not any("{job}" in word for word in words):
        raise PlatformError(where, "cancel has no {job}", "Write the name of the job with it")


def _check_program(where: str, key: str, words: Sequence[str]) -> None:
    if words.count(PROGRAM) != 1:
        problem = f"{key} has {words.count(PROGRAM)} words {PROGRAM}"
        raise PlatformError(where, problem, f"Write {PROGRAM} once, alone, where the program and its arguments belong")


def _compilers(table: CheckedTable, setup: Sequence[str]) -> Compilers:
    def compiler(key: str, default: str | None) -> str | None:
        if not table.has(key):
            return default
        name = table.text(key)
        if not name.strip():
            raise PlatformError(table.of(key), f"{key} is empty", "Name a compiler, or leave it out")
        if len(name.split()) > 1:
            remedy = "Name the compiler alone; lines such as module load belong into setup = [...]"
            raise PlatformError(table.of(key), f"{key} = {name!r} has several words", remedy)
        return behind(setup, name)

    flags = table.list_of("flags", ["-O2"], str, "flags")
    for flag in flags:
        if not flag or not flag.isprintable():
            raise PlatformError(table.of("flags"), f"flags has {flag!r}", "Give words that can be shown")
    return Compilers(
        compiler("c", behind(setup, "mpicc")) or "mpicc", compiler("cxx", None), compiler("fortran", None), tuple(flags)
    )


def _environment(table: CheckedTable) -> tuple[tuple[str, str], ...]:
    values = table.options("environment")
    for name in values:
        if not _VARIABLE.fullmatch(name):
            raise PlatformError(table.at("environment"), f"{name!r} is no name of a variable", "Correct it")
        if name == "LD_PRELOAD":
            raise PlatformError(table.at("environment"), "LD_PRELOAD is set by the project", "Write preload = [...]")
    return tuple(sorted(values.items()))


def _preload(table: CheckedTable) -> tuple[str, ...]:
    names = tuple(table.list_of("preload", [], str, "names of libraries"))
    for name in names:
        unusable = any(character.isspace() or character == ":" or not character.isprintable() for character in name)
        if not os.path.isabs(name) or unusable:
            problem = f"preload has {name!r}, which the loader cannot handle"
            raise PlatformError(table.of("preload"), problem, "Give absolute names without blanks and colons")
    return names


def _folder(table: CheckedTable) -> Path | None:
    if not table.has("folder"):
        return None
    name = os.path.expanduser(os.path.expandvars(table.text("folder")))
    folder = Path(name)
    if not folder.is_absolute() or any(character.isspace() or character == ":" for character in str(folder)):
        problem = f"folder = {str(folder)!r} is not an absolute name without blanks and colons"
        raise PlatformError(table.of("folder"), problem, "Name a folder that every host sees")
    return folder


def _limits(table: CheckedTable) -> Limits:
    ranks = table.integer("ranks", _RANKS)
    if ranks < 1:
        raise PlatformError(table.of("ranks"), f"ranks = {ranks} is not positive", "Give at least 1")
    return Limits(_positive(table, "wall_s", _WALL_S), ranks, _positive(table, "command_s", _COMMAND_S))


def _positive(table: CheckedTable, key: str, *default: object) -> float:
    value = table.number(key, *default)
    if not 0 < value < math.inf:
        raise PlatformError(table.of(key), f"{key} = {value:g} is not a positive number", "Correct the value")
    return value


def _wire(table: CheckedTable) -> Wire:
    latency_us = table.number("latency_us")
    if not 0 <= latency_us < math.inf:
        raise PlatformError(
            table.of("latency_us"), f"latency_us = {latency_us:g} is not a latency", "Give microseconds from 0 on"
        )
    return Wire(_positive(table, "bandwidth_gbit_s") * 1e9 / 8, latency_us * 1e-6)


def _clusters(table: CheckedTable) -> Iterator[MachineCluster]:
    seen: dict[str, str] = {}
    names: set[str] = set()
    tables = table.tables("clusters")
    if not tables:
        raise PlatformError(table.where, "it has no clusters", "Give at least one [[clusters]] with its hosts")
    for entry in tables:
        name = entry.text("name")
        if not _HOST.fullmatch(name) or name in names:
            problem = f"name = {name!r} is {'given twice' if name in names else 'no plain name'}"
            raise PlatformError(entry.where, problem, "Give each cluster a name of letters, digits and - . _")
        names.add(name)
        hosts = tuple(_hosts(entry))
        for host in hosts:
            if host in seen:
                raise PlatformError(entry.where, f"host {host!r} is in cluster {seen[host]} already", "Name it once")
            seen[host] = name
        cores = entry.integer("cores", 1)
        if cores < 1:
            raise PlatformError(entry.of("cores"), f"cores = {cores} is not positive", "Give at least 1")
        yield MachineCluster(name, hosts, cores, _positive(entry, "gflops") * 1e9)


def _hosts(table: CheckedTable) -> list[str]:
    """Return the hosts of a cluster; ``node[01-16]`` stands for sixteen of them."""
    hosts: list[str] = []
    for word in _words(table, "hosts", needed=True):
        hosts += _expanded(table.where, word)
        if len(hosts) > _MOST_HOSTS:
            raise PlatformError(table.of("hosts"), f"hosts has more than {_MOST_HOSTS}", "Give fewer")
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise PlatformError(table.of("hosts"), f"hosts has {host!r}, which is no host name", "Correct it")
    if len(hosts) != len(set(hosts)):
        twice = Counter(hosts).most_common(1)[0][0]
        raise PlatformError(table.of("hosts"), f"hosts has {twice!r} twice", "Name it once")
    return hosts


def _expanded(where: str, word: str) -> Iterator[str]:
    match = _RANGE.fullmatch(word)
    if match is None:
        yield word
        return
    first, last = int(match["first"]), int(match["last"])
    if not first <= last < first + _MOST_HOSTS:
        problem = f"hosts has the range {word!r}, which is empty or longer than {_MOST_HOSTS}"
        raise PlatformError(where, problem, "Correct it")
    for number in range(first, last + 1):
        yield f"{match['before']}{number:0{len(match['first'])}}{match['after']}"


def without_placeholders(word: str, values: Mapping[str, str]) -> str:
    """Return a word with its placeholders replaced by their values; other braces stay."""
    return _BRACES.sub(lambda match: values.get(match[1], match[0]), word)
