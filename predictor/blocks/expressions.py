"""Arithmetic expressions of application descriptions, which are parsed and never given to ``eval``.

Expressions have ``+ - * / // % **``, comparisons, ``and or not``, ``a if c else b``, the functions of FUNCTIONS, sums
such as ``sum(k ** 2 for k in range(n))``, random variates (``predictor/blocks/variates.py``), the places of a grid
(``predictor/blocks/grid.py``), and the functions and lists of a description (``predictor/blocks/given.py``).

A name stands for a number or for a Progression: the values of the processes of a cohort, in their order.  A name can be
defined by another expression (``Expression.defined``): variables that differ by process are such names, and parameters
of named steps.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

from platforms.errors import UserError, nearest
from predictor.blocks.processes.progression import Progression, Remainder
from predictor.blocks.variates import VARIATES

Value = int | float | bool | Progression
# Key of a scope, for a dictionary in which all expressions of one process keep the values of its variables, lists and
# functions, so that each is evaluated once.  A scope with another process needs another dictionary.
SHARED = ""
NOBODY = -(2**62)  # value of the name `nobody`, the process after the last one of a grid
PLACES = ("neighbour", "coordinate")  # functions of a process's place in its label's grid
MOST_TERMS = 100_000  # of a sum
_MOST_LENGTH = 1000  # characters
_MOST_BITS = 4096  # of an integer power: more than any count or size needs, and still fast


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base).bit_length() * abs(exponent) > _MOST_BITS:
        raise OverflowError
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError
    return value


def _lesser(*values: Value) -> Value:
    found = values[0]
    for value in values[1:]:
        found = value if value < found else found
    return found


def _greater(*values: Value) -> Value:
    found = values[0]
    for value in values[1:]:
        found = value if value > found else found
    return found


def _of_numbers(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """Extend a function to progressions: split them, unless the function leaves their whole values unchanged."""

    def applied(value: Value) -> Value:
        if not isinstance(value, Progression):
            return function(value)
        if function in (math.ceil, math.floor) and value.whole:
            return value
        raise value.split_all()

    return applied


def _absolute(value: Value) -> Value:
    return -value if value < 0 else value


def _part(whole: Value, parts: Value, number: Value) -> Value:
    """Return the size of one of almost equal parts: the first ``whole % parts`` parts have one more than the others."""
    return whole // parts + (1 if number < whole % parts else 0)


FUNCTIONS: Mapping[str, tuple[int | None, Callable[..., Value]]] = {  # by name: number of arguments (None: one or more)
    "min": (None, _lesser),
    "max": (None, _greater),
    "abs": (1, _absolute),
    "ceil": (1, _of_numbers(math.ceil)),
    "floor": (1, _of_numbers(math.floor)),
    "log2": (1, _of_numbers(math.log2)),
    "sqrt": (1, _of_numbers(math.sqrt)),
    "part": (3, _part),
}
_OVER_TERMS: Mapping[str, Callable[..., Value]] = {  # functions of all terms for k in range(...)
    "sum": lambda *terms: sum(terms[1:], terms[0]) if terms else 0,
    "min": _lesser,
    "max": _greater,
}
BUILT_IN = (*FUNCTIONS, "sum", "len", "range", *VARIATES, *PLACES)  # names of all functions that every description has
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_Evaluate = Callable[[Mapping[str, Value]], Value]


@dataclass(frozen=True)
class Expression:
    """A parsed expression.  Expressions with the same text are equal."""

    text: str
    names: frozenset[str] = field(compare=False, repr=False)  # names that a scope has to give
    _evaluate: _Evaluate = field(compare=False, repr=False)
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
        names = (self.names | frozenset().union(*(one.names for one in chosen.values()))) if together else self.names
        names = names - used
        if not together:
            names = names.union(*(one.names for one in chosen.values()))
        return Expression(
            self.text,
            names,
            lambda scope: self._evaluate(_Scope(scope, chosen, together=together)),
            self.may_be_nobody or any(one.may_be_nobody for one in chosen.values()),
            (*self.definitions, *chosen.items()),
        )

    @property
    def defined_text(self) -> str:
        """The text for messages, with the definition of a name that is the whole text: ``size = 8 * n``."""
        found = dict(self.definitions).get(self.text)
        return self.text if found is None else f"{self.text} = {found.defined_text}"

    def check_names(self, known: Mapping[str, object] | frozenset[str], where: str) -> None:
        """Check that all names in the expression are known.

        Raises:
            UserError: If a name is unknown; the first in alphabetical order is reported.
        """
        for name in sorted(self.names):
            if name not in known:
                raise UserError(f"{where}, expression {self.text!r}", *_unknown(name, known))

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
        return UserError(f"{where}, expression {self.defined_text!r}", f"{problem}{shown}", remedy)


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


class _Bound(dict[str, Any]):
    """A scope inside another one, with values of its own."""

    outer: Mapping[str, Any]

    def __missing__(self, name: str) -> Any:
        return self.outer[name]


def bound_scope(scope: Mapping[str, Any], values: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    """Return a scope inside another one, with values of its own."""
    inner = _Bound(values)
    inner.outer = scope
    return inner


def _all_used(names: frozenset[str] | set[str], definitions: Mapping[str, Expression]) -> frozenset[str]:
    """Return the defined names that these names use, directly or through other definitions."""
    found: set[str] = set()
    new = set(names)
    while new:
        found |= new
        new = {other for name in new for other in definitions[name].names & definitions.keys()} - found
    return frozenset(found)


def place_name(function: str, arguments: int) -> str:
    """Return the name that stands for a function with this number of arguments in ``Expression.names``.

    The functions are those of PLACES and those of a description.
    """
    return f"{function}({arguments})"


def item_name(name: str) -> str:
    """Return the name that stands for the items of a list in ``Expression.names``."""
    return f"{name}[]"


def length_name(name: str) -> str:
    """Return the name that stands for the length of a list in ``Expression.names``."""
    return f"len {name}"


def shown(name: str) -> str:
    """Return a variable, list or function as a reader knows it, by its name in expressions."""
    return name.removesuffix("[]").removeprefix("len ").split("(")[0]


def place_of(name: str) -> str:
    """Return the place of a definition in a file, for error messages."""
    return f"{'function' if name.endswith(')') else 'variable'} {shown(name)}"


def _unknown(name: str, known: Mapping[str, object] | frozenset[str]) -> tuple[str, str]:
    """Return problem and remedy for a name that is not known."""
    if name == "seed":
        return "random variates without a seed", "Add to the variables, for example, seed = 1"
    if name.endswith(")"):
        return _unknown_function(name, known)
    lists = sorted(one[:-2] for one in known if one.endswith("[]"))
    wanted = name.removesuffix("[]").removeprefix("len ")
    if wanted != name:
        return f"no list {wanted!r}", nearest(wanted, lists) if lists else f"Add a variable {wanted} = [1, 2]"
    if name in lists:
        return f"{name!r} is a list", f"Write for example {name}[index] or len({name})"
    if functions := [one for one in known if one.startswith(f"{name}(")]:
        given = int(functions[0][len(name) + 1 : -1])
        return f"{name!r} is a function", f"Write for example {name}({', '.join('1' * given)})"
    return f"no name {name!r}", nearest(name, sorted(one for one in [*known, *lists] if one.isidentifier()))


def _unknown_function(name: str, known: Mapping[str, object] | frozenset[str]) -> tuple[str, str]:
    """Return problem and remedy for a function that is not known with this number of arguments."""
    function, given = name.rstrip(")").split("(")
    arguments = f"{given} argument{'' if given == '1' else 's'}"
    if function not in PLACES:
        own = dict(one.rstrip(")").split("(") for one in known if one.endswith(")"))
        if function in own:
            return f"{function} with {arguments}", f"Give {own[function]}"
        return f"no function {function!r}", nearest(function, dict.fromkeys((*sorted(own), *BUILT_IN)))
    if function == "coordinate":
        problem = f"coordinate with {arguments}" if given != "1" else "coordinate of a process without a grid"
    else:
        problem = f"neighbour with {arguments} of a process without such a grid"
    return problem, 'Give the label a grid, for example grid = ["px", "py"], and each axis a step'


def _shown(value: Value) -> str:
    return f"{value.first} to {value.last}" if isinstance(value, Progression) else f"{value}"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Expression:
    where = f"expression {text[:60]!r}"
    if len(text) > _MOST_LENGTH:
        raise UserError(where, f"longer than {_MOST_LENGTH} characters", "Use variables for its parts")
    names: set[str] = set()
    try:
        evaluate = _compiled(ast.parse(text, mode="eval").body, names, where)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UserError(where, "not an arithmetic expression", 'Write for example "n // 2"') from None
    nobody = "nobody" in names or any(name.startswith("neighbour(") for name in names)
    return Expression(text, frozenset(names - {"nobody"}), evaluate, nobody)


def _compiled(node: ast.expr, names: set[str], where: str) -> _Evaluate:
    """Return a function of the scope; add to ``names`` the names that it looks up."""

    def below(child: ast.expr) -> _Evaluate:
        return _compiled(child, names, where)

    match node:
        case ast.Constant(value=int() | float() as number):
            return lambda scope: number
        case ast.Name(id="nobody"):
            names.add("nobody")
            return lambda scope: NOBODY
        case ast.Name(id=name):
            names.add(name)
            return lambda scope: scope[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            apply, first, second = _BINARY[type(op)], below(left), below(right)
            return lambda scope: apply(first(scope), second(scope))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            apply_one, only = _UNARY[type(op)], below(operand)
            return lambda scope: apply_one(only(scope))
        case ast.BoolOp(op=op, values=values):
            parts, wanted = [below(value) for value in values], isinstance(op, ast.Or)
            return lambda scope: any(_truths(parts, scope)) if wanted else all(_truths(parts, scope))
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARE for op in ops):
            sides = [below(side) for side in (left, *others)]
            tests = [(_COMPARE[type(op)], *pair) for op, pair in zip(ops, pairwise(sides), strict=True)]
            return lambda scope: all(test(one(scope), other(scope)) for test, one, other in tests)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            condition, then, otherwise = below(test), below(body), below(orelse)
            return lambda scope: then(scope) if condition(scope) else otherwise(scope)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in VARIATES:
            if not args:
                problem = f"{name} without keys, so that all its values would be equal"
                raise UserError(where, problem, f"Write for example {name}(index)")
            names.add("seed")
            draw, keys = VARIATES[name], [below(argument) for argument in args]
            return lambda scope: draw(single(scope["seed"]), tuple(single(key(scope)) for key in keys))
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as terms], keywords=[]) if name in _OVER_TERMS:
            return _over_terms(name, terms, names, where)
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=own)], keywords=[]) if name in _OVER_TERMS:
            return below(ast.parse(f"{name}({own}[k] for k in range(len({own})))", mode="eval").body)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            length = length_name(name)
            names.add(length)
            return lambda scope: scope[length]
        case ast.Subscript(value=ast.Name(id=name), slice=place) if not isinstance(place, ast.Slice):
            items, item = item_name(name), below(place)
            names.add(items)
            return lambda scope: cast(Value, cast(Any, scope[items])(item(scope)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            function, arguments = _function(name, len(args), where), [below(argument) for argument in args]
            return lambda scope: function(*(argument(scope) for argument in arguments))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name not in ("sum", "len"):
            called, given = place_name(name, len(args)), [below(argument) for argument in args]
            names.add(called)
            return lambda scope: cast(Value, cast(Any, scope[called])(*(one(scope) for one in given)))
        case ast.Call(func=ast.Name(id="sum" | "len" as name)):
            examples = "sum(k ** 2 for k in range(n)), or sum(costs)" if name == "sum" else "len(costs)"
            raise UserError(where, f"{name} of neither terms nor a list", f"Write for example {examples}")
    raise UserError(where, f"{ast.unparse(node)[:40]!r} is not allowed", "Use numbers, names and arithmetic")


def _over_terms(name: str, node: ast.GeneratorExp, names: set[str], where: str) -> _Evaluate:
    """Return the function of the scope for a sum, minimum or maximum over the terms of a range."""
    match node.generators:
        case [ast.comprehension(ast.Name(id=variable), ast.Call(ast.Name("range"), ends, []), [], 0)] if (
            variable not in ("index", "nobody", "seed") and 1 <= len(ends) <= 2
        ):
            pass
        case _:
            raise UserError(where, f"{name} without a range", f"Write for example {name}(k ** 2 for k in range(n))")
    function, bounds = _OVER_TERMS[name], [_compiled(end, names, where) for end in ends]
    inner: set[str] = set()
    term = _compiled(node.elt, inner, where)
    names |= inner - {variable}

    def evaluate(scope: Mapping[str, Value]) -> Value:
        found = [single(bound(scope)) for bound in bounds]
        if any(one != int(one) for one in found):
            raise UserError(
                where, f"a range with an end of {next(one for one in found if one != int(one)):g}", "Round it"
            )
        turns = range(*(int(one) for one in found))
        if len(turns) > MOST_TERMS:
            raise UserError(where, f"{name} of {len(turns)} terms", f"Give at most {MOST_TERMS}")
        if not turns and name != "sum":
            raise UserError(where, f"{name} of no terms", "Give a range with at least one number")
        return function(*(term(bound_scope(scope, ((variable, turn),))) for turn in turns))

    return evaluate


def single(value: Value) -> float:
    """Return a number; split a progression into single members."""
    if isinstance(value, Remainder):
        raise value.told_apart()
    if isinstance(value, Progression):
        raise value.split_all()
    return value


def _truths(parts: list[_Evaluate], scope: Mapping[str, Value]) -> Iterator[bool]:
    """Yield the truth of each part; a part is evaluated only when it is asked for."""
    return (bool(part(scope)) for part in parts)


def _function(name: str, count: int, where: str) -> Callable[..., Value]:
    wanted, function = FUNCTIONS[name]
    if count != wanted if wanted is not None else count < 1:
        given = "at least 1 argument" if wanted is None else f"{wanted} argument{'s' if wanted > 1 else ''}"
        raise UserError(where, f"{name} with {count} arguments", f"Give {given}")
    return function
