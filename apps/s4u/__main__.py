"""The process of one simulation: ``python -m apps.s4u JOB RESULT``, started by apps/s4u/engine.py.

Both are JSON files.  JOB names the program, its arguments and the run's settings.  RESULT receives what the ranks did,
or else why they stopped and whether a platform that changes over time may be the reason.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from pathlib import Path
from types import FrameType
from typing import Any

import simgrid

from apps.programs.problem import Problem
from apps.results.energy import plugin_options
from apps.s4u.energy import Meter
from apps.s4u.events import output
from apps.s4u.ranks import Rank
from apps.s4u.versions import start_actor

# Note the inputs of a program in Python: files, folders and environment variables (apps/child/inputs.py reads them).
#
# Files are seen when Python opens them (its audit events) or asks about them (``os.stat``, ``os.access``), and modules
# when they have been imported.  Files that a compiled module opens by itself cannot be seen.  This computer's clocks
# and random numbers are seen where the program asks ``time``, ``os`` or an unseeded ``random`` itself.

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


def main(job_path: str, result_path: str) -> None:
    """Run the simulation that the file ``job_path`` describes, and write its result."""
    job, result = json.loads(Path(job_path).read_bytes()), Path(result_path)
    _stay_on_one_core()
    watch = None if job["program"] is None else Watch()
    body = _guarded(_program(job, result), result, job["program"])
    options = [f"--cfg={key}:{value}" for key, value in job["options"].items()]
    engine = simgrid.Engine(["s4u", *options, *plugin_options(job["energy"])])
    engine.load_platform(job["platform"])
    meter = None
    if job["energy"]:
        meter = Meter(job["energy"], len(job["hosts"]))
        meters = [meter.of_rank(number, host) for number, host in enumerate(job["hosts"])]
    events = None
    if job["events"] is not None:
        from apps.s4u.events import Communicators, Events, write_events  # NumPy is slow to import

        communicators = Communicators(len(job["hosts"]))
        events = [Events(communicators, len(job["hosts"])) for _ in job["hosts"]]
    ranks = [
        Rank(
            number,
            len(job["hosts"]),
            iterations=job["iterations"],
            arguments=job["arguments"],
            flop_scale=job["flop_scale"],
            detached_below_bytes=job["detached_below_bytes"],
            events=None if events is None else events[number],
            meter=None if meter is None else meters[number],
        )
        for number in range(len(job["hosts"]))
    ]
    for rank, host in zip(ranks, job["hosts"], strict=True):
        start_actor(f"rank-{rank.rank}", simgrid.Host.by_name(host), _followed, body, rank)
    engine.run()
    stuck = [rank for rank in ranks if rank.waits_for is not None]
    if stuck:
        more = f", and {len(stuck) - 1} more wait" if len(stuck) > 1 else ""
        reason = f"deadlock: rank {stuck[0].rank} waits for {stuck[0].waits_for}{more}"
        made: dict[str, Any] = {"error": reason, "by_platform": True}
    else:
        if events is not None:
            write_events(Path(job["events"]), events, communicators)
        made = output([rank.section for rank in ranks], job["hosts"], ranks[0].timed_wall_s, job["iterations"])
        if meter is not None:
            marked = len(made["iteration_end_s"][0]) > 0
            made["energy"] = meter.said(meters, iterations=marked)
    if watch is not None:
        watch.write(Path(job["inputs"]))
    result.write_text(json.dumps(made))


def _program(job: dict[str, Any], result: Path) -> Callable[[Rank], None]:
    """Return the program of a kernel, or ``main`` of the user's file, which finds its modules as a script does."""
    if job["kernel"] is not None:
        # Imported here because it is slow to import.
        from apps.s4u.declared import Player

        played = Problem(job["kernel"], tuple(job["parameters"].items()), shares=tuple(job["shares"]))
        return Player(played, len(job["hosts"])).main
    path = Path(job["program"])
    compile_from_sources()
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # its name ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # as dataclasses and pickle need it
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as err:
        _give_up(err, result, job["program"], "")
    program: Callable[[Rank], None] = module.main
    return program


def _followed(body: Callable[[Rank], None], rank: Rank) -> None:
    """Run ``body`` under the trace function: the threads of actors are SimGrid's, and debuggers do not follow them."""
    if threading.gettrace() is not None:
        sys.settrace(threading.gettrace())
    body(rank)


def _guarded(program: Callable[[Rank], None], result: Path, path: str | None) -> Callable[[Rank], None]:
    """Return the body of an actor: the program, which ends the timed section and whose exceptions end the process."""

    def body(rank: Rank) -> None:
        try:
            program(rank)
            rank.stop()
            rank.finish()
        except simgrid.ActorKilled:  # SimGrid ends a deadlock
            raise
        except (Exception, SystemExit) as err:
            _give_up(err, result, path, f"rank {rank.rank}, ")

    return body


def _give_up(err: BaseException, result: Path, path: str | None, who: str) -> None:
    """Write where and why the program failed, and end the process: an exception cannot leave the thread of an actor."""
    reason = " ".join(f"{type(err).__name__}: {err}".split())
    frames = traceback.extract_tb(err.__traceback__)
    frames_of_program = [frame for frame in frames if path is not None and _beside(frame.filename, path)]
    if frames_of_program:
        reason = f"{Path(frames_of_program[-1].filename).name}:{frames_of_program[-1].lineno}: {reason}"
    else:
        traceback.print_exception(err)
    by_platform = isinstance(err, simgrid.NetworkFailureException | simgrid.HostFailureException)
    result.write_text(json.dumps({"error": f"{who}{reason}", "by_platform": by_platform}))
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(1)


def _beside(filename: str, path: str) -> bool:
    """Return whether a file is the program's, or a module beside it."""
    return Path(filename).parent == Path(path).parent


def _stay_on_one_core() -> None:
    """Keep the process on one core: actors are threads of which one runs at a time, and hand over faster there."""
    try:
        os.sched_setaffinity(0, {ctypes.CDLL(None).sched_getcpu()})
    except (AttributeError, OSError):  # not on this system, or not allowed
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
