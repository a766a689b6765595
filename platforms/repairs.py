"""Faults of the installed SimGrid that are mended as it is loaded: those of 4.1 with platforms and with the
energy of links (repairs41*.cpp)."""

import hashlib
import os
from pathlib import Path

from platforms.compiling import compile_once
from platforms.simgrid import simgrid_version, version_numbers

_MENDED = (4, 1)
_SOURCES = [Path(__file__).with_name(name) for name in ("repairs41.cpp", "repairs41_links.cpp")]
_HEADER = Path(__file__).with_name("repairs41.hpp")
_FLAGS = ("-O1", "-std=gnu++17", "-shared", "-fPIC", "-fno-delete-null-pointer-checks")


def simgrid_identity() -> str:
    """SimGrid's version and, where it is mended, a hash of what with: part of the identity of every result."""
    if not _is_mended():
        return simgrid_version()
    mended_with = hashlib.sha256(repr(_FLAGS).encode())
    for file in (_HEADER, *_SOURCES):
        mended_with.update(file.read_bytes())
    return f"{simgrid_version()}-{mended_with.hexdigest()[:16]}"


def repairs_library() -> Path | None:
    """What has to be loaded before SimGrid's own library, compiled if need be; None for a version that needs nothing.

    Raises UserError as compile_once.
    """
    if not _is_mended():
        return None
    return compile_once(
        "repairs41", _SOURCES, compiler=["g++"], flags=_FLAGS, libraries=["-lsimgrid"], headers=[_HEADER]
    )


def loaded_first(folder: Path, *libraries: Path, called: str = ".") -> list[str]:
    """Words before a command that loads SimGrid: it loads these libraries, and the repairs, before all others.

    Links to them are made in ``folder``, which the command knows as ``called``: the loader takes names apart at spaces
    and colons.  Libraries that the user's environment has loaded come after them.  Without any: no words.
    """
    repairs = repairs_library()
    libraries = libraries if repairs is None else (*libraries, repairs)
    if not libraries:
        return []
    names = []
    for number, library in enumerate(libraries):
        names.append(f"{called}/first-{number}.so")
        (folder / f"first-{number}.so").symlink_to(library)
    return ["env", "LD_PRELOAD=" + ":".join([*names, *filter(None, [os.environ.get("LD_PRELOAD")])])]


def _is_mended() -> bool:
    return version_numbers()[:2] == _MENDED
