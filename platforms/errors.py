"""Errors that a user can correct: commands report them in one line and end with exit status 2."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self, TypeVar

_Error = TypeVar("_Error", bound="UserError")
_MOST_SHOWN = 2000  # characters of a place, a problem or a remedy


class Source(Protocol):
    """A text that contains places."""

    @property
    def name(self) -> str:
        """Return its name as the user gave it."""

    def line_of(self, keys: tuple[str | int, ...]) -> int | None:
        """Return the number of the line, from 1, of an element, or of the nearest one around it."""


class Place(str):
    """The place of an error: its text for people, with the source and the keys of an element in it for programs.

    Formatting a place gives its text alone; ``inside`` keeps the source, and adds keys.

    >>> place = Place("app.toml").inside(", label p", "labels", "p")
    >>> place, place.inside(", step 2", "program", 1).keys, f"{place}, count"
    ('app.toml, label p', ('labels', 'p', 'program', 1), 'app.toml, label p, count')
    """

    source: Source | None  # None: it is not at hand, or the text has the line already
    keys: tuple[str | int, ...]  # keys and, from 0, numbers of elements of lists; (): the whole source

    def __new__(cls, text: str, source: Source | None = None, keys: tuple[str | int, ...] = ()) -> Self:
        """Make a place from its text, which begins with the name of the source, and the keys of an element."""
        place = super().__new__(cls, text)
        place.source, place.keys = source, keys
        return place

    def inside(self, text: str, *keys: str | int) -> Self:
        """Return a place inside this one: its text follows this text, and its keys follow these keys."""
        return type(self)(f"{self}{text}", self.source, (*self.keys, *keys))

    def with_line(self) -> Self:
        """Return the place with its line behind the name of the source, if the line is known."""
        line = self.source.line_of(self.keys) if self.source is not None and self.keys else None
        if self.source is None or line is None or not self.startswith(self.source.name):
            return self
        rest = self[len(self.source.name) :]
        return type(self)(f"{self.source.name}:{line}{rest}", None, self.keys)


def inside(where: str, text: str, *keys: str | int) -> str:
    """Return the place inside another one, which may be a plain text; then the result is one too."""
    return where.inside(text, *keys) if isinstance(where, Place) else f"{where}{text}"


class UserError(Exception):
    """Wrong input: where it is, what is wrong with it, and what to do.

    Commands print ``error: where: problem. remedy.`` and exit with status 2; a bug keeps its traceback.  The text is
    always one line: control characters in quoted input are escaped as in Python, and long parts are cut.
    A Place is shown with its line.  Programs know errors by their class, their fields and the keys of their Place.
    """

    def __init__(self, where: str, problem: str, remedy: str):
        where = where.with_line() if isinstance(where, Place) else where
        super().__init__(f"{_shown(where)}: {_shown(problem)}. {_shown(remedy)}.")
        self.where, self.problem, self.remedy = where, problem, remedy

    @property
    def keys(self) -> tuple[str | int, ...]:
        """Return the keys of the element that the error is about, or () if there is none or it is not known."""
        return self.where.keys if isinstance(self.where, Place) else ()

    def at(self, where: str) -> Self:
        """Return an error of the same class, with the same fields, at another place."""
        return self._changed(where, self.problem, self.remedy)

    def renamed(self, name: str, shown: str) -> Self:
        """Return an error of the same class, with the same fields, that calls a file by another name."""
        where, problem, remedy = (text.replace(name, shown) for text in (self.where, self.problem, self.remedy))
        place = type(self.where)(where, None, self.keys) if isinstance(self.where, Place) else where
        return self._changed(place, problem, remedy)

    def _changed(self, where: str, problem: str, remedy: str) -> Self:
        changed = _remade(type(self), where, problem, remedy)
        changed.__dict__.update(self.__dict__ | changed.__dict__)
        return changed

    def __reduce__(  # worker processes send errors by pickle
        self,
    ) -> tuple[Callable[..., "UserError"], tuple[object, ...], dict[str, Any]]:
        return _remade, (type(self), self.where, self.problem, self.remedy), self.__dict__


def printable(text: str) -> str:
    """Return the text in one line, with control characters escaped as in Python."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _shown(text: str) -> str:
    if len(text) > _MOST_SHOWN:
        text = f"{text[: _MOST_SHOWN // 2]} ... {text[-_MOST_SHOWN // 2 :]}"
    return printable(text)


def _remade(kind: type[_Error], where: str, problem: str, remedy: str) -> _Error:
    error = kind.__new__(kind)
    UserError.__init__(error, where, problem, remedy)
    return error


class PlatformError(UserError):
    """A scenario, a platform file or a placement that cannot be used."""


def matching(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that matches a user's name: the same, or the only one that differs only in case.

    >>> matching("Grid4x8", ["grid4x4", "grid4x8"]), matching("a", ["A", "a"]), matching("grid", ["grid4x4"])
    ('grid4x8', 'a', None)
    """
    names = list(known)
    if name in names:
        return name
    same = [known_name for known_name in names if known_name.casefold() == name.casefold()]
    return same[0] if len(same) == 1 else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the question whether a similar known name was meant; None if no known name is similar.

    >>> did_you_mean("structual", ["structural", "hcf"])
    'Did you mean structural?'
    """
    spelled = {known_name.casefold(): known_name for known_name in known}
    close = difflib.get_close_matches(name.casefold(), spelled, n=1, cutoff=0.65)
    return f"Did you mean {spelled[close[0]]}?" if close else None


def known_names(name: str, known: Iterable[str], *, more: str = "") -> str:
    """Return the remedy for an unknown name: a similar known name, if there is one, and all known names.

    ``more`` is added to the known names.

    >>> known_names("hfc", ["hcf", "npt"])
    'Did you mean hcf? Known: hcf, npt'
    """
    names = list(known)
    return " ".join(filter(None, (did_you_mean(name, names), f"Known: {', '.join(names)}{more}")))


def nearest(name: str, known: Iterable[str], *, limit: int = 8) -> str:
    """Return the remedy for an unknown name: the most similar known names, else the first known names.

    At most ``limit`` names are listed; similar names are looked for only if there are more.
    """
    names = [str(name) for name in known]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close and len(names) > limit:
        return f"Near: {', '.join(close)}"
    rest = f", and {len(names) - limit} more" if len(names) > limit else ""
    return f"Known: {', '.join(names[:limit])}{rest}"
