"""Compile ahead of time what predictions need: run by the set-up, and at any time.

Anything missing is compiled at its first use, which takes some seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from apps.child.keeper.program import keeper_program
from apps.options.exit_status import exit_status
from apps.recording.recorder.library import recorder_library
from apps.smpi.launch import thread_clock_library
from platforms.command.command import Command
from platforms.command.request import Request
from platforms.files.caching import cache_folder
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from platforms.simgrid.installed import check_simgrid
from predictor.dpgraph import fluid
from predictor.factorisation import evaluate
from predictor.structural import contention as sharing

_COMPILERS = 2  # at a time
# The longest first.
STEPS: tuple[Callable[[], object], ...] = (
    lambda: materialise(named_grid("grid4x2")).hosts,  # read by a helper
    sharing.LIBRARY.compiled,
    fluid.LIBRARY.compiled,
    evaluate.LIBRARY.compiled,
    keeper_program,
    recorder_library,
    thread_clock_library,
)


def prepare() -> None:
    """Compile what is missing in the cache folder.

    Raises:
        UserError: SimGrid or a compiler is missing, compiling fails, or the cache folder cannot be used.
    """
    check_simgrid()
    with ThreadPoolExecutor(_COMPILERS) as pool:
        for step in [pool.submit(step) for step in STEPS]:
            step.result()


@dataclass(frozen=True, kw_only=True)
class PrepareRequest(Request):
    """Nothing is to be chosen."""


def _run(_: PrepareRequest) -> int:
    prepare()
    print(f"what predictions need is compiled in {cache_folder()}")
    return 0


COMMAND = Command(
    "prepare",
    PrepareRequest,
    _run,
    __doc__,
    status=exit_status,
)
main = COMMAND.main


if __name__ == "__main__":
    sys.exit(main(prog="python -m predictor.prepare"))
