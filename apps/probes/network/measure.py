"""Experiments with messages between hosts: simulated as on a real machine, or run on one."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, overload

from apps.child.verdict import final_record
from apps.probes.plan import Measurement, check_shape
from apps.probes.simulated import check_ready, run_simulated
from apps.recording.events import Mode
from apps.spec.choices import RealMachine
from platforms.addons import provided
from platforms.model.platform import Change, Platform
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.repairs import simgrid_identity

_ON_MACHINE = "apps.measuring.messages"  # an add-on
_HERE = Path(__file__).parent
SIMULATED_UNDER = _HERE / "simulated.c"  # of under.h, also for other probes
REAL_UNDER = (_HERE / "real.c", _HERE / "together.c")
_SOURCES = (_HERE / "netprobe.c", _HERE / "together.c", SIMULATED_UNDER)
REAL_SOURCES = (_HERE / "netprobe.c", *REAL_UNDER)
HEADERS = (_HERE / "under.h", _HERE / "together.h", _HERE.parents[1] / "common" / "checked.h")
FLAGS = ("-O2", "-std=gnu11")


@dataclass(frozen=True)
class Exchange:
    """A message and its answer, which is sent when the message has arrived.  Sizes in bytes, at most 2^31 - 1."""

    source: str  # host
    destination: str  # host; may be the source
    size_bytes: int
    answer_bytes: int
    mode: Mode = Mode.STANDARD  # of both sends; other than standard only for a single exchange


@dataclass(frozen=True)
class LateReceive:
    """A message whose receive is posted ``late_us`` after its send.  It has two times: of MPI_Send and of MPI_Recv.

    In ready mode the receive is posted before the send, and its wait is late.
    """

    source: str
    destination: str  # another host
    size_bytes: int
    late_us: int  # > 0
    mode: Mode = Mode.STANDARD
    relative: bool = False  # late_us is in times of the experiment before, one exchange of the same hosts, not in us


@dataclass(frozen=True)
class Return:
    """A message and an answer of its size, by MPI_Send and MPI_Recv.

    It has two times: of the first MPI_Send, and until the answer has been received.
    """

    source: str
    destination: str  # another host
    size_bytes: int


Experiment = tuple[Exchange, ...] | LateReceive | Return


class ExperimentsLater(Sequence[Experiment]):
    """Experiments generated at first use; their number is known before.

    Args:
        count: Their number.
        key: The data that determine them: equal keys make equal experiments.
        make: Makes them.
    """

    def __init__(self, count: int, key: Hashable, make: Callable[[], Iterable[Experiment]]):
        self._count, self._key, self._make = count, key, make

    @cached_property
    def _made(self) -> tuple[Experiment, ...]:
        return tuple(self._make())

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Experiment: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Experiment]: ...
    def __getitem__(self, at: int | slice) -> Experiment | Sequence[Experiment]:
        return self._made[at]

    def __iter__(self) -> Iterator[Experiment]:
        return iter(self._made)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ExperimentsLater):
            return self._key == other._key
        return self._made == other

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(frozen=True)
class NetworkPlan:
    """Experiments, one after the other: exchanges that begin at the same moment, or one message by blocking calls.

    An experiment of a single exchange or message needs no common start and occupies its two hosts only.
    """

    platform: Platform
    experiments: Sequence[Experiment]  # a tuple, or ExperimentsLater
    options: tuple[tuple[str, str], ...] = ()  # SimGrid's --cfg
    machine: RealMachine | None = None  # the real machine that carries it out; None: it is simulated
    measured: ClassVar[str] = "messages"

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """The participating hosts, in the order of their first experiment."""
        ends = (
            end for experiment in self.experiments for e in _messages(experiment) for end in (e.source, e.destination)
        )
        return tuple(dict.fromkeys(ends))

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes that may affect the messages."""
        return self.platform.changes_for(self.hosts)

    def under(self, options: tuple[tuple[str, str], ...], machine: RealMachine | None) -> NetworkPlan:
        """Return the same experiments under these options, or on this machine."""
        return replace(self, options=options, machine=machine)

    def identity(self) -> dict[str, Any]:
        """Return the inputs that determine the result, as JSON values."""
        experiments = self._experiments_hash
        if self.machine is not None:
            identity: dict[str, Any] = provided(_ON_MACHINE).identity_on(self, self.machine, experiments)
            return identity
        return {
            "platform_hash": self.platform.content_hash,
            "host": list(self.hosts),
            "experiments": experiments,
            "options": dict(self.options),
            "program_hash": program_hash(_SOURCES),
            "simgrid": simgrid_identity(),
        }

    @cached_property
    def _experiments_hash(self) -> str:
        content = "\n".join(self.lines(None if self.machine is None else self.second_ranks))
        return hashlib.sha256(content.encode()).hexdigest()

    def check(self, measured: Measurement) -> None:
        """Raise ValueError if a result that was read from a file is not one of this plan."""
        counts = [len(experiment) if isinstance(experiment, tuple) else 2 for experiment in self.experiments]
        check_shape(measured, counts, energies=0)

    def carry_out(self, *, time_limit_s: float | None = None, stop: threading.Event | None = None) -> Measurement:
        """Carry out the plan, in simulation or on its machine; see apps/probes/plan.py."""
        if self.machine is None:
            return measure(self, time_limit_s=time_limit_s)
        on_machine = provided(_ON_MACHINE).measure_on_machine
        measurement: Measurement = on_machine(self, self.machine, time_limit_s=time_limit_s, stop=stop)
        return measurement

    @property
    def second_ranks(self) -> dict[str, int]:
        """Second rank of each host that sends to itself, as on a real machine two ranks share its memory."""
        sources = (
            e.source for experiment in self.experiments for e in _messages(experiment) if e.source == e.destination
        )
        return {host: number for number, host in enumerate(dict.fromkeys(sources), len(self.hosts))}

    def lines(self, second_ranks: Mapping[str, int] | None = None) -> list[str]:
        """Return the lines of the plan in the form that netprobe reads.

        A message of a host to itself goes to the host's second rank, if there are any, else to the rank itself.
        """
        rank = {host: i for i, host in enumerate(self.hosts)}
        second = second_ranks or {}
        lines = []
        for experiment in self.experiments:
            numbers: list[int | str] = [len(experiment) if isinstance(experiment, tuple) else 0]
            for e in _messages(experiment):
                more = _last_number(e)
                to = (
                    second.get(e.destination, rank[e.destination]) if e.source == e.destination else rank[e.destination]
                )
                numbers += [rank[e.source], to, e.size_bytes, more]
            modes = {e.mode for e in _messages(experiment) if not isinstance(e, Return)} - {Mode.STANDARD}
            if modes and len(_messages(experiment)) > 1:
                raise ValueError("an experiment of several exchanges has no send mode")
            numbers += [int(mode) for mode in modes]
            lines.append(" ".join(map(str, numbers)))
        return lines


