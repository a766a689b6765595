"""Fit the processor costs of the send modes to the times that the Li paper measured.

The cost of a process is its measured time minus that of the simulated network.  The sender's cost is fitted first, then
the receiver's, which also waits for the sender's.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, runner_from_request
from apps.runs.runner import Runner
from platforms.command.command import Command
from platforms.command.request import option
from platforms.files.writing import write_text
from platforms.grids.scenario import named_grid
from platforms.model.platform import Platform
from platforms.read.read import materialise
from predictor.sends import tables as li_tables
from predictor.sends.send_model import Side
from validation.modes.machines import CLUSTERS
from validation.modes.messages import MessageCosts, costs_csv, fit_cost, simulate_messages


def fit_costs(cluster: str, platform: Platform, runner: Runner) -> MessageCosts:
    """Fit the costs for the platform of a scenario of CLUSTERS to 28 runs without costs."""
    published = li_tables.times_s(CLUSTERS[cluster])
    sizes = li_tables.sizes_bytes()
    network = simulate_messages(platform, [(mode, size) for mode in published for size in sizes], {}, runner)
    costs = {}
    for mode, wanted in published.items():
        alone = [network[mode, size] for size in sizes]
        sender = fit_cost(sizes, [times.sender_s for times in alone], wanted[Side.SENDER])
        arrival_s = [times.receiver_s + sender.time_s(size) for times, size in zip(alone, sizes, strict=True)]
        costs[mode, Side.SENDER] = sender
        costs[mode, Side.RECEIVER] = fit_cost(sizes, arrival_s, wanted[Side.RECEIVER])
    return costs


@dataclass(frozen=True, kw_only=True)
class FitRequest(RunnerOptions):
    """The runs of the fit, and where its costs are written."""

    output: str = option("-", "FILE", "file to write (default: -, standard output)")


def _run(request: FitRequest) -> int:
    with runner_from_request(request) as runner:
        text = costs_csv({name: fit_costs(name, materialise(named_grid(name)), runner) for name in CLUSTERS})
    if request.output == "-":
        sys.stdout.write(text)
        return 0
    write_text("--output", request.output, text)
    return 0


COMMAND = Command(
    "fit",
    FitRequest,
    _run,
    __doc__.partition("\n")[0],
    status=exit_status,
)
main = COMMAND.main


if __name__ == "__main__":
    sys.exit(main(prog="python -m validation.modes.fit"))
