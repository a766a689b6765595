"""Divide an application of blocks into its work and its checkpoints, which are its blocks ``write_disk``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from predictor.blocks.application import Application, If, Repeat, Set, Step, While, WriteDisk, names_set
from predictor.blocks.expressions import Expression


def has_checkpoints(application: Application) -> bool:
    """Return whether any label writes to a disk."""
    return any(_writes(label.program) for label in application.labels)


def without_checkpoints(application: Application) -> Application:
    """Return the application without its blocks ``write_disk``."""
    labels = tuple(replace(label, program=_without(label.program)) for label in application.labels)
    return replace(application, labels=labels)


def one_checkpoint(application: Application) -> Application:
    """Return an application in which all processes write one checkpoint together, and do nothing else.

    The steps are the blocks ``write_disk`` of each label, once each, without the loops around them.  A condition stays,
    so that only some processes of a label may write; one that depends on the turn of a loop, or on a name that a step
    sets, counts as true, because it says when to write.
    """
    labels = tuple(
        replace(label, program=tuple(_only(label.program, names_set(label.program)))) for label in application.labels
    )
    return replace(application, labels=labels)


def _writes(steps: tuple[Step, ...]) -> bool:
    return any(isinstance(step, WriteDisk) or any(map(_writes, _inner(step).values())) for step in steps)


def _inner(step: Step) -> dict[str, tuple[Step, ...]]:
    """Return the steps in a step, by the name of the field."""
    inner_steps: dict[str, tuple[Step, ...]] = {}
    for field in fields(step):
        value: Any = getattr(step, field.name)
        if isinstance(value, tuple) and value and all(isinstance(item, Step) for item in value):
            inner_steps[field.name] = value
    return inner_steps


def _without(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    kept = (step for step in steps if not isinstance(step, WriteDisk))
    return tuple(replace(step, **{name: _without(inner) for name, inner in _inner(step).items()}) for step in kept)


def _only(steps: tuple[Step, ...], turns: frozenset[str]) -> Iterator[Step]:
    """Yield the steps that write or set a name; ``turns`` has these names and the variables of the loops around."""
    for step in steps:
        if isinstance(step, WriteDisk | Set):
            yield step
        elif isinstance(step, If) and not turns & Expression.of(step.condition).names:
            if _writes(step.steps) or _writes(step.otherwise):
                yield replace(
                    step, steps=tuple(_only(step.steps, turns)), otherwise=tuple(_only(step.otherwise, turns))
                )
        else:
            named = {step.variable} if isinstance(step, Repeat | While) and step.variable is not None else set()
            for inner in _inner(step).values():
                yield from _only(inner, turns | named)
