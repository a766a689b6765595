"""The function ``gridval.ask``, which does what any verb does."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import Any

from platforms.command.request import fields_of
from platforms.errors import UserError
from validation.entrance.choosing import Chosen, choose
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
