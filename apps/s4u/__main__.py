"""The process of one simulation: ``python -m apps.s4u JOB RESULT``, started by apps/s4u/engine.py.

Both are JSON files.  JOB names the program, its arguments and the run's settings.  RESULT receives what the ranks did,
or else why they stopped and whether a platform that changes over time may be the reason.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import simgrid

from apps.programs.problem import Problem
from apps.results.energy import plugin_options
from apps.s4u.energy import Meter
from apps.s4u.inputs import Watch, compile_from_sources
from apps.s4u.ranks import Rank
from apps.s4u.section import output
from apps.s4u.versions import start_actor


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
