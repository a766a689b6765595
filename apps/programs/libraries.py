"""The shared libraries of a binary: those that its ELF file names, as the loader finds them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from apps.errors import KernelError
from platforms.simgrid.child import clean_environment
from platforms.simgrid.installed import library_folders

_DYNAMIC, _DYNSYM = 6, 11  # types of sections
_NEEDED = 1  # tag of an entry of the section .dynamic


@dataclass(frozen=True)
class DynamicNames:
    """Names without their versions, as in the dynamic part of an ELF file (System V ABI, chapters 4 and 5)."""

    needed: frozenset[str]  # libraries, as the file names them
    defined: frozenset[str]
    undefined: frozenset[str]  # expected from other libraries


def dynamic_names(binary: Path) -> DynamicNames:
    """Read a 64-bit ELF file; one without a dynamic part has no names.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a 64-bit ELF file, or it is cut off.
    """
    content = binary.read_bytes()
    if content[:5] != b"\x7fELF\x02":
        raise ValueError("it is no 64-bit ELF file")
    order = "<" if content[5] == 1 else ">"
    try:
        return _names(content, order)
    except (struct.error, IndexError) as err:
        raise ValueError("it is cut off or damaged") from err


def _names(content: bytes, order: str) -> DynamicNames:
    (start,) = struct.unpack_from(f"{order}Q", content, 40)
    size, count = struct.unpack_from(f"{order}HH", content, 58)
    # Type, offset, size, and the number of the section with the strings.
    sections = [
        struct.unpack_from(f"{order}4xI16xQQI", content, start + size * number)
        for number in range(count if start else 0)
    ]
    needed: set[str] = set()
    defined: set[str] = set()
    undefined: set[str] = set()
    for kind, offset, length, link in sections:
        if kind == _DYNAMIC:
            for tag, value in struct.iter_unpack(f"{order}QQ", content[offset : offset + length]):
                if tag == _NEEDED:
                    needed.add(_text(content, sections[link][1] + value))
        elif kind == _DYNSYM:
            for name, place in struct.iter_unpack(f"{order}I2xH16x", content[offset : offset + length]):
                if name:
                    (defined if place else undefined).add(_text(content, sections[link][1] + name))
    return DynamicNames(frozenset(needed), frozenset(defined), frozenset(undefined))


def _text(content: bytes, start: int) -> str:
    return content[start : content.index(b"\0", start)].decode("utf-8", "surrogateescape")


SYSTEM = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")  # libraries of packages, identified by time and size
_TIME_LIMIT_S = 60.0
_SHARED = ("libsimgrid.so", "ld-linux", "libc.so", "libm.so", "libgcc_s.so", "libstdc++.so")
_LINE = re.compile(r"^\s*(?:(?P<name>\S.*?) => )?(?P<path>/.*?|not found)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)


def libraries(binary: Path) -> dict[str, str]:
    """Return the fingerprint of every shared library that the loader finds for a binary; "missing" for the others.

    It searches the same places as in a run: RPATH, LD_LIBRARY_PATH and the system's folders, and for LD_PRELOAD.

    Raises:
        KernelError: The libraries cannot be listed.
    """
    where = f"--program {binary}"
    ldd = shutil.which("ldd")
    if ldd is None:
        raise KernelError(where, "the command ldd, which lists its libraries, is missing", "Install it (libc-bin)")
    folders = os.environ.get("LD_LIBRARY_PATH")
    path = os.pathsep.join([*library_folders(), *([folders] if folders else [])])
    try:
        done = subprocess.run(
            [ldd, str(binary)], env={**clean_environment(), "LC_ALL": "C", "LD_LIBRARY_PATH": path},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape",
            timeout=_TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise KernelError(where, "its shared libraries cannot be listed: ldd does not end", "Build it again") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "ldd says nothing").splitlines()[0]
        raise KernelError(where, f"its shared libraries cannot be listed: {said}", "Build it again")
    needed_libraries = {}
    for line in _LINE.finditer(done.stdout):
        if line["path"] == "not found":
            needed_libraries[line["name"]] = "missing"
        else:
            needed_libraries[line["path"]] = library_mark(Path(line["path"]))
    return needed_libraries


def exported_names(binary: Path) -> frozenset[str]:
    """Return the names in a binary's dynamic symbol table that it defines itself.

    Raises:
        KernelError: The table cannot be read.
    """
    return _dynamic_names(binary).defined


def referred_names(binary: str | Path) -> frozenset[str]:
    """Return the names in a binary's dynamic symbol table that other libraries define.

    Raises:
        KernelError: The table cannot be read.
    """
    return _dynamic_names(Path(binary)).undefined


def needed_names(binary: Path) -> set[str]:
    """Return the names of the libraries that a binary itself names.

    Raises:
        KernelError: They cannot be listed.
    """
    # A library that has no name of its own is needed by its path.
    return set(map(os.path.basename, _dynamic_names(binary).needed))


def _dynamic_names(binary: Path) -> DynamicNames:
    try:
        return dynamic_names(binary)
    except (OSError, ValueError) as err:
        raise KernelError(f"--program {binary}", f"cannot be read: {err}", "Build it again") from err


def private_libraries(binary: Path) -> tuple[str, ...]:
    """Return the libraries of which each rank needs its own copy, because they have global variables.

    Among those that the binary names itself they are the user's own ones, and Fortran's, whose open files they are.

    Raises:
        KernelError: The libraries cannot be listed.
    """
    named = needed_names(binary)
    if all(name.startswith(_SHARED) for name in named):  # as in most programs in C, which need no search
        return ()
    return tuple(path for path in libraries(binary) if os.path.basename(path) in named and _is_private(path))


def _is_private(path: str) -> bool:
    name = os.path.basename(path)
    if not path.startswith("/") or name.startswith(_SHARED):
        return False
    return name.startswith("libgfortran.so") or not path.startswith(SYSTEM)


def library_mark(path: Path) -> str:
    """Return time and size of a library of the system, and the hash of any other."""
    try:
        if str(path).startswith(SYSTEM):
            status = path.stat()
            return f"{status.st_mtime_ns} {status.st_size}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "missing"
