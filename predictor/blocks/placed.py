"""Efficiencies of processes, once it is known where they are: by processor, or by a measured time of an operation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.errors import UserError, nearest
from predictor.blocks.expressions import Expression
from predictor.blocks.places import label_place
from predictor.blocks.processes.progression import Progression
from predictor.blocks.programs import Compute, Label, all_steps

if TYPE_CHECKING:
    from platforms.system.scheduler import Placed, Schedule
    from predictor.blocks.application import Application


def placed(application: Application, schedule: Schedule, measured: Collection[str] = ()) -> Application:
    """Return the application with the efficiencies of the units that its processes are placed on.

    Where the time of an operation on a unit is measured, all efficiencies give way to it.

    Args:
        application: The application; it is returned unchanged if it has no efficiencies that depend on the units.
        schedule: Placement of its processes.
        measured: Names of the groups of units whose times of an operation the machine has measured itself.

    Raises:
        UserError: If a label has no efficiency for a processor that it is placed on.
    """
    if measured and not application.is_placed and not has_efficiencies(application):
        return application
    labels = tuple(_placed(label, schedule, application.where, measured) for label in application.given)
    return application if labels == application.given else application.with_labels(labels)


def has_efficiencies(application: Application) -> bool:
    """Return whether a label or a step of the application has an efficiency."""
    steps = [step for label in application.given for step, _ in all_steps(None, label.program, "")]
    steps += [step for named in application.steps for step, _ in all_steps(None, named.steps, "")]
    return any(label.efficiency is not None for label in application.given) or any(
        isinstance(step, Compute) and step.efficiency is not None for step in steps
    )


def _placed(label: Label, schedule: Schedule, where: str, measured: Collection[str]) -> Label:
    rows = schedule.placed.get(label.name, ())
    by_processor = isinstance(label.efficiency, Mapping)
    shares = [1.0 if row.group.name in measured else row.group.unit.measured_share for row in rows]
    if by_processor:
        values = [
            Expression.of(1) if share is not None else _of_processor(label, row.group.unit.processor, where)
            for row, share in zip(rows, shares, strict=True)
        ]
        label = replace(label, efficiency=_of_rows(rows, values) if rows else Expression.of(1))
    if any(share is not None for share in shares):
        label = replace(label, measured=_of_rows(rows, [Expression.of(share or 0) for share in shares]))
    return label


def _of_processor(label: Label, processor: str, where: str) -> Expression:
    given: Any = label.efficiency
    if processor not in given:
        remedy = f"{nearest(processor, given)}; add {processor} = 0.1"
        raise UserError(label_place(where, label.name, "efficiency"), f"no value for processor {processor!r}", remedy)
    return Expression.of(given[processor])


def _of_rows(rows: Sequence[Placed], values: Sequence[Expression]) -> Expression:
    """Return an expression with the value of the row that has the process."""
    if len(set(values)) == 1:
        return values[0]

    def evaluate(scope: Mapping[str, Any]) -> Any:
        index = scope["index"]
        if not isinstance(index, Progression):
            return next(value.value(scope, "") for row, value in zip(rows, values, strict=True) if row.has(index))
        members = int(index.first) + int(index.step) * np.arange(index.count, dtype=np.int64)
        for row, value in zip(rows, values, strict=True):
            if row.has(members).all():
                return value.value(scope, "")
        raise index.split_all()

    text = " or ".join(
        f"{value.text} ({row.first}, {row.units}, {row.index})" for row, value in zip(rows, values, strict=True)
    )
    return Expression.computed(text, frozenset({"index"}).union(*(value.names for value in values)), evaluate)
