"""Conversion of frozen dataclasses to JSON and back without loss, from their fields and annotations.

This module needs no change when a dataclass gains, loses or retypes a field: older JSON then no longer fits and is
refused as a whole, instead of being completed with guesses.  A field may define its own JSON form by the metadata
``to_json`` and ``from_json`` (which raises ValueError or TypeError); a field with the metadata ``kept`` False is left
out, and one with the metadata ``may_be_absent`` is left out where it is None.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

# Written by hand, because libraries are less strict than the store needs: msgspec and cattrs fill missing fields with
# defaults and change integers to floats, msgspec ignores unknown fields and has no conversion per field of a dataclass,
# and cattrs takes "1" and True for numbers.  The hooks that would make cattrs strict are most of this module.


class DoesNotFit(ValueError):
    """JSON that does not fit the present definition of the dataclass exactly."""


def as_fields(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields as a dict; as ``default`` of json.dumps it also converts nested dataclasses."""
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is neither JSON nor a dataclass")
    return {
        field.name: field.metadata.get("to_json", _as_it_is)(getattr(value, field.name)) for field in _written(value)
    }


def _written(value: Any) -> Iterator[Field[Any]]:
    """Yield the fields that the JSON of a dataclass has."""
    kind: type = type(value)
    for field in _kept(kind):
        if not (field.metadata.get("may_be_absent", False) and getattr(value, field.name) is None):
            yield field


def from_fields(cls: type[T], data: Any) -> T:
    """Return the dataclass from its JSON (the inverse of ``as_fields``).

    Raises:
        DoesNotFit: A field is missing (even one with a default, unless it may be absent) or unknown, or a value has
            another type.
    """
    if not isinstance(data, dict):
        raise DoesNotFit(f"{cls.__name__}: not an object")
    kind: type = cls
    readers = _readers(kind)
    absent = {field.name: None for field in _kept(kind) if field.metadata.get("may_be_absent", False)}
    data = {**absent, **data}
    if data.keys() != readers.keys():
        names = ", ".join(sorted(data.keys() ^ readers.keys()))
        raise DoesNotFit(f"{cls.__name__}: fields are missing or unknown: {names}")
    return cls(**{name: read(data[name]) for name, read in readers.items()})


@cache
def _readers(cls: type) -> dict[str, Callable[[Any], Any]]:
    hints = typing.get_type_hints(cls)
    return {field.name: _field_reader(field, _reader(hints[field.name])) for field in _kept(cls)}


@cache
def _kept(cls: type) -> tuple[Field[Any], ...]:
    return tuple(field for field in fields(cls) if field.metadata.get("kept", True))


def _as_it_is(value: Any) -> Any:
    return value


def _field_reader(field: Field[Any], read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    if "from_json" not in field.metadata:
        return read

    def read_own_form(data: Any) -> Any:
        try:
            return read(field.metadata["from_json"](data))
        except (ValueError, TypeError) as err:
            raise DoesNotFit(f"{field.name}: {err}") from err

    return read_own_form


# The JSON types that an annotation allows; an integer is allowed for a float, and remains an integer.
_SCALARS = {
    float: frozenset({float, int}),
    int: frozenset({int}),
    bool: frozenset({bool}),
    str: frozenset({str}),
    type(None): frozenset({type(None)}),
    dict: frozenset({dict}),
}


def _reader(hint: Any) -> Callable[[Any], Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return _as_it_is
    if hint in _SCALARS:
        return _scalar_reader(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda data: from_fields(hint, data)
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _tuple_reader(arguments[0])
    if origin is dict and arguments[0] is str:
        return _dict_reader(arguments[1])
    if origin in (types.UnionType, typing.Union):
        return _union_reader([_reader(argument) for argument in arguments])
    raise TypeError(f"no rule for reading {hint} from JSON")


def _scalar_reader(hint: type) -> Callable[[Any], Any]:
    allowed = _SCALARS[hint]

    def read(data: Any) -> Any:
        if type(data) not in allowed:
            raise DoesNotFit(f"{type(data).__name__} instead of {hint.__name__}")
        return data

    return read


def _tuple_reader(item: Any) -> Callable[[Any], tuple[Any, ...]]:
    allowed = _SCALARS.get(item)
    read_item = _reader(item)

    def read(data: Any) -> tuple[Any, ...]:
        if type(data) is not list:
            raise DoesNotFit(f"{type(data).__name__} instead of a list")
        if allowed is None:
            return tuple([read_item(item) for item in data])
        if not allowed.issuperset(map(type, data)):  # the fastest check for the long lists of a record
            raise DoesNotFit(f"a list with other items than {item.__name__}")
        return tuple(data)

    return read


def _dict_reader(item: Any) -> Callable[[Any], dict[str, Any]]:
    read_item = _reader(item)

    def read(data: Any) -> dict[str, Any]:
        if type(data) is not dict or not all(type(name) is str for name in data):
            raise DoesNotFit(f"{type(data).__name__} instead of an object")
        return {name: read_item(item) for name, item in data.items()}

    return read


def _union_reader(readers: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        for reader in readers:
            try:
                return reader(data)
            except DoesNotFit:
                pass
        raise DoesNotFit("none of the types that the field may have")

    return read
