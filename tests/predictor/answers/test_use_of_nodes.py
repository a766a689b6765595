"""Notes on idle cores, and on the cluster that the others wait for."""

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform
from predictor.answers.answers import cores_note, slowest_cluster_note


def target(cores, placement=None):
    clusters = tuple(
        Cluster(name, tuple(Host(f"{name}{n}", speed, cores) for n in range(4)))
        for name, speed in (("a", 1e9), ("b", 4e9))
    )
    platform = Platform("p", "/nowhere.xml", "", clusters)
    return Target(problem("ep", "S"), platform, placement or tuple(host.name for host in platform.hosts))


def test_one_rank_on_nodes_of_many_cores_is_noted():
    assert cores_note(target(12)) == "8 of 96 cores of these hosts are used; --ranks-per-host cores uses all"


def test_one_core_or_several_ranks_on_a_node_are_not_noted():
    assert cores_note(target(1)) is None
    assert cores_note(target(4, ("a0", "a0", "a1"))) is None


def test_the_slow_cluster_holds_the_others_up():
    busy_s = {host: 17.5 if host[0] == "a" else 4.4 for host in target(1).placement}
    said = slowest_cluster_note(target(1), busy_s, 17.8)
    assert (
        said == "a holds the others up: its 4 nodes compute for 17.5 of 17.8 s, all others for at most 25.1 % of that"
    )


def test_clusters_that_compute_alike_or_little_are_not_noted():
    asked = target(1)
    assert slowest_cluster_note(asked, dict.fromkeys(asked.placement, 17.5), 17.8) is None
    busy_s = {host: 5.0 if host[0] == "a" else 1.0 for host in asked.placement}
    assert slowest_cluster_note(asked, busy_s, 17.8) is None
    assert slowest_cluster_note(asked, {"a0": 5.0}, 5.0) is None
