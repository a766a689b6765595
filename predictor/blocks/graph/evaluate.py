"""Run an application's messages on the network of a machine with the compiled evaluation of graphs (predictor.dpgraph).

A message that waits for its receive begins when both are reached; a buffered one of less than 64 KiB leaves as soon as
its receive is posted, without its sender.  Collectives are the messages of which SimGrid's MPI makes them.  Where all
processes go through a loop of the same number of turns, its turns are evaluated until they repeat, and the others are
extrapolated as in simulation (apps.results.steady).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from apps.recording.events import Kind, Recording
from platforms.errors import UserError
from platforms.model.platform import Route
from platforms.system import System
from platforms.system.scheduler import Schedule
from predictor.blocks.graph.disks import Disks
from predictor.blocks.graph.events import Events, events_of
from predictor.blocks.graph.parts import Dated
from predictor.blocks.graph.sources import Pairs, has_choices, settled
from predictor.blocks.machines.machine import Group
from predictor.blocks.stream.instructions import Compute, Stream, executed, stretches_of
from predictor.dpgraph.evaluate import estimate, execute
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program, Sections
from predictor.graph.dates import moments_of

_DELAY = 1e-9  # of the run's time: more than rounding, less than anything that a model says
MOST_PROCESSES = 16_384  # as in a simulation
_KEY_BITS, _TAG_BITS = 34, 11  # of groups and tags together, and of tags, which are from 0 down to -1000 minus an Op


class NetworkMachine(Protocol):
    """A machine with a network (predictor/blocks/machines/hardware_machine.py)."""

    system: System
    schedule: Schedule
    note_bytes: int | None  # as in Disks

    def network(self, routes: Sequence[Route]) -> NetworkModel:
        """Return the network of these routes."""


@dataclass(frozen=True)
class GraphRun:
    """The ends of all processes, s, and what was evaluated for them."""

    ended_s: np.ndarray  # by process
    operations: np.ndarray  # by process: of all its computations
    turns: int  # of the loop of iterations; 0: there is none
    evaluated: int  # turns that were evaluated
    dated: Dated | None = None  # if it was asked for
    places: tuple[str, ...] = ()  # of steps, by the site of an instruction minus 1
    # Time with another order of the messages that any process may receive and that are sent at one date, s; None: no
    # such order is known.
    other_order_s: float | None = None

    def operations_of(self, stream: Stream, group: Group) -> float:
        """Return the operations of all processes of a group."""
        first = stream.labels.index(group.label)
        return float(self.operations[[first + member for member in group.members]].sum())


def run_graph(stream: Stream, machine: NetworkMachine, *, dated: bool = False) -> GraphRun:
    """Return the ends of all processes.

    Args:
        stream: The instructions.
        machine: The machine, with the placement of the processes.
        dated: Also evaluate when each instruction begins and ends.

    Raises:
        UserError: If a message is never received, or a process waits forever.
        OutOfRange: If the graph does not represent an option of the system, or the system has no disks to use.
    """
    disks = Disks(stream, machine.system, machine.schedule, machine.note_bytes)
    events = events_of(stream, disks)
    placement = machine.schedule.placement()
    units = [machine.system.find(host)[0].unit for host in placement]
    stretches = stretches_of(stream, machine.schedule)
    s_per_flop = [stretch / unit.speed_flops for stretch, unit in zip(stretches, units, strict=True)]
    hosts = s_per_flop, [unit.cores for unit in units]

    def took(program: Program, open_pairs: Pairs) -> np.ndarray:
        pairs = open_pairs | {divmod(pair, program.nranks) for pair in program.pairs.tolist()}
        run = execute(program, _network(pairs, machine, placement, disks), placement, *hosts, to_the_end=False)
        assert run.took is not None
        return run.took

    given = events
    if has_choices(events):
        events = settled(stream, events, took)
    _check_received(stream, events)
    sections = Sections(Recording(events.of_process, (), ()))
    network = _network(sections.partners, machine, placement, disks)
    estimated = estimate(sections, events.turns, network, placement, *hosts)
    work = [
        sum(t * instruction.operations for instruction, t in executed(p) if isinstance(instruction, Compute))
        for p in stream.programs
    ]
    operations = np.array(work, float)[list(stream.program_of)]
    other_order_s = None
    if given is not events:
        late = _shaken(given, float(estimated.ends_s.max(initial=0.0)), s_per_flop)
        other = settled(stream, late, took)
        if any((one["peer"][-len(two) :] != two["peer"]).any() for one, two in _both(other, events)):
            again = Sections(Recording(other.of_process, (), ()))
            other_order_s = float(estimate(again, other.turns, network, placement, *hosts).ends_s.max())
    if not dated:
        return GraphRun(
            estimated.ends_s, operations, events.turns, estimated.iterations, other_order_s=other_order_s
        )  # fmt: skip
    program = sections.program(estimated.iterations if sections.iterations else None)
    moments = moments_of(program, network, placement, *hosts)
    return GraphRun(
        estimated.ends_s,
        operations,
        events.turns,
        estimated.iterations,
        Dated(moments, estimated.ends_s),
        events.places,
        other_order_s,
    )


def _both(one: Events, other: Events) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return ((a, b) for a, b in zip(one.of_process, other.of_process, strict=True) if len(b))


def _shaken(events: Events, time_s: float, s_per_flop: Sequence[float]) -> Events:
    """Return the events with a delay of every process, the first ones the longest: equal dates come in another order.

    Without delays, messages of one date come in the order of the processes.
    """
    processes = len(events.of_process)
    made = []
    for process, (own, each_s) in enumerate(zip(events.of_process, s_per_flop, strict=True)):
        delay = np.zeros(1, own.dtype)
        delay["kind"], delay["peer"], delay["site"] = Kind.COMPUTE, -1, 1
        delay["amount"] = _DELAY * time_s * (processes - process) / processes / each_s
        made.append(np.concatenate([delay, own]))
    return Events(tuple(made), events.places, events.turns)


def _network(partners: Pairs, machine: NetworkMachine, placement: tuple[str, ...], disks: Disks) -> NetworkModel:
    pairs = {(placement[a], placement[b]) for a, b in partners} | disks.pairs()
    return disks.joined(machine.network(machine.system.routes(sorted(pairs | {pair[::-1] for pair in pairs}))))


def _check_received(stream: Stream, events: Events) -> None:
    """Check that every message is received, and every receive has a message.

    Raises:
        UserError: If a process does not receive a message, or waits forever for one; the error names the step.
    """
    sent, received = (_ends(stream, events, kind) for kind in (Kind.SEND, Kind.RECV))
    for more, less, is_sent in ((sent, received, True), (received, sent, False)):
        keys, at, counts = np.unique(more[0], return_index=True, return_counts=True)
        others, theirs = np.unique(less[0], return_counts=True)
        places = np.searchsorted(others, keys)
        known = np.append(others, -1)[places] == keys
        lacking = np.flatnonzero(counts > np.where(known, np.append(theirs, 0)[places], 0))
        if not len(lacking):
            continue
        ends = divmod(int(keys[lacking[0]]) >> _KEY_BITS, len(stream.program_of))
        source, target = (f"process {stream.indices[i]} of {stream.labels[i]}" for i in ends)
        where = events.places[int(more[1][at[lacking[0]]]) - 1]
        if is_sent:
            raise UserError(where, f"{target} never receives a message of {source}", "Add the receive")
        raise UserError(where, f"{target} waits forever for {source}", "Check what the other processes do then")


def _ends(stream: Stream, events: Events, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Return a key of source, target, group and tag for each event of this kind, and the places of their steps."""
    processes, keys, sites = len(stream.program_of), [], []
    for process, events_of_process in enumerate(events.of_process):
        here = events_of_process[events_of_process["kind"] == kind]
        peer = here["peer"].astype(np.int64)
        pair = process * processes + peer if kind == Kind.SEND else peer * processes + process
        keys.append(pair << _KEY_BITS | (here["comm"].astype(np.int64) << _TAG_BITS) | (-here["tag"]))
        sites.append(here["site"])
    return np.concatenate(keys), np.concatenate(sites)
