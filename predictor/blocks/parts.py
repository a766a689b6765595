"""Parts of the processes' times: computing, sending, waiting and disks, by label and step."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

KINDS = ("computing", "sending", "waiting", "disk")
COMPUTING, SENDING, WAITING, DISK = range(len(KINDS))


@dataclass(frozen=True)
class StepTime:
    """The time that the processes of a label spend in a step, summed over the processes, s.

    A process waits as long as the other process of a message, or the last one of a collective, is not ready; then it
    sends or receives until the message has arrived.
    """

    step: str  # its place in the program, such as "step 1.2"
    computing_s: float = 0.0
    sending_s: float = 0.0
    waiting_s: float = 0.0
    disk_s: float = 0.0

    @property
    def time_s(self) -> float:
        """The sum of the parts, s."""
        return fsum((self.computing_s, self.sending_s, self.waiting_s, self.disk_s))


class Ledger:
    """The parts of the times of all processes so far, noted wherever their clocks advance."""

    def __init__(self) -> None:
        self.sums_s: dict[tuple[str, str, int], float] = {}  # by label, place of the step and kind

    def note(self, label: str, where: str, kind: int, time_s: float) -> None:
        """Note the time of a kind, summed over processes of a label, that they spend in a step."""
        key = label, where, kind
        self.sums_s[key] = self.sums_s.get(key, 0.0) + time_s

    def steps(self) -> dict[str, tuple[StepTime, ...]]:
        """Return the parts by label and step, the steps in their order."""
        by_label: dict[str, dict[str, list[float]]] = {}
        for (label, where, kind), time_s in self.sums_s.items():
            by_label.setdefault(label, {}).setdefault(where, [0.0] * len(KINDS))[kind] += time_s
        return {label: steps_in_order(times) for label, times in by_label.items()}


def steps_in_order(parts: Mapping[str, Sequence[float]]) -> tuple[StepTime, ...]:
    """Return the times of steps, s, from those of each kind by the step's place, in the order of the program."""
    named = [StepTime(step_name(where), *(max(0.0, part_s) for part_s in times)) for where, times in parts.items()]
    return tuple(sorted(named, key=lambda step: [int(number) for number in re.findall(r"\d+", step.step)]))


def total(steps: tuple[StepTime, ...]) -> StepTime:
    """Return the sum over steps."""
    return StepTime(
        "", *(fsum(getattr(step, f"{kind}_s") for step in steps) for kind in KINDS)
    )  # fmt: skip


def step_name(where: str) -> str:
    """Return the place of a step without file and label.

    >>> step_name("app.toml, label rank, step 3, exchange step 2")
    'step 3, exchange step 2'
    """
    return where[max(where.find(", step ") + 2, 0) :] if ", step " in where else where
