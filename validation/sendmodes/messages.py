"""One message between the first two nodes of a cluster, simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.catalog import Problem
from apps.record import RunRecord
from apps.recording import Mode
from apps.runner import Runner
from apps.spec import RunSpec, Target
from platforms.platform import Platform
from predictor.dpgraph.send_model import Side
from validation.sendmodes.costs import NO_COST, MessageCosts

SEQUENTIAL_S = 0.01  # of the code before the message, and of that after it, on either process

Message = tuple[Mode, int]  # and its size in bytes


@dataclass(frozen=True)
class MessageTimes:
    """How long either process is busy with the message, from the end of its sequential code on, and the whole run."""

    sender_s: float
    receiver_s: float
    program_s: float

    def of(self, side: Side) -> float:
        return self.sender_s if side is Side.SENDER else self.receiver_s


def message_spec(platform: Platform, message: Message, costs: MessageCosts, *, verify: bool = False) -> RunSpec:
    """The run of a message; ``costs`` are charged as flops of the node's speed, a missing one is none."""
    mode, size_bytes = message
    speed = platform.hosts[0].speed_flops

    def flops(side: Side) -> float:
        return costs.get((mode, side), NO_COST).time_s(size_bytes) * speed

    params = {
        "send_mode": int(mode),
        "size_bytes": size_bytes,
        "before_flops": SEQUENTIAL_S * speed,
        "after_flops": SEQUENTIAL_S * speed,
        "send_flops": flops(Side.SENDER),
        "receive_flops": flops(Side.RECEIVER),
    }
    target = Target(Problem("sendmodes", tuple(params.items())), platform, tuple(h.name for h in platform.hosts[:2]))
    return RunSpec(target, mode="verify" if verify else "skeleton")


def message_times(record: RunRecord) -> MessageTimes:
    """From the record of a message_spec: its one iteration ends with the message, and SEQUENTIAL_S precede it."""
    (sender_end_s,), (receiver_end_s,) = record.iteration_s
    return MessageTimes(sender_end_s - SEQUENTIAL_S, receiver_end_s - SEQUENTIAL_S, record.time_s)


def simulate_messages(
    platform: Platform, messages: Iterable[Message], costs: MessageCosts, runner: Runner
) -> Mapping[Message, MessageTimes]:
    """The times of each message, every one a run of its own.  Raises what the engine raises."""
    specs = {message: message_spec(platform, message, costs) for message in messages}
    runner.start(specs.values())
    return {message: message_times(runner.record(spec)) for message, spec in specs.items()}
