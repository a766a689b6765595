"""Clusters by patterns of host names."""

import pytest

from platforms.errors import PlatformError, UserError
from platforms.model.placement import block, probe_placement
from platforms.read.clusters import Pattern, parse_clusters, regroup
from platforms.read.read import read_platform


def names(platform):
    return {cluster.name: [host.name for host in cluster.hosts] for cluster in platform.clusters}


def grouped(path, text):
    return regroup(read_platform(path), parse_clusters(text))


def test_patterns_are_those_of_a_shell_and_commas_within_brackets_are_part_of_them():
    assert parse_clusters(" left = node-[0-9,x]* ,right=lab?") == (
        Pattern("left", "node-[0-9,x]*"),
        Pattern("right", "lab?"),
    )


def test_the_first_match_wins_and_a_name_may_come_again(data):
    # The hosts are old0 to old3 and new0 to new3, of two speeds.
    platform = grouped(data / "routers.xml", "some=old0,others=new*,some=old[23],others=*")
    assert names(platform) == {
        "some": ["old0", "old2", "old3"],
        "others.1": ["old1"],
        "others.2": ["new0", "new1", "new2", "new3"],
    }
    assert platform.cluster_of("old1").name == "others.1"


def test_probe_and_mappings_go_by_the_given_clusters(data):
    platform = grouped(data / "routers.xml", "a=old[01],b=old*,c=new*")
    assert probe_placement(platform) == ("old0", "old2", "new0")
    assert block(platform, 3) == ("old0", "old2", "new0")


def test_hosts_are_left_out_only_where_that_is_said(data):
    platform = grouped(data / "routers.xml", "new=new*,-=*")
    assert names(platform) == {"new": ["new0", "new1", "new2", "new3"]}
    assert "old0" not in platform
    with pytest.raises(PlatformError, match=r"4 of 8 hosts match no pattern: old0, old1, old2, \.\.\..*-=\*"):
        grouped(data / "routers.xml", "new=new*")


def test_other_clusters_are_another_platform_and_equal_ones_the_same(data):
    path = data / "routers.xml"
    texts = ("a=old*,b=new*", "a=old?,b=new?", "a=new*,b=old*", "x=old*,b=new*")
    hashes = [grouped(path, text).content_hash for text in texts]
    assert hashes[0] == hashes[1]
    assert len({read_platform(path).content_hash, *hashes}) == 4


@pytest.mark.parametrize("text", ["", "left", "left=", "=node*", "left=a,,right=b"])
def test_what_is_not_of_the_form_is_refused_with_an_example(text):
    with pytest.raises(UserError, match=r"is not of the form NAME=PATTERN.*left=node-\[0-9\]\*"):
        parse_clusters(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=old*,b=lab*,-=*", "no host is left for b=lab"),
        ("a=*,b=new*", r"no host is left for b=new\*.*the first match wins"),
        ("-=*", "every host is left out"),
    ],
)
def test_clusters_without_hosts_are_refused(data, text, said):
    with pytest.raises(PlatformError, match=said):
        grouped(data / "routers.xml", text)


def test_no_two_clusters_have_one_name(data):
    # "x" is split, and its first part would get the name of another cluster.
    platform = grouped(data / "routers.xml", "x.1=old0,x=*")
    assert names(platform) == {
        "x.1": ["old0"],
        "x.2": ["old1", "old2", "old3"],
        "x.3": ["new0", "new1", "new2", "new3"],
    }
