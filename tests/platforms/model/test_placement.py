"""Placement of ranks on hosts."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from platforms.errors import PlatformError, UserError
from platforms.model.placement import (
    block,
    configured,
    cyclic,
    places,
    probe_placement,
    read_host_file,
    write_host_file,
)
from platforms.model.platform import Cluster, Host, Platform

TIMES = Path(__file__).parents[2] / "apps" / "data" / "npb-comm-time.csv"


def grid(*sizes, cores=1):
    clusters = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", 1e9, cores) for i in range(nodes))) for c, nodes in enumerate(sizes, 1)
    )
    return Platform("grid", Path("/nowhere.xml"), "0", clusters)


def counts(placement):
    return [sum(host.startswith(f"c{c}-") for host in placement) for c in range(1, 5)]


def spelt_out(hosts):
    """The names of hosts written as ranges: c1-0..c1-2 c2-0 stands for four names."""
    for part in hosts.split():
        first, _, last = part.partition("..")
        cluster, start = re.fullmatch(r"(c\d+)-(\d+)", first).groups()
        stop = last.rpartition("-")[2] if last else start
        yield from (f"{cluster}-{i}" for i in range(int(start), int(stop) + 1))


def test_block_places_ranks_as_in_the_reference_runs():
    with open(TIMES, newline="") as file:
        for row in csv.DictReader(file):
            assert block(grid(12, 12, 12, 12), int(row["procs"])) == tuple(spelt_out(row["hosts"]))


@pytest.mark.parametrize(
    ("sizes", "ranks", "expected"),
    [
        ((12, 12, 12, 12), 6, [2, 2, 1, 1]),
        ((12, 12, 12, 12), 9, [3, 2, 2, 2]),
        ((2, 12, 12, 12), 12, [2, 4, 3, 3]),  # one rank of the full first cluster goes to the next
        ((12, 12, 12, 1), 12, [5, 3, 3, 1]),  # two ranks of the full last cluster go back
    ],
)
def test_block_shares_evenly_where_they_fit(sizes, ranks, expected):
    assert counts(block(grid(*sizes), ranks)) == expected


def test_cyclic_deals_the_ranks_to_the_clusters_in_turn():
    assert cyclic(grid(1, 2, 3), 6) == ("c1-0", "c2-0", "c3-0", "c2-1", "c3-1", "c3-2")


@pytest.mark.parametrize("mapping", [block, cyclic])
def test_every_host_is_used_once_when_all_are(mapping):
    platform = grid(3, 5, 2)
    assert sorted(mapping(platform, 10)) == sorted(host.name for host in platform.hosts)


def test_consecutive_ranks_share_a_host():
    assert block(grid(2, 2, cores=2), 4, ranks_per_host=2) == ("c1-0", "c1-0", "c2-0", "c2-0")


@pytest.mark.parametrize(
    ("ranks", "per_host", "said"),
    [(7, 1, "7 ranks do not fit"), (0, 1, "0 ranks"), (4, 2, "1 core"), (4, 0, "0 ranks per host")],
)
def test_what_does_not_fit_is_refused_never_wrapped(ranks, per_host, said):
    for mapping in (block, cyclic):
        with pytest.raises(PlatformError, match=said):
            mapping(grid(3, 3), ranks, per_host)


@pytest.mark.parametrize("mapping", [block, cyclic])
def test_every_core_of_unequal_hosts_takes_a_rank(mapping):
    clusters = [
        Cluster(name, tuple(Host(f"{name}-{i}", 1e9, cores) for i, cores in enumerate(each)))
        for name, each in (("c1", (1, 3)), ("c2", (2,)))
    ]
    platform = Platform("grid", Path("/nowhere.xml"), "0", tuple(clusters))
    assert places(platform, "cores") == 6 and places(platform, 2) == 6
    placement = mapping(platform, 6, "cores")
    assert Counter(placement) == {"c1-0": 1, "c1-1": 3, "c2-0": 2}
    assert mapping(platform, 3, "cores") == {block: ("c1-0", "c1-1", "c2-0"), cyclic: ("c1-0", "c2-0", "c1-1")}[mapping]
    with pytest.raises(PlatformError, match=r"7 ranks do not fit: the hosts have 6 cores. Give at most 6 ranks"):
        mapping(platform, 7, "cores")


def test_the_probe_is_one_node_per_cluster():
    assert probe_placement(grid(8, 8, 8)) == ("c1-0", "c2-0", "c3-0")


def test_a_host_file_is_read_as_it_is_written(tmp_path):
    placement = ("c2-1", "c1-0", "c1-0", "c2-0")
    write_host_file(tmp_path / "hosts", placement)
    assert read_host_file(tmp_path / "hosts", grid(2, 2)) == placement


def test_a_host_file_may_hold_comments_and_counts(tmp_path):
    (tmp_path / "hosts").write_text("# two on the first\nc1-0:2\n\nc1-1  # and one here\n")
    assert read_host_file(tmp_path / "hosts", grid(2)) == ("c1-0", "c1-0", "c1-1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("c1-0\nc1-9\n", r"hosts:2: no host 'c1-9'"),
        ("", "names no host"),
        ("c1-0:0\n", "0 ranks"),
        (None, "cannot be read"),
    ],
)
def test_a_host_file_with_a_fault_is_refused_with_its_line(tmp_path, text, said):
    if text is not None:
        (tmp_path / "hosts").write_text(text)
    with pytest.raises(PlatformError, match=said):
        read_host_file(tmp_path / "hosts", grid(2))


def test_a_configuration_puts_m_i_ranks_on_each_of_the_first_p_i_hosts():
    platform = grid(2, 2, 2)
    # By hand: (P_1, M_1, P_2, M_2, P_3, M_3) = (2, 2, 0, 0, 1, 1) has P = 2 * 2 + 1 * 1 ranks.
    assert configured(platform, [(2, 2), (0, 0), (1, 1)]) == ("c1-0", "c1-0", "c1-1", "c1-1", "c3-0")


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ([(1, 1)], "1 clusters, but platform grid has 3"),
        ([(3, 1), (0, 0), (0, 0)], "3 hosts of c1, which has 2"),
        ([(1, 0), (1, 1), (0, 0)], "1 hosts of c1 with 0 ranks each"),
        ([(0, 0), (0, 0), (0, 0)], "no ranks"),
    ],
)
def test_a_configuration_that_the_platform_does_not_have_is_refused(configuration, message):
    platform = grid(2, 2, 2)
    with pytest.raises(PlatformError, match=re.escape(message)):
        configured(platform, configuration)


def test_a_host_file_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(UserError, match=re.escape(f"host file {tmp_path}: cannot be written: Is a directory")):
        write_host_file(tmp_path, ["a"])
