"""SimGrid options whose names differ between versions."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.simgrid.installed import version_numbers

_MERGED_FROM = (3, 34)  # SimGrid's ChangeLog
_SMPI_NAMES = {"network/bandwidth-factor": "smpi/bw-factor", "network/latency-factor": "smpi/lat-factor"}


def under_smpi_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the same options with the bandwidth and latency factors under the names that SMPI has always used.

    Up to SimGrid 3.32, ``network/bandwidth-factor`` and ``network/latency-factor`` belong to other network models;
    SMPI's model does not read them.  From 3.34 on they are the same options as ``smpi/bw-factor`` and
    ``smpi/lat-factor``.  If both names of an option are given, the later one counts.
    """
    merged = version_numbers() >= _MERGED_FROM
    return {_SMPI_NAMES.get(key, key) if merged else key: value for key, value in options.items()}
