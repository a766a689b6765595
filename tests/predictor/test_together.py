"""Targets on one platform as one."""

from apps.catalog import problem
from apps.spec import Target
from platforms.platform import Cluster, Host, Platform
from predictor.together import one_per_platform


def platform(name):
    return Platform(name, f"/{name}.xml", name, (Cluster("c", tuple(Host(f"c-{i}", 1e9, 1) for i in range(4))),))


def test_targets_on_one_platform_are_one_on_the_hosts_of_all_in_its_order():
    a, b, ep, cg = platform("a"), platform("b"), problem("ep", "S"), problem("cg", "S")
    targets = [Target(ep, a, ("c-3", "c-0", "c-3")), Target(cg, b, ("c-1",)), Target(cg, a, ("c-1", "c-0"))]
    assert one_per_platform(targets) == [Target(ep, a, ("c-0", "c-1", "c-3")), Target(cg, b, ("c-1",))]
    assert one_per_platform([]) == []
