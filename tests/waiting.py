"""Waiting in tests: for a condition, and for the processes of a program to begin or to end."""

import os
import time
from pathlib import Path


def until(condition, limit_s=20.0, *, every_s=0.02):
    """Wait until a condition holds, and return its last value, which is false if the time was not enough."""
    end_s = time.monotonic() + limit_s
    while not (met := condition()) and time.monotonic() < end_s:
        time.sleep(every_s)
    return met


def processes_of(name):
    """Return the numbers of processes whose command line or working folder contains the name."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (
                name.encode() in (entry / "cmdline").read_bytes() or name in os.readlink(entry / "cwd")
            ):
                found.append(int(entry.name))
        except OSError:  # it has ended
            continue
    return found
