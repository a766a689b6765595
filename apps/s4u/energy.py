"""What hosts and links consume while ranks run, from SimGrid's energy plugins.

SimGrid's Python module does not have their functions; the library behind it does.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import simgrid

T = TypeVar("T")


class Meter:
    """The energy of all hosts and links that the platform gives watts.  To be made when the platform is loaded.

    ``energy``: "hosts", "links" or both; the plugins for these must be loaded.
    """

    def __init__(self, energy: Sequence[str], nranks: int):
        self._library = _library()
        self._nranks = nranks
        self._counts = tuple(energy)
        self._hosts = self._all_hosts() if "hosts" in energy else {}
        self._links = self._all_links() if "links" in energy else {}
        # What had been consumed, by the clock when a rank started its timed section; nothing at the very beginning.
        self._starts_j = {0.0: [0.0] * (len(self._hosts) + len(self._links))}
        self._stopped: set[int] = set()  # ranks that have ended theirs
        self._end = 0.0, self._starts_j[0.0]  # clock and reading when the last one did
        self._iterations_j: list[list[float]] = []  # when rank 0 ended its iterations

    def of_rank(self, rank: int, host: str) -> RankMeter:
        return RankMeter(self, rank, host)

    def read(self) -> list[float]:
        """J of every host, then of every link, so far."""
        pointers = [(self._library.sg_host_get_consumed_energy, host) for host in self._hosts.values()]
        pointers += [(self._library.sg_link_get_consumed_energy, link) for link in self._links.values()]
        return _by_nobody(lambda: [ask(pointer) for ask, pointer in pointers])

    def start(self, rank: int) -> list[float]:
        clock_s = simgrid.Engine.clock
        if clock_s not in self._starts_j:
            self._starts_j[clock_s] = self.read()
        self._stopped.discard(rank)
        if rank == 0:
            self._iterations_j = []
        return self._starts_j[clock_s]

    def iteration(self, rank: int) -> None:
        if rank == 0 and self._links:
            self._iterations_j.append(self.read())

    def stop(self, rank: int) -> None:
        self._stopped.add(rank)
        if len(self._stopped) == self._nranks:
            self._end = simgrid.Engine.clock, self.read()

    def said(self, starts_s: Sequence[float], ranks: Sequence[RankMeter], *, iterations: bool) -> dict[str, Any]:
        """What a kernel says of its energy (apps/common/record.c).  ``iterations``: the ranks have marked them all."""
        from_s = min(starts_s)
        end_s, end_j = self._end
        hosts = len(self._hosts)

        def since(now_j: Sequence[float]) -> list[float]:
            return [now - before for now, before in zip(now_j, self._starts_j[from_s], strict=True)]

        def links(now_j: Sequence[float]) -> dict[str, float]:
            # Those without watts have consumed nothing.
            pairs = zip(self._links, since(now_j)[hosts:], end_j[hosts:], strict=True)
            return {name: joules for name, joules, in_all in pairs if in_all > 0}

        made: dict[str, Any] = {"span_s": end_s - from_s}
        if "hosts" in self._counts:
            made["hosts"] = dict(zip(self._hosts, since(end_j)[:hosts], strict=True))
            made["iteration_host_j"] = [one.iterations_j if iterations else [] for one in ranks]
        if "links" in self._counts:
            made["links"] = links(end_j)
            made["iteration_links"] = [links(one) for one in self._iterations_j] if iterations else []
        return made

    def place(self, host: str) -> int | None:
        """Of a host in a reading; None: it has no watts."""
        return list(self._hosts).index(host) if host in self._hosts else None

    def read_host(self, host: str, *, computed: bool) -> float:
        """J of one host so far.  ``computed``: by a rank that has just computed on it, and is answered at once."""
        pointer = self._hosts[host]
        if computed:
            return float(self._library.sg_host_get_consumed_energy(pointer))
        return _by_nobody(lambda: float(self._library.sg_host_get_consumed_energy(pointer)))

    def _all_hosts(self) -> dict[str, int]:
        listed = self._library.sg_host_list()
        found = (listed[i] for i in range(self._library.sg_host_count()))
        return {
            self._library.sg_host_get_name(host).decode(): host
            for host in found
            if self._library.sg_host_get_property_value(host, b"wattage_per_state") is not None
        }

    def _all_links(self) -> dict[str, int]:
        listed = self._library.sg_link_list()
        found = (listed[i] for i in range(self._library.sg_link_count()))
        return {self._library.sg_link_get_name(link).decode(): link for link in found}


class RankMeter:
    """The energy of a rank's host, as apps.record.IterationEnergy has it."""

    def __init__(self, meter: Meter, rank: int, host: str):
        self._meter, self._rank, self._host = meter, rank, host
        self._place = meter.place(host)
        self._from_j = self._now_j = 0.0
        self._computed = False
        self.iterations_j: list[float] = []

    def start(self) -> None:
        reading = self._meter.start(self._rank)
        if self._place is not None:
            self._from_j = self._now_j = reading[self._place]
        self._computed = False
        self.iterations_j = []

    def computed(self) -> None:
        self._computed = True
        if self._place is not None:
            self._now_j = self._meter.read_host(self._host, computed=True)

    def iteration(self) -> None:
        if self._place is not None and not self._computed:
            self._now_j = self._meter.read_host(self._host, computed=False)
        self._computed = False
        self.iterations_j.append(self._now_j - self._from_j)
        self._meter.iteration(self._rank)

    def stop(self) -> None:
        self._meter.stop(self._rank)


def _by_nobody(ask: Callable[[], T]) -> T:
    """What ``ask`` returns, called in a thread of its own, as apps/common/energy.c does: it is no actor to SimGrid, and
    loses no turn by asking."""
    answers: list[T] = []
    thread = threading.Thread(target=lambda: answers.append(ask()))
    thread.start()
    thread.join()
    return answers[0]


def _library() -> ctypes.CDLL:
    """SimGrid, as the Python module has loaded it."""
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
