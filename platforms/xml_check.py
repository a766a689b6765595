"""What a platform file in XML may hold, looked at before SimGrid loads it.

SimGrid's parser is generated for its one format and trusts what it is given: elements nested some thousand deep corrupt
its memory, a name of 20 MB takes it a minute, and the options of a <config> may have it write files anywhere.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from platforms.errors import PlatformError
from platforms.grid import MOST_CORES
from platforms.reading import input_bytes

MOST_BYTES = 256 << 20
MOST_DEPTH = 64  # of elements in each other
MOST_NAME = 255  # characters of an identifier, or of what it begins or ends with
MOST_VALUE = 100_000  # characters of any other attribute
MOST_HOSTS = 1_000_000  # beyond what SimGrid could simulate
MOST_PROFILE_BYTES = 64 << 20  # of a file that it names

_CPP = (".cpp", ".cc", ".cxx", ".c++", ".C")
_NAMES = ("id", "prefix", "suffix", "router_id")
_CORES = ("core",)
_RANGE = re.compile(r"(\d+)-(\d+)")
_ENCODINGS = ("utf-8", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15")
# Files that SimGrid would leave behind, read, or take for others, and what it would run instead of the program.
_FORBIDDEN = (
    "smpi/keep-temps", "smpi/replay", "smpi/tmpdir", "smpi/hostfile", "smpi/np", "model-check/replay",
    "smpi/comp-adjustment-file", "tracing/comment-file",
)  # fmt: skip
_WRITTEN = "tracing/filename"
_PLAIN = re.compile(r"\w[\w.-]{0,100}")  # a file in the run's own folder


@dataclass
class _Checking:
    """What has been seen so far of a file."""

    path: Path
    line: int = 0
    within: list[str] = field(default_factory=list)  # names of the open elements
    hosts: int = 0
    options: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        raise PlatformError(f"{self.path}:{self.line}", problem, remedy)


def check_platform_xml(path: Path) -> list[tuple[str, str]]:
    """The options in the <config> of a platform file, key and value.

    Raises PlatformError, naming the line, for a file that is not XML or goes beyond the bounds above; for entities of
    its own; for options that have SimGrid write or read other files; and for profiles that are no files.
    """
    try:
        content = input_bytes(path, most_bytes=MOST_BYTES)
    except OSError as err:
        raise PlatformError(str(path), f"cannot be read: {err.strerror}", "Give a SimGrid platform") from err
    seen = _Checking(path)
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)  # no DTD is ever fetched

    def start(name: str, attributes: dict[str, str]) -> None:
        seen.line = parser.CurrentLineNumber
        _start(seen, name, attributes)

    def end(_: str) -> None:
        seen.within.pop()

    def declared(version: str, encoding: str | None, standalone: int) -> None:
        seen.line = parser.CurrentLineNumber
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            seen.refuse(f"its encoding is {encoding!r}, which SimGrid does not read", "Save it as UTF-8")

    def entity(name: str, *_: object) -> None:
        seen.line = parser.CurrentLineNumber
        seen.refuse(f"it declares the entity {name!r}", "Write out what it stands for: SimGrid knows none")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.XmlDeclHandler = declared
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as err:
        if path.suffix in _CPP:
            remedy = "Compile it first, as docs/platforms/own-platform.md says"
            raise PlatformError(str(path), "a platform in C++ that is not compiled", remedy) from None
        problem = f"not XML that can be read: {expat.ErrorString(err.code)}"
        raise PlatformError(f"{path}:{err.lineno}", problem, "Mend the platform") from None
    return seen.options


def _start(seen: _Checking, name: str, attributes: Mapping[str, str]) -> None:
    if len(seen.within) >= MOST_DEPTH:
        seen.refuse(f"elements are nested deeper than {MOST_DEPTH}", "Mend the platform")
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
    if name == "prop" and seen.within == ["platform", "config"]:
        key, value = attributes.get("id", ""), attributes.get("value", "")
        if key in _FORBIDDEN:
            seen.refuse(f"its <config> sets {key}, which is for whoever runs it to say", "Take it out")
        if key == _WRITTEN and not _PLAIN.fullmatch(value):
            seen.refuse(f"its <config> has a trace written to {value!r}", "Give a name without folders, or take it out")
        seen.options.append((key, value))
    seen.within.append(name)


def _hosts_of(seen: _Checking, name: str, attributes: Mapping[str, str]) -> int:
    """How many hosts an element makes."""
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
    """SimGrid would wait for a pipe, and read a device for ever.  What is missing it will say itself."""
    try:
        status = (seen.path.parent / value).stat()
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(status.st_mode):
        seen.refuse(f"<{name}>: {key}={value!r} is not a file", "Name a profile")
    if status.st_size > MOST_PROFILE_BYTES:
        seen.refuse(f"<{name}>: {key}={value!r} is larger than {MOST_PROFILE_BYTES >> 20} MiB", "Give a shorter one")
