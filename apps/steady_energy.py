"""What iterations that are not simulated add to the energy of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apps.record import RunRecord

Row = Sequence[float]  # J up to each simulated iteration


def host_rows(record: RunRecord) -> dict[str, Row]:
    """Of every host that has watts: what it had consumed by the iterations of its first rank of which that is known."""
    first: dict[str, Row] = {}
    if record.energy_j is not None:
        for host, row in zip(record.host, record.energy_by_iteration.host_j, strict=True):
            if host in record.energy_j and row:
                first.setdefault(host, row)
    return first


def grown_energy(record: RunRecord, *, time_added_s: float, more: Callable[[Row], float]) -> dict[str, Any]:
    """The energy fields of the record with more iterations, which take ``time_added_s``.

    ``more``: what they add to a row.  A host without a row, on which nothing computes, goes on at its mean power.
    """
    if record.energy_span_s is None:
        return {}
    longer = 1 + time_added_s / record.energy_span_s if record.energy_span_s else 1.0

    def grown(energy_j: Mapping[str, float] | None, rows: Mapping[str, Row]) -> dict[str, float] | None:
        if energy_j is None:
            return None
        return {
            name: joules + more(rows[name]) if name in rows else joules * longer for name, joules in energy_j.items()
        }

    return {
        "energy_span_s": record.energy_span_s + time_added_s,
        "energy_j": grown(record.energy_j, host_rows(record)),
        "link_energy_j": grown(record.link_energy_j, record.energy_by_iteration.link_j),
    }
