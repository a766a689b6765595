"""Start programs on a real machine, in turns: two at once disturb each other.  No other module starts one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import socket
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from apps.child.process import Finished, run_bounded
from apps.child.run_folder import working_folder
from apps.errors import KernelError, Stopped
from apps.machines.machine_file import PROGRAM, SCRIPT, Machine, without_placeholders
from platforms.errors import UserError, nearest
from platforms.files.caching import cache_folder, unusable
from platforms.files.commands import find_command
from platforms.files.scratch import scratch_folder, try_lock
from platforms.simgrid.child import clean_environment
from platforms.simgrid.compiling import compiler_stamps, find_compiler
from platforms.terminal.progress import doing

_STEP_S = 0.2  # interval between two tries
_LOCKS = 64


@contextmanager
def alone_on(machine: Machine, stop: threading.Event | None = None) -> Iterator[None]:
    """Wait until no other run of this user is on the machine's hosts, and hold back others while the context lasts.

    Files of several machines may name the same host; their runs take turns too.  Other users of this computer, and
    other computers, are not kept away.

    Raises:
        Stopped: ``stop`` was set while waiting.
        UserError: The cache folder cannot be written.
    """
    stop = threading.Event() if stop is None else stop
    folder = cache_folder() / "machines"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
    with ExitStack() as held:
        for lock in _locks(machine.hosts):
            held.enter_context(_alone(folder / f"{lock}.lock", machine, stop))
        yield


def _locks(hosts: Iterable[str]) -> list[int]:
    """Return the numbers of the locks of hosts, in a common order, which prevents deadlocks.

    Several hosts of a large machine share a lock, because a process may open few files.
    """
    hashes = (hashlib.sha256(real_name(host).encode()).digest() for host in hosts)
    return sorted({digest[0] % _LOCKS for digest in hashes})


def _wait(handle: int, path: Path, machine: Machine, stop: threading.Event) -> None:
    """Wait for a lock."""
    while (locked := try_lock(handle)) is not True:
        if locked is None:
            raise UserError(f"cache folder {path.parent}", "its file system has no locks", "Use another one")
        if stop.wait(_STEP_S):
            raise Stopped(f"machine {machine.name}: not started, because its runner was closed")


@contextmanager
def _alone(path: Path, machine: Machine, stop: threading.Event) -> Iterator[None]:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as err:
        raise unusable(path.parent, err.strerror or str(err)) from err
    try:
        if not try_lock(handle):
            with doing(f"waiting for another run on the hosts of machine {machine.name}"):
                _wait(handle, path, machine, stop)
        yield
    finally:
        os.close(handle)


_NAMED = re.compile(r"[\w./-]+: ")  # such as "ssh: " and "/usr/bin/env: "
_COMPLAINT = re.compile(
    r"error|\bnot\b|cannot|can't|unable|denied|refused|failed|fatal|no such|no route", re.IGNORECASE
)

_MOST_RETRIES = 2  # retries of a run that the machine reports as disturbed


@dataclass(frozen=True)
class Launched:
    """A program that has ended on a machine."""

    status: int  # of the launcher; negative: the signal that ended it
    stdout: str  # of the launcher, then the content of the file {output}
    stderr: str  # the same with {errors}
    wall_s: float  # including the launcher's start and end
    timed_out: bool
    command: tuple[str, ...]  # the command, with HOSTS for the host file and FOLDER for its folder
    files: Mapping[str, bytes]  # those named by ``collect`` and written by the program
    folder: Path = Path()  # of the run, by its absolute name; it is gone

    @property
    def succeeded(self) -> bool:
        """True if the launcher ended with status 0 and was not stopped."""
        return self.status == 0 and not self.timed_out

    @property
    def why(self) -> str:
        """The reason of a failure, as far as it is known."""
        said = telling_line(self.stderr)
        if self.timed_out:
            return f"time limit reached after {self.wall_s:.1f} s{f': {said}' if said else ''}"
        return f"the launcher ended with status {self.status}: {said or 'nothing was said'}"


def telling_line(text: str) -> str:
    """Return the part of an error output that states the problem; empty if there is none.

    It is the first line in which a program names itself and reports an error, or the first sentence that reports one,
    or the first line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip(" -*=\t")]
    lines = [line for line in lines if "ORTE_ERROR_LOG" not in line] or lines  # Open MPI's trouble with its own parts
    for line in lines:
        if _NAMED.match(line) and _COMPLAINT.search(line):
            return line.rstrip(".")
    start = next((number for number, line in enumerate(lines) if _COMPLAINT.search(line)), 0)
    words = " ".join(lines[start : start + 3]).split()  # launchers wrap sentences over several lines
    return " ".join(words).split(". ")[0].lstrip("* ").rstrip(".")


