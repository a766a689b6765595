"""Numbers to learn from: known sizes of a problem, and numbers of ranks to record, few and small.

Known sizes are parameters of a kernel, numbers among arguments, and those that the user gives.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from apps.programs.problem import Problem
from platforms.errors import UserError

_MOST = 12
_LARGEST = 1 << 40
_ON = "@"
_NAME = re.compile(r"[^@=]+(?:@[1-9]\d*)?")
LEAST = 3  # recordings: two to learn from, and one that is held out
# Along each axis a grid needs a side of 3, to tell left from right, and ranks inside it at two numbers of ranks:
# in two dimensions from 12 ranks on, in three from 27.
_ANY = ((4, 8, 12, 18, 27), (45,), (64,))
_POWERS = ((4, 8, 16, 32), (12, 18, 27), (45,), (64,))
_SQUARES = ((4, 9, 16, 25, 36), (12, 18, 27), (45,), (64,))  # a multi-partition of a cube takes squares
_POWERS_AND_SQUARES = ((4, 8, 16, 32), (9, 25, 36), (12, 18, 27), (45,), (64,))
_OTHERS = (4, 6, 8, 9, 16, 18, 24, 25, 32, 36, 49, 64)
_STEPS = ((0, 4), (4, 6), (6, 7))  # of those, the first four, and then more
# Further numbers of ranks that may be advised: they have sides from 3 on, or factors of 3.
FURTHER = (3, 4, 6, 8, 9, 12, 16, 18, 24, 27, 32, 36, 45, 48, 49, 64, 81, 96, 100, 125, 128)


def numbers_of(problem: Problem, known: Mapping[str, int]) -> tuple[int, ...]:
    """Return the known sizes of a problem, those that the user gives first."""
    if problem.program is None:
        values: Iterable[object] = (value for _, value in problem.params)
        mine = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    else:
        mine = [int(digits) for argument in problem.program.arguments for digits in re.findall(r"\d+", argument)]
    given = [value for name, value in known.items() if _ON not in name]
    numbers = dict.fromkeys([*given, *(n for n in mine if 0 < n <= _LARGEST)])
    return tuple(numbers)[:_MOST]


def sizes_by_count(problem: Problem, known: Mapping[str, int]) -> dict[int, tuple[int, ...]]:
    """Return the sizes of the problem in the place of ``numbers_of`` on the numbers of ranks where they are others.

    >>> from apps.programs.problem import sized_problem
    >>> sizes_by_count(sized_problem("fft", 4096), {"n@8": 512})
    {8: (512,)}
    """
    changed: dict[int, dict[int, int]] = {}
    for name, count, value in _changed(known):
        changed.setdefault(count, {})[_size_of(problem, known, name)] = value
    return {
        count: tuple(others.get(n, n) for n in numbers_of(problem, known)) for count, others in sorted(changed.items())
    }


def problem_on(problem: Problem, known: Mapping[str, int], nranks: int) -> Problem:
    """Return the problem that is recorded on a number of ranks, of another size where ``known`` says so.

    Raises:
        UserError: The program has no argument that is this size, or the kernel no such parameter.
    """
    for name, count, value in _changed(known):
        size = _size_of(problem, known, name)  # also where it is not needed: a wrong name is always refused
        if count != nranks or (problem.program is not None and problem.program.recorded):
            continue
        if problem.program is None:
            params = tuple((key, value if key == name else before) for key, before in problem.params)
            problem = replace(problem, params=params, preset=None)
            continue
        before = problem.program.arguments
        after = tuple(re.sub(rf"(?<!\d){size}(?!\d)", str(value), text) for text in before)
        if after == before and value != size:
            where = f"--known {name}{_ON}{count}={value}"
            raise UserError(where, f"no argument of the program has {size}", f"Give {size} among --program-args")
        problem = replace(problem, program=replace(problem.program, arguments=after))
    return problem


def _changed(known: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yield the names of sizes that differ on a number of ranks, that number, and the size there."""
    for name, value in known.items():
        base, on, count = name.partition(_ON)
        if on:
            yield base, int(count), value


def _size_of(problem: Problem, known: Mapping[str, int], name: str) -> int:
    """Return the size of the target's problem that a name stands for."""
    params = dict(problem.params)
    size = params.get(name) if problem.program is None else known.get(name)
    if not isinstance(size, int):
        where = next(f"--known {key}={value}" for key, value in known.items() if key.partition(_ON)[0] == name)
        if problem.program is None:
            raise UserError(where, f"{problem.name} has no size {name}", f"Its parameters: {', '.join(params)}")
        raise UserError(where, f"the size {name} of the target is not given", f"Add --known {name}=VALUE")
    return size


