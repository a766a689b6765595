"""Exit status and error line of every command: errors that a user can meet become one line."""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from platforms.errors import UserError, did_you_mean, matching, printable
from platforms.help_text import FIRST, SECTION_OF, HelpFormatter, help_text

EXIT_STATUSES = (
    "Exit status: 0 done; 1 a simulation or verification failed, or output could not be written; 2 bad input; "
    "130 interrupted; 141 nobody reads the output any more."
)


_NO_MORE = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
# Python's and the loader's texts where a thread cannot be started or a library has no room in memory.
_NO_ROOM_TEXTS = ("can't start new thread", "failed to map segment", "cannot allocate memory")
_TOO_FEW = (
    "error: the system: it gives no more processes, files or memory ({}). Raise its limits (ulimit -a), or end others."
)


_MOST_DIGITS = 11  # of seconds since 1970: to the year 5138


@dataclass(frozen=True)
class Call:
    """A command and the other name by which the user called it."""

    own: str  # such as "python -m predictor.frequency"
    called: str  # such as "gridval clock"
    simulate: str | None = None  # help of --simulate, which chooses between two commands of one name; None: no choice


_CALL: ContextVar[Call | None] = ContextVar("call", default=None)


@contextmanager
def called_as(call: Call) -> Iterator[None]:
    """Let the parser of a command show the name by which the user called it."""
    token = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(token)


_ANY_WORD = ("--program-args", "--program-flags")  # options whose values may begin with a dash


class CommandParser(argparse.ArgumentParser):
    """An argument parser that accepts no abbreviated options and reports errors in one line.

    Its help shows ten options, those named in ``first`` before others, and with --help-all every option.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        call = _CALL.get()
        called = call is not None and options.get("prog") == call.own
        if call is not None and called:
            options["prog"] = call.called
        self.first: Sequence[str] = options.pop("first", FIRST)
        helped = options.pop("add_help", True)
        options = {"allow_abbrev": False, "formatter_class": HelpFormatter, **options, "add_help": False}
        super().__init__(*args, **options)
        if helped:
            self.add_argument("-h", "--help", action="help", help="show the options that matter most, and exit")
            self.add_argument("--help-all", action=_HelpAll, help="show all options, and exit")
        if call is not None and called and call.simulate is not None:
            self.add_argument("--simulate", action="store_true", help=call.simulate)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an option to its section of the help, or a positional argument."""
        title = next((SECTION_OF[name] for name in names if name in SECTION_OF), None)
        if title is None:
            return super().add_argument(*names, **options)
        group = next((one for one in self._action_groups if one.title == title), None)
        return (group or self.add_argument_group(title)).add_argument(*names, **options)

    def format_help(self) -> str:
        """Return the help with the options that matter most."""
        return help_text(self, self.first, whole=False)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the values of the options; an option that does not exist ends the command."""
        words = self._with_any_words(sys.argv[1:] if args is None else list(args))
        found, unknown = self.parse_known_args(words, namespace)
        if unknown:
            asked = _did_you_mean_option(unknown, self)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{'. ' + asked if asked else ''}")
        return found

    def _with_any_words(self, words: list[str]) -> list[str]:
        """Return the words of a command line, with values that argparse would take for options tied to theirs."""
        tied: list[str] = []
        for word in words:
            tie = bool(tied) and tied[-1] in _ANY_WORD and word.startswith("-") and not self._is_option(word)
            if tie:
                tied[-1] += f"={word}"
            else:
                tied.append(word)
        return tied

    def _is_option(self, word: str) -> bool:
        return word.partition("=")[0] in self._option_string_actions

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(one) for one in action.choices]
        asked = did_you_mean(str(value), known)
        said = f"invalid choice: {value!r} (choose from {', '.join(known)}){'. ' + asked if asked else ''}"
        raise argparse.ArgumentError(action, said)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the command; a message goes to standard error, if that can be written."""
        if message:
            _say(message.rstrip("\n"))
        sys.exit(status)

    def error(self, message: str) -> NoReturn:
        """End the command with exit status 2 (bad input)."""
        text = printable(message).rstrip(".")
        self.exit(2, f"error: {text}{'' if text.endswith('?') else '.'} See {self.prog} --help.\n")


