"""Problems: a kernel with its parameters, or the user's own program with its arguments."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from apps.errors import KernelError
from apps.programs.kernel import Kernel, Value, allows, bytes_per_flop, named_kernel, rank_rule, shared_names
from apps.programs.own_program import SHARES, UserProgram
from platforms.errors import known_names, matching
from platforms.wording import number_of

FILE = "iterations.csv"  # columns: the parameters that decide, ranks, iterations; in that order


def table_iterations(kernel: Kernel, params: Mapping[str, Value], nranks: int, *, where: str) -> int:
    """Return the number of iterations that the kernel's table has for these parameters and ranks.

    Args:
        kernel: A kernel with a table.
        params: All parameters of the problem.
        nranks: Number of ranks.
        where: The problem and its ranks, for the error.

    Raises:
        KernelError: The table has no such entry.
    """
    columns, rows = _table(kernel.folder / FILE)
    values = {**params, "ranks": nranks}
    usual = all(values[name] == value for name, value in kernel.parameters.items() if name not in columns)
    entry = tuple(int(values[column]) for column in columns)
    if not usual or entry not in rows:
        raise KernelError(
            where,
            f"no run with arithmetic has given its number of iterations ({kernel.folder.name}/{FILE})",
            f"Give the number: --param {kernel.iterations_parameter}=K",
        )
    return rows[entry]


def read_table(path: Path) -> tuple[tuple[str, ...], dict[tuple[int, ...], int]]:
    """Return the names of the columns that decide, and the number of iterations for each of their values."""
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        columns = tuple(name for name in reader.fieldnames or () if name != "iterations")
        return columns, {tuple(int(row[name]) for name in columns): int(row["iterations"]) for row in reader}


_table = cache(read_table)


@dataclass(frozen=True)
class Problem:
    """A kernel with its parameters, or the user's own program.

    A class such as B is a preset of parameters.  With ``program``, the problem is the user's own program instead of a
    kernel: ``name`` is the program's name, and its arguments take the place of ``params``.  With ``shares``, it is
    divided among as many ranks in these proportions, as near as the kernel's cuts allow; without, evenly.
    """

    name: str
    params: tuple[tuple[str, Value], ...] = ()
    preset: str | None = None
    program: UserProgram | None = None
    shares: tuple[float, ...] = ()  # of the ranks, positive; their sum is 1

    @property
    def iterative(self) -> bool:
        """True if the program has iterations and takes their number as an argument."""
        if self.program is not None:
            return self.program.iterations is not None
        return named_kernel(self.name).iterations_parameter is not None

    @property
    def open_ended(self) -> bool:
        """True if the method iterates until it converges.

        Only a run with arithmetic, or the kernel's table of such runs, gives the number of iterations.
        """
        if self.program is not None or (parameter := named_kernel(self.name).iterations_parameter) is None:
            return False
        return named_kernel(self.name).has_iterations_table and int(dict(self.params)[parameter]) == 0

    def iterations_on(self, nranks: int) -> int:
        """Return the number of iterations of a full run; 1 for a program without iterations, which is simulated whole.

        Raises:
            KernelError: The number is to be taken from the kernel's table, which has no entry for this problem.
        """
        if self.program is not None:
            return self.program.iterations or 1
        if (parameter := named_kernel(self.name).iterations_parameter) is None:
            return 1
        if self.open_ended:
            return self._table_iterations(nranks)
        return int(dict(self.params)[parameter])

    def _table_iterations(self, nranks: int) -> int:
        """Return the entry of the kernel's table; refuse a number of ranks that the kernel does not run on."""
        kernel = named_kernel(self.name)
        where = self.on(nranks)
        if not self.allows(nranks):
            raise KernelError(where, rank_rule(kernel), "Choose other ranks, or another size")
        return table_iterations(kernel, dict(self.params), nranks, where=where)

    @property
    def size(self) -> int | None:
        """Size N; None for a class or the user's own program."""
        if self.program is not None or (parameter := named_kernel(self.name).size_parameter) is None:
            return None
        return int(dict(self.params)[parameter])

    @property
    def label(self) -> str | None:
        """Class of the problem, or N and the parameters that differ from the defaults; None for the user's program."""
        if self.size is None:
            return self.preset
        defaults = named_kernel(self.name).parameters
        changed = (f"{key}={value}" for key, value in self.params if key in defaults and defaults[key] != value)
        return " ".join((str(self.size), *changed))

    @property
    def evenly(self) -> Problem:
        """The same problem, divided evenly."""
        return replace(self, shares=()) if self.shares else self

    def divided(self, shares: Sequence[float]) -> Problem:
        """Return the problem, divided among as many ranks in these proportions.

        >>> problem("lu", "S").divided([1, 3]).shares
        (0.25, 0.75)

        Raises:
            KernelError: The kernel divides its data evenly only, or a share is not a positive number.
        """
        if self.program is not None and not self.program.takes_shares:
            problem = "its arguments do not say how its data are divided"
            remedy = f"Write {SHARES} into --program-args, which becomes the shares of all ranks, such as 0.25,0.75"
            raise KernelError(f"shares of {self.name}", problem, remedy)
        if self.program is None and not named_kernel(self.name).takes_shares:
            remedy = f"Use one of {', '.join(shared_names())}, or a program of your own"
            raise KernelError(f"shares of {self.name}", "it divides its data evenly only", remedy)
        total = sum(shares)
        if not all(0 < share < math.inf for share in shares) or not 0 < total < math.inf:
            raise KernelError(f"shares of {self.name}", "not all are positive numbers", "Give one for every rank")
        return replace(self, shares=tuple(share / total for share in shares))

    def program_arguments(self, iterations: int, nranks: int) -> tuple[str, ...]:
        """Return the arguments of the user's own program on this number of ranks; empty for a kernel."""
        if self.program is None:
            return ()
        return self.program.arguments_for(iterations, self.shares or (1 / nranks,) * nranks)

    def allows(self, nranks: int) -> bool:
        """Return whether the kernel's rule allows this number of ranks; the user's program may run on any."""
        if self.program is not None:
            return True
        return allows(named_kernel(self.name), dict(self.params), nranks)

    @property
    def bytes_per_flop(self) -> float | None:
        """Bytes moved between a node's cores and its memory per operation; None for the user's own program."""
        if self.program is not None:
            return None
        return bytes_per_flop(named_kernel(self.name), dict(self.params))

    def on(self, nranks: int) -> str:
        """Name the problem with its number of ranks, for messages.

        >>> problem("cg", "S").on(1)
        'cg S on 1 rank'
        """
        return f"{self} on {number_of(nranks, 'rank')}"

    def __str__(self) -> str:
        name = f"{self.name} {self.label}" if self.label else self.name
        return f"{name} in unequal shares" if self.shares else name


