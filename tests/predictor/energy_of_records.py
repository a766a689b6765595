"""Energy of simulated runs, by the formulas of predictor.answers.energy and what their records hold."""

import math
from collections.abc import Sequence

from apps.results.record import RunRecord
from platforms.model.platform import Platform
from predictor.answers.energy import host_energy, host_load


def record_loads(record: RunRecord, platform: Platform):
    """Return the load of each host in use in a run, from the times and flops of its ranks."""
    ranks_of: dict[str, list[int]] = {}
    for rank, host in enumerate(record.host):
        ranks_of.setdefault(host, []).append(rank)
    return {name: _record_load(record, platform, name, ranks) for name, ranks in ranks_of.items()}


def _record_load(record: RunRecord, platform: Platform, name: str, ranks: Sequence[int]):
    host = platform.host(name)
    compute_s = [record.compute_s[rank] for rank in ranks]
    core_s = math.fsum(compute_s)
    if len(ranks) > host.cores:  # computations take longer where ranks share cores, so take C from the flops
        scale = 0.0 if record.identity["compute"] == "none" else 1 / record.identity["efficiency"]
        core_s = math.fsum(record.rank_flops[rank] for rank in ranks) * scale / host.speed_flops
    return host_load(core_s, compute_s, cores=host.cores, time_s=_span_s(record))


def _span_s(record: RunRecord) -> float:
    return record.time_s if record.energy_span_s is None else record.energy_span_s


def record_energy(record: RunRecord, platform: Platform):
    """Return the energy of each host in use in a simulated run; None if one of them has no watts.

    The energy is integrated over the same span as the record's energy (apps/results/record.py), else over the time of
    the slowest rank.
    """
    loads = record_loads(record, platform)
    watts = {host: platform.host(host).power for host in loads}
    if None in watts.values():
        return None
    span_s = _span_s(record)
    return {name: host_energy(power, platform.host(name).cores, span_s, loads[name]) for name, power in watts.items()}