def parse_known(texts: Iterable[str]) -> dict[str, int]:
    """Return the sizes given as NAME=VALUE, or as NAME@RANKS=VALUE for a recording on RANKS ranks.

    >>> parse_known(["n=4100", "n@8=512"])
    {'n': 4100, 'n@8': 512}

    Raises:
        UserError: A text has another form.
    """
    known = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not _NAME.fullmatch(name) or not value.isdigit() or int(value) == 0:
            remedy = "Write for example --known n=4100, or n@8=512 for the recording on 8 ranks"
            raise UserError(f"--known {text}", "not of the form NAME=VALUE", remedy)
        known[name] = int(value)
    return known


def parse_recorded(text: str) -> tuple[int, ...]:
    """Return the numbers of ranks to record, ascending.

    >>> parse_recorded("16,8,12")
    (8, 12, 16)

    Raises:
        UserError: The text is not a list of at least three different numbers.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts) or len(set(parts)) < 3:
        problem = "not a list of at least three numbers of ranks"
        raise UserError(f"--recorded {text}", problem, "Write for example --recorded 8,12,16,24")
    return tuple(sorted({int(part) for part in parts}))


def counts_to_record(problem: Problem, nranks: int) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of ranks to record for a prediction on ``nranks`` ranks: first, and then step by step.

    A program of the user's own is taken to run on any number of ranks.  Powers of two come first for a power of two,
    and squares for a square.

    >>> from apps.programs.problem import problem
    >>> counts_to_record(problem("ft", "A"), 128), counts_to_record(problem("bt", "A"), 120)
    (((4, 8, 16, 32), (12, 18, 27), (45,), (64,)), ((4, 8, 12, 18, 27), (45,), (64,)))
    """
    steps: tuple[tuple[int, ...], ...] = _ANY
    if _is_square(nranks):
        steps = _POWERS_AND_SQUARES if _is_power(nranks) else _SQUARES
    elif _is_power(nranks):
        steps = _POWERS
    if not all(problem.allows(count) for count in (*steps[0], *steps[1][:1])):
        others = [count for count in _OTHERS if problem.allows(count)]
        steps = tuple(tuple(others[a:b]) for a, b in _STEPS)
    allowed = (tuple(count for count in step if count < nranks) for step in steps)
    return tuple(step for step in allowed if step)


def alike(nranks: int, recorded: Collection[int]) -> tuple[tuple[int, ...], ...]:
    """Return choices of recorded numbers of ranks to learn from: all, and those that share a property with ``nranks``.

    Some programs choose another layout for a power of two or for a square.

    >>> alike(64, (4, 8, 9, 16, 25, 32, 36)), alike(60, (4, 8, 9, 16))
    (((4, 8, 9, 16, 25, 32, 36), (4, 8, 16, 32), (4, 9, 16, 25, 36)), ((4, 8, 9, 16),))
    """
    choices = [tuple(sorted(recorded))]
    for shared in (_is_power, _is_square):
        choices.append(tuple(count for count in choices[0] if shared(count)) if shared(nranks) else ())
    return tuple(dict.fromkeys(choice for choice in choices if len(choice) > LEAST or choice == choices[0]))


def _is_power(count: int) -> bool:
    return count & (count - 1) == 0


def _is_square(count: int) -> bool:
    return math.isqrt(count) ** 2 == count


def next_counts(problem: Problem, nranks: int, recorded: Collection[int]) -> tuple[int, ...]:
    """Return the numbers of ranks of the first step that has no recording yet; empty after the last step."""
    return next((step for step in counts_to_record(problem, nranks) if not set(step) & set(recorded)), ())


def advised(problem: Problem, nranks: int, recorded: Collection[int]) -> int | None:
    """Return one more number of ranks to record, above those recorded; None where there is none below ``nranks``.

    >>> from apps.programs.problem import problem
    >>> advised(problem("cg", "A"), 256, (4, 8, 16, 32)), advised(problem("cg", "A"), 32, (4, 8, 16))
    (64, 18)
    """
    powers = all(map(_is_power, (nranks, *recorded))) and len(recorded) > LEAST
    return next(
        (
            count
            for count in FURTHER
            if max(recorded) < count < nranks and problem.allows(count) and not (powers and not _is_power(count))
        ),
        None,
    )
