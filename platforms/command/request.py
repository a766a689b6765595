"""Requests: frozen values with the inputs of a command, and the properties of each field for its options.

A request is a frozen dataclass whose fields are made by ``option`` and ``argument``.  Groups of options that several
commands have are requests too, and a command's request inherits from all of its groups::

    @dataclass(frozen=True, kw_only=True)
    class ShowRequest(PlatformOptions, JsonOption):
        '''Show a platform.'''

        picture: str | None = option(None, "FILE", "draw zones, clusters and links")
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar

_KEY = "option"  # in the metadata of a field
_Value = TypeVar("_Value")
Help = str | Callable[[Any], str]  # a text, or a function of the request's class that makes it when needed


@dataclass(frozen=True)
class Declaration:
    """Properties of a field beside its name, type and default."""

    metavar: str
    help: Help
    name: str = ""  # of the option, if it is not that of the field: "--class"
    others: tuple[str, ...] = ()  # other names of the option
    parse: Callable[[str], Any] | None = None  # from a text; None: by the field's type
    choices: Callable[[type[Request]], Sequence[str]] | Sequence[str] | None = None
    unit: str = ""  # of a number
    section: str = ""  # title of the section of the help; empty: by the name (platforms/command/help_text.py)
    positional: bool = False
    several: bool = False  # an option followed by several values, such as names of files
    behind: bool = False  # the words behind ``--``


@dataclass(frozen=True, kw_only=True)
class Request:
    """Base of requests: the options of a command, as a frozen value.

    ``without`` names inherited fields that the command does not offer; they keep their defaults.
    """

    without: ClassVar[frozenset[str]] = frozenset()
    absent: ClassVar[Mapping[str, str]] = {}  # options of related commands: why this one lacks them, and what to do
    sections: ClassVar[Mapping[str, str]] = {}  # title of the help's section, by field, in place of the declared one
    section_help: ClassVar[Mapping[str, str]] = {}  # a sentence below the title of a section


def option(
    default: Any,
    metavar: str = "",
    help: Help = "",
    *,
    name: str = "",
    others: Sequence[str] = (),
    parse: Callable[[str], Any] | None = None,
    choices: Callable[[type[Request]], Sequence[str]] | Sequence[str] | None = None,
    unit: str = "",
    section: str = "",
    several: bool = False,
) -> Any:
    """Declare a field that is an option.

    The field's type decides how the option is given: ``bool`` makes a flag, ``tuple[str, ...]`` an option that may be
    repeated, and ``int``, ``float`` and ``str`` an option with a value.

    Args:
        default: Value without the option; ``dataclasses.MISSING``: the option is required.
        metavar: Form of the value in the help.
        help: A text, or a function of the request's class, called when the help is shown.
        name: Name of the option; default: that of the field.
        others: Other names of the option.
        parse: Function from the text of the option; default: by the field's type.
        choices: The values that are possible.
        unit: Unit of a number, such as ``s``.
        section: Title of the section of the help; default: by the name (platforms/command/help_text.py).
        several: The option is followed by one or more values; the field is a tuple.
    """
    declared = Declaration(metavar, help, name, tuple(others), parse, choices, unit, section, several=several)
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata={_KEY: declared})
    return dataclasses.field(default=default, metadata={_KEY: declared})


def argument(
    metavar: str,
    help: Help,
    *,
    default: Any = dataclasses.MISSING,
    parse: Callable[[str], Any] | None = None,
    choices: Callable[[type[Request]], Sequence[str]] | Sequence[str] | None = None,
) -> Any:
    """Declare a field that is given by its place on the command line; with a default it may be left out."""
    declared = Declaration(metavar, help, parse=parse, choices=choices, positional=True)
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata={_KEY: declared})
    return dataclasses.field(default=default, metadata={_KEY: declared})


def words_behind(help: Help) -> Any:
    """Declare a field that takes all words behind ``--``, such as a command to start; it is a tuple of texts."""
    return dataclasses.field(default=(), metadata={_KEY: Declaration("", help, behind=True)})


@dataclass(frozen=True)
class Field:
    """A field of a request that a user may give."""

    key: str  # name in Python and TOML
    kind: str  # bool, int, float, str, or the name of what ``parse`` returns
    repeated: bool  # a tuple of values of that type
    optional: bool  # None means that nothing was asked for
    default: Any  # dataclasses.MISSING: required
    declared: Declaration
    owner: type[Request]  # the request, for the text of the help

    @property
    def option(self) -> str:
        """Return the name of the option with two hyphens, or of a positional argument its place in the usage."""
        if self.declared.positional:
            return self.declared.metavar
        return self.declared.name or f"--{self.key.replace('_', '-')}"

    @property
    def section(self) -> str:
        """Return the title of the section of the help, or an empty text if the name decides it."""
        sections: Mapping[str, str] = self.owner.sections
        return sections.get(self.key, self.declared.section)

    @property
    def required(self) -> bool:
        """Return whether the field must be given."""
        return self.default is dataclasses.MISSING

    @property
    def help(self) -> str:
        """Return the text of the help."""
        made = self.declared.help
        return made if isinstance(made, str) else made(self.owner)

    @property
    def choices(self) -> Sequence[str] | None:
        """Return the possible values, or None if all are."""
        known = self.declared.choices
        return known(self.owner) if callable(known) else known


def fields_of(request: type[Request]) -> tuple[Field, ...]:
    """Return the fields that users may give, group by group in the order of the base classes."""
    known: Any = request  # a class is hashable, which type[Request] does not say
    return _fields_of(known)


@cache
def _fields_of(request: Any) -> tuple[Field, ...]:
    known = {field.name: field for field in dataclasses.fields(request) if _KEY in field.metadata}
    order = dict.fromkeys(_ordered(request))
    return tuple(_field(known[name], request) for name in order if name in known and name not in request.without)


def given(value: _Value | None) -> _Value:
    """Return the value of a field that the command has checked to be given, or has filled with its default."""
    assert value is not None
    return value


def titled(title: str, *groups: type[Request]) -> dict[str, str]:
    """Return the entries of ``sections`` that put all fields of these groups into one section of the help."""
    return {field.key: title for group in groups for field in fields_of(group)}


def _ordered(request: type) -> Iterator[str]:
    """Yield names of fields: of the base classes from left to right, then of the class itself."""
    for base in request.__bases__:
        yield from _ordered(base)
    yield from inspect.get_annotations(request)


def _field(field: dataclasses.Field[Any], request: type[Request]) -> Field:
    # A text where annotations are not evaluated, as everywhere in this project.
    words = field.type.__name__ if isinstance(field.type, type) else str(field.type)
    optional = words.endswith(" | None")
    words = words.removesuffix(" | None")
    repeated = words.startswith("tuple[")
    if repeated:
        words = words.removeprefix("tuple[").removesuffix(", ...]")
    return Field(field.name, words, repeated, optional, field.default, field.metadata[_KEY], request)


@dataclass(frozen=True, kw_only=True)
class JsonOption(Request):
    """The option --json, which ``platforms.command.command.show`` follows."""

    json: bool = option(False, help="print everything as one JSON object, in SI units")


@dataclass(frozen=True, kw_only=True)
class WideOption(Request):
    """The option --wide, for tables (platforms/terminal/table.py)."""

    wide: bool = option(False, help="tables with all columns, wider than 80 characters")


@dataclass(frozen=True, kw_only=True)
class OutOption(Request):
    """The option --out, the folder of files with the results."""

    out_files: ClassVar[str] = "the results as CSV files"  # what is written there

    out: str | None = option(None, "DIR", lambda request: f"write {request.out_files} there")
