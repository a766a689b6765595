"""Choose the nodes, and the number of processes on each, so that a program runs fastest or cheapest.

Models of the program are fitted to runs of small sizes on each cluster alone.  Then every configuration
(P_1, M_1, P_2, M_2, ...) within the limits is estimated: P_i nodes of cluster i with M_i processes on each.
"""

from __future__ import annotations

from apps.options.exit_status import exit_status
from platforms.command.command import Command
from predictor.nodes.options import FIRST_OPTIONS, NodesRequest


def _run(request: NodesRequest) -> int:
    # Imported here for a quick start: it is slow to import.
    from predictor.nodes.command import run

    return run(request)


COMMAND = Command(
    "plan nodes",
    NodesRequest,
    _run,
    __doc__,
    first=FIRST_OPTIONS,
    status=exit_status,
)
main = COMMAND.main