def measure(plan: NetworkPlan, *, time_limit_s: float | None = None) -> Measurement:
    """Carry out a plan in simulation.

    Raises:
        UserError: A host is not on the platform, or smpirun cannot name it.
        SimulationError: The simulation does not succeed.
    """
    check_ready(plan.platform, plan.hosts)
    program = compile_once("netprobe", _SOURCES, compiler=["smpicc"], flags=FLAGS, headers=HEADERS)
    lines = "".join(f"{line}\n" for line in plan.lines())
    done = run_simulated(
        program, ["plan"], plan.hosts, plan.platform, files={"plan": lines}, options=plan.options,
        time_limit_s=time_limit_s,
    )  # fmt: skip
    output = final_record(done, f"measuring the network of {plan.platform.name}")
    node_s = node_seconds(plan, output["took_s"])
    return Measurement(tuple(map(tuple, output["times_s"])), node_s, done.wall_s)


def node_seconds(plan: NetworkPlan, took_s: Sequence[float]) -> float:
    """Return the occupied nodes times their time, from the duration of each experiment."""
    return sum(
        (2 if len(_messages(experiment)) == 1 else len(plan.hosts)) * one_s
        for experiment, one_s in zip(plan.experiments, took_s, strict=True)
    )


@cache
def program_hash(sources: tuple[Path, ...]) -> str:
    """Return a hash of these sources of the probe and of its headers."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in (*sources, *HEADERS))).hexdigest()


def _last_number(message: Exchange | LateReceive | Return) -> int | str:
    """Return the last number of a message's line; see netprobe.c."""
    if isinstance(message, LateReceive):
        return f"x{message.late_us}" if message.relative else message.late_us
    return message.answer_bytes if isinstance(message, Exchange) else 0


def _messages(experiment: Experiment) -> tuple[Exchange | LateReceive | Return, ...]:
    return experiment if isinstance(experiment, tuple) else (experiment,)
