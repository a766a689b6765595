"""Costs of blocks by the formulas of block models, published or calibrated; the system gives only the placement."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import ceil, fsum

from platforms.system import System
from platforms.system.scheduler import Schedule
from predictor.blocks.machines.machine import ALONE, ALONE_AT_DISK, DiskSharing, Group, MessageLoad, covered, groups_of
from predictor.blocks.model import BlockModel
from predictor.blocks.names import COLLECTIVES
from predictor.blocks.published.formulas import TableModel


class ModelMachine:
    """Machine (predictor/blocks/machines/machine.py) whose components have the formulas of block models.

    Time and power of a node follow from the processes on all its units together.  The formulas do not distinguish
    messages within a node: every message counts as a message between nodes.  Messages of one node at the same time take
    as long as one after the other.  Messages and collectives have the formulas of the network that contains all their
    processes: the LAN, or the lowest WAN that joins their LANs.
    """

    others_idle_w = 0.0
    whole_nodes = True

    def __init__(
        self,
        model: BlockModel,
        system: System,
        schedule: Schedule,
        *,
        components: Mapping[str, BlockModel] | None = None,
        p_counts: str | None = None,
        failure_rate_per_s: float | None = None,
    ):
        """Create the machine of a model.

        Args:
            model: The block model of all components that have none of their own.
            system: The system that has the units.
            schedule: Placement of the processes on the system's units.
            components: Models of single components, by the name of a group of units (computation, power and failures
                of its nodes), of a LAN or WAN (messages and collectives), or of a disk.
            p_counts: The reading of P in collectives, of predictor.blocks.names.P_COUNTS; None: nodes for models of
                Table 1's published parameters, processes for others.
            failure_rate_per_s: Failure rate of a node, instead of the models'.
        """
        misplaced = [f"{name}: {other.name}" for name, other in (components or {}).items() if other.name != model.name]
        self.name = f"{model.name} ({', '.join(misplaced)})" if misplaced else model.name
        self.system, self.schedule = system, schedule
        self.groups = groups_of(system, schedule, whole_nodes=True)
        self._model = model
        self._components = components or {}
        self._p_counts = p_counts
        self._given_rate_per_s = failure_rate_per_s
        levels = {level.name for level in system.top.all_levels()}
        self._by_level = not levels.isdisjoint(self._components)
        self._block_s = lru_cache(maxsize=None)(self._uncached_s)

    @cached_property
    def failure_rate_per_s(self) -> float | None:
        """Failure rate of a node, 1/s, the mean over the nodes in use; None: that of some node is unknown."""
        if self._given_rate_per_s is not None:
            return self._given_rate_per_s
        if not self._components:
            return self._model.failure_rate_per_s
        model_of = {node: self._of(group.unit) for group in self.groups for node in group.nodes}
        rates = [model.failure_rate_per_s for model in model_of.values()]
        known = [rate for rate in rates if rate is not None]
        return fsum(known) / len(known) if rates and len(known) == len(rates) else None

    @property
    def measured_units(self) -> frozenset[str]:
        """Names of the groups of units whose model has a measured time of an operation."""
        return frozenset(group.unit for group in self.groups if self._of(group.unit).measured_operations)

    def compute_s(self, group: Group, operations: float) -> float:
        """Return the model's time of a computation with the threads of the whole node."""
        return float(self._of(group.unit).compute_s(operations, group.threads))

    def message_s(
        self, source: Group, target: Group, size_bytes: int, *, same_node: bool = False, traffic: MessageLoad = ALONE
    ) -> float:
        """Return the time of a message, times the number of messages at its busier end."""
        return max(traffic.out, traffic.into) * self._block_s(self._network([source, target]), "p2p", size_bytes, 2, 2)

    def collective_s(self, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
        """Return the model's time of a collective of all processes of the groups."""
        processes = sum(group.count for group in members)
        return self._block_s(
            self._network(members),
            block,
            size_bytes,
            processes,
            covered(group.nodes for group in members if group.count),
        )

    def disk_server(self, group: Group) -> str | None:
        """Return an identifier of the group's disk; without disks in the system, all share the disk of the model."""
        unit = self.system.group_by_name[group.unit]
        disks = self.system.disks_for(unit)
        if disks is None:
            return ""
        return None if disks[0].node is unit.node else disks[0].name

    def disk_s(self, group: Group, block: str, size_bytes: int, *, sharing: DiskSharing = ALONE_AT_DISK) -> float:
        """Return the time of a disk block; blocks at the same time take as long as one block of all their bytes."""
        shared = sharing.node if self.disk_server(group) is None else sharing.together
        disks = self.system.disks_for(self.system.group_by_name[group.unit])
        return self._block_s("" if disks is None else disks[1].name, block, ceil(size_bytes * shared), 1, 1)

    def power_w(self, group: Group, threads: int) -> float:
        """Return the model's power of a node, W."""
        return float(self._of(group.unit).power_w(threads))

    def _of(self, component: str) -> BlockModel:
        return self._components.get(component, self._model)

    def _network(self, members: Sequence[Group]) -> str:
        """Return the name of the lowest level that contains all groups."""
        if not self._by_level:  # all networks are alike
            return ""
        units = dict.fromkeys(group.unit for group in members)
        return self.system.level_of([self.system.group_by_name[unit] for unit in units]).name

    def _uncached_s(self, component: str, block: str, size_bytes: int, processes: int, nodes: int) -> float:
        model = self._of(component)
        counted = self._p_counts or ("nodes" if isinstance(model, TableModel) else "processes")
        if block in COLLECTIVES and counted == "nodes":
            return float(model.communication_s(block, size_bytes, processes, nodes=nodes))
        return float(model.communication_s(block, size_bytes, processes))