def printed_json(done: Launched) -> dict[str, Any] | None:
    """Return the last line of JSON on the standard output; None if there is none."""
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            try:
                parsed = json.loads(line)
            except ValueError:
                return None
            return parsed if isinstance(parsed, dict) else None
    return None


def launch(
    machine: Machine,
    program: Sequence[str],
    hosts_of_ranks: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    preload: Sequence[Path] = (),
    files: Mapping[str, bytes] | None = None,
    collect: Sequence[str] = (),
    links: bool = False,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
    retries: int = _MOST_RETRIES,
) -> Launched:
    """Run a program on the machine, rank r on ``hosts_of_ranks[r]``, and wait for its end.

    The launcher must place the ranks by the file {hostfile}, which has the host of every rank in rank order, one per
    line; ``gridval doctor --machine`` checks this.  No process started by the launcher on this computer outlives the
    call, and the machine's ``cancel`` ends a job left with a batch system.  A run that ends with the launcher's
    ``retry_status`` was disturbed: it is repeated at most ``retries`` times.

    Args:
        machine: The machine.
        program: The program, by an absolute name valid on every host, and its arguments.
        hosts_of_ranks: The host of every rank.
        environment: Variables for every rank, in addition to the machine's; {folder} in a value is replaced by the
            run's folder.
        preload: Libraries that every rank loads after those of the machine.
        files: Files to be written to the run's folder, by name.
        collect: Names of files in the run's folder to be returned.
        links: Run in a folder with links to everything in the current folder; otherwise in an empty one.
        time_limit_s: Wall time of the run; the machine's limit also applies.
        stop: Set by another thread to end the run.
        retries: Number of times that a disturbed run is repeated.

    Raises:
        KernelError: A host is unknown, there are too many ranks, or a name cannot be passed.
        UserError: The launcher is missing.
        Stopped: ``stop`` was set.
    """
    _check(machine, hosts_of_ranks)
    launcher = find_launcher(machine)
    limit_s = _limit_s(machine, time_limit_s)
    with scratch_folder("machine", _made(machine.folder)) as scratch:
        folder = _by_its_name(scratch)
        names = [real_name(host) for host in hosts_of_ranks]
        (folder / "hosts").write_text("".join(f"{name}\n" for name in names))
        for name, content in (files or {}).items():
            (folder / name).write_bytes(content)
        values = _values(folder, names, limit_s)
        ranks = _rank_command(machine, program, folder, environment or {}, preload)
        words = _command(machine, values, ranks, folder)
        script = _script(machine, values, ranks)
        if script is not None:
            (folder / "script").write_text(script)
            (folder / "script").chmod(0o755)
        run = partial(
            run_bounded,
            [str(launcher), *words[1:]],
            folder=folder,
            working_folder=working_folder(folder) if links else None,
            time_limit_s=limit_s,
            environment=launcher_environment(folder),
            stop=stop,
        )
        done = _made_again(machine, values, run, retries, [folder / name for name in ("output", "errors", *collect)])
        output, errors = (_text(folder / name) for name in ("output", "errors"))
        files = {name: (folder / name).read_bytes() for name in collect if (folder / name).is_file()}
    output, errors = done.output + output, done.log + errors
    shown = tuple(word.replace(f"{folder}/hosts", "HOSTS").replace(str(folder), "FOLDER") for word in words)
    return Launched(done.status, output, errors, done.wall_s, done.timed_out, shown, files, folder)


