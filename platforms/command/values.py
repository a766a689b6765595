"""Requests from options, from Python or TOML values, and back to the words of a command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from platforms.command.parser import CommandParser
from platforms.command.request import Field, Request, fields_of
from platforms.errors import UserError, did_you_mean, known_names

_Request = TypeVar("_Request", bound=Request)
_NUMBERS: Mapping[str, Callable[[str], Any]] = {"int": int, "float": float}
_PLAIN = ("str", "int", "float", "bool")


def add_options(parser: CommandParser, request: type[Request]) -> None:
    """Add an option or a positional argument for each field of a request."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for field in fields_of(request):
        if field.declared.behind:
            continue
        title = field.section
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title, request.section_help.get(title))
        (groups[title] if title else parser).add_argument(*_names(field), **_settings(field))


def _names(field: Field) -> tuple[str, ...]:
    return (field.key,) if field.declared.positional else (field.option, *field.declared.others)


def _settings(field: Field) -> dict[str, Any]:
    """Return what argparse needs to know of a field."""
    declared = field.declared
    made: dict[str, Any] = {"help": field.help}
    if not declared.positional:
        made["dest"] = field.key
        if field.required:
            made["required"] = True
    if not field.required:
        made["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    if field.kind == "bool":
        return {**made, "action": "store_true"}
    if declared.metavar:
        made["metavar"] = declared.metavar
    if field.choices is not None:
        made["choices"] = tuple(field.choices)
    parse = declared.parse or _NUMBERS.get(field.kind)
    if parse is not None:
        made["type"] = parse
    if declared.positional:
        return made | ({"nargs": ("+" if field.required else "*")} if field.repeated else _may_lack(field))
    if declared.several:
        return {**made, "nargs": "+"}
    return {**made, "action": "append"} if field.repeated else made


def _may_lack(field: Field) -> dict[str, Any]:
    return {} if field.required else {"nargs": "?"}


def parsed(request: type[_Request], parser: CommandParser, words: Sequence[str]) -> _Request:
    """Return the request for the words of a command line; ``parser`` has the options of ``add_options``."""
    behind = next((field.key for field in fields_of(request) if field.declared.behind), None)
    split = words.index("--") if behind is not None and "--" in words else len(words)
    values = parser.parse_args(words[:split])
    given = {field.key: getattr(values, field.key) for field in fields_of(request) if field.key != behind}
    if behind is not None:
        given[behind] = tuple(words[split + 1 :])
    return request(**{key: tuple(one) if isinstance(one, list) else one for key, one in given.items()})


def request_of(request: type[_Request], values: Mapping[str, Any], where: str = "") -> _Request:
    """Return a request from Python or TOML values; what is not given keeps its default.

    Keys are the names of the fields or of the options.  Numbers, paths and lists stand for the texts of options with
    commas, and mappings for texts of the form KEY=VALUE.

    Args:
        request: The class of the request.
        values: The values by key; None stands for a value that is not given.
        where: Where the values come from, for errors; default: the key alone.

    Raises:
        UserError: A key is unknown, or a value has another type or is not possible.
    """
    keys = {name: field for field in fields_of(request) for name in (field.key, _bare(field))}
    given = {}
    for key, value in values.items():
        place = f"{where}, {key}" if where else key
        field = keys.get(key)
        if field is None:
            raise UserError(place, "no such option", known_names(key, [one.key for one in fields_of(request)]))
        if value is not None:
            given[field.key] = _converted(field, value, place)
    lacking = [field.key for field in fields_of(request) if field.required and field.key not in given]
    if lacking:
        raise UserError(f"{where}, {lacking[0]}" if where else lacking[0], "is missing", "Give a value")
    return request(**given)


def _bare(field: Field) -> str:
    return field.option.removeprefix("--")


def _converted(field: Field, value: Any, place: str) -> Any:
    if not field.repeated:
        return _value(field, value, place)
    if isinstance(value, Mapping):
        value = [f"{key}={one}" for key, one in value.items()]
    listed = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return tuple(_value(field, one, place) for one in listed)


def _value(field: Field, value: Any, place: str) -> Any:
    """Return the value of a field, as its option would have given it."""
    if field.kind == "bool":
        if not isinstance(value, bool):
            raise UserError(place, f"{value!r} is neither true nor false", "Give one of them")
        return value
    if field.kind in _NUMBERS and field.declared.parse is None:
        whole = field.kind == "int"
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise UserError(place, f"{value!r} is not a {'whole ' * whole}number", "Give one")
        return value if whole else float(value)
    text = _text(value)
    if text is None:  # a value such as a parser makes of the text
        if field.kind in _PLAIN:
            raise UserError(place, f"{value!r} is not a text", "Give one")
        return value
    made = text if field.declared.parse is None else _parse(field.declared.parse, text, place)
    if field.choices is not None and made not in field.choices:
        asked = did_you_mean(str(made), field.choices)
        remedy = " ".join(filter(None, (asked, "Give one of them")))
        raise UserError(place, f"{made!r} is not one of {', '.join(field.choices)}", remedy)
    return made


def _text(value: Any) -> str | None:
    """Return the text that an option has for a value: names with commas, the name of a file; None: it has none."""
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r}"
    if isinstance(value, Sequence) and all(isinstance(one, str | int | float | os.PathLike) for one in value):
        return ",".join(_text(one) or "" for one in value)
    return None


def _parse(parse: Callable[[str], Any], text: str, place: str) -> Any:
    try:
        return parse(text)
    except (argparse.ArgumentTypeError, ValueError) as err:
        raise UserError(place, str(err), "Give another value") from None


def words_of(request: Request, group: type[Request] | None = None) -> list[str]:
    """Return the words of a command line that asks for the same; what is a default is left out.

    ``group`` is a group of options that the request has, if the words of that group alone are wanted.
    """
    words: list[str] = []
    behind: list[str] = []
    kept = {field.key for field in fields_of(group or type(request))}
    for field in sorted(fields_of(type(request)), key=lambda one: not one.declared.positional):
        if field.key not in kept:
            continue
        value = getattr(request, field.key)
        if value == field.default or value is None:
            continue
        values = value if field.repeated else (value,)
        if field.declared.behind:
            behind = ["--", *values]
        elif field.declared.positional:
            words += map(str, values)
        elif field.kind == "bool":
            words.append(field.option)
        elif field.declared.several:
            words += [field.option, *map(str, values)]
        else:
            words += [word for one in values for word in (field.option, str(one))]
    return [*words, *behind]
