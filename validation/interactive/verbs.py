"""The verbs as functions and groups of functions: ``gridval.plan.clock(...)`` is ``gridval.ask("plan clock", ...)``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, cast

from platforms.command.request import fields_of
from validation.entrance.choosing import Chosen, choose
from validation.entrance.verbs import VERBS, Verb
from validation.interactive.any_verb import ask


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
