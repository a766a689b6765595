"""Names of calls in messages: file, line and function in place of addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from apps.programs.problem import Problem
from apps.recording.events import Recording
from platforms.errors import UserError
from predictor.graph.places import Call, calls_of, places_of

Text = Mapping[tuple[int, ...], tuple[Call, ...]]  # by path, the outermost call first: its calls
_PATH = re.compile(r"0x[0-9a-f]+(?: > 0x[0-9a-f]+)*")  # as Symbol writes it, the outermost call first


def with_places(texts: Sequence[str], problem: Problem) -> tuple[str, ...]:
    """Return texts with the places of calls instead of their addresses, as far as these are known.

    >>> from apps.programs.problem import problem
    >>> with_places(["no address in it"], problem("cg", "S"))
    ('no address in it',)
    """
    shown = dict.fromkeys(match[0] for text in texts for match in _PATH.finditer(text))
    if not shown:
        return tuple(texts)
    paths = [tuple(int(address, 16) for address in reversed(path.split(" > "))) for path in shown]
    try:
        places = dict(zip(shown, places_of(problem, paths), strict=True))
    except UserError:  # addr2line is missing: addresses have to do
        return tuple(texts)
    return tuple(_PATH.sub(lambda match: places[match[0]] or match[0], text) for text in texts)


def with_calls_merged(recordings: Sequence[Recording], problem: Problem) -> tuple[list[Recording], Text]:
    """Return recordings in which the copies that the compiler made of a call have the same path, and the calls."""
    paths = sorted({path for recording in recordings for path in recording.paths})
    try:
        calls = calls_of(problem, paths)
    except UserError:  # addr2line is missing: each copy is a call of its own
        return list(recordings), {}
    first: dict[tuple[Call, ...], tuple[int, ...]] = {}
    merged = {path: first.setdefault(call, path) for path, call in zip(paths, calls, strict=True)}
    made = [replace(recording, paths=tuple(merged[path] for path in recording.paths)) for recording in recordings]
    return made, {path[::-1]: call for call, path in first.items()}
