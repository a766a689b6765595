"""System files: errors in them, and the commands that accept them."""

import json
from pathlib import Path

import pytest

from platforms.errors import PlatformError, UserError
from platforms.grids.scenario import is_system_file
from platforms.make import main as generate
from platforms.system.cli import main
from platforms.system.convert import materialise_file, system_named
from platforms.system.description import read_system
from validation.campaign import read_campaign

EXAMPLE = Path(__file__).parents[3] / "examples" / "systems" / "merpsys.toml"

LAB = """
precision = "double"
[wan]
network = "wan-campus"
[[wan.links]]
to = "new"
latency_us = 50
[[wan.lan]]
name = "new"
network = "infiniband-qdr"
[[wan.lan.node]]
name = "n"
count = 2
cpu = "xeon-l5640"
sockets = 2
slots = { slave = 12 }
power = { idle_w = 78, full_w = 151 }
[[wan.lan]]
bandwidth_gbit_s = 1
latency_us = 40
[[wan.lan.node]]
bus = "pcie2-x16"
[[wan.lan.node.unit]]
cpu = "xeon-e5345"
[[wan.lan.node.unit]]
gpu = "tesla-k20"
count = 2
"""


def test_a_system_file_has_defaults(lab_file):
    system = read_system(lab_file(LAB))
    assert (system.name, system.network) == ("lab", "infiniband-qdr+own")
    assert [group.name for group in system.groups] == ["n", "c1.cpu", "c1.gpu1", "c1.gpu2"]
    assert [group.unit.slots for group in system.groups] == [(("slave", 12),), (("*", 4),), (("*", 1),), (("*", 1),)]
    assert system.groups[0].unit.power.full_w == 151
    assert system.groups[1].lan.name == "lan1"
    # Half of the latency on each link of a star: 50 us on the link to "new", 100 us on the others.
    assert [link.wire.latency_s for link in system.top.links] == [pytest.approx(25e-6), pytest.approx(50e-6)]
    assert all(link.duplex for link in system.top.links)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('network = "wan-campus"', 'netwrk = "x"', "lab.toml:4, wan: unknown key 'netwrk'. Did you mean network?"),
        (
            'network = "wan-campus"',
            'network = "wan-campsu"',
            "no network 'wan-campsu' in the hardware database. Near: wan-c",
        ),
        (
            'network = "wan-campus"',
            "",
            "lab.toml:3, wan: bandwidth and latency of its links are missing. Give network, or",
        ),
        ('network = "wan-campus"', 'network = "wan-campus"\nshape = "ring"', "no shape 'ring'"),
        ('to = "new"', 'to = "newer"', "links 1: no level 'newer'. Known: new, lan1"),
        ('to = "new"', 'between = ["new", "lan1"]', "'between' does not go with a star"),
        ("latency_us = 50", "latency_us = -50", "link wan_n_hub: latency is"),
        ("[[wan.lan]]\nname", '[[wan.links]]\nto = "new"\n[[wan.lan]]\nname', "this link is given twice"),
        ('cpu = "xeon-l5640"', 'cpu = "xeon-l5641"', "lan 1, node 1: no cpu 'xeon-l5641'"),
        ('cpu = "xeon-l5640"', "", "neither a cpu nor a gpu"),
        ('cpu = "xeon-l5640"', 'cpu = "xeon-l5640"\ngpu = "a100"', "both a cpu and a gpu"),
        ("count = 2\ncpu", "count = 0\ncpu", "node 'n': 0 nodes"),
        ("sockets = 2", "sockets = 0", "0 sockets"),
        ("sockets = 2", "socket = 2", "node 1: unknown key 'socket'"),
        ("slave = 12", "slave = 0", "0 slots for 'slave'"),
        ("slave = 12", 'slave = "all"', "Give numbers by label"),
        ("full_w = 151", "full_w = 15", "78.0 W idle and 15.0 W at full load"),
        ("sockets = 2", "sockets = 2\noperation_ns = { core = 0.1, beyond = 0, beyond_each = 1 }", "0.1101"),
        (
            "sockets = 2",
            "sockets = 2\noperation_ns = { core = 1, thread = 0.9, beyond = 0, beyond_each = 1 }",
            "0.9 ns",
        ),
        ("sockets = 2", "sockets = 2\noperation_ns = { core = 1, beyond = 0, beyond_each = 0 }", "a time above 0"),
        ("full_w = 151", "full_w = 151, threads_w = 109, thread_w = 1.9, most_w = 150", "a most_w of at least full_w"),
        ('bus = "pcie2-x16"', "", "several units without a bus between them"),
        ('bus = "pcie2-x16"', 'bus = "pcie9"', "bus: no network 'pcie9'"),
        ('bus = "pcie2-x16"', 'bus = "pcie2-x16"\nslots = { a = 1 }', "'slots' beside units"),
        ('gpu = "tesla-k20"\ncount = 2', 'gpu = "tesla-k20"\ncount = 0', "unit 2: 0 units"),
        ('gpu = "tesla-k20"\ncount = 2', 'gpu = "tesla-k20"\nname = "cpu"', "two units have the same name"),
        ('name = "n"', 'name = "c1-0"', "'c1-0' may be the name of two things"),
        ('name = "n"', 'name = "galera+"', "not a name that SimGrid can use"),
        ('name = "n"', 'name = "n"\ndisks = ["ssd-sata", "ssd-sata"]', "two disks have the same name"),
        ('precision = "double"', 'precision = "half"', "no 'half'. Known: double, single"),
        ('precision = "double"', "[lan]", "no top level. Give either [wan] or [lan]"),
        ('precision = "double"', 'hardware = ["none.toml"]', "none.toml: cannot be read"),
        ("bandwidth_gbit_s = 1\nlatency_us = 40", 'network = "gigabit-ethernet"', "need different SimGrid options"),
    ],
)
def test_a_system_file_with_a_fault_is_refused_naming_it(lab_file, old, new, said):
    assert old in LAB
    with pytest.raises(PlatformError) as error:
        read_system(lab_file(LAB.replace(old, new, 1)))
    assert said in str(error.value)
    assert ".toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_options_said_in_the_file_hold_for_networks_that_need_different_ones(lab_file):
    text = LAB.replace("bandwidth_gbit_s = 1\nlatency_us = 40", 'network = "gigabit-ethernet"')
    system = read_system(lab_file(text + '[options]\n"smpi/lat-factor" = "0:1"\n'))
    assert system.options == (("smpi/lat-factor", "0:1"),)


