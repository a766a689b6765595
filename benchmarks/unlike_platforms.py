"""Draw platform files by a seed, of the kinds that the generated grids are not, for the calibration of intervals.

    python benchmarks/unlike_platforms.py --seed 501 --count 44 --out unlike-501

writes FOLDER/KIND-SEED-NUMBER.xml, kind after kind in turn, and two campaigns: FOLDER/campaign.toml, and
FOLDER/cores.toml with two ranks on a node of those that have several cores.  Equal seeds give equal files.
SimGrid 3.32 crashes on some dragonflies: take those that it names out of the campaign.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

Draw = np.random.Generator
_HEAD = (
    '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
)


def _log(draw: Draw, low: float, high: float) -> float:
    return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.3g}")


def _speed(draw: Draw) -> str:
    return f'speed="{_log(draw, 5, 100):g}Gf"'


def _wire(draw: Draw, slower: float = 1.0, prefix: str = "") -> str:
    """Return a bandwidth of 0.1 to 10 Gbit/s and a latency of 5 us to 0.5 ms as attributes of a cluster."""
    return f'{prefix}bw="{_log(draw, 0.1, 10) / slower:g}Gbps" {prefix}lat="{_log(draw, 5, 500):g}us"'


def _link(draw: Draw, name: str, more: str = "") -> str:
    bandwidth, latency = _log(draw, 0.1, 10), _log(draw, 20, 5000)
    return f'<link id="{name}" bandwidth="{bandwidth:g}Gbps" latency="{latency:g}us"{more}/>\n'


def _cluster(draw: Draw, name: str, nodes: int, more: str = "", speed: str = "") -> str:
    of_all = f'prefix="{name}-" suffix="" radical="0-{nodes - 1}"'
    return f'<cluster id="{name}" {of_all} {speed or _speed(draw)} {_wire(draw)}{more}/>\n'


def _router(name: str) -> str:
    return f"{name}-{name}_router"


def _joined(draw: Draw, names: list[str], *, sharing: str = "", both_ways: bool = True) -> str:
    """Return links between all pairs of clusters, and their routes; if not ``both_ways``, another link back."""
    links = routes = ""
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            for a, b in [(first, second)] if both_ways else [(first, second), (second, first)]:
                links += _link(draw, f"{a}to{b}", sharing)
                symmetrical = "" if both_ways else ' symmetrical="NO"'
                routes += (
                    f'<zoneRoute src="{a}" dst="{b}" gw_src="{_router(a)}" gw_dst="{_router(b)}"{symmetrical}>'
                    f'<link_ctn id="{a}to{b}"/></zoneRoute>\n'
                )
    return links + routes


def _zone(content: str, name: str = "all", routing: str = "Full") -> str:
    return f'<zone id="{name}" routing="{routing}">\n{content}</zone>\n'


def fat_tree(draw: Draw) -> str:
    """Two levels of switches, with one or two wires up."""
    low, high, up = int(draw.integers(2, 5)), int(draw.integers(2, 4)), int(draw.integers(1, 3))
    topology = f' topology="FAT_TREE" topo_parameters="2;{low},{high};1,{up};1,{int(draw.integers(1, 3))}"'
    return _cluster(draw, "tree", low * high, topology)


def dragonfly(draw: Draw) -> str:
    """Groups of routers, joined by optical wires."""
    groups, chassis, routers, nodes = (int(draw.integers(low, high)) for low, high in ((2, 4), (2, 3), (3, 5), (1, 2)))
    parameters = f"{groups},{int(draw.integers(1, 4))};{chassis},{int(draw.integers(1, 3))};{routers},1;{nodes}"
    topology = f' topology="DRAGONFLY" topo_parameters="{parameters}"'
    return _cluster(draw, "fly", groups * chassis * routers * nodes, topology)


def torus(draw: Draw) -> str:
    """A torus of two or three dimensions; its nodes can send to themselves."""
    sides = [int(draw.integers(2, 4)) for _ in range(int(draw.integers(2, 4)))]
    topology = (
        f' loopback_bw="100Gbps" loopback_lat="1us" topology="TORUS" topo_parameters="{",".join(map(str, sides))}"'
    )
    return _cluster(draw, "donut", math.prod(sides), topology)


def backbone(draw: Draw) -> str:
    """One cluster whose backbone may be slower than its nodes' links."""
    return _cluster(draw, "hall", int(draw.integers(4, 16)), " " + _wire(draw, prefix="bb_"))


def fatpipe(draw: Draw) -> str:
    """Clusters joined by links that any number of messages cross at full speed."""
    names = ["left", "right", "back"][: int(draw.integers(2, 4))]
    fat = ' sharing_policy="FATPIPE"'
    clusters = "".join(
        _cluster(draw, name, int(draw.integers(2, 6)), fat if draw.random() < 0.5 else "") for name in names
    )
    return _zone(clusters + _joined(draw, names, sharing=fat))


