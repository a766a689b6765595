"""Arithmetic expressions of application descriptions, which are parsed and never given to ``eval``.

Expressions have ``+ - * / // % **``, comparisons, ``and or not``, ``a if c else b``, functions, sums such as
``sum(k ** 2 for k in range(n))``, random variates (all in ``predictor/blocks/parsing.py``), the places of a grid, and
the functions and lists of a description (``predictor/blocks/given.py``).

A name stands for a number or for a Progression: the values of the processes of a cohort, in their order.  A name can be
defined by another expression (``Expression.defined``): variables that differ by process are such names, and parameters
of named steps.

Cartesian grids of a label's processes, for the functions ``neighbour`` and ``coordinate`` of expressions.

The first coordinate runs fastest: on a grid of px times py processes, the process at (x, y) has the index x + px y.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, cast

from platforms.errors import UserError, inside, nearest
from predictor.blocks.parsing import BUILT_IN, NOBODY, PLACES, Evaluate, Value, compiled, place_name
from predictor.blocks.progression import Progression, Remainder

# Key of a scope, for a dictionary in which all expressions of one process keep the values of its variables, lists and
# functions, so that each is evaluated once.  A scope with another process needs another dictionary.
SHARED = ""
_MOST_LENGTH = 1000  # characters
_LONG = 1e18  # from here on a message has no digit of a whole number but the first ones
_MOST_BITS = 1023  # of a whole number: a larger one is no float


@dataclass(frozen=True)
class Expression:
    """A parsed expression.  Expressions with the same text are equal."""

    text: str
    names: frozenset[str] = field(compare=False, repr=False)  # names that a scope has to give
    _evaluate: Evaluate = field(compare=False, repr=False)
    may_be_nobody: bool = field(default=False, compare=False, repr=False)  # it uses `nobody` or a neighbour in a grid
    definitions: tuple[tuple[str, Expression], ...] = field(default=(), repr=False)  # of names in the text

    @staticmethod
    def of(value: Expression | str | float) -> Expression:
        """Return the expression of a text or a number.

        Raises:
            UserError: If the value is not an expression.
        """
        if isinstance(value, Expression):
            return value
        if isinstance(value, bool):
            text = str(value)
        elif isinstance(value, int | float):
            text = repr(value)
        elif isinstance(value, str):
            text = value.strip()
        else:
            raise UserError(f"expression {value!r}", "neither a number nor a string", 'Write for example "n // 2"')
        parsed: Expression = _parsed(text)
        return parsed

    @staticmethod
    def computed(
        text: str,
        names: frozenset[str],
        evaluate: Callable[[Mapping[str, Any]], Any],
        definitions: tuple[tuple[str, Expression], ...] = (),
        *,
        may_be_nobody: bool = False,
    ) -> Expression:
        """Return an expression that a function evaluates, instead of its text.

        Args:
            text: The text for messages; expressions with the same text and definitions have to be equal.
            names: The names that the function looks up.
            evaluate: The function of the scope.
            definitions: Expressions, by name, that the function uses.
            may_be_nobody: Whether the value may be ``nobody``.
        """
        return Expression(text, names, evaluate, may_be_nobody, definitions)

    def defined(self, definitions: Mapping[str, Expression], *, together: bool = False) -> Expression:
        """Return the expression with some of its names defined by other expressions.

        Args:
            definitions: Expression of each name; others than those that are used have no effect.
            together: Whether the definitions may use each other's names, and do not use their own.
        """
        used = self.names & definitions.keys()
        if not used:
            return self
        if together:
            used = _all_used(used, definitions)
        chosen = {name: definitions[name] for name in sorted(used)}
        names = (
            (self.names | frozenset().union(*(expression.names for expression in chosen.values())))
            if together
            else self.names
        )
        names = names - used
        if not together:
            names = names.union(*(expression.names for expression in chosen.values()))
        return Expression(
            self.text,
            names,
            lambda scope: self._evaluate(_Scope(scope, chosen, together=together)),
            self.may_be_nobody or any(expression.may_be_nobody for expression in chosen.values()),
            (*self.definitions, *chosen.items()),
        )

    @property
    def defined_text(self) -> str:
        """The text for messages; a name alone has its definition with it, as in ``size = 8 * n``."""
        text = dict(self.definitions).get(self.text)
        return self.text if text is None else f"{self.text} = {text.defined_text}"

    def check_names(self, known: Mapping[str, object] | frozenset[str], where: str) -> None:
        """Check that all names in the expression are known.

        Raises:
            UserError: If a name is unknown; the first in alphabetical order is reported.
        """
        for name in sorted(self.names):
            if name not in known:
                raise UserError(inside(where, f", expression {self.text!r}"), *_unknown(name, known))

    def value(self, scope: Mapping[str, Value], where: str) -> Value:
        """Return the value of the expression.

        Args:
            scope: Values of all names in the expression.
            where: Place of the expression, for error messages.

        Raises:
            UserError: If the expression has no value, such as a division by zero.
            Split: If the members of a progression have to be separated first.
        """
        try:
            value = self._evaluate(scope)
        except UserError as err:
            raise self._no_value(where, err.problem, scope, err.remedy) from None
        except ZeroDivisionError:
            raise self._no_value(where, "division by zero", scope) from None
        except (OverflowError, ValueError):
            raise self._no_value(where, "the result is not a number or too large", scope) from None
        if isinstance(value, Remainder):
            raise value.told_apart()
        if isinstance(value, float) and not math.isfinite(value):
            raise self._no_value(where, "the result is too large", scope)
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise self._no_value(where, "the result is too large", scope)
        return value

    def evaluate(self, scope: Mapping[str, Value]) -> Value:
        """Return the value of a part of another expression, whose ``value`` reports errors."""
        return self._evaluate(scope)

    def whole(self, scope: Mapping[str, Value], where: str, *, least: int = 0) -> int:
        """Return the value as a whole number of at least ``least``; split a progression into single members."""
        value = self.value(scope, where)
        if isinstance(value, Progression):
            raise value.split_all()
        if value != int(value) or value < least:
            raise self._no_value(where, f"{value:g} is not a whole number of {least} or more", scope)
        return int(value)

    def _no_value(self, where: str, problem: str, scope: Mapping[str, Value], remedy: str = "Correct it") -> UserError:
        values = {name: _shown(scope[name]) for name in self.names if name in scope}
        names = ", ".join(f"{name} = {value}" for name, value in sorted(values.items()))
        shown = f" ({names})" if names and names not in problem else ""
        return UserError(inside(where, f", expression {self.defined_text!r}"), f"{problem}{shown}", remedy)


class _Scope(dict[str, Any]):
    """A scope in which names have definitions; each is evaluated when its value is first asked for, and only once."""

    def __init__(self, outer: Mapping[str, Any], definitions: Mapping[str, Expression], *, together: bool):
        super().__init__()
        self._outer, self._definitions, self._inner = outer, definitions, self if together else outer
        self._shared: dict[str, Any] | None = cast(Any, outer.get(SHARED)) if together else None

    def __missing__(self, name: str) -> Any:
        defined = self._definitions.get(name)
        if defined is None:
            value = self._outer[name]
        elif self._shared is None:
            value = defined._evaluate(self._inner)
        else:
            if name not in self._shared:
                self._shared[name] = defined._evaluate(self._inner)
            value = self._shared[name]
        self[name] = value
        return value


def is_shared(scope: Mapping[str, Any]) -> bool:
    """Return whether values that are found in a scope are kept for all expressions of one process."""
    return isinstance(scope, _Scope) and scope._shared is not None


def _all_used(names: frozenset[str] | set[str], definitions: Mapping[str, Expression]) -> frozenset[str]:
    """Return the defined names that these names use, directly or through other definitions."""
    used: set[str] = set()
    new = set(names)
    while new:
        used |= new
        new = {other for name in new for other in definitions[name].names & definitions.keys()} - used
    return frozenset(used)


def _unknown(name: str, known: Mapping[str, object] | frozenset[str]) -> tuple[str, str]:
    """Return problem and remedy for a name that is not known."""
    if name == "seed":
        return "random variates without a seed", "Add to the variables, for example, seed = 1"
    if name.endswith(")"):
        return _unknown_function(name, known)
    lists = sorted(name_known[:-2] for name_known in known if name_known.endswith("[]"))
    wanted = name.removesuffix("[]").removeprefix("len ")
    if wanted != name:
        return f"no list {wanted!r}", nearest(wanted, lists) if lists else f"Add a variable {wanted} = [1, 2]"
    if name in lists:
        return f"{name!r} is a list", f"Write for example {name}[index] or len({name})"
    if functions := [name_known for name_known in known if name_known.startswith(f"{name}(")]:
        given = int(functions[0][len(name) + 1 : -1])
        return f"{name!r} is a function", f"Write for example {name}({', '.join('1' * given)})"
    return f"no name {name!r}", nearest(
        name, sorted(name_known for name_known in [*known, *lists] if name_known.isidentifier())
    )


def _unknown_function(name: str, known: Mapping[str, object] | frozenset[str]) -> tuple[str, str]:
    """Return problem and remedy for a function that is not known with this number of arguments."""
    function, given = name.rstrip(")").split("(")
    arguments = f"{given} argument{'' if given == '1' else 's'}"
    if function not in PLACES:
        signatures = dict(signature.rstrip(")").split("(") for signature in known if signature.endswith(")"))
        if function in signatures:
            return f"{function} with {arguments}", f"Give {signatures[function]}"
        return f"no function {function!r}", nearest(function, dict.fromkeys((*sorted(signatures), *BUILT_IN)))
    if function == "coordinate":
        problem = f"coordinate with {arguments}" if given != "1" else "coordinate of a process without a grid"
    else:
        problem = f"neighbour with {arguments} of a process without such a grid"
    return problem, 'Give the label a grid, for example grid = ["px", "py"], and each axis a step'


def _shown(value: Value) -> str:
    if isinstance(value, Progression):
        return f"{value.first} to {value.last}"
    return f"{value:g}" if abs(value) >= _LONG else f"{value}"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Expression:
    where = f"expression {text[:60]!r}"
    if len(text) > _MOST_LENGTH:
        raise UserError(where, f"longer than {_MOST_LENGTH} characters", "Use variables for its parts")
    names: set[str] = set()
    try:
        evaluate = compiled(ast.parse(text, mode="eval").body, names, where)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UserError(where, "not an arithmetic expression", 'Write for example "n // 2"') from None
    nobody = "nobody" in names or any(name.startswith("neighbour(") for name in names)
    return Expression(text, frozenset(names - {"nobody"}), evaluate, nobody)


def grid_functions(extents: Sequence[Expression], periodic: Sequence[bool]) -> dict[str, Expression]:
    """Return the definitions of the functions of a place in a grid, for ``Expression.defined``.

    Args:
        extents: Numbers of processes along the axes.
        periodic: For each axis, whether its last process is followed by its first one.
    """
    names = frozenset({"index"}).union(*(extent.names for extent in extents))
    text = " x ".join(extent.text for extent in extents) + f" periodic {[int(wraps) for wraps in periodic]}"

    def sizes(scope: Mapping[str, Any]) -> list[int]:
        return [extent.whole(scope, "grid", least=1) for extent in extents]

    def neighbour(scope: Mapping[str, Any]) -> Callable[..., Value]:
        index, extents = scope["index"], sizes(scope)
        return lambda *steps: _neighbour(index, extents, periodic, steps)

    def coordinate(scope: Mapping[str, Any]) -> Callable[..., Value]:
        index, extents = scope["index"], sizes(scope)
        return lambda axis: _coordinate(index, extents, axis)

    made = {place_name("neighbour", len(extents)): neighbour, place_name("coordinate", 1): coordinate}
    return {name: Expression.computed(f"{name} on {text}", names, function) for name, function in made.items()}


def processes(extents: Sequence[Expression]) -> Expression:
    """Return the number of processes of a grid."""
    return Expression.of(" * ".join(f"({extent.text})" for extent in extents))


def _coordinate(index: Value, extents: Sequence[int], axis: Value) -> Value:
    if isinstance(axis, Progression):
        raise axis.split_all()
    if axis not in range(len(extents)):
        raise UserError("coordinate", f"no axis {axis}", f"Count the {len(extents)} axes of the grid from 0")
    number, stride = int(axis), prod(extents[: int(axis)])
    return index // stride if number == len(extents) - 1 else index // stride % extents[number]


def _neighbour(index: Value, extents: Sequence[int], periodic: Sequence[bool], steps: Sequence[Value]) -> Value:
    """Return the index of the process ``steps`` away along each axis, or NOBODY beyond an end of the grid."""
    place, stride = index, 1
    for axis, (extent, turns, step) in enumerate(zip(extents, periodic, steps, strict=True)):
        if step != 0:
            here = _coordinate(index, extents, axis)
            there = here + step
            if turns:
                there = there % extent
            elif there < 0 or there >= extent:
                return NOBODY
            place = place + (there - here) * stride
        stride *= extent
    return place