def test_a_wan_of_one_level_is_that_level(lab_file):
    lan = 'network = "infiniband-qdr"\n[[{0}.node]]\ncpu = "epyc-7742"\n[[{0}.node]]\ncpu = "epyc-9654"\n'
    lone = read_system(lab_file("[lan]\n" + lan.format("lan")))
    inside = read_system(lab_file('[wan]\n[[wan.wan]]\n[[wan.wan.lan]]\nname = "lan"\n' + lan.format("wan.wan.lan")))
    assert inside.top == lone.top
    with pytest.raises(PlatformError, match="a WAN must contain at least two levels"):
        read_system(lab_file('[wan]\nnetwork = "wan-campus"\nlan = []\n'))


def test_two_levels_of_one_name_are_refused(lab_file):
    with pytest.raises(PlatformError, match="wan: two levels have the same name"):
        read_system(lab_file(LAB.replace("bandwidth_gbit_s = 1\n", 'name = "new"\nbandwidth_gbit_s = 1\n')))


def test_a_mesh_below_another_level_is_refused(lab_file):
    lan = '[[wan.wan.lan]]\nnetwork = "infiniband-qdr"\n[[wan.wan.lan.node]]\ncpu = "epyc-7742"\n'
    text = '[wan]\nnetwork = "wan-campus"\n[[wan.wan]]\nnetwork = "wan-campus"\nshape = "mesh"\n' + lan * 2
    text += lan.replace("wan.wan", "wan")
    with pytest.raises(PlatformError, match="a mesh below another level"):
        read_system(lab_file(text))


def test_hardware_of_ones_own_is_read_beside_the_file_or_given(lab_file):
    lab_file(
        '[cpus.toy]\ncores = 2\nclock_ghz = 1.5\ndouble_per_cycle = 2\nsingle_per_cycle = 4\nidle_w = 3\nfull_w = 9\n'
        'source = "made up"\n',
        "own.toml",
    )  # fmt: skip
    text = '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\ncpu = "toy"\n'
    named = read_system(lab_file('hardware = ["own.toml"]\n' + text, "named.toml"))
    given = system_named(str(lab_file(text, "given.toml")), hardware=[lab_file(text).with_name("own.toml")])
    assert named.groups[0].unit == given.groups[0].unit
    assert named.groups[0].unit.unit_flops == 6e9


