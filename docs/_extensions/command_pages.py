"""Write the page of all commands from their parsers while the site is built."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from textwrap import dedent

from sphinx.application import Sphinx

from platforms.command.help_text import make_help
from validation.entrance.choosing import all_commands

_PAGE = "reference/commands"


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command, keyed by the command line: ``gridval plan clock --simulate``."""
    return {f"gridval {line}": chosen.parser() for line, chosen in all_commands().items()}


def _plain(text: str) -> str:
    """Escape a text as Markdown, except that ``code`` and --options become code and named pages become links."""
    pieces = re.split(r"``(.+?)``|(?<!\w)(--\w[\w-]*)", text)
    said = []
    for i, piece in enumerate(pieces):
        if piece is None:
            continue
        if i % 3:
            said.append(f"`{piece}`")
        else:
            escaped = re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", piece)
            said.append(re.sub(r"docs/([\w/-]+\.md)", r"[\1](../\1)", escaped))
    return "".join(said)


def _text(text: str) -> str:
    """Return a description as Markdown: indented paragraphs are code, the others are escaped."""
    parts = re.split(r"((?:^ {4,}.*\n?(?:\n+(?= {4}))?)+)", text, flags=re.MULTILINE)
    said = [f"```text\n{dedent(part).rstrip()}\n```" if i % 2 else _plain(part.strip()) for i, part in enumerate(parts)]
    return "\n\n".join(one for one in said if one)


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the help text of an option with its defaults filled in."""
    formatter = parser._get_formatter()
    return formatter._expand_help(action) if action.help else ""


def _entries(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a definition-list entry for each option of a parser."""
    make_help(parser._actions)
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
            continue
        formatter = parser._get_formatter()
        yield f"`{formatter._format_action_invocation(action)}`\n: {_plain(_help(parser, action)) or '—'}\n"


def _section(line: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the Markdown of a command."""
    yield f"## {line}\n"
    if parser.description:
        yield f"{_text(parser.description)}\n"
    yield f"```text\n{parser.format_usage().removeprefix('usage: ').rstrip()}\n```\n"
    yield from _entries(parser)
    if parser.epilog:
        yield f"{_text(parser.epilog)}\n"


def _write(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append all commands to the page of commands when Sphinx reads it."""
    if docname == _PAGE:
        source[0] += "\n" + "\n".join(text for line, parser in parsers().items() for text in _section(line, parser))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
