"""Check platform files in XML before SimGrid loads them.

SimGrid's parser trusts its input: elements nested some thousand deep corrupt its memory, a name of 20 MB takes it a
minute, and options in a <config> can make it write files anywhere.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from platforms.errors import PlatformError
from platforms.files.reading import input_bytes
from platforms.grids.grid import MOST_CORES

BLANKS = b" \t\r\n"  # SimGrid reads a file that has some before <?xml, which other parsers refuse
MOST_BYTES = 256 << 20
MOST_DEPTH = 64  # levels of nested elements
MOST_NAME = 255  # characters of an identifier, a prefix or a suffix
MOST_VALUE = 100_000  # characters of any other attribute
MOST_HOSTS = 1_000_000  # SimGrid cannot simulate more
MOST_PROFILE_BYTES = 64 << 20  # size of a profile that the file names

_CPP = (".cpp", ".cc", ".cxx", ".c++", ".C")
_NAMES = ("id", "prefix", "suffix", "router_id")
_CORES = ("core",)
_RANGE = re.compile(r"(\d+)-(\d+)")
_ENCODINGS = ("utf-8", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15")
# Options that make SimGrid leave files behind, read or replace input files, or run something else than the program.
_FORBIDDEN = (
    "smpi/keep-temps", "smpi/replay", "smpi/tmpdir", "smpi/hostfile", "smpi/np", "model-check/replay",
    "smpi/comp-adjustment-file", "tracing/comment-file",
)  # fmt: skip
_OF_PROGRAMS = "bytes_per_flop"
_WRITTEN = "tracing/filename"
_PLAIN = re.compile(r"\w[\w.-]{0,100}")  # the name of a file in the run's own folder


@dataclass
class _Checking:
    """State of checking one file."""

    path: Path
    line: int = 0
    within: list[str] = field(default_factory=list)  # names of the open elements
    hosts: int = 0
    options: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        """Raise PlatformError for the current line."""
        raise PlatformError(f"{self.path}:{self.line}", problem, remedy)


def check_platform_xml(path: Path) -> list[tuple[str, str]]:
    """Check a platform file and return key and value of the options in its <config>.

    Raises:
        PlatformError: The file is not XML, exceeds a limit of this module, declares entities, sets options that make
            SimGrid write or read other files, or names profiles that are not files.  The message names the line.
    """
    try:
        content = input_bytes(path, most_bytes=MOST_BYTES)
    except OSError as err:
        raise PlatformError(str(path), f"cannot be read: {err.strerror}", "Give a SimGrid platform") from err
    whole = content.lstrip(BLANKS)
    before = content[: len(content) - len(whole)].count(b"\n")
    seen = _Checking(path)
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)  # no DTD is ever fetched

    def start(name: str, attributes: dict[str, str]) -> None:
        seen.line = before + parser.CurrentLineNumber
        _start(seen, name, attributes)

    def end(_: str) -> None:
        seen.within.pop()

    def declared(version: str, encoding: str | None, standalone: int) -> None:
        seen.line = before + parser.CurrentLineNumber
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            seen.refuse(f"its encoding is {encoding!r}, which SimGrid does not read", "Save it as UTF-8")

    def entity(name: str, *_: object) -> None:
        seen.line = before + parser.CurrentLineNumber
        seen.refuse(f"it declares the entity {name!r}", "Write its text instead: SimGrid does not support entities")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.XmlDeclHandler = declared
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(whole, True)
    except expat.ExpatError as err:
        if path.suffix in _CPP:
            remedy = "Compile it first, as docs/platforms/own-platform.md says"
            raise PlatformError(str(path), "a platform in C++ that is not compiled", remedy) from None
        problem = f"not XML that can be read: {expat.ErrorString(err.code)}"
        raise PlatformError(f"{path}:{before + err.lineno}", problem, "Correct the platform file") from None
    return seen.options


def _start(seen: _Checking, name: str, attributes: Mapping[str, str]) -> None:
    if len(seen.within) >= MOST_DEPTH:
        seen.refuse(f"elements are nested deeper than {MOST_DEPTH}", "Correct the platform file")
    for key, value in attributes.items():
        most = MOST_NAME if key in _NAMES else MOST_VALUE
        if len(value) > most:
            seen.refuse(f"<{name}>: {key} has {len(value)} characters", f"Give at most {most}")
        if key == "file" or key.endswith("_file"):
            _check_profile(seen, name, key, value)
        if key in _CORES and value.isascii() and value.isdecimal() and not 0 < int(value[:20]) <= MOST_CORES:
            seen.refuse(f"<{name}>: {key} is {value[:20]}", f"Give a number from 1 to {MOST_CORES}")
    seen.hosts += _hosts_of(seen, name, attributes)
    if seen.hosts > MOST_HOSTS:
        seen.refuse(f"more than {MOST_HOSTS} hosts", "Give a smaller platform")
    if name == "prop" and attributes.get("id") == _OF_PROGRAMS:
        problem = f"the property {_OF_PROGRAMS}, which belongs to a program and is not read here"
        seen.refuse(problem, "Take it out, and give --bytes-per-flop with --memory-bus")
    if name == "prop" and attributes.get("id") == "content" and seen.within[-1:] == ["disk"]:
        _check_content(seen, attributes.get("value", ""))
    if name == "prop" and seen.within == ["platform", "config"]:
        key, value = attributes.get("id", ""), attributes.get("value", "")
        if key in _FORBIDDEN:
            seen.refuse(f"its <config> sets {key}, which only the command that runs it may set", "Take it out")
        if key == _WRITTEN and not _PLAIN.fullmatch(value):
            seen.refuse(f"its <config> has a trace written to {value!r}", "Give a name without folders, or take it out")
        seen.options.append((key, value))
    seen.within.append(name)


def _hosts_of(seen: _Checking, name: str, attributes: Mapping[str, str]) -> int:
    """Return how many hosts an element makes."""
    if name == "host":
        return 1
    if name not in ("cluster", "cabinet", "peer"):
        return 0
    hosts = 0
    for part in attributes.get("radical", "0").split(","):
        ends = _RANGE.fullmatch(part.strip())
        if ends and max(map(len, ends.groups())) > 9:
            seen.refuse(f"<{name}>: radical has {part[:40]!r}", "Give numbers of at most nine digits")
        hosts += max(0, int(ends[2]) - int(ends[1]) + 1) if ends else 1
    return hosts


def _check_profile(seen: _Checking, name: str, key: str, value: str) -> None:
    """Refuse pipes, for which SimGrid would wait, devices, which it would read forever, and large files.

    SimGrid itself reports a missing file.
    """
    try:
        status = (seen.path.parent / value).stat()
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(status.st_mode):
        seen.refuse(f"<{name}>: {key}={value!r} is not a file", "Name a profile")
    if status.st_size > MOST_PROFILE_BYTES:
        seen.refuse(f"<{name}>: {key}={value!r} is larger than {MOST_PROFILE_BYTES >> 20} MiB", "Give a shorter one")


def _check_content(seen: _Checking, value: str) -> None:
    """Refuse a disk whose list of files is missing: SimGrid ends every run on such a platform."""
    if not os.path.isfile(seen.path.parent / value):
        problem = f"<disk>: its property content names {value!r}, and there is no such file beside the platform"
        seen.refuse(problem, "Put it there, or take the property out: kernels use no disks")
    _check_profile(seen, "disk", "content", value)
