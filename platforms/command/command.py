"""Commands: a request, the function that answers it, and how the answer is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from platforms.command.help_text import FIRST
from platforms.command.parser import CommandParser
from platforms.command.request import Request, fields_of
from platforms.command.status import EXIT_STATUSES, exit_status
from platforms.command.values import add_options, parsed, request_of

_Request = TypeVar("_Request", bound=Request)


class Answer(Protocol):
    """The answer of a command, with the texts that show it."""

    def text(self) -> str:
        """Return it as lines of text."""

    def to_json(self) -> Any:
        """Return it as JSON values, in SI units."""


@dataclass(frozen=True)
class Reply:
    """An answer made of a value and two functions that show it."""

    value: Any
    as_text: Callable[[], str]
    as_json: Callable[[], Any]
    status: int = 0  # exit status

    def text(self) -> str:
        """Return it as lines of text."""
        return self.as_text()

    def to_json(self) -> Any:
        """Return it as JSON values."""
        return self.as_json()


@dataclass(frozen=True)
class Command(Generic[_Request]):
    """A command: its name, its request, and the function that answers a request.

    ``answer`` returns a value that ``show`` prints, or, of a command that prints while it works, the exit status.
    """

    name: str  # after ``gridval``: "plan clock"
    request: type[_Request]
    answer: Callable[[_Request], Any]  # Answer | int
    description: str
    epilog: str = EXIT_STATUSES
    usage: str | None = None  # "%(prog)s GRID [options]"; None: made of the options
    first: Sequence[str] = FIRST  # the most important options, shown in the short help
    # After the answer is printed: write the requested files, and print the cautions.
    after: Callable[[_Request, Any], None] | None = None
    status: Callable[[Callable[[], int]], int] = exit_status  # turns errors into a line and an exit status

    def parser(self, prog: str | None = None, *, choosers: Mapping[str, str] | None = None) -> CommandParser:
        """Return the parser of the options.

        Args:
            prog: How the command is called; default: by gridval.
            choosers: Options by which a verb chooses between several commands, with their help.
        """
        made = CommandParser(
            prog=prog or f"gridval {self.name}",
            description=self.description,
            epilog=self.epilog,
            usage=self.usage,
            first=self.first,
            absent=self.request.absent,
        )
        known = {field.option for field in fields_of(self.request)}
        for option, help in (choosers or {}).items():
            if option not in known:
                made.add_argument(option, action="store_true", help=help)
        add_options(made, self.request)
        return made

    def main(
        self,
        argv: Sequence[str] | None = None,
        *,
        prog: str | None = None,
        choosers: Mapping[str, str] | None = None,
    ) -> int:
        """Run the command with the arguments of a command line, and return its exit status."""
        words = sys.argv[1:] if argv is None else list(argv)
        return self.status(lambda: self.run(parsed(self.request, self.parser(prog, choosers=choosers), words)))

    def run(self, request: _Request) -> int:
        """Answer a request, show the answer, write the requested files, and return the exit status."""
        answer = self.answer(request)
        if isinstance(answer, int):
            return answer
        show(answer, as_json=getattr(request, "json", False))
        if self.after is not None:
            self.after(request, answer)
        status: int = getattr(answer, "status", 0)
        return status

    def ask(self, **values: Any) -> Any:
        """Return the answer for values by the names of the request's fields, for scripts and notebooks.

        Raises:
            UserError: A name is unknown, or a value is wrong.
        """
        return self.answer(request_of(self.request, values))


def show(answer: Answer, *, as_json: bool) -> None:
    """Print an answer as text, or as one line of JSON."""
    # Imported here because help does not need it.
    import json

    print(json.dumps(answer.to_json()) if as_json else answer.text(), flush=True)
