"""Texts of ``--help``: options in sections, the ten that matter first, in 80 columns."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterable, Sequence

from platforms.wording import number_of

WHAT, WHERE, MODELS, OUTPUT, EXPERT = "what to run", "where", "which models", "output", "expert"
OWN = "options"  # of one command alone; argparse's own title
WIDTH = 80  # of a terminal, at most
MOST_SHOWN = 10  # options in the short help
_FEW = 12  # a command with at most this many options shows all of them

# The section of each option that several commands have; the same name means the same in all of them.
_SECTIONS = {
    WHAT: "--simulate --app --class --size --param --program --program-args --program-iterations --ranks --truth",
    WHERE: "--scenario --platform --clusters --hardware --network --factors --speeds --frequency --mapping --hostfile "
    "--ranks-per-host",
    MODELS: "--predictor",
    OUTPUT: "--dry-run --out --report --json --energy --fail-above --write-hostfile",
    EXPERT: "--efficiency --compute --host-speed --iterations --engine --memory-bus --bytes-per-flop --cfg --jobs "
    "--store --no-store --wall-limit --scheduler --tls",
}
SECTION_OF = {name: title for title, names in _SECTIONS.items() for name in names.split()}
# Options that a short help shows before a command's own ones, the most important first.
FIRST = (
    *("--simulate", "--scenario", "--platform", "--app", "--class", "--program", "--predictor", "--ranks", "--dry-run"),
    *("--report", "--out", "--size"),
)


class HelpFormatter(argparse.HelpFormatter):
    """A formatter of at most 80 columns that keeps paragraphs, and lines that are indented, as they are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(WIDTH, shutil.get_terminal_size().columns) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = textwrap.dedent(text).strip().split("\n\n")
        filled = (
            part if part.startswith(" ") else "\n".join(self._split_lines(part, width - len(indent)))
            for part in paragraphs
        )
        return textwrap.indent("\n\n".join(filled), indent)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def name_of(action: argparse.Action) -> str:
    """Return an option's name with two hyphens, or an empty text for an argument without a name."""
    return next((word for word in action.option_strings if word.startswith("--")), "")


def first_options(actions: Iterable[argparse.Action], first: Sequence[str]) -> list[argparse.Action]:
    """Return the options that a short help shows, in the order of the actions; ``first`` names the most important."""
    options = [action for action in actions if action.option_strings and action.help != argparse.SUPPRESS]
    if len(options) <= _FEW:
        return options
    rank = {name: number for number, name in enumerate(first)}
    specific = [
        option
        for option in options
        if name_of(option) not in SECTION_OF and not isinstance(option, argparse._HelpAction)
    ]
    shared = sorted((option for option in options if name_of(option) in rank), key=lambda action: rank[name_of(action)])
    required = [option for option in options if option.required]
    chosen = list(dict.fromkeys((*required, *shared, *specific)))[: max(MOST_SHOWN, len(required))]
    return [option for option in options if option in chosen or isinstance(option, argparse._HelpAction)]


def make_help(actions: Iterable[argparse.Action]) -> None:
    """Make the help of options whose text is a function until it is shown."""
    for action in actions:
        if callable(action.help):
            action.help = action.help()


def help_text(parser: argparse.ArgumentParser, first: Sequence[str], *, whole: bool) -> str:
    """Return the help of a command.

    Args:
        parser: The command's parser.
        first: Names of the options that matter most.
        whole: Show all options and what follows them; else only those that matter most.
    """
    shown = parser._actions if whole else first_options(parser._actions, first)
    hidden = sum(bool(action.option_strings) for action in parser._actions) - sum(
        bool(action.option_strings) for action in shown
    )
    formatter = parser._get_formatter()
    if whole or not hidden:
        formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups)
    else:
        formatter.add_usage(_usage(parser), [], [])
    formatter.add_text(parser.description)
    for group in sorted(parser._action_groups, key=_order):
        formatter.start_section(group.title)
        formatter.add_text(group.description)
        listed = [action for action in group._group_actions if action in shown or not action.option_strings]
        make_help(listed)
        formatter.add_arguments(listed)
        formatter.end_section()
    if hidden:
        formatter.add_text(f"{parser.prog} --help-all shows {number_of(hidden, 'more option')}.")
    else:
        formatter.add_text(parser.epilog)
    return formatter.format_help()


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage of a command whose options are too many to be named."""
    formatter = parser._get_formatter()
    named = [action for action in parser._actions if not action.option_strings or action.required]
    formatter.add_usage(None, named, [])
    said = formatter.format_help().strip().removeprefix("usage: ")
    last = said.splitlines()[-1]
    between = " " if len(last) + len("usage:  [OPTION ...]") < WIDTH else f"\n{' ' * len(f'usage: {parser.prog} ')}"
    return f"{said}{between}[OPTION ...]".replace("%", "%%")


def _order(group: argparse._ArgumentGroup) -> int:
    """Return the place of a group: arguments, the sections, the command's own groups and options, expert's."""
    order = ("positional arguments", WHAT, WHERE, MODELS, OWN)
    last = (OUTPUT, EXPERT)
    if group.title in order:
        return order.index(group.title)
    return len(order) + (1 + last.index(group.title) if group.title in last else 0)