def asymmetric(draw: Draw) -> str:
    """Clusters joined by another link for each direction."""
    names = ["left", "right", "back"][: int(draw.integers(2, 4))]
    clusters = "".join(_cluster(draw, name, int(draw.integers(2, 6))) for name in names)
    return _zone(clusters + _joined(draw, names, both_ways=False))


def vivaldi(draw: Draw) -> str:
    """Hosts whose distances are those of their coordinates, in ms."""
    hosts = ""
    speed, bandwidth = _speed(draw), f"{_log(draw, 0.1, 1):g}Gbps"
    for i in range(int(draw.integers(4, 11))):
        x, y, up = draw.uniform(-4, 4), draw.uniform(-4, 4), draw.uniform(0.1, 1)
        hosts += (
            f'<peer id="p{i}" {speed} bw_in="{bandwidth}" bw_out="{bandwidth}" '
            f'coordinates="{x:.2f} {y:.2f} {up:.2f}"/>\n'
        )
    return _zone(hosts, routing="Vivaldi")


def nested(draw: Draw) -> str:
    """Zones of clusters inside a zone, joined by one link."""
    sites = ""
    for i, site in enumerate(("north", "south")):
        names = [f"n{2 * i}", f"n{2 * i + 1}"]
        clusters = "".join(_cluster(draw, name, int(draw.integers(2, 5))) for name in names)
        sites += _zone(clusters + _joined(draw, names), site)
    road = _link(draw, "road") + (
        f'<zoneRoute src="north" dst="south" gw_src="{_router("n0")}" gw_dst="{_router("n2")}">'
        '<link_ctn id="road"/></zoneRoute>\n'
    )
    return _zone(sites + road)


def multicore(draw: Draw) -> str:
    """Clusters of nodes of several cores, which send to themselves by a loopback."""
    names = ["wide", "slim"][: int(draw.integers(1, 3))]
    loop = f' loopback_bw="{_log(draw, 10, 200):g}Gbps" loopback_lat="{_log(draw, 0.2, 5):g}us"'
    clusters = "".join(
        _cluster(draw, name, int(draw.integers(2, 5)), f' core="{int(draw.integers(2, 5))}"{loop}') for name in names
    )
    return _zone(clusters + _joined(draw, names))


def unequal(draw: Draw) -> str:
    """Hosts of one switch, two or three of each speed, whose speeds are up to 100 apart, with unlike cables."""
    hosts, links, routes = '<router id="switch"/>\n', "", ""
    for kind in range(int(draw.integers(2, 5))):
        speed = _log(draw, 1, 100)
        for name in (f"h{kind}-{i}" for i in range(int(draw.integers(2, 4)))):
            hosts += f'<host id="{name}" speed="{speed:g}Gf"/>\n'
            links += _link(draw, f"cable-{name}", ' sharing_policy="SPLITDUPLEX"')
            routes += f'<route src="{name}" dst="switch"><link_ctn id="cable-{name}" direction="UP"/></route>\n'
    return _zone(hosts + links + routes, routing="Floyd")


def speeds(draw: Draw) -> str:
    """Clusters whose speeds are 100 apart, on alike links."""
    slow = _log(draw, 1, 5)
    fast = f'speed="{100 * slow:g}Gf"'
    clusters = _cluster(draw, "slow", int(draw.integers(2, 6)), speed=f'speed="{slow:g}Gf"')
    return _zone(
        clusters + _cluster(draw, "fast", int(draw.integers(2, 6)), speed=fast) + _joined(draw, ["slow", "fast"])
    )


KINDS: tuple[Callable[[Draw], str], ...] = (
    *(fat_tree, dragonfly, torus, backbone, fatpipe, asymmetric, vivaldi, nested, multicore, unequal, speeds),
)


def unlike_platform(seed: int, number: int) -> tuple[str, str]:
    """Return name and content of platform ``number`` of a seed; it does not depend on those drawn before."""
    kind = KINDS[number % len(KINDS)]
    made = kind(np.random.default_rng([seed, number]))
    return f"{kind.__name__.replace('_', '')}-{seed}-{number}", f"{_HEAD}{made}</platform>\n"


def campaign_text(files: list[str], ranks_per_host: int) -> str:
    """Return a campaign of kernels and of the predictors that know a platform's paths, on some platform files."""
    return (
        f"platforms = [{', '.join(map(repr, files))}]\n"
        'apps = ["cg", "mg", "lu", "ep", "ft", "is", "sp", "bt"]\n'
        'classes = ["W"]\n'
        'predictors = ["structural", "dpgraph", "dpgraph:known"]\n'
        f"ranks_per_host = [{ranks_per_host}]\n"
    )


def main() -> None:
    """Write the platforms and the campaigns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=4 * len(KINDS), help="number of platforms (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    names = []
    for number in range(args.count):
        name, content = unlike_platform(args.seed, number)
        (args.out / f"{name}.xml").write_text(content)
        names.append(f"{name}.xml")
    (args.out / "campaign.toml").write_text(campaign_text(names, 1))
    (args.out / "cores.toml").write_text(campaign_text([name for name in names if name.startswith("multicore")], 2))


if __name__ == "__main__":
    main()
