"""Variables, lists and functions that a description gives, as definitions of names in expressions."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from platforms.errors import UserError, inside
from predictor.blocks.checks import check_name
from predictor.blocks.expressions import Expression, is_shared
from predictor.blocks.parsing import BUILT_IN, Value, bound_scope, item_name, length_name, place_name, shown, single
from predictor.blocks.places import definition_place

Given = Expression | str | float | Sequence[Expression | str | float]  # value of a variable or list
_DEEPEST = 50  # definitions that use each other in a row; Python's stack has an end
_MOST_KEPT = 4096  # values of a function, for one process
_HEAD = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")


def parsed(value: Given, where: str) -> Expression | tuple[Expression, ...]:
    """Return the expression of a variable, or the expressions of a list, which may be written as a text.

    Raises:
        UserError: If the value is neither.
    """
    try:
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = _items(value)
        if isinstance(value, Expression | str | int | float):
            return Expression.of(value)
        items = tuple(Expression.of(part) for part in value)
    except UserError as err:
        raise err.at(inside(where, f", {err.where}")) from None
    if not items:
        raise UserError(where, "an empty list", "Give it at least one number")
    return items


def _items(text: str) -> list[str]:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if not isinstance(node, ast.List):
        raise UserError(f"expression {text[:60]!r}", "not a list of expressions", 'Write for example "[1, 2, n // 2]"')
    quoted = [
        isinstance(element, ast.Constant) and isinstance(element.value, str) for element in node.elts
    ]  # as in TOML
    return [
        ast.literal_eval(element) if text else ast.unparse(element)
        for element, text in zip(node.elts, quoted, strict=True)
    ]


def definitions(
    variables: Mapping[str, Expression | tuple[Expression, ...]],
    functions: Mapping[str, Expression | str | float],
    labels: Sequence[str],
    where: str,
) -> dict[str, Expression]:
    """Return the definitions of lists and functions, by the names that stand for them in expressions.

    Args:
        variables: Expressions of variables, and lists of expressions.
        functions: The value of each function, by its head, such as ``cost(n, k)``.
        labels: Names of the labels.
        where: The file, for error messages.

    Raises:
        UserError: If a function or its head is wrong.
    """
    made: dict[str, Expression] = {}
    for name, items in variables.items():
        if isinstance(items, tuple):
            made[item_name(name)] = _list(name, items)
            made[length_name(name)] = Expression.of(len(items))
    taken = {*variables, *labels}
    for head, value in functions.items():
        here = inside(where, f", function {head}", "functions", head)
        name, parameters = _head(head, here)
        for name_given in (name, *parameters):
            check_name(name_given, here)
            if name_given in taken or parameters.count(name_given) > 1:
                raise UserError(here, f"the name {name_given!r} is given twice", "Rename one of them")
        taken.add(name)
        try:
            body = Expression.of(value)
        except UserError as err:
            raise err.at(inside(here, f", {err.where}")) from None
        made[place_name(name, len(parameters))] = _function(name, parameters, body)
    return made


def _head(head: str, where: str) -> tuple[str, list[str]]:
    match = _HEAD.fullmatch(head)
    parameters = [word.strip() for word in match[2].split(",")] if match else []
    if match is None or not all(parameters):
        raise UserError(where, "no name with parameters", 'Write for example "cost(n, k)" = "n * k"')
    if match[1] in BUILT_IN:
        raise UserError(where, f"{match[1]} is a function of every description", "Rename yours")
    return match[1], parameters


def _function(name: str, parameters: Sequence[str], body: Expression) -> Expression:
    def evaluate(scope: Mapping[str, Any]) -> Callable[..., Value]:
        def value(*given: Value) -> Value:
            return body.evaluate(bound_scope(scope, zip(parameters, given, strict=True)))

        # Arguments of a single process are plain numbers.
        return lru_cache(maxsize=_MOST_KEPT)(value) if is_shared(scope) else value

    text = f"{name}({', '.join(parameters)}) = {body.text}"
    return Expression.computed(text, body.names - set(parameters), evaluate, may_be_nobody=body.may_be_nobody)


def _list(name: str, items: Sequence[Expression]) -> Expression:
    def evaluate(scope: Mapping[str, Any]) -> Callable[[Value], Value]:
        def item(number: Value) -> Value:
            number = single(number)
            if number not in range(len(items)):
                last = f"0 to {len(items) - 1}"
                raise UserError(name, f"no item {number:g} of the {len(items)} of {name}", f"Count from {last}")
            return items[int(number)].evaluate(scope)

        return item

    text = f"{name} = [{', '.join(item.text for item in items)}]"
    names = frozenset().union(*(item.names for item in items))
    return Expression.computed(text, names, evaluate, may_be_nobody=any(item.may_be_nobody for item in items))


def check_names(given: Mapping[str, Expression], known: frozenset[str], functions: Iterable[str], where: str) -> None:
    """Check that all names in variables, lists and functions are known, and that none is defined by itself.

    Args:
        given: Definitions of variables, lists and functions.
        known: All names that their expressions may use.
        functions: The heads of the functions.
        where: The file, for error messages.

    Raises:
        UserError: If a name is unknown, or definitions form a circle.
    """
    for name, expression in given.items():
        expression.check_names(known, definition_place(where, name, functions))
    levels: dict[str, int] = {}  # of definitions below each one

    def follow(name: str, callers: tuple[str, ...]) -> int:
        if name in callers:
            circle = ", ".join(shown(caller) for caller in (*callers[callers.index(name) :], name))
            problem = f"defined in terms of itself: {circle}"
            raise UserError(definition_place(where, name, functions), problem, "Define one of them without the others")
        if name not in levels:
            used = sorted(given[name].names & given.keys())
            inner = (*callers, name)
            deep = len(inner) > _DEEPEST
            levels[name] = 1 if deep else 1 + max((follow(other, inner) for other in used), default=0)
            if deep or levels[name] > _DEEPEST:
                problem = f"it needs more than {_DEEPEST} others in a row"
                raise UserError(definition_place(where, name, functions), problem, "Write fewer, longer definitions")
        return levels[name]

    for name in given:
        follow(name, ())
