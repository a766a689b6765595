"""An application on a system: who runs where, and at what costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from platforms.errors import UserError
from platforms.system import System
from platforms.system.scheduler import Schedule, schedule
from predictor.blocks.application import Application
from predictor.blocks.by_name import block_model
from predictor.blocks.machines.hardware_machine import HardwareMachine
from predictor.blocks.machines.machine import Machine
from predictor.blocks.machines.model_machine import ModelMachine
from predictor.blocks.machines.simgrid_machine import SimGridMachine
from predictor.blocks.model import BlockModel
from predictor.blocks.options import HARDWARE, SIMGRID


@dataclass(frozen=True)
class Setting:
    """An application, and the system whose slots take its processes."""

    application: Application
    system: System
    policy: str = "fastest"  # of platforms.system.scheduler
    failure_rate_per_s: float | None = None  # of a node; None: as the model has it

    @cached_property
    def schedule(self) -> Schedule:
        """Raises PlatformError where the system has too few slots."""
        return schedule(self.system, self.application.counts(), self.policy)

    def machine(self, model: str = SIMGRID, *, power_law: str | None = None, family: str | None = None) -> Machine:
        """The costs by ``simgrid``, ``hardware``, a published model or a calibration file.

        ``power_law`` and ``family``: as predictor.blocks.by_name.block_model has them.  Raises UserError.
        """
        if model not in (HARDWARE, SIMGRID):
            chosen = block_model(model, power_law=power_law, family=family, besides=(SIMGRID, HARDWARE))
            return ModelMachine(
                chosen, self.system, self.schedule,
                of_units=_of_clusters(chosen), failure_rate_per_s=self.failure_rate_per_s,
            )  # fmt: skip
        for option, value in (("--power-law", power_law), ("--shapes", family)):
            if value is not None:
                raise UserError(f"{option} {value}", f"does not go with --model {model}", "Drop it")
        made = HardwareMachine if model == HARDWARE else SimGridMachine
        return made(self.system, self.schedule, failure_rate_per_s=self.failure_rate_per_s)

    def cautions(self, model: str) -> list[str]:
        """What speaks against using a calibration file for this system.  None for any other model."""
        if model in (HARDWARE, SIMGRID):
            return []
        from platforms.system.convert import materialise_system
        from predictor.blocks.calibration.calibrated import Calibrated

        chosen = block_model(model)
        if not isinstance(chosen, Calibrated):
            return []
        known = _of_clusters(chosen)

        found = []
        if materialise_system(self.system).content_hash != chosen.calibration.platform_hash:
            found.append(
                f"{model} was calibrated on platform {chosen.calibration.name}, not on {self.system.name} as it is"
            )
        units = dict.fromkeys(row.group.name for rows in self.schedule.placed.values() for row in rows)
        strange = [unit for unit in units if unit not in known]
        if strange:
            taken = f"{chosen.node.cluster}{', the slowest' if len(known) > 1 else ''}"
            found.append(f"{', '.join(strange)}: not among its clusters {', '.join(known)}; computes as {taken}")
        return found


def _of_clusters(model: BlockModel) -> dict[str, BlockModel]:
    """The models of a calibration's clusters, by name; a published model has one sort of nodes."""
    from predictor.blocks.calibration.calibrated import Calibrated

    if not isinstance(model, Calibrated):
        return {}
    return {node.cluster: model.of_cluster(node.cluster) for node in model.calibration.nodes}
