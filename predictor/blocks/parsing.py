"""The syntax of expressions: a parsed text becomes a function of a scope, the values of names.

A name in a scope may also stand for a function: ``place_name`` says which name a function with that many arguments has,
and ``item_name`` and ``length_name`` which names a list has.

Random variates of application descriptions, which are functions of a seed and of keys.

The same seed and keys give the same value in every evaluation, in whatever order the processes are evaluated, and in a
simulation.  So a description says by its keys which values differ: ``normal(index, k)`` differs for each process and
each turn k.
"""

import ast
import hashlib
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from statistics import NormalDist
from typing import Any, cast

from platforms.errors import UserError
from predictor.blocks.progression import Progression, Remainder

_BITS = 53  # of a float's mantissa
_STANDARD = NormalDist()
NOBODY = -(2**62)  # value of the name `nobody`, the process after the last one of a grid
PLACES = ("neighbour", "coordinate")  # functions of a process's place in its label's grid
MOST_TERMS = 100_000  # of a sum
_MOST_BITS = 4096  # of an integer power: more than any count or size needs, and still fast
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


def _uniform(seed: float, keys: tuple[float, ...]) -> float:
    """Return a value between 0 and 1, both excluded, from a hash of the seed and the keys."""
    exact = [int(value) if value == int(value) else float(value) for value in (seed, *keys)]  # 1, 1.0 and True agree
    digest = hashlib.blake2b(repr(exact).encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "little") >> (64 - _BITS)) + 0.5) / 2.0**_BITS


def _normal(seed: float, keys: tuple[float, ...]) -> float:
    return _STANDARD.inv_cdf(_uniform(seed, keys))


def _exponential(seed: float, keys: tuple[float, ...]) -> float:
    return -math.log(_uniform(seed, keys))


VARIATES: Mapping[str, Callable[[float, tuple[float, ...]], float]] = {
    "random": _uniform,  # uniform between 0 and 1
    "normal": _normal,  # mean 0, standard deviation 1
    "exponential": _exponential,  # mean 1
}


Value = int | float | bool | Progression


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base).bit_length() * abs(exponent) > _MOST_BITS:
        raise OverflowError
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError
    return value


def _lesser(*values: Value) -> Value:
    least = values[0]
    for value in values[1:]:
        least = value if value < least else least
    return least


def _greater(*values: Value) -> Value:
    greatest = values[0]
    for value in values[1:]:
        greatest = value if value > greatest else greatest
    return greatest


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
Evaluate = Callable[[Mapping[str, Value]], Value]


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


def compiled(node: ast.expr, names: set[str], where: str) -> Evaluate:
    """Return a function of the scope.

    Args:
        node: The parsed text.
        names: The names that the function looks up are added to it.
        where: The text, for error messages.

    Raises:
        UserError: If something in the text is not allowed.
    """

    def below(child: ast.expr) -> Evaluate:
        return compiled(child, names, where)

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
            return lambda scope: all(test(first(scope), other(scope)) for test, first, other in tests)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            condition, then, otherwise = below(test), below(body), below(orelse)
            return lambda scope: then(scope) if condition(scope) else otherwise(scope)
        case ast.Subscript(value=ast.Name(id=name), slice=place) if not isinstance(place, ast.Slice):
            items, item = item_name(name), below(place)
            names.add(items)
            return lambda scope: cast(Value, cast(Any, scope[items])(item(scope)))
        case ast.Call(func=ast.Name(), keywords=[]):
            return _call(node, names, where)
    raise UserError(where, f"{ast.unparse(node)[:40]!r} is not allowed", "Use numbers, names and arithmetic")


def _call(node: ast.Call, names: set[str], where: str) -> Evaluate:
    """Return the function of the scope for a call."""

    def below(child: ast.expr) -> Evaluate:
        return compiled(child, names, where)

    match node:
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
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            function, arguments = _function(name, len(args), where), [below(argument) for argument in args]
            return lambda scope: function(*(argument(scope) for argument in arguments))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name not in ("sum", "len"):
            called, given = place_name(name, len(args)), [below(argument) for argument in args]
            names.add(called)
            return lambda scope: cast(Value, cast(Any, scope[called])(*(argument(scope) for argument in given)))
        case ast.Call(func=ast.Name(id="sum" | "len" as name)):
            examples = "sum(k ** 2 for k in range(n)), or sum(costs)" if name == "sum" else "len(costs)"
            raise UserError(where, f"{name} of neither terms nor a list", f"Write for example {examples}")
    raise UserError(where, f"{ast.unparse(node)[:40]!r} is not allowed", "Use numbers, names and arithmetic")


def _over_terms(name: str, node: ast.GeneratorExp, names: set[str], where: str) -> Evaluate:
    """Return the function of the scope for a sum, minimum or maximum over the terms of a range."""
    match node.generators:
        case [ast.comprehension(ast.Name(id=variable), ast.Call(ast.Name("range"), ends, []), [], 0)] if (
            1 <= len(ends) <= 2
        ):
            if variable in ("index", "nobody", "seed"):
                raise UserError(where, f"{name} over {variable!r}, which has a meaning", "Take another name, such as k")
        case _:
            remedy = f"Write for example {name}(k ** 2 for k in range(n)), with one or two ends and nothing after them"
            raise UserError(where, f"{name} over something else than the numbers of one range", remedy)
    function, bounds = _OVER_TERMS[name], [compiled(end, names, where) for end in ends]
    inner: set[str] = set()
    term = compiled(node.elt, inner, where)
    names |= inner - {variable}

    def evaluate(scope: Mapping[str, Value]) -> Value:
        values = [single(bound(scope)) for bound in bounds]
        if any(number != int(number) for number in values):
            raise UserError(
                where,
                f"a range with an end of {next(number for number in values if number != int(number)):g}",
                "Round it",
            )
        turns = range(*(int(number) for number in values))
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


def _truths(parts: list[Evaluate], scope: Mapping[str, Value]) -> Iterator[bool]:
    """Yield the truth of each part; a part is evaluated only when it is asked for."""
    return (bool(part(scope)) for part in parts)


def _function(name: str, count: int, where: str) -> Callable[..., Value]:
    wanted, function = FUNCTIONS[name]
    if count != wanted if wanted is not None else count < 1:
        given = "at least 1 argument" if wanted is None else f"{wanted} argument{'s' if wanted > 1 else ''}"
        raise UserError(where, f"{name} with {count} arguments", f"Give {given}")
    return function
