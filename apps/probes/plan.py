"""Plans of experiments, with messages or blocks, simulated or on a real machine; and their results."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from apps.spec.choices import RealMachine
from platforms.model.platform import Change, Platform


@dataclass(frozen=True)
class Measurement:
    """The result of a plan."""

    times_s: tuple[tuple[float, ...], ...]  # by experiment and exchange: from the start until the answer has arrived
    node_s: float  # occupied nodes times their time: two nodes for a single message, else all of the plan
    wall_s: float  # of this computer
    energies_j: tuple[float | None, ...] = ()  # by experiment, of its first host; None: not counted; (): none counted
    # Bounds that contain 90 % of such medians, relative to one of them; None: it was not repeated.
    scatter: tuple[float, ...] | None = field(default=None, metadata={"may_be_absent": True})


class Plan(Protocol):
    """Experiments, one after the other.  The messages of apps/probes/network are one kind; add-ons have others."""

    @property
    def measured(self) -> str:
        """Name of the measured things for messages, such as "messages"."""

    @property
    def platform(self) -> Platform:
        """The platform that is measured."""

    @property
    def experiments(self) -> Sequence[Any]:
        """The experiments, whose type depends on the kind of plan."""

    @property
    def machine(self) -> RealMachine | None:
        """The real machine that executes it; None: it is simulated."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Changes of the platform during the experiments, for the participating hosts."""

    def identity(self) -> dict[str, Any]:
        """Return the inputs that determine the result, as JSON values."""

    def under(self, options: tuple[tuple[str, str], ...], machine: RealMachine | None) -> Plan:
        """Return the same experiments under these options of SimGrid, or on this machine."""

    def check(self, measured: Measurement) -> None:
        """Raise ValueError if a result that was read from a file is not one of this plan."""

    def carry_out(self, *, time_limit_s: float | None = None, stop: threading.Event | None = None) -> Measurement:
        """Execute the plan, in simulation or on its machine, and return its result.

        Args:
            time_limit_s: Wall time that each simulation may take, s; None: any.
            stop: Another thread sets it to end measuring on a machine.

        Raises:
            UserError: The options do not fit, or a host cannot be used.
            SimulationError: A simulation, or the program on the machine, does not succeed.
            Stopped: ``stop`` was set.
        """


def carry_out(plan: Plan, *, time_limit_s: float | None = None, stop: threading.Event | None = None) -> Measurement:
    """Execute any plan; see ``Plan.carry_out``."""
    return plan.carry_out(time_limit_s=time_limit_s, stop=stop)


def check_shape(measured: Measurement, counts: Sequence[int], *, energies: int) -> None:
    """Raise ValueError unless a result has these numbers of times by experiment, and of energies."""
    nranks_seen = [len(times) for times in measured.times_s]
    if nranks_seen != list(counts):
        raise ValueError(
            f"it has {sum(nranks_seen)} times of {len(nranks_seen)} experiments, not {sum(counts)} of {len(counts)}"
        )
    if len(measured.energies_j) != energies:
        raise ValueError(f"it has {len(measured.energies_j)} energies, not {energies}")
