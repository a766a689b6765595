"""One message between two nodes, simulated, with processor costs that are fitted to published times."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.programs.problem import Problem
from apps.recording.events import Mode
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.files.commented_csv import commented_rows
from platforms.files.writing import cell
from platforms.model.platform import Platform
from predictor.sends.send_model import Side

COSTS_FILE = Path(__file__).with_name("costs.csv")
_COLUMNS = ("cluster", "mode", "side", "base_s", "s_per_byte", "from_bytes")
_ABOUT = """\
# Processor time of a message, in addition to the network: max(0, base_s + s_per_byte n); below from_bytes at most
# proportional to n.  Fitted to Table 2 of Li, Wang and Gaudiot (predictor/sends/li_times.csv) on the simulated
# network of the scenario.  Made by: python -m validation.modes.fit --output validation/modes/costs.csv
"""


@dataclass(frozen=True)
class ProcessorCost:
    """A cost that is linear in the message size; a negative base is the part hidden behind the transfer."""

    base_s: float
    s_per_byte: float
    from_bytes: float  # smallest size of the fit

    def time_s(self, size_bytes: float) -> float:
        """Return the cost of a message, s, never negative.

        Below the fitted sizes the cost is at most proportional to the size, so that an empty message costs nothing.
        """
        line = self.base_s + self.s_per_byte * size_bytes
        if size_bytes < self.from_bytes:
            smallest = self.base_s + self.s_per_byte * self.from_bytes
            line = min(line, smallest * size_bytes / self.from_bytes)
        return max(0.0, line)


NO_COST = ProcessorCost(0.0, 0.0, 0.0)
MessageCosts = Mapping[tuple[Mode, Side], ProcessorCost]


def fit_cost(sizes_bytes: Sequence[float], network_s: Sequence[float], wanted_s: Sequence[float]) -> ProcessorCost:
    """Fit the cost that brings the network's times closest to the wanted ones.

    The fit minimises the squared relative errors.
    """
    sizes, network, wanted = (np.asarray(values, float) for values in (sizes_bytes, network_s, wanted_s))
    matrix = np.column_stack((1 / wanted, sizes / wanted))
    (base_s, s_per_byte), *_ = np.linalg.lstsq(matrix, (wanted - network) / wanted, rcond=None)
    return ProcessorCost(float(base_s), float(s_per_byte), float(sizes.min()))


def costs_csv(costs: Mapping[str, MessageCosts]) -> str:
    """Return the contents of the data file with the costs of each cluster, which ``read_costs`` reads."""
    text = io.StringIO()
    text.write(_ABOUT)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for cluster, table in costs.items():
        for (mode, side), cost in table.items():
            numbers = (f"{cost.base_s:.6g}", f"{cost.s_per_byte:.6g}", f"{cost.from_bytes:.0f}")
            writer.writerow((cell(cluster), mode.name.lower(), side, *numbers))
    return text.getvalue()


def read_costs(cluster: str, path: Path = COSTS_FILE) -> MessageCosts:
    """Read the fitted costs of a cluster.

    Raises:
        UserError: The file does not have the cluster.
    """
    rows = commented_rows(path)
    known = {row["cluster"] for row in rows}
    if cluster not in known:
        raise UserError(
            f"cluster {cluster!r}", "no processor costs were fitted for it", f"Known: {', '.join(sorted(known))}"
        )
    return {
        (Mode[row["mode"].upper()], Side(row["side"])): ProcessorCost(
            float(row["base_s"]), float(row["s_per_byte"]), float(row["from_bytes"])
        )
        for row in rows
        if row["cluster"] == cluster
    }


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
