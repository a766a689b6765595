"""Repairs of faults of the installed SimGrid, applied when it is loaded.

Version 4.1 has faults in loading platforms and in the energy of links (repairs41*.cpp).
"""

import hashlib
import os
from pathlib import Path

from platforms.simgrid.compiling import compile_once
from platforms.simgrid.installed import simgrid_version, version_numbers, wheel_libraries

_MENDED = (4, 1)
_SOURCES = [Path(__file__).with_name(name) for name in ("repairs41.cpp", "repairs41_links.cpp")]
_HEADER = Path(__file__).with_name("repairs41.hpp")
_FLAGS = ("-O1", "-std=gnu++17", "-shared", "-fPIC", "-fno-delete-null-pointer-checks")


def simgrid_identity() -> str:
    """Return SimGrid's version, followed by a hash of the repairs if there are any.

    It is part of the identity of every result.
    """
    if not _is_mended():
        return simgrid_version()
    mended_with = hashlib.sha256(repr(_FLAGS).encode())
    for file in (_HEADER, *_SOURCES):
        mended_with.update(file.read_bytes())
    return f"{simgrid_version()}-{mended_with.hexdigest()[:16]}"


def repairs_library() -> Path | None:
    """Return the library to load before SimGrid's own, compiled if need be; None if the version needs no repairs.

    Raises:
        UserError: As compile_once.
    """
    if not _is_mended():
        return None
    return compile_once(
        "repairs41", _SOURCES, compiler=["g++"], flags=_FLAGS, libraries=["-lsimgrid"], headers=[_HEADER]
    )


def loaded_first(folder: Path, *libraries: Path, called: str = ".") -> list[str]:
    """Return a command prefix that loads these libraries, and the repairs, before all others (LD_PRELOAD).

    The prefix is empty if there is nothing to load.  Libraries in the user's own LD_PRELOAD come last.

    Args:
        folder: Folder in which links to the libraries are made, because LD_PRELOAD is split at spaces and colons.
        libraries: The libraries to load, before the repairs.
        called: Name of ``folder`` as seen by the command.

    Raises:
        UserError: As compile_once.
    """
    repairs = repairs_library()
    # The repairs of the wheel look for SimGrid's library beside the link to them, so it is loaded with them.
    libraries = libraries if repairs is None else (*libraries, repairs, *wheel_libraries())
    if not libraries:
        return []
    names = []
    for number, library in enumerate(libraries):
        names.append(f"{called}/first-{number}.so")
        (folder / f"first-{number}.so").symlink_to(library)
    return ["env", "LD_PRELOAD=" + ":".join([*names, *filter(None, [os.environ.get("LD_PRELOAD")])])]


def _is_mended() -> bool:
    return version_numbers()[:2] == _MENDED
