"""Changes of a platform during a run, and hosts that no run can use."""

import pytest

from platforms.errors import PlatformError
from platforms.model.platform import Change
from platforms.options import check_all_usable, check_usable
from platforms.read.read import check_connected, read_platform


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("two_hosts", ()),
        ("halved", (Change("speed", "host", "tired", 5.0),)),  # an event at 0 s that changes nothing does not count
        ("profiled", (Change("speed", "host", "busy", 10.0),)),
        ("failing", (Change("state", "host", "f3", 0.0), Change("state", "host", "f2", 1.0))),
    ],
)
def test_profiles_are_known_by_what_they_do_first(data, name, changes):
    assert read_platform(data / f"{name}.xml").changes == changes


def test_profiles_of_links_and_of_repeating_loads_are_known(tmp_path):
    profiles = {"load": "0.0 0.25\n0.5 0.75\nLOOPAFTER 1\n", "rate": "3.0 1000000\n", "delay": "2.0 0.5\n"}
    for name, text in profiles.items():
        (tmp_path / f"{name}.profile").write_text(text)
    (tmp_path / "line.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">\n'
        '<zone id="w" routing="Full"><host id="a" speed="1Gf" speed_file="load.profile"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1Gbps" latency="1us" bandwidth_file="rate.profile" latency_file="delay.profile"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>\n'
    )
    found = {(one.kind, one.name): one for one in read_platform(tmp_path / "line.xml").changes}
    assert found["speed", "a"].share == 0.25
    assert found["bandwidth", "l"].from_s == 3.0
    assert found["latency", "l"].from_s >= 2.0  # SimGrid has no signal for it: noticed after it has happened
    assert str(found["speed", "a"]) == "host 'a' has 25 % of its speed at the start"


def test_a_run_notices_its_own_hosts_and_any_link(data):
    platform = read_platform(data / "failing.xml")
    assert platform.changes_for(["f0", "f1"]) == ()
    assert [change.name for change in platform.changes_for(["f0", "f2"])] == ["f2"]


def test_a_host_that_is_off_at_the_start_is_refused_and_others_are_not(data):
    platform = read_platform(data / "failing.xml")
    check_usable(platform, ("f0", "f1", "f2"))
    with pytest.raises(PlatformError, match="host 'f3' is switched off when a run begins"):
        check_usable(platform, ("f0", "f3"))


@pytest.mark.parametrize(
    "name", ["crossbar", "backbone", "routers", "torus", "fat_tree", "dragonfly", "vivaldi", "nested"]
)
def test_all_hosts_of_a_sound_platform_are_connected(data, name):
    platform = read_platform(data / f"{name}.xml")
    check_connected(platform, [host.name for host in platform.hosts])


@pytest.mark.parametrize(
    ("name", "hosts", "said"),
    [
        (
            "no_route",
            ["alice", "bob"],
            "route alice to bob: SimGrid says: .*no connecting path.*--clusters",
        ),
        ("wireless", ["guest1", "guest2"], "does not seem attached to that WIFI link"),
    ],
)
def test_hosts_without_a_way_are_refused_in_simgrids_words(data, name, hosts, said):
    with pytest.raises(PlatformError, match=said) as error:
        check_connected(read_platform(data / f"{name}.xml"), hosts)
    assert "\n" not in str(error.value)


def test_placements_that_share_hosts_are_checked_once(data, monkeypatch):
    platform = read_platform(data / "crossbar.xml")
    names = [host.name for host in platform.hosts]
    asked = []
    monkeypatch.setattr("platforms.read.read.check_connected", lambda platform, hosts: asked.append(tuple(hosts)))
    check_all_usable(platform, [tuple(names[:size]) for size in range(1, len(names) + 1)])
    assert asked == [tuple(names)]
    asked.clear()
    check_all_usable(platform, [(names[0], names[1]), (names[1], names[0]), (names[1], names[2])])
    assert sorted(map(sorted, asked)) == [sorted(names[:2]), sorted(names[1:3])]


