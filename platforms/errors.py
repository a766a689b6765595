"""The one kind of error that a user can mend: it becomes a single line and exit status 2."""

from collections.abc import Iterable


class UserError(Exception):
    """Wrong input: where it is, what is wrong with it, what to do.

    Command lines print it as ``error: where: problem. remedy.`` and exit with 2; a bug keeps its traceback.
    """

    def __init__(self, where: str, problem: str, remedy: str):
        super().__init__(f"{where}: {problem}. {remedy}.")
        self.where, self.problem, self.remedy = where, problem, remedy

    def __reduce__(self):  # from another process it arrives whole
        return _remade, (type(self), self.where, self.problem, self.remedy)


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
