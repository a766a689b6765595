"""The loads of shared links, and closed forms for the times of messages that begin together.

They apply to exchanges of very many messages, which all ranks enter together.  Flow i of amount a_i begins when its
latency is over and when the earlier messages for which its sender waits have arrived; it takes T_i seconds.  Flows that
share a link of capacity C get rates in proportion to 1 / p, where p are their penalties (their round-trip times).
While flow i is active, flow j, which overlaps it for o_ij seconds, moves

    m_ij = o_ij min(a_j / T_j, b_j, (a_i / T_i) (p_i / p_j))        m_ii = a_i

limited by its own rate, its bound b_j, and its share of the link; and

    T_i = max(a_i / b_i, max over links of  sum over j of w_j m_ij / C)

where w is a flow's use of a link as a share of its rate (acknowledgements use some of the opposite direction).  For
equal flows that share one link this is exact: n a / C.

The computation is in C, in the folder ``native``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from predictor.native.layout import Layout
from predictor.native.library import Library
from predictor.network import NATIVE
from predictor.structural.paths import Paths
from predictor.structural.schedule import Schedule

LIBRARY = Library("structural", Path(__file__).with_name("native"), (NATIVE,))
MOST_SHARED = 4  # largest number of overloaded links shared by clusters on the path of a message
_AT_ONCE = 1 << 18  # messages between two checks for Ctrl-C


class Shares(NamedTuple):
    """The effects of sharing on the messages of placements.

    Only links shared by clusters are included, numbered from 0.
    """

    latency_s: np.ndarray  # f8, placements x messages
    flow_s: np.ndarray  # f8, placements x messages: time on the links, after the latency
    link: np.ndarray  # i4, placements x messages x MOST_SHARED: links that the message shares; -1: none
    own_s: np.ndarray  # f8, as `link`: time that the message alone takes on the link
    load_s: np.ndarray  # f8, placements x exchanges x links: time that an exchange takes on a shared link
    flows: np.ndarray  # i4, as `load_s`: number of the exchange's messages on the link
    # Placements x sweeps x 2 x ranks: a rank's message of a plane, along x and along y.
    plane_s: np.ndarray  # f8, time of the message alone
    plane_load_s: np.ndarray  # f8, time that all messages of a plane take on the most loaded link of this message


# The structures of native/structural.h.
SCHEDULE = Layout(
    "sizes steps computations exchanges messages sweeps ranks",
    {
        "size_bytes": ("f8", "sizes"),
        "segment": ("i8", "6"),
        "kind": ("u1", "steps"),
        "item": ("i8", "steps"),
        "flops": ("f8", "computations ranks"),
        "first": ("i8", "exchanges+1"),
        "at_once": ("?", "exchanges"),
        "meanwhile": ("i8", "exchanges"),
        "source": ("i4", "messages"),
        "destination": ("i4", "messages"),
        "size": ("i4", "messages"),
        "shape": ("i8", "sweeps 4"),
        "plane_flops": ("f8", "sweeps ranks"),
        "plane_size": ("i4", "sweeps 2 ranks"),
    },
)
PATHS = Layout(
    "hosts clusters rows sizes links",
    {
        "cluster": ("i4", "hosts"),
        "row": ("i4", "clusters clusters"),
        "self_row": ("i4", "clusters"),
        "latency_s": ("f8", "rows sizes"),
        "amount_bytes": ("f8", "rows sizes"),
        "bound_Bps": ("f8", "rows"),
        "penalty": ("f8", "rows"),
        "capacity_Bps": ("f8", "links"),
        "back": ("f8", "clusters"),
        "self_shares": ("?", "clusters"),
    },
)
SHARES = Layout(
    "placements messages exchanges links sweeps ranks",
    {
        "latency_s": ("f8", "placements messages"),
        "flow_s": ("f8", "placements messages"),
        "link": ("i4", f"placements messages {MOST_SHARED}"),
        "own_s": ("f8", f"placements messages {MOST_SHARED}"),
        "load_s": ("f8", "placements exchanges links"),
        "flows": ("i4", "placements exchanges links"),
        "plane_s": ("f8", "placements sweeps 2 ranks"),
        "plane_load_s": ("f8", "placements sweeps 2 ranks"),
    },
    written=frozenset(Shares._fields),
)
PLACEMENTS = Layout("placements ranks sizes", {"host": ("i4", "placements ranks"), "protocol": ("u1", "sizes")})


def share(schedule: Schedule, paths: Paths, hosts: np.ndarray, protocol: np.ndarray, *, times: bool = True) -> Shares:
    """Return the effects of sharing on the messages of some placements.

    Args:
        schedule: The steps of the program.
        paths: The network.
        hosts: The host of each rank, placements x ranks, by its number in ``paths``.
        protocol: BUFFERED, EAGER or SYNCHRONOUS, by size.
        times: Also compute the effect on ``flow_s`` of messages that the recurrence evaluates as flows.

    Raises:
        TypeError: An array has the wrong item type.
        ValueError: The arrays do not match.
        MemoryError: There is not enough memory.
        UserError: The C files cannot be compiled.
    """
    count, messages, exchanges = len(hosts), len(schedule.source), len(schedule.at_once)
    links = len(paths.capacity_Bps) - 2 * len(paths.cluster)
    shares = Shares(
        np.empty((count, messages)),
        np.empty((count, messages)),
        np.full((count, messages, MOST_SHARED), -1, np.int32),
        np.zeros((count, messages, MOST_SHARED)),
        np.zeros((count, exchanges, links)),
        np.zeros((count, exchanges, links), np.int32),
        np.zeros((count, len(schedule.shape), 2, hosts.shape[1])),
        np.zeros((count, len(schedule.shape), 2, hosts.shape[1])),
    )
    given = (
        SCHEDULE.filled(**schedule._asdict()),
        PATHS.filled(**paths._asdict()),
        PLACEMENTS.filled(host=hosts, protocol=protocol),
        SHARES.filled(**shares._asdict()),
    )
    LIBRARY.call("structural_check_share", *given)
    for part in parts(count, messages):
        LIBRARY.call("structural_share", *given, part.start, part.stop, int(times))
    return shares


def parts(placements: int, messages: int) -> list[range]:
    """Return the parts of the placements to evaluate between two checks for Ctrl-C.

    Args:
        placements: Number of placements.
        messages: Number of messages of each placement that are evaluated.
    """
    step = max(1, _AT_ONCE // max(1, messages))
    return [range(first, min(first + step, placements)) for first in range(0, placements, step)]
