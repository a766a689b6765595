"""Requests from options, from Python or TOML values, and back to the words of a command line."""

from __future__ import annotations

import argparse
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from platforms.command.parser import CommandParser
from platforms.command.request import Field, Request, fields_of
from platforms.errors import UserError, did_you_mean, known_names

_Request = TypeVar("_Request", bound=Request)
_NUMBERS: Mapping[str, Callable[[str], Any]] = {"int": int, "float": float}


def add_options(parser: CommandParser, request: type[Request]) -> None:
    """Add an option or a positional argument for each field of a request, its help a function (make_help)."""
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
    made: dict[str, Any] = {"help": lambda: field.help}  # texts that list kernels read all their files
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
        nargs = ("+" if field.required else "*") if field.repeated else None if field.required else "?"
        return made if nargs is None else {**made, "nargs": nargs}
    if declared.several:
        return {**made, "nargs": "+"}
    return {**made, "action": "append"} if field.repeated else made


def parsed(request: type[_Request], parser: CommandParser, words: Sequence[str]) -> _Request:
    """Return the request for the words of a command line; ``parser`` has the options of ``add_options``."""
    behind = next((field.key for field in fields_of(request) if field.declared.behind), None)
    split = words.index("--") if behind is not None and "--" in words else len(words)
    values = parser.parse_args(words[:split])
    given = {field.key: getattr(values, field.key) for field in fields_of(request) if field.key != behind}
    if behind is not None:
        given[behind] = tuple(words[split + 1 :])
    return request(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})


def request_of(request: type[_Request], values: Mapping[str, Any], where: str = "") -> _Request:
    """Return a request from Python or TOML values; what is not given keeps its default.

    Keys are the names of the fields or of the options.  Numbers, paths, lists and arrays stand for the texts of options
    with commas, and mappings for texts of the form KEY=VALUE.

    Args:
        request: The class of the request.
        values: The values by key; None stands for a value that is not given.
        where: Where the values come from, for errors; default: the key alone.

    Raises:
        UserError: A key is unknown, or a value has another type or is not possible.
    """
    keys = {name: field for field in fields_of(request) for name in (field.key, field.option.removeprefix("--"))}
    given = {}
    for key, value in values.items():
        place = f"{where}, {key}" if where else key
        field = keys.get(key)
        if field is None:
            raise UserError(place, "no such option", known_names(key, [field.key for field in fields_of(request)]))
        if field.key in given:
            raise UserError(place, "is given twice, by two names", "Drop one of them")
        if value is not None:
            given[field.key] = _converted(field, value, place)
    lacking = [field.key for field in fields_of(request) if field.required and given.get(field.key, ()) == ()]
    if lacking:
        raise UserError(f"{where}, {lacking[0]}" if where else lacking[0], "is missing", "Give a value")
    return request(**given)


def _converted(field: Field, value: Any, place: str) -> Any:
    if not field.repeated:
        return _value(field, value, place)
    if isinstance(value, Mapping):
        value = [f"{key}={text_of(part, f'{place}, {key}')}" for key, part in value.items()]
    if isinstance(value, _Array):
        value = value.tolist()
    listed = value if isinstance(value, list | tuple) else [value]
    return tuple(_value(field, part, place) for part in listed)


def _value(field: Field, value: Any, place: str) -> Any:
    """Return the value of a field, as its option would have given it."""
    if field.kind == "bool":
        if not isinstance(value, bool):
            raise UserError(place, f"{value!r} is neither true nor false", "Give one of them")
        return value
    if field.kind in _NUMBERS and field.declared.parse is None:
        if field.kind == "float" and isinstance(value, numbers.Real) and not isinstance(value, bool):
            return float(value)
        if field.kind == "int" and isinstance(value, numbers.Integral) and not isinstance(value, bool):
            return int(value)
        raise UserError(place, f"{value!r} is not a {'whole ' * (field.kind == 'int')}number", "Give one")
    text = text_of(value, place)
    made = text if field.declared.parse is None else _parse(field.declared.parse, text, place)
    if field.choices is not None and made not in field.choices:
        asked = did_you_mean(str(made), field.choices)
        remedy = " ".join(filter(None, (asked, "Give one of them")))
        raise UserError(place, f"{made!r} is not one of {', '.join(field.choices)}", remedy)
    return made


def text_of(value: Any, place: str) -> str:
    """Return the text that an option has for a value: a text, the name of a file, a number, or these with commas.

    Raises:
        UserError: The value is nothing of that.
    """
    single = _single_text(value)
    if single is not None:
        return single
    listed = value.tolist() if isinstance(value, _Array) else value
    texts = [_single_text(part) for part in listed] if isinstance(listed, list | tuple) else [None]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        raise UserError(place, f"{value!r} is neither a text nor a number, nor a list of them", "Give one")
    return ",".join(known)


@runtime_checkable
class _Array(Protocol):
    """An array or a column of a table."""

    def tolist(self) -> Any: ...


def _single_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Integral):  # of NumPy too, whose numbers show their type
        return str(int(value))
    return repr(float(value)) if isinstance(value, numbers.Real) else None


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
    dashed: list[str] = []  # positional arguments that would be taken for options
    ends = any(field.declared.behind for field in fields_of(type(request)))  # -- begins the words behind it
    kept = {field.key for field in fields_of(group or type(request))}
    for field in sorted(fields_of(type(request)), key=lambda field: not field.declared.positional):
        if field.key not in kept:
            continue
        value = getattr(request, field.key)
        if value == field.default or value is None:
            continue
        texts = [_word(part) for part in (value if field.repeated else (value,))]
        if field.declared.several or (field.declared.positional and ends):  # names of files
            texts = [f"./{text}" if text.startswith("-") else text for text in texts]
        if field.declared.behind:
            behind = ["--", *texts]
        elif field.declared.positional:
            (dashed if any(text.startswith("-") for text in texts) else words).extend(texts)
        elif field.kind == "bool":
            words.append(field.option)
        elif field.declared.several:
            words += [field.option, *texts]
        else:
            for text in texts:
                words += [f"{field.option}={text}"] if text.startswith("-") else [field.option, text]
    return [*words, *(["--", *dashed] if dashed else []), *behind]


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
