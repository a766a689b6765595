"""Distributions of shares and factors, as a background file states them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from platforms.errors import PlatformError
from platforms.files.checked_toml import CheckedTable

if TYPE_CHECKING:  # slow to import
    import numpy as np

# The numbers of each kind, in the order of Distribution.numbers.
KINDS = {
    "constant": ("value",),
    "uniform": ("low", "high"),
    "beta": ("a", "b"),
    "lognormal": ("median", "sigma"),
    "load": ("mean",),
    "values": (),
}
MOST_VALUES = 10_000
_MOST_LOAD = 100.0


@dataclass(frozen=True)
class Quantity:
    """A quantity with a distribution, and the range of its values."""

    name: str
    low: float
    high: float


# Draws outside of the range are moved to its nearer end: a node that gives nothing would never end a run.
AVAILABILITY = Quantity("availability", 0.01, 1.0)  # share of a node's speed that is left to the program
BANDWIDTH = Quantity("bandwidth", 0.01, 1.0)  # share of a link's bandwidth that is left
LATENCY = Quantity("latency", 1.0, 100.0)  # factor of a link's latency


@dataclass(frozen=True)
class Distribution:
    """A distribution of independent values.

    The kind ``load`` describes availability: K other processes, Poisson distributed with this mean, compute on a node
    of c cores.  Each gets as much as one of the program's c processes, so that c / (c + K) is left.  On one core this
    is the sensor of the Network Weather Service, 1 / (load average + 1).
    """

    kind: str
    numbers: tuple[float, ...]  # as in KINDS; for ``values`` the values, which are equally likely
    quantity: Quantity

    def draw(self, generator: np.random.Generator, count: int, cores: int = 1) -> list[float]:
        """Return independent values.

        Args:
            generator: The source of randomness.
            count: Number of values.
            cores: Cores of the node; only the kind ``load`` depends on them.
        """
        # Imported here because it is slow to import.
        import numpy as np

        if self.kind == "constant":
            drawn = np.full(count, self.numbers[0])
        elif self.kind == "uniform":
            low, high = self.numbers
            drawn = generator.uniform(low, high, count)
        elif self.kind == "beta":
            a, b = self.numbers
            drawn = generator.beta(a, b, count)
        elif self.kind == "lognormal":
            median, sigma = self.numbers
            drawn = median * np.exp(sigma * generator.standard_normal(count))
        elif self.kind == "load":
            drawn = cores / (cores + generator.poisson(self.numbers[0], count))
        else:
            drawn = generator.choice(self.numbers, count)
        within: list[float] = np.clip(drawn, self.quantity.low, self.quantity.high).tolist()
        return within


def read_distribution(table: CheckedTable, quantity: Quantity) -> Distribution | None:
    """Return the distribution under the key of a quantity; None: the table has no such key.

    Raises:
        PlatformError: It is wrong.
    """
    if not table.has(quantity.name):
        return None
    value = table.value(quantity.name, None)
    where = table.at(quantity.name)
    kind = value.get("kind") if isinstance(value, dict) else None
    known = [name for name in KINDS if name != "load" or quantity is AVAILABILITY]
    if not isinstance(value, dict) or kind not in known:
        remedy = f'Write for example {{ kind = "constant", value = 1 }}; kinds: {", ".join(known)}'
        raise PlatformError(where, f"no kind of distribution in {value!r}", remedy)
    checked = CheckedTable(value, where, {"": ("kind", *(KINDS[kind] or ("values",)))})
    numbers = _values(checked, where) if kind == "values" else tuple(checked.number(key) for key in KINDS[kind])
    _check(where, kind, numbers, quantity)
    return Distribution(kind, numbers, quantity)


def _values(table: CheckedTable, where: str) -> tuple[float, ...]:
    values = table.list_of("values", [], (int, float), "numbers")
    if not 1 <= len(values) <= MOST_VALUES:
        raise PlatformError(where, f"{len(values)} values", f"Give 1 to {MOST_VALUES}")
    return tuple(map(float, values))


def _check(where: str, kind: str, numbers: tuple[float, ...], quantity: Quantity) -> None:
    low, high = quantity.low, quantity.high
    if kind in ("constant", "uniform", "values"):
        for number in numbers:
            if not low <= number <= high:
                raise PlatformError(where, f"{number:g} is no {quantity.name}", f"Give {low:g} to {high:g}")
        if kind == "uniform" and numbers[0] > numbers[1]:
            raise PlatformError(where, "low is above high", "Exchange them")
    elif kind == "load":
        if not 0 <= numbers[0] <= _MOST_LOAD:
            raise PlatformError(where, f"a mean of {numbers[0]:g} processes", f"Give 0 to {_MOST_LOAD:g}")
    elif not all(1e-3 <= number <= 1e3 for number in numbers):
        raise PlatformError(where, f"{' and '.join(KINDS[kind])} are not all from 0.001 to 1000", "Correct them")
