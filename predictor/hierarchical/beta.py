"""The paper's beta(q, p), which describes how the network is shared: b_cl(q, p) = beta(q, p) b_cl."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from platforms.errors import UserError
from predictor.hierarchical.polynomial import Polynomial

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


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


_LEAST_SCALE = 1e-12  # smallest beta_0; its inverse is the largest
_POWERS = {Fraction(0): "1", Fraction(1, 2): "sqrt(p)", Fraction(1): "p"}
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
