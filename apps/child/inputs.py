"""Read the inputs logged by a run of a user's program.

A record of the file ``inputs`` has a letter, the size and the time of change (s, ns) of an existing file, and a text,
separated by blanks and ended by a null byte.  apps/recording/recorder/inputs.c and apps/s4u/__main__.py write the
records in the order of the first queries:

    F  an existing file or folder was opened or queried
    A  the same for a missing one
    D  the names in a folder were listed
    W  a file was created or emptied; the program later reads only what it has written itself
    P  a file was opened for writing only, and kept its content
    L  a library was loaded
    K  the program resolved a name through links
    E  an environment variable was read
    X  something happened that hides inputs
    H  the program refers to a function that returns its hosts or SimGrid's time
    Q  the program has polled for messages with a function whose result depends on the time
    R  a rank has read the simulated clock
    C  a rank has read it more than twice
    V  the program has called a function whose results change by themselves, such as a clock
    T  the program has requested threads that call MPI
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from apps.results.inputs import FOLDER, LINK, MISSING, TEXTS, Inputs, state
from platforms.errors import printable
from platforms.simgrid.child import SCRIPT_VARIABLES

# Files of the system, and of Python itself.  They change only with its packages.
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/", "/etc/ld.so")
_RANDOM = ("/dev/random", "/dev/urandom", "/dev/hwrng")
_LOADER = ("LD_LIBRARY_PATH", "LD_PRELOAD")  # they decide which libraries are loaded
MOST_FILES = 100_000
_FIELDS = {"X": "unseen", "H": "asks", "Q": "polls", "C": "clocks", "R": "reads", "V": "varies"}  # of Inputs, by letter
_OURS = {"TMPDIR", "PWD", "OLDPWD", "SHLVL", "_"}  # each run has its own


def noted_inputs(
    path: Path,
    *,
    folder: Path,
    work: Path,
    ours: tuple[str, ...] = (),
    made: Iterable[str] = (),
    built: Mapping[str, str] = MappingProxyType({}),
) -> Inputs:
    """Return the inputs logged by a run, with their state after the run.

    Args:
        path: The file of notes.
        folder: The run's folder; its files are not inputs.
        work: The folder with links to the entries of the current one, which it replaces.
        ours: Prefixes of other files that are not inputs.
        made: Names of files created in ``work`` for the run.
        built: State of each file that the program was built from.
    """
    try:
        notes = [note for note in path.read_bytes().split(b"\0") if note]
    except FileNotFoundError:
        return Inputs(unseen=("the files it reads could not be observed",))
    here = Path.cwd()
    files: dict[str, str] = dict(built)
    environment: dict[str, str | None] = {name: os.environ.get(name) for name in _LOADER}
    written = set(made)
    texts: dict[str, dict[str, None]] = {name: {} for name in TEXTS}
    unseen = texts["unseen"]
    threads = False
    for note in notes:
        kind, size, seconds, nanoseconds, text = os.fsdecode(note).split(" ", 4)
        if kind == "E":
            if text not in _OURS | SCRIPT_VARIABLES and not text.startswith("RECORDER_"):
                environment[text] = os.environ.get(text)
        elif kind in _FIELDS:
            texts[_FIELDS[kind]][text] = None
        elif kind == "T":
            threads = True
        elif text in _RANDOM:
            texts["varies"][text] = None
        elif kind != "P" and (name := _name(text, folder, work, ours)) is not None:
            if kind == "W":
                written.add(name)
                if files.get(name) == MISSING:  # one rank may wait until another one creates it
                    texts["clocks"][f"checks for {name}"] = None
            elif kind != "A" and not os.path.isabs(name) and not os.path.lexists(here / name):
                written.add(name)  # in the run's folder, by mkdir or rename for example
            elif len(files) > MOST_FILES:
                unseen[f"the program reads more than {MOST_FILES:,} files"] = None
            elif name not in written and (name not in files or (kind == "D" and files[name] == FOLDER)):
                if kind == "K":
                    name = f"{LINK}{name}"
                files[name] = content = MISSING if kind == "A" else state(name, listed=kind == "D")
                if kind == "K":
                    continue
                stamp = (int(size), int(seconds) * 10**9 + int(nanoseconds))
                if kind != "A" and name != "." and _changed(here / name, stamp, listed=kind == "D"):
                    unseen[f"the program reads {name}, which changed meanwhile"] = None
                if " " in content and not content.startswith(FOLDER):
                    unseen[f"the program reads {name}, which is {content}"] = None
    lists: dict[str, Any] = {name: tuple(map(printable, found)) for name, found in texts.items()}
    return Inputs(files, environment, threads=threads, **lists)


def _name(text: str, folder: Path, work: Path, ours: tuple[str, ...]) -> str | None:
    """Return the name of an input; None for a file that is not an input."""
    if ".." in text.split("/"):
        text = os.path.realpath(text)
    text = os.path.normpath(text)
    for place in {str(work), os.path.realpath(work)}:
        if text == place or text.startswith(f"{place}/"):
            return os.path.relpath(text, place)
    outside = (*_SYSTEM, *ours, f"{folder}/", f"{os.path.realpath(folder)}/")
    return None if text.startswith(outside) or text in ("/", str(folder)) else text


def _changed(path: Path, stamp: tuple[int, int], *, listed: bool) -> bool:
    """Return whether size or time of change differ from those when the program read them.

    A folder whose names it has not listed may change.
    """
    try:
        status = path.stat()
    except OSError:
        return True
    if path.is_dir() and not listed:
        return False
    return (status.st_size, status.st_mtime_ns) != stamp
