"""Shell commands that repeat a run: the platform file, the host file and the command."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from apps.results.energy import counted
from apps.smpi.launch import launch, repeatable
from apps.spec.choices import REPLAY
from platforms import make as generate
from platforms.command.values import parsed
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.options import platform_file_from_request
from validation.report.gather import ListedRun

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
