"""Known sizes of a problem: parameters of a kernel, numbers among arguments, and those that the user gives."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from apps.programs.problem import Problem
from platforms.errors import UserError

_MOST = 12
_LARGEST = 1 << 40
_ON = "@"
_NAME = re.compile(r"[^@=]+(?:@[1-9]\d*)?")


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
