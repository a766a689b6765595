"""Inputs that a run of a user's program has read: files, folders and variables; and whether they are the same now.

A result that depends on them is used again only while they are.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MISSING = "missing"
LINK = "-> "  # before a name of which is kept where it leads
FOLDER = "folder"  # an existing one; if its names were listed, their hash follows
TEXTS = ("unseen", "asks", "varies", "polls", "clocks", "reads")  # fields of Inputs, each a list of texts


@dataclass(frozen=True)
class Inputs:
    """Inputs that a run has read.  Names of files are absolute, or relative to the current folder of the command."""

    files: dict[str, str] = field(default_factory=dict)  # state by name, as ``state`` returns it
    environment: dict[str, str | None] = field(default_factory=dict)  # value by name; None: not set
    unseen: tuple[str, ...] = ()  # what could not be observed; a result that has any of it is not kept
    asks: tuple[str, ...] = ()  # functions that return the program's hosts: on others it may behave differently
    varies: tuple[str, ...] = ()  # functions and files whose results change by themselves, such as a clock
    polls: tuple[str, ...] = ()  # functions that poll for messages
    clocks: tuple[str, ...] = ()  # functions that return the simulated time, called more than twice, or like these
    reads: tuple[str, ...] = ()  # functions that return the simulated time, called at least once
    threads: bool = False  # the program asks for threads that call MPI, and is granted one for each rank
    # What comparing runs in other surroundings has shown (apps/runs/surroundings.py).
    depends: tuple[str, ...] = ()  # on which parts of them the course depends
    clock_is_harmless: bool = False  # the course does not depend on the simulated time
    compared_whole: bool = False  # all iterations were compared

    @property
    def hidden(self) -> tuple[str, ...]:
        """Return why the result cannot be kept, in words; nothing: it can."""
        varies = (f"the program queries {name}, whose results change by themselves" for name in self.varies)
        return (*self.unseen, *varies)

    def changed(self) -> str | None:
        """Return what has changed since the run, in a few words; None if nothing has."""
        for name, value in self.environment.items():
            if os.environ.get(name) != value:
                return f"the environment variable {name}"
        for name, known in self.files.items():
            if state(name, listed=known.startswith(f"{FOLDER} ")) != known:
                return f"the {'folder' if known.startswith(FOLDER) else 'file'} {name}"
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the inputs as JSON values."""
        more = {"threads": True} if self.threads else {}
        return {"files": self.files, "environment": self.environment, **more}


def from_json(data: Any) -> Inputs | None:
    """Return the inputs that ``to_json`` has written; None for anything else."""
    if not isinstance(data, dict) or data.keys() - {"threads"} != {"files", "environment"}:
        return None
    files, environment = data["files"], data["environment"]
    if not isinstance(files, dict) or not isinstance(environment, dict):
        return None
    known = all(isinstance(file, str) for file in files.values())
    return Inputs(files, environment, threads=data.get("threads") is True) if known else None


def merged(several: Iterable[Inputs | None]) -> Inputs | None:
    """Return the inputs of several runs that make one result; None if one of them was not observed."""
    files: dict[str, str] = {}
    environment: dict[str, str | None] = {}
    texts: dict[str, dict[str, None]] = {name: {} for name in TEXTS}  # in the order of the first runs that have them
    threads = False
    for inputs in several:
        if inputs is None:
            return None
        for name, known in inputs.files.items():
            if files.setdefault(name, known) != known:
                texts["unseen"][f"{name} changed between two runs"] = None
        environment |= inputs.environment
        for field_name in TEXTS:
            texts[field_name] |= dict.fromkeys(getattr(inputs, field_name))
        threads |= inputs.threads
    lists: dict[str, Any] = {name: tuple(found) for name, found in texts.items()}
    return Inputs(files, environment, threads=threads, **lists)


def state(name: str, *, listed: bool = False) -> str:
    """Return the hash of a file's content, or the kind of another path; ``listed``: with a hash of a folder's names."""
    if name.startswith(LINK):
        return f"leads to {os.path.realpath(name.removeprefix(LINK))}"
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISREG(mode):
            with open(name, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        if stat.S_ISDIR(mode) and not listed:
            return FOLDER
        if stat.S_ISDIR(mode):
            names = b"\0".join(sorted(map(os.fsencode, os.listdir(name))))
            return f"{FOLDER} {hashlib.sha256(names).hexdigest()}"
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as err:
        return f"unreadable: {err.strerror}"
    except ValueError:  # no name of a file
        return MISSING
    return "no file"
