"""The order of a program's places in its text: that in which its traces go back least often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.recording.events import Mark
from predictor.learned.skeleton import Symbol, Text, Trace

Path = tuple[int, ...]
_BLOCKS = (1, 2, 3, 4, 6, 8, 10, 12, 16)  # lengths of the blocks that are moved
_CLEARER = 1e3  # times as much as a step by analogy a step counts that was seen
_SECTIONS_STAY = 1e9  # cost of a step to an earlier section


def positions(traces: Sequence[Trace], symbols: Sequence[Symbol], text: Text, *, by_call: bool = False) -> np.ndarray:
    """Return the position of each symbol in the text; ``text``: the calls by path, as far as they are known.

    ``by_call``: what is done in the same call of a function is tried together first.
    """
    rows = [np.frombuffer(row, np.int64) for row in {trace.symbols.tobytes() for trace in traces}]
    steps = np.zeros((len(symbols), len(symbols)))
    for row in rows:
        np.add.at(steps, (row[:-1], row[1:]), 1.0)
    np.fill_diagonal(steps, 0.0)
    section = np.array([symbol.section for symbol in symbols])
    steps[section[:, None] != section[None, :]] = 0.0
    ends = [symbol.is_mark(Mark.ITERATION) for symbol in symbols]
    steps[ends] = 0.0  # the text begins again behind the end of an iteration
    if by_call:
        steps = _CLEARER * steps + _by_analogy(steps, symbols)
    met = _as_met(rows)
    unknown = {symbol.path: tuple(("", address, "") for address in symbol.path) for symbol in symbols}
    by_line = sorted(met, key=lambda at: (text.get(symbols[at].path, unknown[symbols[at].path]), symbols[at].kind))
    starts = [sorted(start, key=lambda symbol: section[symbol]) for start in (by_line, met)]
    steps += _SECTIONS_STAY * (section[:, None] < section[None, :])
    if by_call:
        starts.insert(0, _together(starts[-1], symbols, steps))
    line = min((_improved(start, steps) for start in starts), key=lambda line: _cost(line, steps))
    position = np.empty(len(symbols), np.int64)
    position[line] = np.arange(len(line))
    return position


def _as_met(rows: Sequence[np.ndarray]) -> list[int]:
    """Return the symbols in the order of the richest trace, those of the others after their predecessors."""
    line: list[int] = []
    for row in sorted(rows, key=lambda row: (-len(np.unique(row)), len(row))):
        first = np.sort(np.unique(row, return_index=True)[1])
        for at in first.tolist():
            if int(row[at]) not in line:
                line.insert(line.index(int(row[at - 1])) + 1 if at else 0, int(row[at]))
    return line


def _by_analogy(steps: np.ndarray, symbols: Sequence[Symbol]) -> np.ndarray:
    """Return a step between two symbols for each seen between the same calls with tags that are as far apart.

    Along one axis no rank may send both ways, as along another.
    """
    places = [(symbol.kind, symbol.path, symbol.op, symbol.mode, symbol.section) for symbol in symbols]
    number = {place: at for at, place in enumerate(dict.fromkeys(places))}
    place, tag = (np.array(row) for row in ([number[place] for place in places], [symbol.tag for symbol in symbols]))
    kind = (place[:, None] * len(number) + place) * (2 * int(tag.max()) + 5) + tag - tag[:, None]
    likely: np.ndarray = np.isin(kind, kind[steps > 0]) & (steps == 0) & (tag >= 0) & (tag[:, None] >= 0)
    return likely.astype(float)


def calls(symbols: Sequence[Symbol]) -> list[tuple[int, Path]]:
    """Return the call that each symbol is in, by section, at the depth at which the paths of the section part."""
    depths: dict[int, int] = {}
    for section in {symbol.section for symbol in symbols}:
        paths = [symbol.path for symbol in symbols if symbol.section == section]
        depths[section] = next((n for n in range(max(map(len, paths))) if len({path[:n] for path in paths}) > 1), 0)
    return [(symbol.section, symbol.path[: depths[symbol.section]]) for symbol in symbols]


def _together(line: Sequence[int], symbols: Sequence[Symbol], steps: np.ndarray) -> list[int]:
    """Return the symbols of a line with those together that are in the same call."""
    call = calls(symbols)
    groups: dict[tuple[int, Path], list[int]] = {}
    for symbol in line:
        groups.setdefault(call[symbol], []).append(symbol)
    parts = [_improved(part, steps) for part in groups.values()]
    between = np.array([[steps[np.ix_(a, b)].sum() for b in parts] for a in parts])
    np.fill_diagonal(between, 0.0)
    return [symbol for at in _improved(list(range(len(parts))), between) for symbol in parts[at]]


def _cost(line: Sequence[int], steps: np.ndarray) -> float:
    return float(np.tril(steps[np.ix_(line, line)]).sum())


def _improved(line: list[int], steps: np.ndarray) -> list[int]:
    """Return the line after moves of blocks, until none lowers the number of steps back."""
    gained = True
    while gained:
        gained = False
        for length in _BLOCKS:
            for at in range(len(line) - length + 1):
                block, rest = line[at : at + length], line[:at] + line[at + length :]
                out = steps[np.ix_(block, rest)].sum(axis=0)  # a step back for what is before the block
                into = steps[np.ix_(rest, block)].sum(axis=1)  # a step back for what is behind it
                cost = np.concatenate([[0.0], np.cumsum(out)]) + np.concatenate([np.cumsum(into[::-1])[::-1], [0.0]])
                best = int(np.argmin(cost))
                if cost[best] < cost[at] - 0.5:
                    line = rest[:best] + block + rest[best:]
                    gained = True
    return line
