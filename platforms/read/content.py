"""The content of platform files: its hash, the files that it names, and a private copy for runs.

A run loads the copy, because the user's file may change while a command runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from platforms.errors import PlatformError
from platforms.files.caching import cache_folder, write_atomically
from platforms.files.reading import input_bytes
from platforms.model.platform import Platform
from platforms.read.xml_check import BLANKS, MOST_BYTES, MOST_PROFILE_BYTES

# Profiles, and the lists of the contents of disks: <prop id="content" value="..."/>.
_CONTENT = rb"""\bid\s*=\s*["']content["']"""
_NAMED_FILES = re.compile(
    rb"(?:\b(?:file|\w+_file)|<prop\s+" + _CONTENT + rb"\s+value|<prop\s+value(?=[^>]*" + _CONTENT + rb"))"
    rb"""\s*=\s*(?:"([^"]*)"|'([^']*)')"""
)
_ESCAPES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ESCAPE = re.compile(r"&(amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});")


def content_of(path: Path) -> str:
    """Return the SHA-256 of the file and of those that it names (profiles, and lists of the contents of disks).

    Raises:
        PlatformError: A file cannot be read, or SimGrid would read another profile.
    """
    return _hash(*_read(path))


def kept_copy(path: Path) -> tuple[str, Path | None]:
    """Return the hash of a platform, as ``content_of``, and a copy of exactly this content in the cache folder.

    In the copy every profile has a name made of its hash, beside the copy, so that SimGrid finds no other file, and
    there is nothing before <?xml, as XML demands and SimGrid does not.  A compiled platform, which may find other files
    by its own place, and a file of the cache folder have no copy.

    Raises:
        PlatformError: As ``content_of``.
        UserError: The cache folder cannot be written.
    """
    content, named = _read(path)
    digest = _hash(content, named)
    folder = cache_folder() / "platforms"
    if path.suffix == ".so" or folder in path.parents:
        return digest, None
    # SimGrid takes equal names for one profile, and refuses to read it twice.
    names = {
        name: f"profile-{number}-{hashlib.sha256(profile).hexdigest()[:24]}"
        for number, (name, profile) in enumerate(named.items())
    }

    def renamed(match: re.Match[bytes]) -> bytes:
        name = names.get(_named(match))
        if name is None:  # SimGrid reports the missing file
            return match[0]
        start, end = match.span(1 if match[1] is not None else 2)
        return match[0][: start - match.start()] + name.encode() + match[0][end - match.start() :]

    copy = folder / digest / path.name
    files = {copy.with_name(names[name]): profile for name, profile in named.items()}
    for place, data in {**files, copy: _NAMED_FILES.sub(renamed, content.lstrip(BLANKS))}.items():
        if not place.is_file() or place.read_bytes() != data:
            write_atomically(place, data)
    return digest, copy


def loadable(platform: Platform) -> Path:
    """Return the file that SimGrid loads for a run: the private copy, or a compiled platform that has not changed.

    Raises:
        PlatformError: A compiled platform was changed since it was read.
    """
    if platform.kept is not None:
        return platform.kept
    if platform.path.suffix == ".so" and platform.file_hash not in (None, content_of(platform.path)):
        raise PlatformError(str(platform.path), "it was changed while the command ran", "Start the command again")
    return platform.path


def _read(path: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the file's content, and that of the profiles that exist, by the names that it gives them."""
    try:
        content = input_bytes(path, most_bytes=MOST_BYTES)
        named = {}
        for name in dict.fromkeys(named_files(content)) if path.suffix != ".so" else ():
            _check_found_first(path, name)
            if os.path.isfile(path.parent / name):
                named[name] = input_bytes(path.parent / name, most_bytes=MOST_PROFILE_BYTES)
    except OSError as err:
        remedy = "Give a SimGrid platform, XML or .so"
        raise PlatformError(str(err.filename), f"cannot be read: {err.strerror}", remedy) from err
    return content, named


def _hash(content: bytes, named: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(content)
    for name in named_files(content) if named else ():
        if name in named:
            digest.update(hashlib.sha256(named[name]).digest())
    return digest.hexdigest()


def profiles(path: Path) -> dict[str, Path]:
    """Return the files that a platform in XML names (availability and state profiles), by the name that it gives them.

    A name of a file that does not exist is left out; SimGrid reports it.
    """
    if path.suffix == ".so":
        return {}
    named = {name: path.parent / name for name in named_files(input_bytes(path, most_bytes=MOST_BYTES))}
    return {name: file for name, file in named.items() if os.path.isfile(file)}


def named_files(content: bytes) -> list[str]:
    """Return the names of files in a platform, with XML's escapes replaced; a platform declares no other entities."""
    return [_named(match) for match in _NAMED_FILES.finditer(content)]


def _named(match: re.Match[bytes]) -> str:
    return _ESCAPE.sub(_unescaped, os.fsdecode(match[1] or match[2] or b""))


def _unescaped(match: re.Match[str]) -> str:
    name = match[1]
    if not name.startswith("#"):
        return _ESCAPES[name]
    number = int(name[2:], 16) if name[1] == "x" else int(name[1:])
    return chr(number) if 0 < number < sys.maxunicode else match[0]


def _check_found_first(path: Path, name: str) -> None:
    """Refuse a profile that SimGrid would not find beside the platform, because it looks in the current folder first.

    Raises:
        PlatformError: The current folder has another file of this name.
    """
    beside, here = path.parent / name, Path.cwd() / name
    if not name or os.path.isabs(name) or not os.path.exists(here):
        return
    if not os.path.isfile(here):
        return  # refused as such
    if not os.path.exists(beside) or not os.path.samefile(beside, here):
        problem = f"it names the file {name!r}, and SimGrid would read that of the current folder instead"
        raise PlatformError(str(path), problem, "Start the command in another folder, or rename the file")
