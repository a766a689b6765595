"""Parameters of Table 1's formulas in SI units, and the values that Table 3 publishes for three clusters.

J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from platforms.errors import UserError, nearest
from platforms.files.commented_csv import commented_rows

PARAMETERS_FILE = Path(__file__).with_name("parameters.csv")
R2_FILE = Path(__file__).with_name("r2.csv")
CLUSTERS = ("galera+", "galera", "kask")

_SI = {"": 1.0, "us": 1e-6, "us/B": 1e-6, "B": 1.0, "W": 1.0}
# For each communication block, the part of Table 3's names after T_ and K_.
_SUFFIXES = {
    "p2p": "p2p",
    "bcast": "broadcast",
    "scatter": "scat",
    "gather": "gather",
    "alltoall": "a2a",
    "barrier": "bar",
    "disk_read": "rdisk",
    "disk_write": "wdisk",
}

# Doubtful parameters, which are used as printed nevertheless; docs/predictors/blocks.md has the reasons.  The rates of
# the links are those of QDR, DDR and SDR InfiniBand without coding.
_TOO_FAST = "K_a2a as printed has each node send {sent} GB/s to the others; its InfiniBand link carries {link} GB/s"
_DOUBTS = {
    ("kask", "bcast"): "K_broadcast as printed is 32 times K_p2p; 0.0058 would be 3.2 times, as on Galera+ (3.0)",
    (
        "galera",
        "gather",
    ): "K_gather as printed is an eighth of K_scat; 0.0100 would be 1.2 times, as elsewhere (1.0, 1.1)",
    ("galera+", "alltoall"): _TOO_FAST.format(sent="up to 8.3", link="4"),
    ("galera", "alltoall"): _TOO_FAST.format(sent="up to 8.3", link="2"),
    ("kask", "alltoall"): _TOO_FAST.format(sent="up to 2.1", link="1"),
}


@dataclass(frozen=True)
class ComputeParameters:
    """Parameters of a computation block on one node."""

    P_low: float  # physical cores of a node
    P_hi: float  # logical cores; equal to P_low without HyperThreading
    T_min_s: float  # per operation, up to P_low threads
    T_low_s: float  # per operation, up to P_hi threads
    T_hi_s: float  # per operation, above P_hi threads
    K_hi_s: float  # per operation and thread, above P_hi threads


@dataclass(frozen=True)
class Line:
    """Parameters of a communication block, t = T + K x."""

    T_s: float
    K: float  # s/byte; for a barrier s


@dataclass(frozen=True)
class PowerParameters:
    """Power of one node: PW in W, KW in W per active thread; the branches are those of the computation block."""

    PW_low_w: float
    KW_low_w: float
    PW_hi_w: float
    KW_hi_w: float
    PW_max_w: float


@dataclass(frozen=True)
class Parameters:
    """Parameters of one machine; what is unknown is None or left out."""

    name: str
    compute: ComputeParameters | None
    D_tu_bytes: float
    lines: Mapping[str, Line]  # by communication block
    power: PowerParameters | None = None
    failure_rate_per_s: float | None = None  # 1/(s node)
    cautions: Mapping[str, str] = field(default_factory=dict)  # reasons to doubt the parameters, by block


def published_parameters(cluster: str) -> Parameters:
    """Return the parameters of Table 3 for one of CLUSTERS, in SI units.

    Galera has no P_hi and no T_low, because its processors have no HyperThreading; so P_hi = P_low, and the middle
    branch is empty.  lambda is printed without a unit; it is taken per second and node.  A node then fails once in 63
    years, and the 192 nodes of Galera+ every 120 days.  Per hour, a node would fail once in 226,000 years; per
    microsecond, Table 3's unit of time, once in 33 minutes.  The paper's own example, Sequoia with 1.25 failures a day
    on 98,304 nodes, has 1.5e-10 per second and node.

    Raises:
        UserError: If the cluster is not in CLUSTERS.
    """
    if cluster not in CLUSTERS:
        raise UserError(f"cluster {cluster!r}", "the paper has no parameters for it", nearest(cluster, CLUSTERS))
    si = _column_si(PARAMETERS_FILE, cluster)
    P_low = si["P_low"]
    compute = ComputeParameters(
        P_low=P_low,
        P_hi=si.get("P_hi", P_low),
        T_min_s=si["T_min"],
        T_low_s=si.get("T_low", si["T_min"]),  # not used if P_hi = P_low
        T_hi_s=si["T_hi"],
        K_hi_s=si["K_hi"],
    )
    power = None
    if "PW_max" in si:
        power = PowerParameters(*(si[name] for name in ("PW_low", "KW_low", "PW_hi", "KW_hi", "PW_max")))
    return Parameters(
        name=cluster,
        compute=compute,
        D_tu_bytes=si["D_tu"],
        lines={block: Line(si[f"T_{suffix}"], si[f"K_{suffix}"]) for block, suffix in _SUFFIXES.items()},
        power=power,
        failure_rate_per_s=si.get("lambda"),
        cautions={block: text for (of, block), text in _DOUBTS.items() if of == cluster},
    )


def published_r2(cluster: str) -> dict[str, float]:
    """Return the squared Pearson coefficients of Table 2 for one of CLUSTERS, by block, "compute" and "power" included.

    Raises:
        UserError: If the cluster is not in CLUSTERS.
    """
    if cluster not in CLUSTERS:
        raise UserError(f"cluster {cluster!r}", "the paper has no regression for it", nearest(cluster, CLUSTERS))
    return {row["block"]: float(row[cluster]) for row in commented_rows(R2_FILE) if row[cluster]}


def _column_si(path: Path, cluster: str) -> dict[str, float]:
    """Return the printed values of a cluster in SI units, by parameter."""
    return {row["parameter"]: float(row[cluster]) * _SI[row["unit"]] for row in commented_rows(path) if row[cluster]}
