"""Runs that fail because the platform's profiles change hosts or links during the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from apps.child.failure import failure
from apps.child.process import Finished
from apps.errors import SimulationError
from platforms.errors import PlatformError
from platforms.model.platform import Change

_REMEDY = "Leave it out (--clusters, --hostfile), or remove its profile"


@contextmanager
def failures_explained(changes: Sequence[Change], done: Finished) -> Iterator[None]:
    """Replace a SimulationError by a PlatformError if the platform's profiles may have caused it.

    A host that a profile has turned off does not answer, and SimGrid loses messages that are on a link when a profile
    changes the link.  Runs that were ended from outside, by the program itself or for lack of memory keep their error.

    Raises:
        PlatformError: In place of the SimulationError.
    """
    try:
        yield
    except SimulationError as err:
        harmful = [change for change in changes if change.kind == "state" or change.resource == "link"]
        failed = failure(done)
        if not harmful or (failed is not None and not failed.by_platform):
            raise
        worst = min(harmful, key=lambda change: (change.kind != "state", change.from_s))
        lost = "" if worst.kind == "state" else ", and SimGrid loses the messages that are on the link at that time"
        more = f" ({len(harmful) - 1} more like that)" if len(harmful) > 1 else ""
        raise PlatformError(str(err), f"{worst}{lost}{more}", _REMEDY) from err
