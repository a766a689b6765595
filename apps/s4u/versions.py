"""Calls of SimGrid's Python module whose names differ between its versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simgrid


def start_actor(name: str, host: simgrid.Host, body: Callable[..., None], *arguments: Any) -> None:
    """Start an actor on a host, which calls ``body`` with the arguments when the simulation begins."""
    if hasattr(host, "add_actor"):  # SimGrid 4.0 and later, which warn of the other way
        host.add_actor(name, body, *arguments)
    else:
        simgrid.Actor.create(name, host, body, *arguments)


def get_async(mailbox: simgrid.Mailbox) -> tuple[simgrid.Comm, Callable[[], Any]]:
    """Begin to receive the next message of a mailbox.

    Returns:
        The activity to wait for, and a function that gives the payload once, after the activity has ended.
    """
    request = mailbox.get_async()
    if isinstance(request, tuple):  # SimGrid 3.34 and earlier
        activity, payload = request
        return activity, payload.get
    return request, request.get_payload
