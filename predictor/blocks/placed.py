"""Efficiencies by processor: the value for each process, once it is known where the processes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.errors import UserError, nearest
from predictor.blocks.expressions import Expression
from predictor.blocks.places import label_place
from predictor.blocks.processes.progression import Progression

if TYPE_CHECKING:
    from platforms.system.scheduler import Placed, Schedule
    from predictor.blocks.application import Application, Label


def placed(application: Application, schedule: Schedule) -> Application:
    """Return the application with the efficiencies of the processors that its processes are placed on.

    Args:
        application: The application; it is returned unchanged if it has no efficiencies by processor.
        schedule: Placement of its processes.

    Raises:
        UserError: If a label has no efficiency for a processor that it is placed on.
    """
    if not any(isinstance(label.efficiency, Mapping) for label in application.given):
        return application
    labels = tuple(_placed(label, schedule, application.where) for label in application.given)
    return application.with_labels(labels)


def _placed(label: Label, schedule: Schedule, where: str) -> Label:
    if not isinstance(label.efficiency, Mapping):
        return label
    rows = schedule.placed.get(label.name, ())
    values = [_of_processor(label, row.group.unit.processor, where) for row in rows]
    return label.with_efficiency(_of_rows(rows, values) if rows else Expression.of(1))


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
