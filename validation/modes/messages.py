"""Simulation of one message between the first two nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apps.programs.problem import Problem
from apps.recording.events import Mode
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.model.platform import Platform
from predictor.sends.send_model import Side
from validation.modes.costs import NO_COST, MessageCosts

SEQUENTIAL_S = 0.01  # time of the code before the message and of the code after it, on each process

Message = tuple[Mode, int]  # send mode and size in bytes


@dataclass(frozen=True)
class MessageTimes:
    """Times that each process spends on the message, after its sequential code, and the time of the whole run."""

    sender_s: float
    receiver_s: float
    program_s: float

    def of(self, side: Side) -> float:
        """Return the time of the process on this side, s."""
        return self.sender_s if side is Side.SENDER else self.receiver_s


def message_spec(platform: Platform, message: Message, costs: MessageCosts, *, verify: bool = False) -> RunSpec:
    """Return the run of a message; its ``costs`` become flops at the node's speed, and a missing cost is 0."""
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
    """Return the times of a ``message_spec`` run, whose only iteration is SEQUENTIAL_S of code, then the message."""
    (sender_end_s,), (receiver_end_s,) = record.iteration_s
    return MessageTimes(sender_end_s - SEQUENTIAL_S, receiver_end_s - SEQUENTIAL_S, record.time_s)


def message_specs(platform: Platform, messages: Iterable[Message], costs: MessageCosts) -> dict[Message, RunSpec]:
    """Return the run of each message."""
    return {message: message_spec(platform, message, costs) for message in messages}


def simulate_messages(
    platform: Platform, messages: Iterable[Message], costs: MessageCosts, runner: Runner
) -> Mapping[Message, MessageTimes]:
    """Simulate each message in a run of its own and return its times.

    Raises:
        SimulationError: A run failed.
    """
    specs = message_specs(platform, messages, costs)
    runner.start(specs.values())
    return {message: message_times(runner.record(spec)) for message, spec in specs.items()}
