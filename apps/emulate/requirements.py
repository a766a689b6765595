"""Needs of a machine that emulates a grid: rights, the device for tunnels, the command."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from platforms.errors import UserError, printable

_TUN = Path("/dev/net/tun")
_RIGHTS = {12: "CAP_NET_ADMIN", 14: "CAP_IPC_LOCK", 21: "CAP_SYS_ADMIN", 23: "CAP_SYS_NICE"}


def check_machine() -> None:
    """Refuse a machine that cannot emulate a grid.

    Raises:
        UserError: Something is missing; the message says how to get it.
    """
    if not sys.platform.startswith("linux"):
        raise UserError("emulated grid", f"needs Linux, not {sys.platform}", "Start it on a Linux machine")
    if missing := missing_rights(Path("/proc/self/status").read_text()):
        raise UserError("emulated grid", f"the right {missing[0]} is missing", "Start it as root")
    if not _TUN.exists():
        remedy = "Run: modprobe tun; in a container, start it with --device /dev/net/tun"
        raise UserError("emulated grid", f"there is no {_TUN}", remedy)
    if not os.access(_TUN, os.R_OK | os.W_OK):
        raise UserError("emulated grid", f"{_TUN} may not be used", "Start it as root")


def missing_rights(status: str) -> list[str]:
    """Return the rights that a process lacks, by the text of its /proc/PID/status."""
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    return [name for bit, name in _RIGHTS.items() if not int(effective, 16) >> bit & 1]


def check_command(command: str) -> None:
    """Refuse a command that does not exist.

    Raises:
        UserError: It is not found.
    """
    if shutil.which(command) is None:
        packages = " (Run: apt-get install openmpi-bin)" if command in ("mpirun", "mpiexec") else ""
        raise UserError(f"command {printable(command)}", "not found", f"Install it, or correct its name{packages}")