def problem(kernel_name: str, preset: str) -> Problem:
    """Return the official problem of a class.

    Raises:
        KernelError: The kernel has no such class; the error lists the known ones.

    >>> problem("cg", "B").iterations_on(32)
    75
    """
    kernel = named_kernel(kernel_name)
    if kernel.size_parameter is not None:
        raise KernelError(f"class {preset!r}", f"{kernel_name} has no classes", "Give its size N with --size")
    known = matching(preset, kernel.classes)
    if known is None:
        remedy = known_names(preset, kernel.classes)
        raise KernelError(f"class {preset!r}", f"{kernel.name} has no such class", remedy)
    return Problem(kernel.name, tuple(kernel.classes[known].items()), known)


def sized_problem(kernel_name: str, size: int, /, **parameters: Value) -> Problem:
    """Return the problem of size N, with ``parameters`` instead of their defaults.

    Raises:
        KernelError: The kernel has no free size, or the size or a parameter is unknown or out of range.

    >>> print(sized_problem("hpl", 9600, nb=128))
    hpl 9600 nb=128
    """
    kernel = named_kernel(kernel_name)
    if kernel.size_parameter is None:
        remedy = f"Give one of its classes: {', '.join(kernel.classes)}"
        raise KernelError(f"size {size}", f"{kernel_name} has no free size", remedy)
    if not 1 <= size <= kernel.most_size:
        problem = "not a size" if size < 1 else f"too large for {kernel_name}"
        raise KernelError(f"size {size}", problem, f"Give an integer from 1 to {kernel.most_size}")
    values = {kernel.size_parameter: size, **kernel.parameters}
    for name, value in parameters.items():
        values[name] = _checked(kernel, name, value)
    return Problem(kernel.name, tuple(values.items()))


def shortened(kernel: Kernel, size: int, iterations: int | None) -> Problem:
    """Return the problem of size N with a number of iterations; None: the default number."""
    parameter = kernel.iterations_parameter
    fewer = {} if iterations is None or parameter is None else {parameter: iterations}
    return sized_problem(kernel.name, size, **fewer)


def _checked(kernel: Kernel, name: str, value: Value) -> Value:
    """Return a parameter's value in the type of its default; texts from a command line are converted."""
    if name not in kernel.parameters:
        known = known_names(name, kernel.parameters) if kernel.parameters else "It has none"
        raise KernelError(f"parameter {name!r}", f"{kernel.name} has no such parameter", known)
    wanted = type(kernel.parameters[name])
    try:
        converted = wanted(value)
    except (ValueError, OverflowError, TypeError):
        converted = None
    if converted is None or (not isinstance(value, str) and converted != value) or not _plain(converted):
        kind = {int: "an integer", float: "a number", str: "a word"}[wanted]
        raise KernelError(f"parameter {name}={value}", f"not {kind}", f"Give {kind}, such as {kernel.parameters[name]}")
    return converted


def _plain(value: Value) -> bool:
    """Return whether a kernel's command line can carry the value."""
    if isinstance(value, str):
        return re.fullmatch(r"[\w.-]{1,40}", value) is not None
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63


def own_problem(program: UserProgram) -> Problem:
    """Return the problem that the user's own program solves."""
    return Problem(program.name, program=program)
