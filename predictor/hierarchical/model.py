"""The model's equations, in the paper's letters (Kredel, Kruse, Richling 2015); numbers, fractions or arrays alike.

Equations (4), (5) and what is made of them are printed with a factor q^2 p / beta(q, p) where the lines above them,
with beta(q, p) = beta_1(p) / q, give q p / beta(q, p) = q^2 p / beta_1(p): taken by its letters, the printed factor
counts the q of beta twice.  VARIANTS says which of the two is meant.
"""

from __future__ import annotations

from collections.abc import Callable

from platforms.errors import UserError

PRINTED, DERIVED = "printed", "derived"
VARIANTS = (PRINTED, DERIVED)


def check_variant(variant: str) -> None:
    """Raises UserError for one that is not known."""
    if variant not in VARIANTS:
        raise UserError(f"variant {variant!r}", "no such variant", f"Known: {', '.join(VARIANTS)}")


def hockney(z):
    """s(z) = z / (1 + z): computing and fetching data take turns."""
    return z / (1 + z)


def overlap(z):
    """s(z) = min(1, z): computing and fetching data go side by side (the roofline)."""
    import numpy as np

    return np.minimum(1, z)


SCALING: dict[str, Callable] = {"hockney": hockney, "overlap": overlap}  # s(z) by name


def node_time_s(op, b, q, l_c, b_m):
    """Eq. (1), s: (#op / q) / l_c + #b / b_m, computation and memory in turn."""
    return op / q / l_c + b / b_m


def node_performance(q, x, l_c, s=hockney):
    """l_m(q) = q l_c s(x / q), in the unit of l_c."""
    return q * l_c * s(x / q)


def node_efficiency(x, q, s=hockney):
    """eta_m(x, q) = l_m(q) / (q l_m(1)) = s(x / q) / s(x); with Hockney's s it is (1 + x) / (q (1 + x / q))."""
    return s(x / q) / s(x)


def cluster_time_s(op, exchanged_bytes, p, l_m, b_cl):
    """Eq. (3), s: (#op / p) / l_m(q) + #x / b_cl(q, p)."""
    return op / p / l_m + exchanged_bytes / b_cl


def exchange_factor(q, p, beta, *, variant: str = DERIVED):
    """The factor of s(x / q) / (v r x) in (4) and (5): q p / beta(q, p) derived, q^2 p / beta(q, p) printed."""
    check_variant(variant)
    return (q * q if variant == PRINTED else q) * p / beta


def efficiency(q, p, *, x, r, v, beta, s=hockney, variant: str = DERIVED):
    """Eq. (5): s(x / q) / (1 + F s(x / q) / (v r x)), with the factor F of exchange_factor.  beta: its value there."""
    share = s(x / q)
    return share / (1 + exchange_factor(q, p, beta, variant=variant) * share / (v * r * x))
