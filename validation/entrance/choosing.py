"""Find the command that the words after ``gridval`` choose."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platforms.errors import UserError, known_names, printable
from validation.entrance.verbs import FILE, GROUPS, RENAMED, VERBS, Verb, commands
from validation.entrance.words import HELP, NAME

if TYPE_CHECKING:  # the help of the entrance needs no command
    from platforms.command.command import Command

_APPLICATION = "APP.toml"  # in the names of commands that begin with a file


@dataclass(frozen=True)
class Chosen:
    """The command that the words after ``gridval`` choose."""

    place: str  # module and name of the Command, ``module:NAME``; ``module`` alone stands for its COMMAND
    words: tuple[str, ...]  # its arguments
    choosers: Mapping[str, str]  # options that choose between the commands of the verb, with their help
    name: str  # what is typed: the verb and the options that choose this command

    @property
    def prog(self) -> str:
        """Return what help and errors call the command: its own name, if that begins with the verb that is typed."""
        verb = self.name.partition(" -")[0].removesuffix(f" {_APPLICATION}")
        return f"{NAME} {self.command.name if f'{self.command.name} '.startswith(f'{verb} ') else self.name}"

    @property
    def command(self) -> Command[Any]:
        """The command; its module is imported now."""
        module, _, name = self.place.partition(":")
        loaded: Command[Any] = getattr(importlib.import_module(module), name or "COMMAND")
        return loaded

    def main(self) -> int:
        """Run the command and return its exit status."""
        words = self.words[: self.words.index("--")] if "--" in self.words else self.words
        # Help is shown beside an option without its value too: ``predict --background --help``.
        helped = [word for word in words if word in HELP][:1]
        return self.command.main(helped or self.words, prog=self.prog, choosers=self.choosers)

    def parser(self) -> argparse.ArgumentParser:
        """Return the command's parser."""
        return self.command.parser(self.prog, choosers=self.choosers)


def choose(words: Sequence[str]) -> Chosen | str:
    """Return the command that these words choose, or the help text that they ask for.

    Raises:
        UserError: A verb is unknown, or no command of the verb has all of the options that choose one.
    """
    name, verbs, rest = NAME, VERBS, list(words)
    while True:
        if not rest or rest[0] in HELP:
            return _help(name, verbs)
        key = _verb_key(name, rest.pop(0), verbs)
        name, verb = f"{name} {key}", verbs[key]
        if verb.place and not (rest and rest[0] in verb.verbs):
            return _command(name, verb, rest)
        verbs = dict(verb.verbs)


def all_commands() -> dict[str, Chosen]:
    """Return all commands by the words after ``gridval`` that choose them.

    >>> all_commands()["plan clock --simulate"].place
    'validation.clock.cli'
    """
    by_words = {}
    for name, verb in commands().items():
        for options, place in {frozenset[str](): verb.place, **verb.others}.items():
            # In the order of the verb; a file is the first word.
            given = [*([_APPLICATION] if FILE in options else []), *(word for word in verb.choosers if word in options)]
            typed = " ".join([name, *given])
            by_words[typed] = Chosen(place, (), verb.choosers, typed)
    return by_words


def _command(name: str, verb: Verb, words: Sequence[str]) -> Chosen:
    given = {option for option in verb.choosers if any(word.partition("=")[0] == option for word in words)}
    rest = [word for word in words if word not in verb.choosers]
    if rest and not rest[0].startswith("-"):
        given.add(FILE)
    options = given - {FILE}
    place = verb.others.get(frozenset(given)) or verb.others.get(frozenset(options))
    if place is None and options and not any(word in HELP for word in words):
        known = (" ".join(word for word in verb.choosers if word in others) for others in verb.others)
        said = f"{name} {' '.join(word for word in verb.choosers if word in options)}"
        raise UserError(said, "no such command", f"Known: {', '.join(f'{name} {choosers}' for choosers in known)}")
    typed = " ".join([name.removeprefix(f"{NAME} "), *(word for word in verb.choosers if word in given)])
    return Chosen(place or verb.place, tuple(words), verb.choosers, typed)


def _verb_key(name: str, word: str, verbs: Mapping[str, Verb]) -> str:
    if word.lower() in verbs:
        return word.lower()
    if name == NAME and word.lower() in RENAMED:
        raise UserError(f"{name} {word}", f"is called {name} {RENAMED[word.lower()]} now", "Write that")
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
