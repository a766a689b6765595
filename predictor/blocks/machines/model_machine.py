"""Costs of blocks by the formulas of a block model, published or calibrated; the system gives only the placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from predictor.blocks.machines.machine import ALONE, ALONE_AT_DISK, DiskSharing, Group, MessageLoad
from predictor.blocks.machines.placing import groups_of
from predictor.blocks.model import BlockModel

if TYPE_CHECKING:
    from platforms.system import System
    from platforms.system.scheduler import Schedule


class ModelMachine:
    """Machine (predictor/blocks/machines/machine.py) whose nodes are all as in the model.

    Time and power of a node follow from the processes on all its units together.  The formulas do not distinguish
    messages within a node: every message counts as a message between nodes.  Messages of one node at the same time take
    as long as one after the other.
    """

    others_idle_w = 0.0

    def __init__(
        self,
        model: BlockModel,
        system: System,
        schedule: Schedule,
        *,
        of_units: Mapping[str, BlockModel] | None = None,
        failure_rate_per_s: float | None = None,
    ):
        """Create the machine of a model.

        Args:
            model: The block model.
            system: The system that has the units.
            schedule: Placement of the processes on the system's units.
            of_units: Models that replace ``model`` for computation and power on some units, by name of the units.
            failure_rate_per_s: Failure rate of a node, instead of the model's.
        """
        self.name, self.system, self.schedule = model.name, system, schedule
        self.groups = groups_of(system, schedule, whole_nodes=True)
        self.failure_rate_per_s = model.failure_rate_per_s if failure_rate_per_s is None else failure_rate_per_s
        self._model = model
        self._of_units = of_units or {}
        self._communication_s = lru_cache(maxsize=None)(
            lambda block, size_bytes, processes: float(model.communication_s(block, size_bytes, processes))
        )

    def compute_s(self, group: Group, operations: float) -> float:
        """Return the model's time of a computation with the threads of the whole node."""
        return float(self._of_units.get(group.unit, self._model).compute_s(operations, group.threads))

    def message_s(
        self, source: Group, target: Group, size_bytes: int, *, same_node: bool = False, traffic: MessageLoad = ALONE
    ) -> float:
        """Return the time of a message, times the number of messages at its busier end."""
        return max(traffic.out, traffic.into) * self._communication_s("p2p", size_bytes, 2)

    def collective_s(self, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
        """Return the model's time of a collective of all processes of the groups."""
        return self._communication_s(block, size_bytes, sum(group.count for group in members))

    def disk_server(self, group: Group) -> str | None:
        """Return an identifier of the group's disk; without disks in the system, all share the disk of the model."""
        unit = self.system.group_by_name[group.unit]
        found = self.system.disks_for(unit)
        if found is None:
            return ""
        return None if found[0].node is unit.node else found[0].name

    def disk_s(self, group: Group, block: str, size_bytes: int, *, sharing: DiskSharing = ALONE_AT_DISK) -> float:
        """Return the time of a disk block; blocks at the same time take as long as one block of all their bytes."""
        shared = sharing.node if self.disk_server(group) is None else sharing.together
        return self._communication_s(block, ceil(size_bytes * shared), 2)

    def power_w(self, group: Group, threads: int) -> float:
        """Return the model's power of a node, W."""
        return float(self._of_units.get(group.unit, self._model).power_w(threads))