def test_system_files_are_told_from_scenario_files(lab_file):
    assert is_system_file(EXAMPLE)
    assert is_system_file(lab_file(LAB))
    assert not is_system_file(lab_file('[[clusters]]\nnodes = 2\nspeed_gflops = 4\n[wan]\nshape = "star"\n'))
    assert not is_system_file(lab_file('network = "metro"\n'))


def test_a_system_file_is_taken_where_a_scenario_file_is(lab_file, capsys):
    path = lab_file(LAB)
    assert generate(["--scenario", str(path)]) == 0
    assert '<host id="c1-0-gpu2" speed="1174.784Gf" core="1">' in capsys.readouterr().out
    assert [cluster.name for cluster in materialise_file(path).clusters] == ["n", "c1.cpu", "c1.gpu1", "c1.gpu2"]
    campaign = lab_file(f'scenarios = ["{path.name}"]\napps = ["ep"]\nclasses = ["S"]\n', "campaign.toml")
    (case,) = read_campaign(campaign).cases
    assert case.target.platform.content_hash == materialise_file(path).content_hash


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--speeds", "4"], "--speeds: does not go with a scenario file"),
        (["--network", "metro"], "--network: does not go with a system file"),
        (["--frequency", "max"], "not a grid of clusters"),
        (["--hardware", "none.toml"], "none.toml: cannot be read"),
    ],
)
def test_options_that_do_not_go_with_a_system_file_are_refused(lab_file, capsys, more, said):
    assert generate(["--scenario", str(lab_file(LAB)), *more]) == 2
    assert said in capsys.readouterr().err


def test_hardware_does_not_go_with_a_scenario(capsys):
    assert generate(["--scenario", "grid4x2", "--hardware", "own.toml"]) == 2
    assert "--hardware: goes with a system file only" in capsys.readouterr().err


def test_the_command_shows_a_system_and_places_processes(tmp_path, capsys):
    hosts = tmp_path / "hosts"
    asked = [str(EXAMPLE), "--count", "master=1", "--count", "slave1=5", "--write-hostfile", str(hosts)]
    assert main(asked) == 0
    shown = " ".join(capsys.readouterr().out.split())
    # By hand: 4 x 3.6 x 8 + 3200 x 4 x 3.4 x 8 Gflop/s; 26 + 3200 x 19 W; 130 + 3200 x 95 W.
    assert "merpsys: 3,201 nodes, network gigabit-ethernet, 348,275 Gflop/s, 60,826 W idle, 304,130 W at full" in shown
    assert hosts.read_text().split() == ["master-0", *["slave-0"] * 4, "slave-1"]
    assert main([*asked, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["groups"][1]["units"] == 3200
    assert printed["placed"]["slave1"] == [
        {"group": "slave", "first_unit": 0, "units": 1, "per_unit": 4},
        {"group": "slave", "first_unit": 1, "units": 1, "per_unit": 1},
    ]
    assert main(["galera+"]) == 0
    assert "192" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["galera+", "--count", "x"], "--count x: not a label and a number"),
        (["galera+", "--count", "x=1", "--count", "x=2"], "given twice"),
        (["galera+", "--policy", "fastest"], "--policy: there is nothing to place"),
        (["galera+", "--count", "x=2305"], "2305 processes, but 2304 free slots"),
        (["galera+", "--hardware", "own.toml"], "does not go with a scenario"),
        (["galore"], "no such scenario"),
        (["none.toml"], "none.toml: cannot be read"),
    ],
)
def test_the_command_refuses_in_one_line(args, said, capsys):
    assert main(args) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


TWO_GROUPS = """
[lan]
name = "{lan}"
network = "gigabit-ethernet"
[[lan.node]]
name = "{group}"
cpu = "xeon-l5640"
[[lan.node]]
name = "b"
bus = "pcie3-x16"
[[lan.node.unit]]
cpu = "xeon-l5640"
[[lan.node.unit]]
gpu = "tesla-k20"
"""


