"""Places of the elements of a description, for error messages: their texts, and the keys that lead there."""

from collections.abc import Iterable

from platforms.errors import Place, inside
from predictor.blocks.parsing import place_of, shown


def label_place(where: str, label: str, key: str = "") -> str:
    """Return the place of a label, or of one of its keys, in the description at ``where``."""
    place = inside(where, f", label {label}", "labels", label)
    return inside(place, f", {key}", key) if key else place


def program_place(where: str, label: str) -> str:
    """Return the place of a label's program; the numbers of its steps follow."""
    return inside(label_place(where, label), ", step ", "program")


def named_steps_place(where: str, name: str) -> str:
    """Return the place of named steps."""
    return inside(where, f", steps {name}", "steps", name)


def called_place(where: str, name: str) -> str:
    """Return the place of the program of named steps that the step at ``where`` calls."""
    text = f"{where}, {name} step "
    return Place(text, where.source, ("steps", name, "do")) if isinstance(where, Place) else text


def definition_place(where: str, name: str, functions: Iterable[str] = ()) -> str:
    """Return the place of a variable, a list or a function.

    Args:
        where: The place of the description.
        name: The name of its definition in expressions.
        functions: The heads of the description's functions, such as ``cost(n)``, which are their keys.
    """
    name_shown = shown(name)
    if not name.endswith(")"):
        return inside(where, f", {place_of(name)}", "variables", name_shown)
    head = next((function for function in functions if function.partition("(")[0].strip() == name_shown), name_shown)
    return inside(where, f", {place_of(name)}", "functions", head)


def inner_place(where: str, key: str) -> str:
    """Return the place of the list of steps under a key of the step at ``where``; the numbers of the steps follow."""
    return inside(where, ".else." if key == "else" else ".", key)


def step_place(where: str, number: int) -> str:
    """Return the place of a step, numbered from 1, of the list at ``where``."""
    return inside(where, f"{number}", number - 1)


def list_place(where: str) -> str:
    """Return the place of a list of steps without the mark behind which the numbers of its steps stand."""
    text = where.rstrip(". ")
    return Place(text, where.source, where.keys) if isinstance(where, Place) else text
