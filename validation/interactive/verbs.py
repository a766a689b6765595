"""The verbs as functions and groups of functions: ``gridval.plan.clock(...)`` is ``gridval.ask("plan clock", ...)``."""

from __future__ import annotations

import inspect
import io
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any, cast

from platforms.command.request import fields_of
from platforms.errors import UserError
from validation.entrance.choosing import Chosen, choose
from validation.entrance.verbs import VERBS, Verb
from validation.entrance.words import NAME
from validation.interactive.answer import shown
from validation.interactive.asking import asked


def ask(verb: str, **options: Any) -> Any:
    """Do what ``gridval VERB`` does, and return what it prints with --json as Python values, in SI units.

    Args:
        verb: The words after ``gridval``, such as ``plan nodes`` or ``store list``.
        options: Options and arguments by the names of their fields: ``problem_class``, ``ranks_per_host``; lists stand
            for texts with commas. Options that choose a command, such as ``simulate=True``, are given as well.

    Returns:
        The answer as JSON values that show themselves.  An ``Answer`` is a dict with ``tables``, ``plot()`` and
        ``cautions``.  Of a verb without --json, and with ``dry_run``, the text that it prints.

    Raises:
        UserError: The verb or an option is unknown, or a value, a file or a program is wrong.
        SimulationError: A simulation failed.
    """
    given = (name for name, value in options.items() if value is not None and value is not False)
    words = [f"--{name.replace('_', '-')}" for name in given if name not in ("help", "help_all")]
    if options.get("application"):
        words = ["", *words]  # a file, which chooses between commands like an option
    chosen = choose([*verb.split(), *words])
    if not isinstance(chosen, Chosen):
        raise UserError(f"{NAME} {verb}".rstrip(), "not a command, but a group of verbs", "Add the verb")
    for word in chosen.words[: len(chosen.words) - len(words)]:
        if word not in chosen.choosers:
            problem = f"{word} is not part of the verb"
            raise UserError(f"{NAME} {verb}", problem, "Give options and arguments by the names of their fields")
    command = chosen.command
    fields = {field.key for field in fields_of(command.request)}
    choosers = {word.removeprefix("--").replace("-", "_") for word in chosen.choosers} - fields
    values = {name: value for name, value in options.items() if name not in choosers}
    if "json" in fields:
        values["json"] = True
    request = asked(command.request, values)
    printed = io.StringIO()
    with redirect_stdout(printed):  # some verbs print while they work
        answer = command.answer(request)
        if not isinstance(answer, int) and command.after is not None:
            command.after(request, answer)  # writes the files that are asked for
    if not isinstance(answer, int):
        return shown(chosen.name, answer.to_json())
    said = printed.getvalue()
    return shown(chosen.name, json.loads(said) if "json" in fields and said.startswith(("{", "[")) else said)


class Function:
    """A verb that is called with its options by name, and shows them to help() and to completion."""

    def __init__(self, words: str, verb: Verb):
        self._words, self._verb = words, verb
        self.__name__ = words.rpartition(" ")[2]
        for name, inner in verb.verbs.items():  # further commands below this one
            setattr(self, name, of_verb(f"{words} {name}", inner))

    def __call__(self, **options: Any) -> Any:
        """Do what the verb does, as ``gridval.ask``."""
        return ask(self._words, **options)

    def __repr__(self) -> str:
        return f"<gridval {self._words}: {self._verb.purpose}>"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        chosen = choose(self._words.split())
        assert isinstance(chosen, Chosen)
        fields = fields_of(chosen.command.request)
        options = "\n".join(f"    {field.key}: {' '.join(field.help.split())}" for field in fields)
        return f"{chosen.command.description}\n\nOptions:\n{options}"

    @property
    def __signature__(self) -> inspect.Signature:
        chosen = choose(self._words.split())
        assert isinstance(chosen, Chosen)
        keys = dict.fromkeys([*(field.key for field in fields_of(chosen.command.request)), *_choosers(chosen)])
        parameters = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in keys]
        return inspect.Signature(parameters)


def _choosers(chosen: Chosen) -> list[str]:
    return [word.removeprefix("--").replace("-", "_") for word in chosen.choosers]


class Group:
    """A group of verbs, whose functions are its attributes."""

    def __init__(self, words: str, verbs: Mapping[str, Verb]):
        self._words, self._verbs = words, verbs
        self.__doc__ = repr(self)

    def __getattr__(self, name: str) -> Function | Group:
        if name not in self._verbs or name.startswith("_"):
            package = sys.modules.get(f"gridval.{self._words}")  # a package of the same name
            if package is not None and name in vars(package):
                return cast(Function, vars(package)[name])
            raise AttributeError(f"gridval {self._words} has no verb {name!r}: it has {', '.join(self._verbs)}")
        return of_verb(f"{self._words} {name}", self._verbs[name])

    def __dir__(self) -> list[str]:
        return list(self._verbs)

    def __repr__(self) -> str:
        width = max(map(len, self._verbs))
        lines = (f"  {name:{width}}  {verb.purpose}" for name, verb in self._verbs.items())
        return "\n".join([f"gridval.{self._words}, with the verbs", *lines])


def of_verb(words: str, verb: Verb) -> Function | Group:
    """Return a verb as a function, or as a group of functions."""
    return Function(words, verb) if verb.place else Group(words, verb.verbs)


def verb_named(name: str) -> Function | Group:
    """Return the verb of this name."""
    return of_verb(name, VERBS[name])
