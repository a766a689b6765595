"""Values by which the results of one platform differ."""

from __future__ import annotations

from validation.workbench.queue.tables import Tables


def values_by_platform(tables: Tables) -> dict[str, dict[str, set[str | None]]]:
    """Return the networks and the mappings of the results of each platform."""
    by_platform: dict[str, dict[str, set[str | None]]] = {}
    for row in tables.rows("SELECT DISTINCT platform, network, mapping FROM results"):
        values = by_platform.setdefault(row["platform"], {"network": set(), "mapping": set()})
        values["network"].add(row["network"])
        values["mapping"].add(row["mapping"])
    return by_platform
