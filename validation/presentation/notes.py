"""Numbered cautions of predictions, and predictors without an answer, below the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from apps.results.cautions import kind_of, merged
from platforms.terminal.prose import numbered_lines, prose_lines
from platforms.wording import number_of
from validation.comparison.rows import Row, rows_by


class Notes:
    """The cautions of all predictions, each kind numbered once, in the order of the results.

    Cautions that differ in their numbers only are of one kind.
    """

    def __init__(self, flags: Iterable[str]) -> None:
        """Number the cautions; ``flags`` has those of one prediction in each text, separated by semicolons."""
        self._sentences: dict[str, list[str]] = {}
        for sentence in (caution for text in flags for caution in _cautions(text)):
            self._sentences.setdefault(kind_of(sentence), []).append(sentence)
        self._numbers = {kind: str(number) for number, kind in enumerate(self._sentences, 1)}

    def numbers(self, flags: str) -> str:
        """Return the numbers of one prediction's cautions, with commas between them."""
        return ",".join(sorted({self._numbers[kind_of(caution)] for caution in _cautions(flags)}, key=int))

    def lines(self) -> list[str]:
        """Return the numbered cautions."""
        return numbered_lines([merged(dict.fromkeys(sentences)) for sentences in self._sentences.values()])


def _cautions(flags: str) -> list[str]:
    return [caution for caution in flags.split("; ") if caution]


def refusal_lines(results: Sequence[Row]) -> list[str]:
    """Return a line for each predictor without an answer, with the reason; predictors with one reason share a line.

    A predictor that has different reasons on different targets is shown with the first.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
    """
    refused = [row for row in results if row["predicted_s"] is None]
    cases = Counter(row["predictor"] for row in results)
    names_by_text: dict[str, list[str]] = {}
    for (name,), rows in rows_by(refused, "predictor").items():
        reasons: dict[str, list[str]] = {}
        for row in rows:
            said = row["flags"].removeprefix(name).lstrip(",: ").rstrip(".")
            reasons.setdefault(kind_of(said), []).append(said)
        where = "" if len(rows) == cases[name] else f" on {len(rows)} of {number_of(cases[name], 'target')}"
        more = "" if len(reasons) == 1 else f" (the first of {len(reasons)} reasons)"
        names_by_text.setdefault(f"no answer{where}{more}: {merged(next(iter(reasons.values())))}", []).append(name)
    texts = (f"{listed(names)}: {text}" for text, names in names_by_text.items())
    return [line for text in texts for line in prose_lines(text, indent="  ", first="")]


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """Return names as in a sentence.

    >>> listed(["cg", "mg", "lu"]), listed(["a", "b", "c", "d"], most=2)
    ('cg, mg and lu', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
