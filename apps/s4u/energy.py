"""Energy that hosts and links consume while ranks run, from SimGrid's energy plugins.

SimGrid's Python module lacks the functions of the plugins; the library behind it has them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import simgrid

T = TypeVar("T")


class Meter:
    """The energy of all hosts and links for which the platform gives watts.

    A meter is made after the platform is loaded.  ``energy``: "hosts", "links" or both; the plugins for them must be
    loaded.
    """

    def __init__(self, energy: Sequence[str], nranks: int):
        self._library = _library()
        self._nranks = nranks
        self._counts = tuple(energy)
        self._hosts = self._all_hosts() if "hosts" in energy else {}
        self._links = self._all_links() if "links" in energy else {}
        # Clock, s, and reading at the very beginning, then where the first rank started its timed section for the first
        # time, the second time, ...  Other ranks do not read: the plugin for links integrates from reading to reading,
        # and more of them would change the energy.
        self._starts = [(0.0, [0.0] * (len(self._hosts) + len(self._links)))]
        self._stopped: set[int] = set()  # ranks that have ended their timed section
        self._end = self._starts[0]  # clock and reading when the last rank did so
        self._iterations_j: list[list[float]] = []  # when rank 0 ended its iterations

    def of_rank(self, rank: int, host: str) -> RankMeter:
        """Return the meter of a rank on a host."""
        return RankMeter(self, rank, host)

    def read(self) -> list[float]:
        """Return the energy of every host, then of every link, so far, J."""
        pointers = [(self._library.sg_host_get_consumed_energy, host) for host in self._hosts.values()]
        pointers += [(self._library.sg_link_get_consumed_energy, link) for link in self._links.values()]
        return _by_nobody(lambda: [ask(pointer) for ask, pointer in pointers])

    def start(self, rank: int, times: int) -> list[float]:
        """Return the reading for a rank that starts its timed section for the ``times``-th time."""
        if times == len(self._starts):
            self._starts.append((simgrid.Engine.clock, self.read()))
        self._stopped.discard(rank)
        if rank == 0:
            self._iterations_j = []
        return self._starts[times][1]

    def iteration(self, rank: int) -> None:
        """Read the links where rank 0 ends an iteration."""
        if rank == 0 and self._links:
            self._iterations_j.append(self.read())

    def stop(self, rank: int) -> None:
        """Read all where the last rank ends its timed section."""
        self._stopped.add(rank)
        if len(self._stopped) == self._nranks:
            self._end = simgrid.Engine.clock, self.read()

    def said(self, ranks: Sequence[RankMeter], *, iterations: bool) -> dict[str, Any]:
        """Return the energy as a C kernel's record has it (apps/kernels/harness/record.c).

        Args:
            ranks: the meter of each rank.
            iterations: whether the ranks have marked all iterations.
        """
        from_s, from_j = self._starts[min(rank.starts for rank in ranks)]
        end_s, end_j = self._end
        hosts = len(self._hosts)

        def since(now_j: Sequence[float]) -> list[float]:
            return [now - before for now, before in zip(now_j, from_j, strict=True)]

        def links(now_j: Sequence[float]) -> dict[str, float]:
            # Links without watts have consumed nothing.
            pairs = zip(self._links, since(now_j)[hosts:], end_j[hosts:], strict=True)
            return {name: joules for name, joules, in_all in pairs if in_all > 0}

        made: dict[str, Any] = {"span_s": end_s - from_s}
        if "hosts" in self._counts:
            made["hosts"] = dict(zip(self._hosts, since(end_j)[:hosts], strict=True))
            made["iteration_host_j"] = [rank.since(from_j) if iterations else [] for rank in ranks]
        if "links" in self._counts:
            made["links"] = links(end_j)
            made["iteration_links"] = [links(joules) for joules in self._iterations_j] if iterations else []
        return made

    def place(self, host: str) -> int | None:
        """Return the index of a host in a reading; None if the platform gives it no watts."""
        return list(self._hosts).index(host) if host in self._hosts else None

    def read_host(self, host: str, *, computed: bool) -> float:
        """Return the energy of one host so far, J.

        ``computed``: the rank that asks has just computed on the host, and gets its answer without losing its turn.
        """
        pointer = self._hosts[host]
        if computed:
            return float(self._library.sg_host_get_consumed_energy(pointer))
        return _by_nobody(lambda: float(self._library.sg_host_get_consumed_energy(pointer)))

    def _all_hosts(self) -> dict[str, int]:
        listed = self._library.sg_host_list()
        hosts = (listed[i] for i in range(self._library.sg_host_count()))
        return {
            self._library.sg_host_get_name(host).decode(): host
            for host in hosts
            if self._library.sg_host_get_property_value(host, b"wattage_per_state") is not None
        }

    def _all_links(self) -> dict[str, int]:
        listed = self._library.sg_link_list()
        links = (listed[i] for i in range(self._library.sg_link_count()))
        return {self._library.sg_link_get_name(link).decode(): link for link in links}


class RankMeter:
    """The energy of a rank's host at the ends of its iterations, as in apps.results.record.IterationEnergy."""

    def __init__(self, meter: Meter, rank: int, host: str):
        self._meter, self._rank, self._host = meter, rank, host
        self._place = meter.place(host)
        self.starts = 0  # how often the rank has started its timed section
        self._now_j = 0.0
        self._computed = False
        self._iterations_j: list[float] = []  # at the ends of the iterations

    def start(self) -> None:
        """Start the timed section."""
        self.starts += 1
        reading = self._meter.start(self._rank, self.starts)
        if self._place is not None:
            self._now_j = reading[self._place]
        self._computed = False
        self._iterations_j = []

    def computed(self) -> None:
        """Read the host after the rank has computed."""
        self._computed = True
        if self._place is not None:
            self._now_j = self._meter.read_host(self._host, computed=True)

    def iteration(self) -> None:
        """End an iteration: its energy is that of the rank's last computation in it, else the energy now."""
        if self._place is not None and not self._computed:
            self._now_j = self._meter.read_host(self._host, computed=False)
        self._computed = False
        self._iterations_j.append(self._now_j)
        self._meter.iteration(self._rank)

    def since(self, reading_j: Sequence[float]) -> list[float]:
        """Return the energy at the end of each iteration since a reading of the meter, J; 0 without watts."""
        from_j = 0.0 if self._place is None else reading_j[self._place]
        return [now_j - from_j for now_j in self._iterations_j]

    def stop(self) -> None:
        """End the timed section."""
        self._meter.stop(self._rank)


def _by_nobody(ask: Callable[[], T]) -> T:
    """Return the answer of ``ask``, called in a thread of its own, as apps/common/energy.c does.

    For SimGrid such a thread is not an actor, so that the actor does not lose its turn by asking.
    """
    answers: list[T] = []
    thread = threading.Thread(target=lambda: answers.append(ask()))
    thread.start()
    thread.join()
    return answers[0]


def _library() -> ctypes.CDLL:
    """Return SimGrid's library, as the Python module has loaded it."""
    library = ctypes.CDLL(simgrid.__file__)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    for name, returned, taken in (
        ("sg_host_count", ctypes.c_size_t, []),
        ("sg_host_list", ctypes.POINTER(pointer), []),
        ("sg_host_get_name", text, [pointer]),
        ("sg_host_get_property_value", text, [pointer, text]),
        ("sg_host_get_consumed_energy", ctypes.c_double, [pointer]),
        ("sg_link_count", ctypes.c_int, []),
        ("sg_link_list", ctypes.POINTER(pointer), []),
        ("sg_link_get_name", text, [pointer]),
        ("sg_link_get_consumed_energy", ctypes.c_double, [pointer]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = returned, taken
    return library
