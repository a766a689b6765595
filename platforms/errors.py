"""Errors that a user can correct: commands report them in one line and end with exit status 2."""

import difflib
from collections.abc import Callable, Iterable

_MOST_SHOWN = 2000  # characters of a place, a problem or a remedy


class UserError(Exception):
    """Wrong input: where it is, what is wrong with it, and what to do.

    Commands print ``error: where: problem. remedy.`` and exit with status 2; a bug keeps its traceback.  The text is
    always one line: control characters in quoted input are escaped as in Python, and long parts are cut.
    """

    def __init__(self, where: str, problem: str, remedy: str):
        super().__init__(f"{_shown(where)}: {_shown(problem)}. {_shown(remedy)}.")
        self.where, self.problem, self.remedy = where, problem, remedy

    def __reduce__(
        self,
    ) -> tuple[Callable[..., "UserError"], tuple[object, ...]]:  # worker processes send errors by pickle
        return _remade, (type(self), self.where, self.problem, self.remedy)


def printable(text: str) -> str:
    """Return the text in one line, with control characters escaped as in Python."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _shown(text: str) -> str:
    if len(text) > _MOST_SHOWN:
        text = f"{text[: _MOST_SHOWN // 2]} ... {text[-_MOST_SHOWN // 2 :]}"
    return printable(text)


def _remade(kind: type[UserError], where: str, problem: str, remedy: str) -> UserError:
    error = kind.__new__(kind)
    UserError.__init__(error, where, problem, remedy)
    return error


class PlatformError(UserError):
    """A scenario, a platform file or a placement that cannot be used."""


def matching(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a user's name stands for: the same, or the only one that differs in case alone.

    >>> matching("Grid4x8", ["grid4x4", "grid4x8"]), matching("a", ["A", "a"]), matching("grid", ["grid4x4"])
    ('grid4x8', 'a', None)
    """
    names = list(known)
    if name in names:
        return name
    same = [one for one in names if one.casefold() == name.casefold()]
    return same[0] if len(same) == 1 else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the question whether a similar known name was meant; None if no known name is similar.

    >>> did_you_mean("structual", ["structural", "hcf"])
    'Did you mean structural?'
    """
    spelled = {one.casefold(): one for one in known}
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
    names = [str(one) for one in known]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close and len(names) > limit:
        return f"Near: {', '.join(close)}"
    rest = f", and {len(names) - limit} more" if len(names) > limit else ""
    return f"Known: {', '.join(names[:limit])}{rest}"
