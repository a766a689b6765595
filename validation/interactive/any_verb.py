"""The function ``gridval.ask``, which does what any verb does."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import Any

from platforms.command.request import fields_of
from platforms.errors import UserError
from validation.entrance.choosing import NAME, Chosen, choose
from validation.interactive.asking import asked


def ask(verb: str, **options: Any) -> Any:
    """Do what ``gridval VERB`` does, and return what it prints with --json as Python values, in SI units.

    Args:
        verb: The words after ``gridval``, such as ``plan nodes`` or ``store list``.
        options: Options and arguments by the names of their fields: ``problem_class``, ``ranks_per_host``; lists stand
            for texts with commas. Options that choose a command, such as ``simulate=True``, are given as well.

    Returns:
        The answer as JSON values; of a verb without --json the text that it prints.

    Raises:
        UserError: The verb or an option is unknown, or a value, a file or a program is wrong.
        SimulationError: A simulation failed.
    """
    words = [f"--{name.replace('_', '-')}" for name, value in options.items() if value not in (None, False)]
    first = [""] if options.get("application") else []  # a file, which chooses between commands like an option
    chosen = choose([*verb.split(), *first, *(word for word in words if word not in ("--help", "--help-all"))])
    if not isinstance(chosen, Chosen):
        raise UserError(f"{NAME} {verb}", "not a command, but a group of verbs", "Add the verb")
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
        return answer.to_json()
    said = printed.getvalue()
    return json.loads(said) if "json" in fields and not values.get("dry_run") else said