def _made_again(
    machine: Machine, values: Mapping[str, str], run: Callable[[], Finished], retries: int, written: Sequence[Path]
) -> Finished:
    """Return the run after its end, repeated without the files it has written while the launcher requests it."""
    done = _ended(machine, values, run)
    for _ in range(retries):
        if done.timed_out or done.status != machine.launcher.retry_status:
            break
        for file in written:
            file.unlink(missing_ok=True)
        done = _ended(machine, values, run)
    return done


def _ended(machine: Machine, values: Mapping[str, str], run: Callable[[], Finished]) -> Finished:
    """Return the run after its end; a job that has not succeeded is cancelled."""
    succeeded = False
    try:
        done = run()
        succeeded = done.status == 0 and not done.timed_out
    finally:
        if not succeeded:
            _cancel(machine, values)
    return done


@dataclass(frozen=True)
class Planned:
    """A planned launch, with FOLDER for its folder."""

    command: tuple[str, ...]
    script: str | None  # text of the batch script
    hosts: tuple[str, ...]  # lines of the file of hosts, by rank
    limit_s: float


def planned_launch(
    machine: Machine,
    program: Sequence[str],
    hosts_of_ranks: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    preload: Sequence[Path] = (),
    time_limit_s: float | None = None,
) -> Planned:
    """Return what ``launch`` would start with the same arguments; nothing is started or written.

    Raises:
        KernelError: A host is unknown, there are too many ranks, or a name cannot be passed.
        UserError: The launcher is missing.
    """
    _check(machine, hosts_of_ranks)
    find_launcher(machine)
    limit_s, folder = _limit_s(machine, time_limit_s), Path("FOLDER")
    names = tuple(real_name(host) for host in hosts_of_ranks)
    values = _values(folder, names, limit_s)
    ranks = _rank_command(machine, program, folder, environment or {}, preload)
    script = _script(machine, values, ranks)
    return Planned(tuple(_command(machine, values, ranks, folder)), script, names, limit_s)


def real_name(host: str) -> str:
    """Return the name by which launchers know a host: this computer's own for ``localhost``."""
    return socket.gethostname() if host == "localhost" else host


def launcher_environment(folder: Path) -> dict[str, str]:
    """Return the environment of the launcher itself, with its temporary files in ``folder``."""
    variables = {**clean_environment(), "TMPDIR": str(folder)}
    if os.geteuid() == 0:  # Open MPI refuses root without these; the machine's user has asked for the run
        variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return variables


def find_launcher(machine: Machine) -> Path:
    """Return the path of the machine's launcher.

    Raises:
        UserError: It is missing.
    """
    name = machine.launcher.command[0]
    path = find_command(name)
    if path is None:
        remedy = "Install it, or correct the command"
        raise UserError(f"{machine.path}, launcher", f"command {name!r} is not found", remedy)
    return Path(path).absolute()


def tool_stamps(machine: Machine) -> list[str]:
    """Return what identifies the versions of the machine's C compiler and launcher.

    Raises:
        UserError: One of them is missing.
    """
    tools = [*compiler_stamps(find_compiler(machine.compilers.c)), *compiler_stamps(find_launcher(machine))]
    return [str(tool) for tool in tools]


def _check(machine: Machine, hosts: Sequence[str]) -> None:
    if not hosts:
        raise KernelError(f"machine {machine.name}", "no ranks", "Place at least one rank")
    if len(hosts) > machine.limits.ranks:
        problem = f"{len(hosts)} ranks, but its limit is {machine.limits.ranks}"
        raise KernelError(f"machine {machine.name}", problem, f"Take fewer, or change limits in {machine.path}")
    known = set(machine.hosts)
    for host in hosts:
        if host not in known:
            raise KernelError(f"machine {machine.name}", f"no host {host!r}", nearest(host, machine.hosts))


