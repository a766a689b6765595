"""Energy of a run in closed form, from the run time and the computation of each host.

SimGrid's host model (F. C. Heinrich et al., "Predicting the energy-consumption of MPI applications at scale using only
a single node", CLUSTER 2017; plugin host_energy): a host takes idle_w while none of its cores computes, and otherwise
epsilon_w + l (full_w - epsilon_w), where l is the share of its q cores that compute.  Integrated over a run of T
seconds, this gives

    E = idle_w (T - B) + epsilon_w B + (full_w - epsilon_w) C / q,

where B is the time during which at least one rank computes.  C is the core-seconds of computation: flops divided by the
speed of a core, regardless of how many ranks share the cores.  Ranks that wait, for messages or for the last rank to
stop, take idle_w.

C is always exact.  With one rank on the host, B equals C.  With several ranks, B depends on how far their computations
overlap, which the totals do not show: B is at least the longest of the ranks' computing times (and C / min(q, ranks)),
and at most their sum or T.  So E is exact with one rank on the host, and also where epsilon_w equals idle_w, because B
then cancels.  Otherwise E is an interval, unless the model has followed the events and knows B.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from apps.spec.target import Target
from platforms.grids.grid import default_power
from platforms.model.platform import Host, Platform, Power
from platforms.wording import number_of
from predictor.base import HostLoad, Prediction

DEFAULT_WATTS = "default watts, in proportion to the nodes' speeds, not those of a machine"


@dataclass(frozen=True)
class Energy:
    """Energy of some hosts over a run, J, as an interval; both ends are equal where the energy is known exactly."""

    low_j: float
    high_j: float

    @property
    def middle_j(self) -> float:
        """Middle of the interval, J; its error is at most half of the interval."""
        return self.low_j + (self.high_j - self.low_j) / 2


def host_load(
    core_s: float, compute_s: Sequence[float], *, cores: int, time_s: float, busy_s: float | None = None
) -> HostLoad:
    """Return the load of a host over a run, with the bounds on B given in the module's docstring.

    Args:
        core_s: C, the core-seconds of computation.
        compute_s: Computing time of each of the host's ranks; their sum exceeds C where ranks share cores.
        cores: Number of cores of the host.
        time_s: Time of the run.
        busy_s: B, where it is known.
    """
    if busy_s is not None:
        return HostLoad(core_s, busy_s, busy_s)
    if len(compute_s) == 1:
        return HostLoad(core_s, compute_s[0], compute_s[0])
    most_s = min(time_s, sum(compute_s))
    least_s = max(max(compute_s, default=0.0), core_s / min(cores, max(1, len(compute_s))))
    return HostLoad(core_s, min(least_s, most_s), most_s)


def host_energy(power: Power, cores: int, time_s: float, load: HostLoad) -> Energy:
    """Return the energy of a host over a run of ``time_s``, by the equation in the module's docstring."""
    jump_w = power.epsilon_w - power.idle_w
    rest_j = power.idle_w * time_s + (power.full_w - power.epsilon_w) * load.core_s / cores
    return Energy(*sorted((rest_j + jump_w * load.busy_low_s, rest_j + jump_w * load.busy_high_s)))


def busy_throughout(target: Target, time_s: float) -> dict[str, HostLoad]:
    """Return the loads of a run in which every rank computes all the time, within the number of cores.

    No run of this length takes more energy.
    """
    ranks = Counter(target.placement)
    cores = {host: min(count, target.platform.host(host).cores) for host, count in ranks.items()}
    return {host: HostLoad(count * time_s, time_s, time_s) for host, count in cores.items()}


def run_energy(
    target: Target, time_s: float, loads: Mapping[str, HostLoad], powers: Mapping[str, Power] | None = None
) -> Energy | None:
    """Return the energy of the hosts in use over a run of ``time_s``; None if one of them has no watts.

    Args:
        target: The target, whose placement gives the hosts in use.
        time_s: Time of the run.
        loads: Load of each host; a host that is missing computes nothing.
        powers: Powers by cluster, for nodes that run at another frequency than the platform's.
    """
    watts = _watts(target.platform, target.placement)
    if watts is None:
        return None
    if powers is not None:
        watts = {name: powers.get(target.platform.cluster_of(name).name, default) for name, default in watts.items()}
    return _energy_of(target.platform, watts, time_s, loads)


def _watts(platform: Platform, hosts: Iterable[str]) -> dict[str, Power] | None:
    """Return the power of each host, each host once; None if one of them has none."""
    watts = {}
    for name in dict.fromkeys(hosts):
        power = platform.host(name).power
        if power is None:
            return None
        watts[name] = power
    return watts


def _energy_of(platform: Platform, watts: Mapping[str, Power], time_s: float, loads: Mapping[str, HostLoad]) -> Energy:
    idle = HostLoad(0.0, 0.0, 0.0)
    each = [
        host_energy(power, platform.host(name).cores, time_s, loads.get(name, idle)) for name, power in watts.items()
    ]
    return Energy(math.fsum(energy.low_j for energy in each), math.fsum(energy.high_j for energy in each))


def with_energy(prediction: Prediction, target: Target) -> Prediction:
    """Return the prediction with its energy where the platform gives watts, and else the reason why it has none.

    If the model predicts the loads of the hosts, the energy follows from them as in ``run_energy``.  If it predicts the
    time only, the energy is at most that of hosts whose ranks compute all the time, which is then given as the value,
    and at least that of idle hosts.
    """
    if not 0 < prediction.time_s < math.inf:
        return prediction
    platform, watts = target.platform, _watts(target.platform, target.placement)
    if watts is None:
        return replace(prediction, energy_basis=no_watts(target))
    if prediction.loads is not None:
        energy = _energy_of(platform, watts, prediction.energy_span_s, prediction.loads)
        value_j = energy.middle_j
    else:
        most = _energy_of(platform, watts, prediction.time_s, busy_throughout(target, prediction.time_s))
        energy = Energy(_energy_of(platform, watts, prediction.time_s, {}).low_j, most.high_j)
        value_j = most.high_j
    basis = DEFAULT_WATTS if has_default_watts(target) else None
    return replace(
        prediction, energy_j=value_j, energy_low_j=energy.low_j, energy_high_j=energy.high_j, energy_basis=basis
    )


def no_watts(target: Target) -> str | None:
    """Return why the energy of a target is not known; None: all its hosts have watts."""
    hosts = (target.platform.host(name) for name in dict.fromkeys(target.placement))
    without = [host.name for host in hosts if host.power is None]
    if not without:
        return None
    more = f" and {number_of(len(without) - 1, 'more host')}" if len(without) > 1 else ""
    return f"the platform gives no watts for {without[0]}{more} (property wattage_per_state)"


def has_default_watts(target: Target) -> bool:
    """Return whether some hosts in use have the default watts of generated grids."""
    if target.platform.network is None:
        return False
    return any(_is_default(target.platform.host(name)) for name in dict.fromkeys(target.placement))


def _is_default(host: Host) -> bool:
    """Return whether the watts of a host, at its highest frequency, are in proportion to its speed."""
    fastest = max(host.pstates, key=lambda state: state.speed_flops, default=host)
    speed_flops, power = fastest.speed_flops, fastest.power
    usual = default_power(speed_flops * host.cores)
    return power is not None and math.isclose(power.full_w, usual.full_w) and math.isclose(power.idle_w, usual.idle_w)
