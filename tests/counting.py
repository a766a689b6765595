"""Counting of what code does, which is the same on every machine, however fast and busy it is."""

import sys


def lines_run(function):
    """Return what a function returns, and how many lines of Python it ran, once more in each turn of a loop."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = function()
    finally:
        sys.settrace(before)
    return found, count
