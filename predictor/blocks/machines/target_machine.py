"""A calibrated platform as the machine of an MPI program with one rank on each node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby

import numpy as np

from apps.spec.target import Target
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.calibration.shapes import shape_of
from predictor.blocks.machines.machine import ALONE, ALONE_AT_DISK, DiskSharing, Group, MessageLoad, Posted
from predictor.blocks.names import OutOfModel

_LABEL = "rank"


@dataclass(frozen=True)
class RankLayout:
    """The cluster of every rank, by number (wires.Clustered)."""

    of_rank: tuple[int, ...]

    def clusters(self, processes: int) -> np.ndarray:
        """Return the cluster of each of the first ``processes`` ranks, by number."""
        return np.array(self.of_rank[:processes])


class TargetMachine:
    """Machine (predictor/blocks/machines/machine.py) of a target, by one family of a calibration's formulas.

    The family ``paper`` uses Table 1 for messages and collectives; all pairs of nodes are alike, as in the paper.  The
    family ``simgrid`` uses lines over message sizes, within a cluster and between two clusters, and the shapes of the
    collectives' algorithms.

    ``s_per_operation`` is T_min by cluster, s; ``vectors_from_bytes`` is as in kernels.describe.Description.
    """

    failure_rate_per_s = None
    others_idle_w = 0.0
    whole_nodes = True

    def __init__(
        self,
        model: Calibrated,
        target: Target,
        *,
        s_per_operation: Mapping[str, float],
        vectors_from_bytes: float | None = None,
    ):
        self.name, self._model = model.name, model
        self._clusters = [target.platform.cluster_of(host).name for host in target.placement]
        self._s_per_operation = s_per_operation
        self._vectors_from_bytes = float("inf") if vectors_from_bytes is None else vectors_from_bytes
        self.groups = tuple(_groups(self._clusters))
        self._message_s = lru_cache(maxsize=None)(self._message)
        self._transfer_s = lru_cache(maxsize=None)(self._transfer)
        self._collective_s = lru_cache(maxsize=None)(self._collective)

    @property
    def is_paper(self) -> bool:
        """True if the formulas are those of Table 1."""
        return self._model.family == "paper"

    @property
    def posted(self) -> Posted | None:
        """Rule for receives that are posted ahead; None for Table 1, whose messages occupy both processes."""
        if self.is_paper or self._model.calibration.wires is None:
            return None
        return Posted(lambda source, target, size_bytes: self._transfer_s(source.unit != target.unit, size_bytes))

    def compute_s(self, group: Group, operations: float) -> float:
        """Return the operations times T_min of the group's cluster, s."""
        return operations * self._s_per_operation[group.unit]

    def message_s(
        self, source: Group, target: Group, size_bytes: int, *, same_node: bool = False, traffic: MessageLoad = ALONE
    ) -> float:
        """Return the time of a message between idle hosts; ``same_node`` and ``traffic`` are ignored."""
        return self._message_s(source.unit != target.unit, size_bytes)

    def collective_s(self, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
        """Return the time of a collective of all ranks."""
        return self._collective_s(block, size_bytes)

    def disk_server(self, group: Group) -> str:
        """Return the same identifier for all groups: a calibration measures one disk over the network."""
        return ""

    def disk_s(self, group: Group, block: str, size_bytes: int, *, sharing: DiskSharing = ALONE_AT_DISK) -> float:
        """Return the time of a disk block; blocks at the same time take as long as one block of all their bytes."""
        return float(self._model.communication_s(block, size_bytes * sharing.together))

    def power_w(self, group: Group, threads: int) -> float:
        """Return the power of a node of the group's cluster, W."""
        return float(self._model.of_cluster(group.unit).power_w(threads))

    def _message(self, far: bool, size_bytes: int) -> float:
        if self.is_paper:
            return float(self._model.communication_s("p2p", size_bytes))
        return float(self._model.message_s(size_bytes, far=far))

    def _transfer(self, far: bool, size_bytes: int) -> float:
        return float(self._model.wires.of(far).transfer(size_bytes))

    def _collective(self, block: str, size_bytes: int) -> float:
        ranks = len(self._clusters)
        if self.is_paper or ranks == 1:
            return float(self._model.communication_s(block, size_bytes, ranks))
        between = size_bytes / ranks if block in ("scatter", "gather") else size_bytes
        name = shape_of(block, between, ranks)
        if block == "alltoall" and between >= self._vectors_from_bytes:
            name = "alltoall-linear"
        elif name == "alltoall-pairwise" and ranks & (ranks - 1):
            problem = f"SMPI has no all-to-all for blocks of {size_bytes} bytes among {ranks} processes and would stop"
            raise OutOfModel(f"model {self.name}", problem, "Use a power of two of ranks")
        shape, wires = self._model.shape(name), self._model.wires
        return float(shape.time_s(np.array([float(between)]), ranks, layout=self._layout, wires=wires)[0])

    @cached_property
    def _layout(self) -> RankLayout:
        number = {name: i for i, name in enumerate(dict.fromkeys(self._clusters))}
        return RankLayout(tuple(number[name] for name in self._clusters))


def _groups(clusters: Sequence[str]) -> list[Group]:
    """Return groups of consecutive ranks in the same cluster, with a node for each rank."""
    groups, first = [], 0
    for name, ranks in groupby(clusters):
        count = len(list(ranks))
        groups.append(
            Group(
                label=_LABEL, first=first, stride=1, count=count, per_unit=1, threads=1, unit=name, first_node=first
            )
        )  # fmt: skip
        first += count
    return groups
