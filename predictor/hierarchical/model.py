"""The model's equations, in the paper's letters (Kredel, Kruse, Richling 2015), for numbers, fractions or arrays.

Equations (4), (5) and those that follow from them are printed with a factor q^2 p / beta(q, p).  The lines above them,
with beta(q, p) = beta_1(p) / q, give q p / beta(q, p) = q^2 p / beta_1(p).  So the printed factor, taken literally,
counts the q of beta twice.  VARIANTS names the two factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from platforms.errors import UserError
from predictor.hierarchical.polynomial import Polynomial

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


# A float, a Fraction, or an array of floats; results are of the same kind as the arguments.
Quantity: TypeAlias = Any
Share: TypeAlias = Callable[[Quantity], Quantity]  # s(z)

PRINTED, DERIVED = "printed", "derived"  # of the paper's table
COUNTED = "counted"  # of this project's own programs (predictor/hierarchical/counts), which no equation here uses
VARIANTS = (PRINTED, DERIVED)
_LEAST_SCALE = 1e-12  # smallest beta_0; its inverse is the largest
_POWERS = {Fraction(0): "1", Fraction(1, 2): "sqrt(p)", Fraction(1): "p"}


def check_variant(variant: str, *, others: Sequence[str] = ()) -> None:
    """Check the name of a variant; ``others``: names that are known beside those of the paper's table.

    Raises:
        UserError: The variant is not known.
    """
    if variant not in VARIANTS:
        raise UserError(f"variant {variant!r}", "no such variant", f"Known: {', '.join((*others, *VARIANTS))}")


def hockney(z: Quantity) -> Quantity:
    """Return s(z) = z / (1 + z): computing and fetching data alternate.

    >>> hockney(1.0)
    0.5
    """
    return z / (1 + z)


def overlap(z: Quantity) -> Quantity:
    """Return s(z) = min(1, z): computing and fetching data overlap (the roofline model).

    >>> float(overlap(0.25)), float(overlap(3.0))
    (0.25, 1.0)
    """
    # Imported here for a quick start: it is slow to import.
    import numpy as np

    return np.minimum(1, z)


SCALING: dict[str, Share] = {"hockney": hockney, "overlap": overlap}  # s(z) by name


def node_time_s(op: Quantity, b: Quantity, q: Quantity, l_c: Quantity, b_m: Quantity) -> Quantity:
    """Eq. (1), s: (#op / q) / l_c + #b / b_m, computation followed by memory traffic.

    Four cores of 1 Gflop/s that share 2 GB/s:

    >>> node_time_s(op=8e9, b=4e9, q=4, l_c=1e9, b_m=2e9)
    4.0
    """
    return op / q / l_c + b / b_m


def node_performance(q: Quantity, x: Quantity, l_c: Quantity, s: Share = hockney) -> Quantity:
    """Return l_m(q) = q l_c s(x / q), in the unit of l_c."""
    return q * l_c * s(x / q)


def node_efficiency(x: Quantity, q: Quantity, s: Share = hockney) -> Quantity:
    """Return eta_m(x, q) = l_m(q) / (q l_m(1)) = s(x / q) / s(x), or (1 + x) / (q (1 + x / q)) with Hockney's s."""
    return s(x / q) / s(x)


def cluster_time_s(op: Quantity, exchanged_bytes: Quantity, p: Quantity, l_m: Quantity, b_cl: Quantity) -> Quantity:
    """Eq. (3), s: (#op / p) / l_m(q) + #x / b_cl(q, p).

    >>> cluster_time_s(16e9, 2e9, p=4, l_m=2e9, b_cl=1e9)
    4.0
    """
    return op / p / l_m + exchanged_bytes / b_cl


def exchange_factor(q: Quantity, p: Quantity, beta: Quantity, *, variant: str = DERIVED) -> Quantity:
    """Return the factor of s(x / q) / (v r x) in (4) and (5): q p / beta(q, p) derived, q^2 p / beta(q, p) printed.

    >>> exchange_factor(4, 8, beta=2.0), exchange_factor(4, 8, beta=2.0, variant=PRINTED)
    (16.0, 64.0)
    """
    check_variant(variant)
    return (q * q if variant == PRINTED else q) * p / beta


def efficiency(
    q: Quantity,
    p: Quantity,
    *,
    x: Quantity,
    r: Quantity,
    v: Quantity,
    beta: Quantity,
    s: Share = hockney,
    variant: str = DERIVED,
) -> Quantity:
    """Eq. (5): s(x / q) / (1 + F s(x / q) / (v r x)), with F of exchange_factor; ``beta`` is the value beta(q, p)."""
    share = s(x / q)
    return share / (1 + exchange_factor(q, p, beta, variant=variant) * share / (v * r * x))


@dataclass(frozen=True)
class Beta:
    """beta(q, p) = beta_0 p^power, divided by q where the cores of a node share its bandwidth."""

    power: Fraction = Fraction(0)  # 0: one link for all nodes; 1: a link for every node (beta_1(p) = p, eq. (7))
    per_core: bool = True  # True: divided by q, as in the paper's beta_1(p) / q
    scale: Fraction = Fraction(1)  # beta_0, > 0

    @property
    def polynomial(self) -> Polynomial:
        """The value as a single term in q and p."""
        term = self.scale * Polynomial.symbol("p", self.power)
        return term / Polynomial.symbol("q") if self.per_core else term

    def __call__(self, q: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
        """Return the values for q and p, which are numbers or arrays."""
        # Imported here for a quick start: it is slow to import.
        import numpy as np

        cores = np.asarray(q, float)
        value = float(self.scale) * np.asarray(p, float) ** float(self.power)
        return value / cores if self.per_core else value + 0.0 * cores

    def __str__(self) -> str:
        scale = "" if self.scale == 1 else f"{self.scale} "
        power = _POWERS.get(self.power, f"p^({self.power})")
        name = f"{scale}{power}" if power != "1" else str(self.scale)
        return f"{name}/q" if self.per_core else name


BETAS: dict[str, Beta] = {
    str(beta): beta for per_core in (True, False) for power in _POWERS if (beta := Beta(power, per_core))
}


def named_beta(name: str, scale: float | Fraction = 1) -> Beta:
    """Return a beta of BETAS with beta_0 = ``scale``.

    Raises:
        UserError: The name is not known, or beta_0 is not positive or out of its range.
    """
    if name not in BETAS:
        raise UserError(f"beta {name!r}", "no such choice", f"Known: {', '.join(BETAS)}")
    if not 0 < scale < float("inf"):
        raise UserError(f"beta_0 {scale}", "not a positive number", "Give one, such as 1")
    if not _LEAST_SCALE <= scale <= 1 / _LEAST_SCALE:
        problem = "not a share of a network's bandwidth"
        raise UserError(f"beta_0 {scale}", problem, f"Give one from {_LEAST_SCALE:g} to {1 / _LEAST_SCALE:g}")
    return replace(BETAS[name], scale=Fraction(str(scale)))  # exactly the decimal number that was given
