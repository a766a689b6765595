"""The worker process: it reads requests from standard input, one line each, and writes its answers.

It ends, with its simulations, when standard input ends: that is when the server has ended, whatever the reason.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from apps.errors import SimulationError
from platforms.errors import UserError
from validation.workbench.work.checking import check_application, check_system, evaluate, write_xml
from validation.workbench.work.graphs import graph
from validation.workbench.work.pictures import drawn
from validation.workbench.work.points import describe
from validation.workbench.work.reading import check_upload, count, expand, hello, show
from validation.workbench.work.running import Running
from validation.workbench.work.showing import report, timeline
from validation.workbench.work.tables import parquet

Task = Callable[..., Iterator[dict[str, Any]]]
_saying = threading.Lock()  # the threads of simulations tell of them


def main(words: Sequence[str]) -> int:
    """Answer requests until standard input ends, and return the exit status."""
    folder, store = Path(words[0]), Path(words[1])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed must not be taken for an answer
    signal.signal(signal.SIGTERM, _interrupt)
    requests: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    try:
        with Running(folder, store, tuple(words[2:]) or None, partial(_say, answers)) as running:
            tasks: dict[str, Task] = {
                "hello": hello, "check_upload": check_upload,
                "count": count, "expand": expand, "show": show, "run": running.run, "places": running.places,
                "check_system": check_system, "write_xml": write_xml, "check_application": check_application,
                "evaluate": evaluate, "describe": describe,
                "timeline": timeline, "graph": graph, "parquet": parquet, "drawn": drawn,
                "report": partial(report, tell=partial(_say, answers)),
            }  # fmt: skip
            while True:
                _serve(json.loads(_next(requests)), tasks, folder, answers)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141


def _serve(request: dict[str, Any], tasks: dict[str, Task], folder: Path, answers: TextIO) -> None:
    try:
        for answer in tasks[request.pop("task")](folder, **request):
            _say(answers, answer)
    except UserError as err:
        _say(answers, {"error": [err.where, err.problem, err.remedy], "keys": list(err.keys)})
    except SimulationError as err:  # of a timeline or a graph; a run of the queue keeps its own reason
        _say(answers, {"error": ["simulation", str(err), "Choose another run, or a smaller class"], "keys": []})
    else:
        _say(answers, {"done": True})


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    with _saying:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _next(requests: queue.Queue[str]) -> str:
    """Wait for the next request in steps, because a signal does not wake a thread that waits."""
    while True:
        try:
            return requests.get(timeout=0.2)
        except queue.Empty:
            continue


def _read(requests: queue.Queue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    os.kill(os.getpid(), signal.SIGTERM)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