class _HelpAll(argparse._HelpAction):
    """Print the help with all options, and exit."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None
    ) -> NoReturn:
        parser._print_message(help_text(parser, (), whole=True), sys.stdout)
        parser.exit()


def any_case(*names: str) -> Callable[[str], str]:
    """Return the ``type`` of an option whose value may be one of these names, in any case."""

    def known_or_text(text: str) -> str:
        return matching(text, names) or text

    return known_or_text


def _did_you_mean_option(words: Sequence[str], parser: argparse.ArgumentParser) -> str | None:
    """Return the question whether an option with a similar name was meant, by the first unknown option."""
    option = next((word.partition("=")[0] for word in words if word.startswith("--")), None)
    return None if option is None else did_you_mean(option, _options_of(parser))


def _options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the names of all options of a parser and of its sub-commands."""
    for action in parser._actions:
        yield from (name for name in action.option_strings if name.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _options_of(command)


def exit_status(command: Callable[[], int]) -> int:
    """Run a command, from its parser on, and return its exit status.

    An exception that a user can cause is reported in one line and gives the status that EXIT_STATUSES names.  Any other
    exception is a bug and keeps its traceback.

    Raises:
        SystemExit: The parser ends the command: after --help, or at an option that does not exist.
    """
    closed_output = not _is_open(1)
    _open_streams()
    if closed_output:  # found now rather than after hours of simulation
        _say("error: standard output: it is closed. Open it, or send it to /dev/null.")
        return 2
    signal.signal(signal.SIGTERM, _interrupt)  # batch systems end jobs this way; no child process may be left running
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # the terminal closes; nohup ignores the signal
        signal.signal(signal.SIGHUP, _interrupt)
    try:
        _check_environment()
        try:
            status = command()
        except SystemExit:  # after --help, which may be in the buffer still
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return status
    except UserError as err:
        _say(f"error: {err}")
        return 2
    except KeyboardInterrupt as err:
        _say(
            f"interrupted: {err}. The same command goes on from there: {command_line()}" if err.args else "interrupted"
        )
        return 130
    except BrokenPipeError:  # the reader of the output has ended, as `head` does
        _drop_output()
        return 141
    except OSError as err:
        _drop_output()
        if err.errno in _NO_MORE:
            _say(_TOO_FEW.format(err.strerror))
            return 1
        _say(f"error: {printable(str(err.filename or 'output'))}: {err.strerror or err}")
        return 2 if err.errno == errno.ENAMETOOLONG else 1
    except (RuntimeError, MemoryError, ImportError) as err:
        if not isinstance(err, MemoryError) and not any(text in str(err) for text in _NO_ROOM_TEXTS):
            raise
        _drop_output()
        _say(_TOO_FEW.format(printable(str(err)) or "out of memory"))
        return 1
    except UnicodeEncodeError as err:
        _drop_output()
        _say(f"error: {_not_encodable(err)}")
        return 2


def command_line() -> str:
    """Return the command line of this process, as the user may type it again."""
    words = sys.orig_argv if os.path.basename(sys.argv[0]) != "gridval" else ["gridval", *sys.argv[1:]]
    return printable(shlex.join(words))


def _not_encodable(err: UnicodeEncodeError) -> str:
    """Return the error line for a name that is not UTF-8, or for a character that the output's encoding lacks."""
    what = printable(err.object[max(0, err.start - 40) : err.end + 40])
    if err.encoding.lower().replace("-", "") == "utf8":
        return f"{what!r}: not text in UTF-8. Rename it."
    return f"{what!r}: the output's encoding {err.encoding} has no such character. Set PYTHONIOENCODING to utf-8."


def _is_open(handle: int) -> bool:
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


def _open_streams() -> None:
    """Open standard streams that the caller has closed: files opened later would take their places.

    Python then has None in place of the stream.
    """
    for handle in range(3):
        if not _is_open(handle):
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    for name, handle in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            stream = os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)


def _check_environment() -> None:
    """Refuse a value of SOURCE_DATE_EPOCH that compilers and Matplotlib cannot read.

    Raises:
        UserError: It is not a number of seconds.
    """
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if text and not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise UserError(f"SOURCE_DATE_EPOCH={printable(text)}", "not a number of seconds since 1970", "Unset it")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _say(line: str) -> None:
    """Print a line on standard error, unless it is closed."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def _drop_output() -> None:
    """Discard buffered output that nobody reads; otherwise Python would report an error when it exits."""
    _drop(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    with suppress(ValueError):  # the stream is closed, or an object without a file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
