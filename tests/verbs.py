"""Verbs of ``gridval`` as functions that take words and return the exit status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from platforms.command.parser import CommandParser
from platforms.command.request import Request
from platforms.command.values import add_options, parsed
from validation.entrance.main import main


def blocks(words: Sequence[str]) -> int:
    """Run ``gridval blocks``."""
    return main(["blocks", *words])


def store(words: Sequence[str]) -> int:
    """Run ``gridval store``."""
    return main(["store", *words])


def asked(*words: object, groups: Sequence[type[Request]]) -> Any:
    """Return the request that the words of a command with these groups of options ask for."""
    request = dataclass(frozen=True, kw_only=True)(type("AskedRequest", tuple(groups), {"__doc__": "Options."}))
    parser = CommandParser()
    add_options(parser, request)
    return parsed(request, parser, [str(word) for word in words])
