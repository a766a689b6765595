"""An application on a system: the placement of its processes and the costs of its blocks."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from platforms.errors import UserError, nearest
from platforms.system import System
from platforms.system.convert import materialise_system
from platforms.system.scheduler import Placed, Schedule, schedule
from predictor.blocks.application import Application
from predictor.blocks.calibration.calibrate import read_calibration
from predictor.blocks.calibration.calibrated import FAMILIES, Calibrated
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.hardware_machine import HardwareMachine, SimGridMachine
from predictor.blocks.machines.machine import Machine
from predictor.blocks.machines.model_machine import ModelMachine
from predictor.blocks.measured.fitted import read_measured
from predictor.blocks.model import BlockModel
from predictor.blocks.names import HARDWARE, P_COUNTS, POWER_LAWS, SIMGRID, SettingError
from predictor.blocks.places import label_place
from predictor.blocks.programs import Compute, Label, all_steps
from predictor.blocks.progression import Progression
from predictor.blocks.published.formulas import TableModel, published
from predictor.blocks.published.parameters import CLUSTERS

_NO_SHARE = (
    "has the measured time of an operation: the efficiencies of the application, shares of a peak speed, do not apply"
)


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


def block_model(
    name: str, *, power_law: str | None = None, family: str | None = None, besides: Sequence[str] = ()
) -> BlockModel:
    """Return a published model, or the model of a file of measured blocks or of a calibration.

    Args:
        name: Name of a published model, or path of a calibration file.
        power_law: For a published model, one of formulas.POWER_LAWS; None: the first of them.
        family: For a calibration, one of calibrated.FAMILIES; None: the first of them.
        besides: Further names that the caller accepts, for the error message.

    Raises:
        UserError: If the name is neither a model nor a file, or an option does not go with the model.
    """
    if name in CLUSTERS:
        if family is not None:
            raise SettingError(f"--shapes {family}", f"model {name} is published", "Use it with calibration files only")
        return published(name, power_law=POWER_LAWS[0] if power_law is None else power_law)
    if not os.path.isfile(name) and "/" not in name and not name.endswith(".json"):
        remedy = f"{nearest(name, [*besides, *CLUSTERS])}, or a calibration file"
        raise SettingError(f"model {name!r}", "no such model", remedy)

    if (made := read_measured(name)) is not None:
        if family is not None:
            raise SettingError(f"--shapes {family}", f"model {name} has Table 1's formulas", "Leave it out")
        return TableModel(made.parameters, POWER_LAWS[0] if power_law is None else power_law)
    if power_law is not None:
        raise SettingError(f"--power-law {power_law}", "goes only with a published model", "Leave it out")
    return Calibrated(read_calibration(name), FAMILIES[0] if family is None else family)


@dataclass(frozen=True)
class Setting:
    """An application, and the system that offers slots for its processes.

    Efficiencies by processor, and measured times of operations, are settled when the setting is made.
    """

    application: Application
    system: System
    policy: str = "fastest"  # a policy of platforms.system.scheduler
    failure_rate_per_s: float | None = None  # of a node; None: the model's

    def __post_init__(self) -> None:
        by_processor = any(isinstance(label.efficiency, Mapping) for label in self.application.given)
        if by_processor or any(group.unit.operation is not None for group in self.system.groups):
            object.__setattr__(self, "application", placed(self.application, self.schedule))

    @cached_property
    def schedule(self) -> Schedule:
        """Placement of the processes; a PlatformError is raised if the system has too few slots."""
        return schedule(self.system, self.application.counts(), self.policy)

    def machine(
        self,
        model: str = SIMGRID,
        *,
        power_law: str | None = None,
        family: str | None = None,
        p_counts: str | None = None,
        components: Mapping[str, str] | None = None,
    ) -> Machine:
        """Return the machine with the costs of a model.

        Args:
            model: ``simgrid``, ``hardware``, a published model or a calibration file.
            power_law: As in block_model.
            family: As in block_model.
            p_counts: For formulas of Table 1, the reading of P (predictor.blocks.names.P_COUNTS); None: nodes for
                published models, processes for calibrations.
            components: For a published model or a calibration, the names of the models of single components, by the
                name of a group of units, a LAN, a WAN or a disk of the system.

        Raises:
            UserError: If the model is unknown, or an option does not go with it.
        """
        if model not in (HARDWARE, SIMGRID):
            chosen = block_model(model, power_law=power_law, family=family, besides=(SIMGRID, HARDWARE))
            _check_p_counts(p_counts, chosen)
            models = {name: block_model(other) for name, other in (components or {}).items()}
            self._check_components(models)
            return ModelMachine(
                chosen, self.system, self.schedule,
                components={**_of_clusters(chosen), **models}, p_counts=p_counts,
                failure_rate_per_s=self.failure_rate_per_s,
            )  # fmt: skip
        given = (
            ("--power-law", power_law), ("--shapes", family), ("--p-counts", p_counts), ("--component", components)
        )  # fmt: skip
        for option, value in given:
            if value is not None and value != {}:
                shown = value if isinstance(value, str) else ",".join(value)
                raise SettingError(f"{option} {shown}", f"does not go with --model {model}", "Leave it out")
        made = HardwareMachine if model == HARDWARE else SimGridMachine
        return made(self.system, self.schedule, failure_rate_per_s=self.failure_rate_per_s)

    def _check_components(self, models: Mapping[str, BlockModel]) -> None:
        known = [group.name for group in self.system.groups]
        known += [level.name for level in self.system.top.all_levels()]
        known += [disk.name for group in self.system.groups for disk in group.node.disks]
        for name in models:
            if name not in known:
                problem = f"system {self.system.name} has no such component"
                raise SettingError(f"--component {name}", problem, nearest(name, list(dict.fromkeys(known))))

    def cautions(self, model: str) -> list[str]:
        """Return reasons against using a model for this system."""
        if model in (HARDWARE, SIMGRID):
            return self._peak_cautions()

        chosen = block_model(model)
        if not isinstance(chosen, Calibrated):
            return self._speed_cautions(chosen)
        known = _of_clusters(chosen)

        cautions_found = []
        if materialise_system(self.system).content_hash != chosen.calibration.platform_hash:
            cautions_found.append(
                f"{model} was calibrated on platform {chosen.calibration.name}, not on {self.system.name} in its "
                "present form"
            )
        units = dict.fromkeys(row.group.name for rows in self.schedule.placed.values() for row in rows)
        strange = [unit for unit in units if unit not in known]
        if strange:
            taken = f"{chosen.node.cluster}{', the slowest' if len(known) > 1 else ''}"
            named = f"{', '.join(strange)}: not among the calibrated clusters {', '.join(known)}"
            cautions_found.append(f"{named}; computes as {taken}")
        return cautions_found

    def _peak_cautions(self) -> list[str]:
        """Return a caution if efficiencies do not apply, or if a cluster of a published model computes at its peak."""
        name, own = self.system.name, has_efficiencies(self.application)
        units = [row.group.unit for rows in self.schedule.placed.values() for row in rows]
        if own and any(unit.operation is not None for unit in units):
            return [f"system {name} {_NO_SHARE}"]
        if own or name not in CLUSTERS or not units:
            return []
        return [
            f"{name} computes at the peak speed of its processors; --model {name} and the system file of the cluster "
            "(docs/platforms/platform-files.md) have the measured time of an operation"
        ]

    def _speed_cautions(self, chosen: BlockModel) -> list[str]:
        """Return a caution about efficiencies that do not apply to a model of measured times."""
        applies = has_efficiencies(self.application) and chosen.measured_operations
        return [f"model {chosen.name} {_NO_SHARE}"] if applies else []


def _check_p_counts(p_counts: str | None, model: BlockModel) -> None:
    if p_counts is None:
        return
    if p_counts not in P_COUNTS:
        raise SettingError(f"--p-counts {p_counts}", "no such reading of P", nearest(p_counts, P_COUNTS))
    if p_counts == "nodes" and getattr(model, "family", "paper") != "paper":
        problem = "the shapes of the algorithms count processes"
        raise SettingError(f"--p-counts {p_counts}", problem, "Add --shapes paper, or leave it out")


def _of_clusters(model: BlockModel) -> dict[str, BlockModel]:
    """Return the models of a calibration's clusters, by name; a published model has only one kind of nodes."""
    if not isinstance(model, Calibrated):
        return {}
    return {node.cluster: model.of_cluster(node.cluster) for node in model.calibration.nodes}
