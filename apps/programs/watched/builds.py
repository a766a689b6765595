"""Files that a build opens: they decide the program that comes out of it.

A compiler's own list (-M) lacks libraries, object files, what an assembler includes, files of options, and files that
were looked for and are absent.  So the build is watched, and the list is kept beside the program.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.files.caching import read_checked, write_checked
from platforms.simgrid.compiling import compile_once, is_system

MISSING = "missing"
_SOURCE = Path(__file__).with_name("opens.c")
_LOG, _LIBRARY = "opens.log", "opens.so"  # in the folder of the build
_LOCAL = "/usr/local/"  # what no package has put there
_ELSEWHERE = ("/proc/", "/sys/", "/dev/", "/etc/")


@dataclass(frozen=True)
class WatchedBuild:
    """Watches a build (``compile_once``), and keeps the list of the files it opens."""

    included: Container[Path] = frozenset()  # files that the caller knows to decide the program

    def unchanged(self, executable: Path) -> bool:
        """Return whether all files that the build of an executable opened, or searched for, are unchanged."""
        files = _kept(executable)
        return files is not None and all(_state(Path(name)) == known for name, known in files.items())

    def environment(self, work: Path) -> dict[str, str]:
        """Return the variables that make a build in the folder ``work`` log the files it opens."""
        (work / _LIBRARY).symlink_to(watching_library())
        # The loader separates names by blanks and colons, which the folder may have: the build runs in it.
        return {"LD_PRELOAD": f"./{_LIBRARY}", "OPENS_LOG": str(work / _LOG)}

    def keep(self, executable: Path, work: Path) -> None:
        """Keep what the build in the folder ``work`` has opened, for an executable that it has made."""
        write_checked(_list_of(executable), json.dumps(self._opened(work)).encode())

    def _opened(self, work: Path) -> dict[str, str] | None:
        """Return the state of what the build has opened; None: its programs load no libraries, so no log."""
        if not (work / _LOG).exists():
            return None
        apart = (f"{work}/", f"{os.path.realpath(work)}/", *_ELSEWHERE)
        files: dict[str, str] = {}
        for record in dict.fromkeys((work / _LOG).read_bytes().split(b"\0")):
            name = os.path.normpath(os.fsdecode(record[1:])) if record else ""
            if not name or name.startswith(apart) or _of_package(name) or Path(name) in self.included:
                continue
            if record[:1] == b"-":
                name = _absent(name)
            known = _state(Path(name))
            if known is not None and (record[:1] == b"+" or known == MISSING or name.startswith(_LOCAL)):
                files[name] = known
        return files


def opened_by_build(executable: Path) -> dict[str, str] | None:
    """Return the state of each file that decided an executable, by absolute name; MISSING: it was looked for.

    States are those of apps.results.inputs: the hash of a file's content or of a folder's names.  Files of the system's
    packages are left out, except libraries that are linked statically.  The list is empty for an executable that was
    not built by ``compile_once``.  None: the build could not be watched.
    """
    files = _kept(executable) if _list_of(executable).exists() else {}
    return None if files is None else {name: known for name, known in files.items() if not _is_usual(name, known)}


def _is_usual(name: str, known: str) -> bool:
    """Return whether every program of a compiler has this: what it links and looks for by itself."""
    return name.endswith(".gch") or (name.startswith(_LOCAL) and known.startswith("folder "))


def watching_library() -> Path:
    """Return the library that lists what a build opens, compiled on first use."""
    flags = ["-O2", "-shared", "-fPIC", "-D_LARGEFILE64_SOURCE"]
    return compile_once("opens", [_SOURCE], compiler=["gcc"], flags=flags, libraries=["-ldl"])


def _list_of(executable: Path) -> Path:
    return executable.with_name(f"{executable.name}.opened")


def _kept(executable: Path) -> dict[str, str] | None:
    content = read_checked(_list_of(executable))
    if content is None:
        return None
    states: Any = json.loads(content)
    return None if states is None else {str(name): str(known) for name, known in states.items()}


def _of_package(name: str) -> bool:
    of_compiler = Path(name).name.startswith(("libgcc", "libc_nonshared")) or not os.path.exists(name)
    return is_system(Path(name)) and (of_compiler or not name.endswith(".a"))


def _absent(name: str) -> str:
    """Return what stands for a file that was looked for: the first of the folders around it that is absent, or itself.

    In folders of packages that were installed by hand it is the existing folder, in which many names are looked for.
    """
    path = Path(name)
    absent = next((folder for folder in reversed(path.parents) if not folder.exists()), path)
    return str(absent.parent) if name.startswith(_LOCAL) else str(absent)


def _state(path: Path) -> str | None:
    """Return the state of a file, or of a folder of packages that were installed by hand, with the names in it.

    None: it is another folder, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except IsADirectoryError:
        names = b"\0".join(sorted(map(os.fsencode, os.listdir(path))))
        return f"folder {hashlib.sha256(names).hexdigest()}" if f"{path}/".startswith(_LOCAL) else None
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError:
        return None