@pytest.mark.parametrize(
    ("lan", "group", "name"),
    [
        ("lan", "lan", "lan"),
        ("x", "x_hub", "x_hub"),
        ("x", "x_hub_router", "x_hub_router"),
        ("x", "x_switch_in", "x_switch_in"),
        ("x", "x_fabric", "x_fabric"),
        ("x", "b-0_node", "b-0_node"),
        ("b-0_node_router", "a", "b-0_node_router"),
    ],
)
def test_names_that_the_platform_file_needs_itself_are_refused(lab_file, lan, group, name):
    with pytest.raises(PlatformError, match=f"'{name}' (is used twice|may be the name of two things)"):
        read_system(lab_file(TWO_GROUPS.format(lan=lan, group=group)))


def test_a_lone_group_may_be_called_as_its_lan(lab_file):
    text = '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "lan"\ncpu = "xeon-l5640"\n'
    assert materialise_file(lab_file(text)).hosts[0].name == "lan-0"


def test_default_names_skip_no_number(lab_file):
    lan = '[[wan.lan]]\n{}network = "gigabit-ethernet"\n[[wan.lan.node]]\ncpu = "xeon-l5640"\n'
    text = '[wan]\nnetwork = "wan-metro"\n' + "".join(lan.format(name) for name in ("", 'name = "x"\n', "", ""))
    lans = list(read_system(lab_file(text)).top.lans())
    assert [one.name for one in lans] == ["lan1", "x", "lan2", "lan3"]
    assert [one.nodes[0].name for one in lans] == ["c1", "c2", "c3", "c4"]


def test_more_nodes_of_several_units_than_simgrid_can_load_are_refused_at_once(lab_file):
    text = TWO_GROUPS.format(lan="lan", group="a").replace('name = "b"', 'name = "b"\ncount = 12800')
    path = lab_file(text)
    assert read_system(path).nodes == 12801  # predictions without SimGrid remain possible
    with pytest.raises(PlatformError, match=r"12800 nodes of several units.*Give at most 3000"):
        materialise_file(path)


def test_a_campaign_of_choices_takes_a_system_file(lab_file):
    from validation.nodes.campaign_file import read_allocation_campaign

    node = '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncount = 4\ncpu = "xeon-e5345"\n'
    folder = lab_file(node, "cluster.toml").parent
    study = '[[studies]]\napp = "himeno"\nevaluation = [64]\nnodes = [4]\nprocesses = [1]\nstatic = ["(4,1)"]\n'
    campaign = folder / "campaign.toml"
    campaign.write_text('scenario = "cluster.toml"\n' + study)
    platform = read_allocation_campaign(campaign).studies[0].study.platform
    assert [(cluster.name, len(cluster.hosts)) for cluster in platform.clusters] == [("n", 4)]
    campaign.write_text('scenario = "cluster.toml"\nnetwork = "gigabit"\n' + study)
    with pytest.raises(UserError, match="does not go with a system file"):
        read_allocation_campaign(campaign)


def test_the_command_shows_the_price_and_the_watts_of_all_processors(capsys):
    assert main([str(EXAMPLE), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["price_usd"] == 294 + 3200 * 330
    assert (shown["idle_w"], shown["full_w"]) == (26 + 3200 * 19, 130 + 3200 * 95)
    assert main(["galera+"]) == 0
    assert "USD\n" not in capsys.readouterr().out.partition("\n")[0]  # the price of a scenario is unknown


def test_a_number_of_processes_has_a_bound(capsys):
    for number in ("9" * 5000, "9" * 19, "\u0664"):
        assert main([str(EXAMPLE), "--count", f"slave1={number}"]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("unit", "said"),
    [('gpu = "tesla-k40"\nsockets = 2', "a gpu with sockets. Write count = 2"), ("price = 3", "price")],
)
def test_units_that_cannot_be_are_refused(tmp_path, unit, said):
    path = tmp_path / "own.toml"
    path.write_text(f'[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\n{unit}\n')
    with pytest.raises(UserError, match=said):
        system_named(str(path))


def test_a_platform_file_of_simgrid_is_no_system():
    with pytest.raises(UserError, match=r"tree\.xml: a platform file of SimGrid has no slots for processes"):
        system_named("tree.xml")


def test_a_lone_gpu_is_behind_its_node_s_bus(tmp_path):
    path = tmp_path / "own.toml"
    node = 'name = "n"\ncount = 2\nbus = "pcie3-x16"\ngpu = "tesla-k40"\n'
    path.write_text(f'[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\n{node}')
    (group,) = system_named(str(path)).groups
    assert group.unit.bus is not None and group.host(1) == "n-1-gpu"
