"""What SimGrid's Python module calls by other names in its versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simgrid


def start_actor(name: str, host: simgrid.Host, body: Callable[..., None], *arguments: Any) -> None:
    """An actor on a host; ``body`` is called with the arguments when the simulation begins."""
    if hasattr(host, "add_actor"):  # from 4.0 on, which warns of the other
        host.add_actor(name, body, *arguments)
    else:
        simgrid.Actor.create(name, host, body, *arguments)


def get_async(mailbox: simgrid.Mailbox) -> tuple[simgrid.Comm, Callable[[], Any]]:
    """The next message of a mailbox, to be waited for, and what gives its payload afterwards, once."""
    found = mailbox.get_async()
    if isinstance(found, tuple):  # up to 3.34
        activity, payload = found
        return activity, payload.get
    return found, found.get_payload
