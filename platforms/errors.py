"""The one kind of error that a user can mend: it becomes a single line and exit status 2."""

from collections.abc import Callable, Iterable

_MOST_SHOWN = 2000  # characters of a place, a problem or a remedy


class UserError(Exception):
    """Wrong input: where it is, what is wrong with it, what to do.

    Command lines print it as ``error: where: problem. remedy.`` and exit with 2; a bug keeps its traceback.  The text
    is one line whatever is quoted in it: control characters are written as in Python, and what is long is cut.
    """

    def __init__(self, where: str, problem: str, remedy: str):
        super().__init__(f"{_shown(where)}: {_shown(problem)}. {_shown(remedy)}.")
        self.where, self.problem, self.remedy = where, problem, remedy

    def __reduce__(
        self,
    ) -> tuple[Callable[..., "UserError"], tuple[object, ...]]:  # from another process it arrives whole
        return _remade, (type(self), self.where, self.problem, self.remedy)


def printable(text: str) -> str:
    """The text in one line: control characters as Python writes them."""
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


def nearest(name: str, known: Iterable[str], *, limit: int = 8) -> str:
    """The remedy for an unknown name: the names that look like it, else the first known ones."""
    import difflib

    names = [str(one) for one in known]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close and len(names) > limit:
        return f"Near: {', '.join(close)}"
    rest = f", and {len(names) - limit} more" if len(names) > limit else ""
    return f"Known: {', '.join(names[:limit])}{rest}"
