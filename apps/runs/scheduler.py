"""Options for a Dask scheduler whose workers simulate, and for the certificates that authenticate both sides."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.command.request import Request, option
from platforms.errors import UserError

_ENCRYPTED = "tls://"
_WITHIN = "inproc://"  # a scheduler in the same process, unreachable for others
OPEN = (
    "the Dask scheduler is used without certificates: anyone who reaches its port can run any program on its workers "
    "and on this computer, and can forge results; --tls prevents this (docs/validation/campaigns.md)"
)


@dataclass(frozen=True, kw_only=True)
class SchedulerOptions(Request):
    """Options for a Dask scheduler."""

    scheduler: str | None = option(
        None, "ADDRESS", "simulate on the workers of this Dask scheduler (docs/validation/campaigns.md)"
    )
    tls: str | None = option(
        None,
        "CA,CERT,KEY",
        "certificate files (PEM) for a scheduler at tls://HOST:PORT: that of the authority that signed the others, "
        "the own certificate, and its key",
    )


def scheduler_from_request(request: SchedulerOptions) -> tuple[str, ...] | None:
    """Return the address of the scheduler, and the names of the three files if there are any; None: no scheduler.

    Raises:
        UserError: The options contradict each other.
    """
    if request.tls is None:
        return None if request.scheduler is None else (request.scheduler,)
    if request.scheduler is None or not request.scheduler.startswith(_ENCRYPTED):
        raise UserError("--tls", "no scheduler that uses certificates", "Give --scheduler tls://HOST:PORT")
    files = request.tls.split(",")
    if len(files) != 3 or not all(files):
        raise UserError(f"--tls {request.tls}", "not three files", "Give the names of CA,CERT,KEY, with commas")
    return (request.scheduler, *files)


def open_to_strangers(scheduler: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return a caution if anyone who reaches the scheduler's port can use it."""
    return (OPEN,) if scheduler and not scheduler[0].startswith((_ENCRYPTED, _WITHIN)) else ()
