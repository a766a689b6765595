"""Values by which the results of one platform differ."""

from __future__ import annotations

from validation.workbench.queue.tables import Tables


def values_by_platform(tables: Tables) -> dict[str, dict[str, set[str | None]]]:
    """Return the networks and the mappings of the results of each platform."""
    found: dict[str, dict[str, set[str | None]]] = {}
    for row in tables.rows("SELECT DISTINCT platform, network, mapping FROM results"):
        one = found.setdefault(row["platform"], {"network": set(), "mapping": set()})
        one["network"].add(row["network"])
        one["mapping"].add(row["mapping"])
    return found