def test_the_first_placement_without_a_way_is_told_although_others_are_larger(data):
    platform = read_platform(data / "no_route.xml")
    alone = [("alice",), ("alice", "bob"), ("bob",)]
    with pytest.raises(PlatformError, match="route alice to bob"):
        check_all_usable(platform, alone)
    check_all_usable(platform, [("alice",), ("bob",)])


def test_a_way_to_itself_is_not_asked_for(data):
    check_connected(read_platform(data / "torus.xml"), ["d0"])  # a host of a torus has no route to itself


def test_files_that_a_config_asks_for_are_not_written_into_the_current_folder(tmp_path, monkeypatch, data):
    text = (data / "two_hosts.xml").read_text()
    config = '<config><prop id="tracing" value="yes"/><prop id="tracing/filename" value="left.trace"/></config>'
    (tmp_path / "traced.xml").write_text(text.replace('<zone id="world"', config + '<zone id="world"'))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert len(read_platform(tmp_path / "traced.xml").hosts) == 2
    assert not any(here.iterdir())


def profiled(folder, name):
    path = folder / "profiled.xml"
    path.write_text(
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
        f'<platform version="4.1"><zone id="w" routing="Full"><host id="a" speed="1Gf" speed_file="{name}"/></zone>'
        "</platform>"
    )
    return path


@pytest.mark.parametrize("name", ["plain.txt", "a&amp;b.txt", "a&#38;b.txt", "a&#x26;b.txt", "&quot;quoted&quot;.txt"])
def test_the_content_of_a_profile_belongs_to_the_platform_whatever_its_name(tmp_path, name):
    profile = tmp_path / name.replace("&amp;", "&").replace("&#38;", "&").replace("&#x26;", "&").replace("&quot;", '"')
    hashes = []
    for share in (0.5, 0.25):
        profile.write_text(f"0 {share}\n")
        hashes.append(read_platform(profiled(tmp_path, name)).content_hash)
    assert hashes[0] != hashes[1]


def test_a_profile_that_simgrid_would_take_from_the_current_folder_is_refused(tmp_path, monkeypatch):
    (tmp_path / "load.txt").write_text("0 0.5\n")
    path = profiled(tmp_path, "load.txt")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    read_platform(path)
    (tmp_path / "here" / "load.txt").write_text("0 0.001\n")
    with pytest.raises(PlatformError, match="that of the current folder instead"):
        read_platform(path)
    monkeypatch.chdir(tmp_path)
    read_platform(path)


def with_disk(folder, prop):
    path = folder / "disks.xml"
    path.write_text(
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
        '<platform version="4.1"><zone id="w" routing="Full"><host id="a" speed="1Gf">\n'
        f'<disk id="d" read_bw="100MBps" write_bw="40MBps"><prop id="mount" value="/"/>{prop}</disk></host></zone>'
        "</platform>"
    )
    return path


def test_a_disk_whose_list_of_files_is_missing_is_refused_in_one_line(tmp_path):
    with pytest.raises(PlatformError, match=r"disks.xml:2: <disk>: its property content names 'lists/all.txt'"):
        read_platform(with_disk(tmp_path, '<prop id="content" value="lists/all.txt"/>'))


@pytest.mark.parametrize("prop", ['id="content" value="lists/all.txt"', 'value="lists/all.txt" id="content"'])
def test_the_list_of_a_disk_belongs_to_the_platform_and_its_copy(tmp_path, prop):
    (tmp_path / "lists").mkdir()
    hashes = []
    for text in ("/a 1000\n", "/b 2000\n"):
        (tmp_path / "lists" / "all.txt").write_text(text)
        platform = read_platform(with_disk(tmp_path, f"<prop {prop}/>"))
        hashes.append(platform.content_hash)
        (copied,) = platform.kept.parent.glob("profile-*")
        assert copied.read_text() == text and copied.name in platform.kept.read_text()
    assert hashes[0] != hashes[1]
