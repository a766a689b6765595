"""Block model of a calibration: Table 1's formulas or the shapes of the algorithms, fitted on one platform."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError, nearest
from predictor.blocks.calibration.calibrate import Calibration, block_bytes, disk_features
from predictor.blocks.calibration.fit import NodeFit, Wires, checked_processes
from predictor.blocks.calibration.shapes import Coefficients, Shape, shape_of
from predictor.blocks.model import check_block, checked
from predictor.blocks.names import OutOfModel
from predictor.blocks.published.formulas import TableModel
from predictor.blocks.published.parameters import Line, Parameters

FAMILIES = ("simgrid", "paper")


@dataclass(frozen=True)
class Calibrated:
    """BlockModel of a calibration.

    The ``family`` "paper" uses the formulas of Table 1.  The family "simgrid" uses lines over sizes and the shapes of
    the collectives' algorithms, for at most as many processes as the platform has hosts.  ``cluster`` names the cluster
    whose nodes give computation and power; None: the slowest cluster, because the others wait for it.
    """

    calibration: Calibration
    family: str = FAMILIES[0]
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise UserError(f"formulas {self.family!r}", "no such family", nearest(self.family, FAMILIES))
        names = [node.cluster for node in self.calibration.nodes]
        if self.cluster is not None and self.cluster not in names:
            raise UserError(f"cluster {self.cluster!r}", "was not calibrated", nearest(self.cluster, names))

    @property
    def measured_operations(self) -> bool:
        """False: the operations of a calibration are flops at the peak speed of the platform's hosts."""
        return False

    @property
    def name(self) -> str:
        """Name of the platform, with the family."""
        return f"{self.calibration.name} ({self.family})"

    @property
    def failure_rate_per_s(self) -> float | None:
        """Failure rate of a node, 1/(s node), or None if it was not given."""
        return self.calibration.failure_rate_per_s

    def of_cluster(self, cluster: str) -> Calibrated:
        """Return the model with the nodes of another cluster."""
        return replace(self, cluster=cluster)

    @cached_property
    def node(self) -> NodeFit:
        """The fit of the nodes that give computation and power."""
        if self.cluster is None:
            return max(self.calibration.nodes, key=lambda node: node.compute.parameters.T_min_s)
        return next(node for node in self.calibration.nodes if node.cluster == self.cluster)

    @property
    def wires(self) -> Wires:
        """Lines of the network; OutOfRange is raised for a calibration of one host, which has none."""
        if self.calibration.wires is None:
            raise self._unknown("messages", "It has one host")
        return self.calibration.wires

    @cached_property
    def table_model(self) -> TableModel:
        """Table 1 with the fitted parameters."""
        return TableModel(
            Parameters(
                name=self.name,
                compute=self.node.compute.parameters,
                D_tu_bytes=self.calibration.D_tu_bytes,
                lines={row.block: Line(**row.coefficients) for row in self.calibration.table},
                power=None if self.node.power is None else self.node.power.parameters,
                failure_rate_per_s=self.failure_rate_per_s,
            )
        )

    def compute_s(self, operations: ArrayLike, threads: ArrayLike = 1) -> np.ndarray | float:
        """Return the time of a computation block, s (see BlockModel); operations are flops."""
        return self.table_model.compute_s(operations, threads)

    def power_w(self, threads: ArrayLike) -> np.ndarray | float:
        """Return the power of one node, W (see BlockModel)."""
        watts = self.table_model.power_w(threads)
        power = self.node.power
        if power is None:
            raise self._unknown("power", "The platform gives no watts")
        idle = np.where(np.asarray(threads) == 0, power.idle_w, watts)
        return idle if idle.ndim else float(idle)

    def communication_s(
        self, block: str, size_bytes: ArrayLike, processes: ArrayLike = 2, *, nodes: ArrayLike | None = None
    ) -> np.ndarray | float:
        """Return the time of a communication block, s (see BlockModel).

        If the platform has several clusters, p2p is a message between two of them (see ``message_s``).

        Raises:
            OutOfRange: If the model has no coefficients for the block, or, in the family simgrid, there are more
                processes than hosts.
            UserError: If the block is unknown, an argument is out of its range, or nodes are given to the family
                simgrid.
        """
        if self.family == "paper":
            return self.table_model.communication_s(block, size_bytes, processes, nodes=nodes)
        check_block(block)
        if nodes is not None:
            raise UserError("P counts nodes", "the shapes of the algorithms count processes", "Use the family paper")
        sizes, counts = checked("size", size_bytes, least=0), checked("processes", processes, least=1)
        sizes, counts = np.broadcast_arrays(sizes, counts)
        if block == "p2p":
            times = np.asarray(self.message_s(sizes))
        elif block.startswith("disk_"):
            times = self._disk_s(block, sizes)
        else:
            times = self._collective_s(block, sizes, checked_processes(counts))
        return times if times.ndim else float(times)

    def message_s(self, size_bytes: ArrayLike, *, far: bool | None = None) -> np.ndarray | float:
        """Return the time of a message between two clusters (``far``) or within one, s.

        ``far`` None means a message between two clusters if the platform has several.
        """
        wires = self.wires
        times = wires.of(wires.far is not None if far is None else far).time(size_bytes)
        return times if np.ndim(times) else float(times)

    def _disk_s(self, block: str, sizes: np.ndarray) -> np.ndarray:
        for disk in self.calibration.disks:
            if disk.block == block:
                features_s = disk_features(sizes.ravel(), self.calibration.wires) @ np.array(
                    [*disk.coefficients.values()]
                )
                times: np.ndarray = features_s.reshape(sizes.shape)
                return times
        raise self._unknown(f"block {block}", "The platform has no disks: calibrate a platform with disks")

    def _collective_s(self, block: str, sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        if self.calibration.wires is None and (counts > 1).any():
            raise self._unknown(f"block {block}", "It has one host")
        times = np.zeros(sizes.shape)
        blocks = block_bytes(block, sizes, counts)
        names = np.array([shape_of(block, *pair) for pair in zip(blocks.flat, counts.flat, strict=True)], str)
        names = np.where(counts > 1, names.reshape(sizes.shape), "")  # alone, there is nothing to do
        for name in set(names.flat) - {""}:
            here = names == name
            odd = counts[here & (counts & (counts - 1) != 0)]
            if name == "alltoall-pairwise" and len(odd):
                problem = f"SMPI has no all-to-all for blocks of this size among {odd[0]} processes and would stop"
                raise OutOfModel(f"model {self.name}", problem, "Ask for a power of two of processes")
            shape, layout = self.shape(str(name)), self.calibration.layout
            times[here] = shape.time_s(blocks[here], counts[here], layout=layout, wires=self.wires)
        return times

    def shape(self, name: str) -> Shape:
        """Return the shape of an algorithm; one without measurements gets the coefficients of a similar algorithm.

        Raises:
            OutOfRange: If there is none.
        """
        fitted = {fit.formula: Coefficients(**fit.coefficients) for fit in self.calibration.shapes}
        kind = name.partition("-")[0]
        for other in (name, *fitted):
            if other in fitted and other.startswith(kind):
                return Shape(name, fitted[other])
        raise self._unknown(name, "Calibrate more processes")

    def _unknown(self, what: str, remedy: str) -> OutOfModel:
        return OutOfModel(f"model {self.name}", f"it has no coefficients for {what}", remedy)
