"""Runs that fail because the platform's own profiles change hosts or links under them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apps.errors import SimulationError
from apps.failure import failure
from apps.process import Finished
from apps.spec import Target
from platforms.errors import PlatformError

_REMEDY = "Leave it out (--clusters, --hostfile), or take its profile away"


@contextmanager
def failures_explained(target: Target, done: Finished) -> Iterator[None]:
    """A run that ends too early on a platform that changes is the platform's fault: what is off answers nobody, and
    SimGrid loses messages that are on their way over a link when its profile changes it.  One that was ended from
    outside, or by the program itself, or for lack of memory, is not.

    Raises PlatformError in place of that SimulationError.
    """
    try:
        yield
    except SimulationError as err:
        harmful = [one for one in target.changes if one.kind == "state" or one.resource == "link"]
        failed = failure(done)
        if not harmful or (failed is not None and not failed.by_platform):
            raise
        worst = min(harmful, key=lambda one: (one.kind != "state", one.from_s))
        lost = "" if worst.kind == "state" else ", and SimGrid loses messages that are on it then"
        more = f" ({len(harmful) - 1} more like that)" if len(harmful) > 1 else ""
        raise PlatformError(str(err), f"{worst}{lost}{more}", _REMEDY) from err