def _made(folder: Path | None) -> Path | None:
    """Return the folder after making it; raise UserError if that fails."""
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise UserError(f"folder {folder}", f"cannot be made: {err.strerror}", "Name another one") from err
    return folder


def _by_its_name(folder: Path) -> Path:
    """Return a scratch folder by its real name, which other hosts need, unless batch scripts would have to quote it."""
    name = str(folder.resolve())
    return Path(name) if shlex.quote(name) == name else folder


def _values(folder: Path, hosts: Sequence[str], limit_s: float) -> dict[str, str]:
    return {
        "ranks": str(len(hosts)),
        "nodes": str(len(set(hosts))),
        "hostfile": str(folder / "hosts"),
        "hosts": ",".join(hosts),
        "script": str(folder / "script"),
        "output": str(folder / "output"),
        "errors": str(folder / "errors"),
        "job": f"gridval-{uuid.uuid4().hex[:12]}",
        "wall_s": f"{limit_s:.0f}",
        "wall_minutes": f"{limit_s / 60 + 1:.0f}",
    }


def _rank_command(
    machine: Machine, program: Sequence[str], folder: Path, environment: Mapping[str, str], preload: Sequence[Path]
) -> list[str]:
    """Return the command executed by a rank: env sets variables and libraries independent of the launcher."""
    for library in preload:
        if any(character.isspace() or character == ":" for character in str(library)):
            raise KernelError(f"library {library}", "the loader cannot handle such a name", "Use another cache folder")
    of_run = {name: value.replace("{folder}", str(folder)) for name, value in environment.items()}
    variables = {**dict(machine.environment), **of_run}
    libraries = [*machine.preload, *map(str, preload)]
    if libraries:
        variables["LD_PRELOAD"] = ":".join(libraries)
    settings = [f"{name}={value}" for name, value in variables.items()]
    return ["/usr/bin/env", *settings, *program] if settings else list(program)


def _limit_s(machine: Machine, asked_s: float | None) -> float:
    return machine.limits.wall_s if asked_s is None else min(asked_s, machine.limits.wall_s)


def _script(machine: Machine, values: Mapping[str, str], program: Sequence[str]) -> str | None:
    """Return the batch script, if there is one, with the program quoted for a shell."""
    script = machine.launcher.script
    if script is None:
        return None
    options = shlex.join(machine.launcher.options)
    words = {"options": options, "slurm": shlex.join(machine.launcher.slurm), "program": shlex.join(program)}
    text = without_placeholders(script, {**values, **words})
    return text if text.startswith("#!") else f"#!/bin/sh\n{text}"


def _command(machine: Machine, values: Mapping[str, str], program: Sequence[str], folder: Path) -> list[str]:
    """Return the launcher's words."""
    words: list[str] = []
    for word in machine.launcher.command:
        if word == PROGRAM:
            words += program
        elif word == "{options}":
            words += machine.launcher.options
        elif word == "{slurm}":
            words += machine.launcher.slurm
        elif word == SCRIPT:
            words.append(str(folder / "script"))
        else:
            words.append(without_placeholders(word, values))
    return words


def _text(path: Path) -> str:
    """Return the output written by a batch system instead of the launcher; empty without such a file."""
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""


def _cancel(machine: Machine, values: Mapping[str, str]) -> None:
    """End a job that the launcher may have left with the batch system; a job that has ended is not an error.

    The command has a session of its own: a second Ctrl-C at the terminal does not reach it.
    """
    if machine.launcher.cancel:
        words = [without_placeholders(word, values) for word in machine.launcher.cancel]
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=machine.limits.command_s, check=False,
                start_new_session=True,
            )  # fmt: skip
