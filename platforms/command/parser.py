"""The parser of a command line: options in sections, no abbreviations, errors in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from platforms.command.help_text import FIRST, SECTION_OF, HelpFormatter, help_text
from platforms.command.status import say
from platforms.errors import did_you_mean, matching, printable

_ANY_WORD = ("--program-args", "--program-flags")  # options whose values may begin with a dash


class CommandParser(argparse.ArgumentParser):
    """An argument parser that accepts no abbreviated options and reports errors in one line.

    Its help shows ten options, those named in ``first`` before others, and with --help-all every option.
    ``absent`` are options that it does not have, with the reason and what to do.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.first: Sequence[str] = options.pop("first", FIRST)
        self.absent: Mapping[str, str] = options.pop("absent", {})
        helped = options.pop("add_help", True)
        options = {"allow_abbrev": False, "formatter_class": HelpFormatter, **options, "add_help": False}
        super().__init__(*args, **options)
        if helped:
            self.add_argument("-h", "--help", action="help", help="show the options that matter most, and exit")
            self.add_argument("--help-all", action=_HelpAll, help="show all options, and exit")

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an option to its section of the help, or a positional argument."""
        title = next((SECTION_OF[name] for name in names if name in SECTION_OF), None)
        if title is None:
            return super().add_argument(*names, **options)
        group = next((action_group for action_group in self._action_groups if action_group.title == title), None)
        return (group or self.add_argument_group(title)).add_argument(*names, **options)

    def format_help(self) -> str:
        """Return the help with the options that matter most."""
        return help_text(self, self.first, whole=False)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the values of the options; an option that does not exist ends the command."""
        words = self._with_any_words(sys.argv[1:] if args is None else list(args))
        values, unknown = self.parse_known_args(words, namespace)
        if unknown:
            for word in unknown:
                if (reason := self.absent.get(word.partition("=")[0])) is not None:
                    self.error(f"{word.partition('=')[0]}: {reason}")
            asked = _did_you_mean_option(unknown, self)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{'. ' + asked if asked else ''}")
        return values

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
        known = [str(choice) for choice in action.choices]
        asked = did_you_mean(str(value), known)
        said = f"invalid choice: {value!r} (choose from {', '.join(known)}){'. ' + asked if asked else ''}"
        raise argparse.ArgumentError(action, said)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the command; a message goes to standard error, if that can be written."""
        if message:
            say(message.rstrip("\n"))
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
