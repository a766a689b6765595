"""Note the inputs of a program in Python: files, folders and environment variables (apps/child/inputs.py reads them).

Files are seen when Python opens them (its audit events) or asks about them (``os.stat``, ``os.access``), and modules
when they have been imported.  Files that a compiled module opens by itself cannot be seen.  This computer's clocks and
random numbers are seen where the program asks ``time``, ``os`` or an unseeded ``random`` itself.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from pathlib import Path
from types import FrameType
from typing import Any

_STARTS = {"subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn"}
_READ_BY_PYTHON = {"simgrid", "numpy", "scipy", "pandas"}  # packages whose compiled modules read files by Python's


_CHANGING = {  # functions whose results change by themselves
    time: [f"{name}{unit}" for name in ("time", "monotonic", "perf_counter", "process_time") for unit in ("", "_ns")],
    os: ["urandom", "getpid", "times"],
}
_STANDARD = f"{os.path.dirname(os.__file__)}{os.sep}"
_OWN = f"{os.path.dirname(__file__)}{os.sep}"
_INSTALLED = tuple(f"{_STANDARD}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def _is_pythons(path: str) -> bool:
    """Return whether a file belongs to Python's own modules."""
    return path.startswith(_STANDARD) and not path.startswith(_INSTALLED)


def _is_import(frame: FrameType) -> bool:
    """Return whether Python's import looks at a folder; the modules that it finds there are noted themselves."""
    return frame.f_code.co_filename.startswith("<frozen importlib")


def compile_from_sources() -> None:
    """Let modules that are not installed be compiled from their sources, and keep nothing compiled beside them.

    Python takes a compiled module for current if the source's size and second of change are the same, so that a number
    that is changed within a second would go unseen.
    """
    usual_path_stats = SourceFileLoader.path_stats
    installed = tuple(f"{prefix}{os.sep}" for prefix in (sys.prefix, sys.base_prefix))

    def path_stats(self: SourceFileLoader, path: str) -> Any:
        if not os.path.abspath(path).startswith(installed):
            raise OSError("nothing compiled is used")  # as importlib's loaders say it
        return usual_path_stats(self, path)

    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]


class Watch:
    """Notes the inputs from its making on; ``write`` writes them down."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str], os.stat_result | None] = {}
        self._modules = frozenset(sys.modules)
        self._stat = os.stat
        sys.addaudithook(self._audit)
        for name in ("stat", "lstat", "access"):
            setattr(os, name, self._asked(getattr(os, name)))
        self._watch_environment()
        for module, names in _CHANGING.items():
            for name in names:
                setattr(module, name, self._changing(f"{module.__name__}.{name}", getattr(module, name)))
        self._seeded, self._random, self._seed = False, random.getstate(), random.seed
        random.seed = self._asked_to_seed

    def write(self, path: Path) -> None:
        """Write the notes to a file, those of the imported modules included."""
        if not self._seeded and random.getstate() != self._random:
            self._notes.setdefault(("V", "random"), None)
        for name in sys.modules.keys() - self._modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file is None:
                continue
            self._note_file("F", file)
            compiled = file.endswith(tuple(EXTENSION_SUFFIXES)) and name.partition(".")[0] not in _READ_BY_PYTHON
            if compiled and not _is_pythons(file):
                self._notes.setdefault(("X", f"the compiled module {name} may read files unseen"), None)
        with open(path, "wb") as out:
            for (kind, text), status in list(self._notes.items()):
                seconds, nanoseconds = divmod(0 if status is None else status.st_mtime_ns, 10**9)
                size = 0 if status is None else status.st_size
                out.write(f"{kind} {size} {seconds} {nanoseconds} ".encode() + os.fsencode(text) + b"\0")

    def _note_file(self, kind: str, name: Any) -> None:
        try:
            text = os.path.abspath(os.fsdecode(name))
        except (TypeError, ValueError):  # a file's number, or no name
            return
        if f"{os.sep}__pycache__{os.sep}" in text or _is_pythons(text):
            return
        try:
            status = self._stat(text)
        except (OSError, ValueError):
            status = None
        if kind in "FD" and status is None:
            kind = "A"
        if "\0" not in text:
            self._notes.setdefault((kind, text), status)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            name, _, flags = arguments
            if isinstance(flags, int) and not isinstance(name, int):
                created = flags & os.O_TRUNC or (flags & os.O_CREAT and flags & os.O_EXCL)
                writes = flags & os.O_ACCMODE == os.O_WRONLY
                self._note_file("W" if created else "P" if writes else "F", name)
        elif event in ("os.listdir", "os.scandir") and not _is_import(sys._getframe(1)):
            self._note_file("D", "." if arguments[0] is None else arguments[0])
        elif event in _STARTS:
            self._notes.setdefault(("X", "the program starts other programs"), None)
        elif event == "socket.connect":
            self._notes.setdefault(("X", "the program uses sockets"), None)
        elif event == "ctypes.dlopen" and arguments[0] and "simgrid" not in os.path.basename(os.fsdecode(arguments[0])):
            self._notes.setdefault(("X", f"the library {arguments[0]} may read files unseen"), None)

    def _asked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def asked(path: Any, *more: Any, **named: Any) -> Any:
            if named.get("dir_fd") is None:
                self._note_file("F", path)
            return function(path, *more, **named)

        return asked

    def _changing(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any, **named: Any) -> Any:
            caller = sys._getframe(1).f_code.co_filename
            if not caller.startswith(_OWN) and not _is_pythons(caller) and not caller.startswith("<frozen"):
                self._notes.setdefault(("V", name), None)
            return function(*arguments, **named)

        return asked

    def _asked_to_seed(self, *arguments: Any, **named: Any) -> None:
        self._seeded = bool(arguments or named) and None not in (*arguments[:1], *named.values())
        self._seed(*arguments, **named)

    def _watch_environment(self) -> None:
        kind = type(os.environ)
        theirs = kind.__getitem__

        def asked(environment: Any, key: Any) -> Any:
            if isinstance(key, str | bytes):
                self._notes.setdefault(("E", os.fsdecode(key)), None)
            return theirs(environment, key)

        kind.__getitem__ = asked  # type: ignore[method-assign]
