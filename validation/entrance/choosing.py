"""Find the command that the words after ``gridval`` choose."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from platforms.command import Call, called_as
from platforms.errors import UserError, known_names, printable
from validation.entrance.verbs import GROUPS, VERBS, Verb

NAME = "gridval"
_HELP = ("-h", "--help", "--help-all")
_SIMULATE = "--simulate"


@dataclass(frozen=True)
class Chosen:
    """The command that the words after ``gridval`` choose."""

    call: Call
    module: str
    words: tuple[str, ...]  # its arguments

    def main(self) -> int:
        """Run the command and return its exit status."""
        with called_as(self.call):
            status: int = self._imported().main(self.words)
        return status

    def parser(self) -> argparse.ArgumentParser:
        """Return the command's parser."""
        with called_as(self.call):
            parser: argparse.ArgumentParser = self._imported().build_parser()
        return parser

    def _imported(self) -> Any:
        return importlib.import_module(self.module)


def choose(words: Sequence[str]) -> Chosen | str:
    """Return the command that these words choose, or the help text that they ask for.

    Raises:
        UserError: A verb is unknown.
    """
    name, verbs, rest = NAME, VERBS, list(words)
    while True:
        if not rest or rest[0] in _HELP:
            return _help(name, verbs)
        key = _verb_key(name, rest.pop(0), verbs)
        name, verb = f"{name} {key}", verbs[key]
        if verb.module:
            return _command(name, verb, rest)
        verbs = dict(verb.verbs)


def _command(name: str, verb: Verb, words: Sequence[str]) -> Chosen:
    if verb.twin and _SIMULATE in words:
        words = words[1:] if words[0] == verb.twin_of else words
        return Chosen(Call(verb.twin_name, name, verb.twin_help), verb.twin, tuple(words))
    return Chosen(Call(verb.own_name, name, verb.twin_help or None), verb.module, tuple(words))


def _verb_key(name: str, word: str, verbs: Mapping[str, Verb]) -> str:
    if word.lower() in verbs:
        return word.lower()
    raise UserError(f"{name} {printable(word)}", "no such verb", known_names(word, verbs))


def _help(name: str, verbs: Mapping[str, Verb]) -> str:
    groups: Mapping[str, Mapping[str, Verb]] = GROUPS if name == NAME else {"Verbs": verbs}
    width = max(map(len, verbs))
    lines = [f"usage: {name} VERB ...", ""]
    if name == NAME:
        lines += ["Predict run times of MPI programs on grids from cheap probes, and check the", "predictions.", ""]
    for title, group in groups.items():
        lines += [f"{title}:", *(f"  {key:{width}}  {verb.purpose}" for key, verb in group.items()), ""]
    return "\n".join([*lines, f"{name} VERB --help shows the options of a verb."])
