"""Names and addresses by which browsers may reach the server.

A page of another site can let its own name resolve to 127.0.0.1 and then read from this server as if it were its own
(DNS rebinding).  The name in the header Host is then that of the other site.
"""

from __future__ import annotations

import ipaddress
import re
import socket

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?")


def is_loopback(address: str) -> bool:
    """Return whether an address is reached from this computer alone."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def own_names() -> frozenset[str]:
    """Return the names of this computer."""
    return frozenset(name.lower() for name in (socket.gethostname(), socket.getfqdn()) if name)


def allowed_host(header: str, bound: str, names: frozenset[str]) -> bool:
    """Return whether the value of a header Host is a name or an address of this server.

    The port may be any, because a tunnel may have its own.  Other addresses than those of this computer alone are
    numbers, which no other site can take over, or names of this computer.

    Args:
        header: The value, such as ``localhost:8765``.
        bound: The address on which the server listens.
        names: Names of the server, such as those of this computer where it listens on other addresses.

    >>> allowed_host("localhost:8765", "127.0.0.1", frozenset()), allowed_host("evil.example", "127.0.0.1", frozenset())
    (True, False)
    """
    match = _HOST.fullmatch(header)
    if match is None:
        return False
    name = match[1].strip("[]").lower()
    if is_loopback(name) or name in names:
        return True
    if is_loopback(bound):
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
