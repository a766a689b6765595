"""The cautions about the runs that a command uses, collected and printed each once."""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

COMMUNICATION = "computation takes no time (--compute none): all times are those of communication alone"
MEASURED = "computation is timed on this machine: results vary from run to run"

# A number that is not part of a name: 'c1', grid4x2 and c-1.x have none.
_NUMBER = re.compile(r"(?<![\w.'-])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w'-]|\.\w)")


@dataclass
class _Kind:
    """Sentences that differ only in their numbers."""

    numbers: list[list[str]] = field(default_factory=list)  # of each sentence
    runs: dict[Hashable, str] = field(default_factory=dict)  # names of the runs


class Cautions:
    """The cautions about all runs that a command uses, as truth or as evidence.

    Sentences that differ only in their numbers become one, with the smallest and the largest of each number.  Lines and
    names are sorted, so that they do not depend on the order of the runs.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}
        self._said: set[str] = set()

    def add(self, run: str, sentences: Iterable[str], *, key: Hashable = None) -> None:
        """Keep the cautions about a run.

        Args:
            run: Name of the run.
            sentences: Its cautions.
            key: Distinguishes runs of the same name; a run that is added again counts once.
        """
        for sentence in sentences:
            kind = self._kinds.setdefault(kind_of(sentence), _Kind())
            numbers = _NUMBER.findall(sentence)
            if numbers not in kind.numbers:
                kind.numbers.append(numbers)
            kind.runs.setdefault((run, key), run)

    def lines(self) -> list[str]:
        """Return every caution, printed or not, with the first of the runs that it concerns and their number."""
        return sorted(_line(text, kind) for text, kind in self._kinds.items())

    def by_run(self) -> tuple[tuple[str, str], ...]:
        """Return every caution with the name of the first of the runs that it concerns."""
        return tuple((min(kind.runs.values()), _with_ranges(text, kind.numbers)) for text, kind in self._kinds.items())

    def say(self, *sentences: str) -> None:
        """Print sentences that concern the whole command at once; ``say_all`` does not repeat them for its runs."""
        for sentence in sentences:
            if (kind := kind_of(sentence)) not in self._said:
                self._said.add(kind)
                _print(sentence)

    def say_all(self) -> None:
        """Print every caution that has not been printed yet."""
        new = {text: kind for text, kind in self._kinds.items() if text not in self._said}
        self._said.update(new)
        for line in sorted(_line(text, kind) for text, kind in new.items()):
            _print(line)


def print_cautions(sentences: Iterable[str]) -> None:
    """Print the cautions about the only run of a command."""
    Cautions().say(*sentences)


def _print(sentence: str) -> None:
    print(f"caution: {sentence}", file=sys.stderr)


def kind_of(sentence: str) -> str:
    """Return the sentence with a mark in the place of each number: sentences of one kind differ in numbers only."""
    return _NUMBER.sub("\0", sentence)


def merged(sentences: Iterable[str]) -> str:
    """Return sentences of one kind as one, with the smallest and the largest of each number.

    >>> merged(["compute share 1 %: outside the regime", "compute share 6 %: outside the regime"])
    'compute share 1 to 6 %: outside the regime'
    """
    all_of_them = list(sentences)
    return _with_ranges(kind_of(all_of_them[0]), [_NUMBER.findall(sentence) for sentence in all_of_them])


def _line(text: str, kind: _Kind) -> str:
    first, *others = sorted(kind.runs.values())
    more = f", and {len(others)} more" if others else ""
    return f"{first}{more}: {_with_ranges(text, kind.numbers)}"


def _with_ranges(text: str, rows: Iterable[Sequence[str]]) -> str:
    numbers = iter([_range(set(column)) for column in zip(*rows, strict=True)])
    return re.sub("\0", lambda _: next(numbers), text)


def _range(texts: set[str]) -> str:
    low, high = min(texts, key=float), max(texts, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
