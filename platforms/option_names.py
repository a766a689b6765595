"""Options of SimGrid that have had several names."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.simgrid import version_numbers

_MERGED_FROM = (3, 34)  # SimGrid's ChangeLog
_SMPI_NAMES = {"network/bandwidth-factor": "smpi/bw-factor", "network/latency-factor": "smpi/lat-factor"}


def under_smpi_names(options: Mapping[str, str]) -> dict[str, str]:
    """The same options, those of the network's factors as SMPI has always called them; of two names the later counts.

    Up to SimGrid 3.32 ``network/bandwidth-factor`` and ``network/latency-factor`` are of other network models than
    SMPI's, which does not read them; from 3.34 on they and ``smpi/bw-factor``, ``smpi/lat-factor`` are the same.
    """
    merged = version_numbers() >= _MERGED_FROM
    return {_SMPI_NAMES.get(key, key) if merged else key: value for key, value in options.items()}
