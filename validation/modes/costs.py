"""Processor costs of a message, in addition to the network's, by send mode and size, fitted to published times."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.recording.events import Mode
from platforms.errors import UserError
from platforms.files.commented_csv import commented_rows
from platforms.files.spreadsheets import cell
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
