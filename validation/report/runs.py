"""The simulations behind the results, and the commands that repeat them."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from apps.results.energy import counted
from apps.smpi.launch import launch, repeatable
from apps.spec.choices import REPLAY
from platforms import make as generate
from platforms.command.values import parsed
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.options import platform_file_from_request
from validation.report.gather import Gathered, ListedRun

_NUMBERED = re.compile(r"^(.*?)(\d+)(\D*)$", re.DOTALL)
_LARGEST_FILE_BYTES = 300_000  # largest file that is embedded in the page
HOSTS = "HOSTS"  # name of the host file in the commands of the records


@dataclass(frozen=True)
class PlatformFile:
    """A platform file and the commands to create it."""

    label: str  # plain name for saving the file
    name: str  # name in commands: the label if the file can be generated, otherwise its path
    command: str | None  # command that writes the file; None: there is none
    sha256: str
    size_bytes: int
    data_url: str | None  # contents; None: too large, or the file does not exist any more

    @property
    def lines(self) -> tuple[str, ...]:
        """Shell commands that write and check the file."""
        check = f"echo {shlex.quote(f'{self.sha256}  {self.name}')} | sha256sum --check"
        return (check,) if self.command is None else (self.command, check)


def platform_file(platform: Platform, words: Sequence[str]) -> PlatformFile:
    """Return the file of a platform.

    Args:
        platform: The platform.
        words: Options of ``gridval platform make`` that may describe it; used only if they make the same file.
    """
    content = platform.path.read_bytes() if platform.path.is_file() else b""
    generated = bool(words) and _generates(words, content)
    label = file_name(platform)
    name = label if generated else str(platform.path)
    kind = "application/xml" if platform.path.suffix == ".xml" else "application/octet-stream"
    fits = 0 < len(content) <= _LARGEST_FILE_BYTES
    return PlatformFile(
        label=label,
        name=name,
        command=shlex.join(["gridval", "platform", "make", *words, "--output", name]) if generated else None,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        data_url=f"data:{kind};base64,{base64.b64encode(content).decode()}" if fits else None,
    )


def _generates(words: Sequence[str], content: bytes) -> bool:
    """Return whether ``gridval platform make`` creates this file with these options."""
    try:
        request = parsed(generate.MakeRequest, generate.COMMAND.parser(), words)
        return content == platform_file_from_request(request)
    except (UserError, SystemExit):
        return False


def file_name(platform: Platform) -> str:
    """Return a plain name for a platform's file."""
    parts = [platform.name, *([platform.network] if platform.network else [])]
    return re.sub(r"[^\w+-]+", "_", "-".join(parts)) + platform.path.suffix


def host_words(placement: Sequence[str]) -> str:
    """Return the hosts as words of a shell with brace expansion: c1-0 c1-1 c1-2 become c1-{0..2}."""
    words, rest = [], list(placement)
    while rest:
        count, word = _numbered_run(rest)
        words.append(word)
        del rest[:count]
    return " ".join(words)


def _numbered_run(hosts: Sequence[str]) -> tuple[int, str]:
    """Return how many of the first hosts have consecutive numbers, and the word for them."""
    match = _NUMBERED.match(hosts[0])
    if match is None or (len(match[2]) > 1 and match[2].startswith("0")) or len(match[2]) > 15:
        return 1, shlex.quote(hosts[0])
    prefix, first, suffix = match[1], int(match[2]), match[3]
    count = 1
    while count < len(hosts) and hosts[count] == f"{prefix}{first + count}{suffix}":
        count += 1
    if count < 3:
        return 1, shlex.quote(hosts[0])
    return count, f"{_quoted(prefix)}{{{first}..{first + count - 1}}}{_quoted(suffix)}"


def _quoted(text: str) -> str:
    return shlex.quote(text) if text else ""


def commands(run: ListedRun, file: PlatformFile | None) -> tuple[str, ...]:
    """Return shell commands that repeat the run in an empty folder; empty if no command can describe the run.

    The commands print the record of a kernel, or the output of the user's program.

    Args:
        run: The run.
        file: The platform file to use; None: the platform's own path.
    """
    words = _command(run)
    if not words:
        return ()
    path = str(run.spec.target.platform.path)
    words = [file.name if file is not None and word == path else word for word in words]
    hosts = f"printf '%s\\n' {host_words(run.spec.target.placement)} > {HOSTS}"
    return (*(() if file is None else file.lines), hosts, shlex.join(words))


def _command(run: ListedRun) -> Sequence[str]:
    spec = run.spec
    if spec.engine in ("s4u", REPLAY):  # a replay has none: the page's own command makes it again
        return run.command
    return repeatable(spec, launch(spec, run.iterations, energy=counted(spec.target.platform)))


def scenario_words(platform: Platform) -> tuple[str, ...]:
    """Return options of ``gridval platform make`` that may describe a platform; the caller must check that."""
    if platform.network is None:
        return ()
    return ("--scenario", platform.name, "--network", platform.network)


MOST_RUNS = 60  # runs whose commands are listed
MOST_FILES = 60  # platform files that are listed


@dataclass(frozen=True)
class Repeated:
    """A run and the shell commands that repeat it."""

    name: str
    lines: tuple[str, ...]
    note: str = ""


def platform_files(gathered: Gathered) -> tuple[dict[str, PlatformFile], int]:
    """Return the platform files of targets, then of evidence on other platforms, by path; and the number not listed."""
    platforms = {run.spec.target.platform.path: run.spec.target.platform
                 for run in chain((case.run for case in gathered.cases if case.run), gathered.runs)}  # fmt: skip
    words = gathered.invocation.platform_words
    made = {}
    for path, platform in list(platforms.items())[:MOST_FILES]:
        tried = scenario_words(platform)
        file = platform_file(platform, tried)
        if file.command is None and words and words != tried:
            file = platform_file(platform, words)
        made[str(path)] = file
    return made, max(0, len(platforms) - MOST_FILES)


def repeated(runs: Sequence[ListedRun], platform_files: dict[str, PlatformFile]) -> tuple[list[Repeated], int]:
    """Return the commands that repeat each run, the truths first, and the number of runs that are not listed."""
    ordered = sorted(runs, key=lambda run: run.asked_by != "")
    made = []
    for place, run in enumerate(ordered[:MOST_RUNS], 1):
        name, file = f"{place}. {_named(run)}", platform_files.get(str(run.spec.target.platform.path))
        try:
            lines = commands(run, file)
        except UserError as err:
            made.append(Repeated(name, (), f"No command: {err}"))
            continue
        made.append(Repeated(name, lines, _note(run) if lines else "No command line can describe this run."))
    return made, max(0, len(ordered) - MOST_RUNS)


def _named(run: ListedRun) -> str:
    target = run.spec.target
    network = f", network {target.platform.network}" if target.platform.network else ""
    role = f"evidence, first asked for by {run.asked_by}" if run.asked_by else "the target"
    return f"{target}{network}: {role}"


def _note(run: ListedRun) -> str:
    iterations, official = run.iterations, run.spec.target.iterations
    note = ""
    if iterations < official:
        note = f"Simulates {iterations} of {official} iterations; the whole run was extrapolated to {run.time_s:.6g} s."
    if run.spec.compute == "measured":
        note += " Computation is measured during the run, so times vary."
    return note.strip()
