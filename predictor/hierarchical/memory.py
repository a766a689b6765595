"""The memory bandwidth that --memory gives: a number, that of a calibrated platform, or that measured on a machine."""

from collections.abc import Mapping

from apps.options.runner import PoolOptions, store_from_request
from platforms.errors import UserError

_GIGA = 1e9
_SAME = 0.05  # bandwidths that differ by less are those of equal nodes


def memory_from(text: str | None, pool: PoolOptions) -> float | None:
    """Return GB/s of a node; None: not given.

    Args:
        text: A number, ``inf``, FILE.xml of a platform whose hosts have their bandwidth, or FILE.toml of a machine.
        pool: Chooses the store in which what is measured on a machine is looked up and kept.

    Raises:
        UserError: It is none of these, or the nodes are unlike.
    """
    if text is None:
        return None
    if text.endswith(".xml"):
        return _alike(text, _of_platform(text))
    if text.endswith(".toml"):
        return _alike(text, _of_machine(text, pool))
    try:
        return float(text)
    except ValueError:
        remedy = "Give GB/s, inf, FILE.xml of a platform, or FILE.toml of a machine"
        raise UserError(f"--memory {text}", "not a number", remedy) from None


def _of_platform(path: str) -> Mapping[str, float]:
    """Return GB/s by host."""
    # Imported here for a quick start: it is slow to import.
    from platforms.read.read import read_platform

    hosts = read_platform(path).hosts
    found = {host.name: host.memory_Bps / _GIGA for host in hosts if host.memory_Bps is not None}
    if len(found) < len(hosts):
        name = next(host.name for host in hosts if host.name not in found)
        raise UserError(f"--memory {path}", f"host {name!r} has no memory_bandwidth", "Give GB/s")
    return found


def _of_machine(path: str, pool: PoolOptions) -> Mapping[str, float]:
    """Return GB/s by cluster."""
    # Imported here for a quick start: they are slow to import.
    from apps.machines.machine_file import read_machine
    from apps.stream.on_machine import memory_of_machine

    with store_from_request(pool) as store:
        nodes = memory_of_machine(read_machine(path), store)
    return {name: node.bandwidth_Bps / _GIGA for name, node in nodes.items()}


def _alike(path: str, found: Mapping[str, float]) -> float:
    """Return the smallest bandwidth; raise UserError if nodes differ notably."""
    least, most = min(found.values()), max(found.values())
    if most > (1 + _SAME) * least:
        problem = f"nodes of {least:.4g} to {most:.4g} GB/s, but the model's are equal"
        raise UserError(f"--memory {path}", problem, f"Give those of one kind, such as --memory {least:.4g}")
    return least
