"""Times of single blocks, compared with times calculated by hand."""

from functools import cache

import pytest

from apps.errors import OptionError, SimulationError
from apps.probes.blocks.measure import BlockPlan, Disk, Experiment, disks_of, measure_blocks, mpi_plan
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.errors import PlatformError
from platforms.grids.grid import Grid, GridCluster, Wire
from platforms.model.platform import Power
from platforms.read.read import materialise, read_platform
from predictor.base import EvidenceRequest
from predictor.evidence.broker import Broker

LATENCY_S = 100e-6  # two node links of 50 us, a backbone without latency
BANDWIDTH_BPS = 1e8
ENVELOPE_BYTES = 16  # SMPI adds to each message
SPEED_FLOPS = 1e9
# No factors, no window, no acknowledgements: latency + size / bandwidth.
PLAIN = (
    ("network/TCP-gamma", "0"),
    ("network/crosstraffic", "no"),
    ("smpi/bw-factor", "0:1"),
    ("smpi/lat-factor", "0:1"),
)


@cache
def crossbar():
    """Nine hosts of two cores on a non-blocking switch."""
    cluster = GridCluster("c1", 9, SPEED_FLOPS, Wire(BANDWIDTH_BPS, 50e-6), Wire(1e12, 0.0), cores=2)
    return materialise(Grid("crossbar", "made up", (cluster,), "mesh", (), PLAIN))


def hosts(count):
    return tuple(host.name for host in crossbar().hosts[:count])


def times_s(*experiments, platform=None):
    measured = measure_blocks(BlockPlan(platform or crossbar(), experiments))
    return [time_s for (time_s,) in measured.times_s]


def transfer_s(size_bytes):
    return (size_bytes + ENVELOPE_BYTES) / BANDWIDTH_BPS


def test_a_message_takes_latency_and_size_over_bandwidth():
    sizes = (1, 1000, 1_000_000)
    found = times_s(*(Experiment("p2p", hosts(2), size) for size in sizes))
    assert found == pytest.approx([LATENCY_S + transfer_s(size) for size in sizes], rel=1e-9)


def test_a_sender_is_held_from_64_kib_on():
    # SimGrid's option smpi/send-is-detached-thresh is 65536.
    free, held = times_s(Experiment("send", hosts(2), 65535), Experiment("send", hosts(2), 65536))
    assert free == 0
    assert held == pytest.approx(LATENCY_S + transfer_s(65536), rel=1e-9)


def test_a_binomial_broadcast_to_eight_takes_three_steps():
    # With held senders: 0 to 4; 0 to 2, 4 to 6; 0 to 1 and so on.  Otherwise: 0 to 4, 2, 1 at once, then 4 to 6, 5;
    # 6 to 7.
    large, small = times_s(Experiment("bcast", hosts(8), 1_000_000), Experiment("bcast", hosts(8), 10_000))
    assert large == pytest.approx(3 * (LATENCY_S + transfer_s(1_000_000)), rel=1e-9)
    assert small == pytest.approx(3 * LATENCY_S + (3 + 2 + 1) * transfer_s(10_000), rel=1e-9)


@pytest.mark.parametrize("block", ["scatter", "gather"])
def test_the_root_of_a_scatter_or_gather_shares_its_link(block):
    (found,) = times_s(Experiment(block, hosts(9), 50_000))
    assert found == pytest.approx(LATENCY_S + 8 * transfer_s(50_000), rel=1e-9)


def test_everybody_sends_to_everybody_at_once():
    (found,) = times_s(Experiment("alltoall", hosts(5), 100_000))
    assert found == pytest.approx(LATENCY_S + 4 * transfer_s(100_000), rel=1e-9)


def test_a_barrier_is_two_rounds_of_empty_messages():
    (found,) = times_s(Experiment("barrier", hosts(9)))
    assert found == pytest.approx(2 * (LATENCY_S + 8 * transfer_s(0)), rel=1e-9)


def test_threads_beyond_the_cores_share_them():
    flop = 1e7
    found = times_s(*(Experiment("compute", hosts(1) * threads, flop) for threads in (1, 2, 3, 4)))
    assert found == pytest.approx([share * flop / SPEED_FLOPS for share in (1, 1, 1.5, 2)], rel=1e-9)


def test_the_watts_of_a_node_are_its_energy_over_the_time():
    # By hand, Idle 10 W, Epsilon 14 W, AllCores 30 W: 14 + 16 / 2 with one of two cores busy, 30 from two threads on.
    power = Power(10.0, 30.0, epsilon_w=14.0)
    node = GridCluster("c1", 2, SPEED_FLOPS, Wire(BANDWIDTH_BPS, 50e-6), Wire(1e12, 0.0), cores=2, power=power)
    platform = materialise(Grid("watts", "made up", (node,), "mesh", (), PLAIN))
    host, other = (one.name for one in platform.hosts)
    experiments = [Experiment("compute", (host,) * threads, 1e7) for threads in (1, 2, 3)]
    experiments += [Experiment("idle", (host,), 0.25), Experiment("barrier", (host, other))]
    found = measure_blocks(BlockPlan(platform, tuple(experiments)))
    assert [time_s for (time_s,) in found.times_s[:4]] == pytest.approx([0.01, 0.01, 0.015, 0.25], rel=1e-9)
    assert found.energies_j[:4] == pytest.approx([0.01 * 22, 0.01 * 30, 0.015 * 30, 0.25 * 10], rel=1e-9)
    assert found.energies_j[4] is None


def test_energies_come_back_from_the_store(tmp_path):
    plan = BlockPlan(crossbar(), (Experiment("idle", hosts(1), 0.5), Experiment("barrier", hosts(2))))
    found = []
    for _ in range(2):
        with Store(tmp_path) as store, Runner(jobs=1, store=store) as runner:
            found.append(runner.measure(plan))
    assert found[0] == found[1]
    assert found[1].energies_j == (pytest.approx(0.5 * crossbar().hosts[0].power.idle_w, rel=1e-9), None)


def test_experiments_do_not_disturb_each_other():
    alone = times_s(Experiment("gather", hosts(4), 1000))
    after = times_s(Experiment("alltoall", hosts(9), 100_000), Experiment("gather", hosts(4), 1000))
    assert after[1:] == pytest.approx(alone, rel=1e-12)


def test_what_is_measured_costs_the_nodes_in_use():
    plan = BlockPlan(crossbar(), (Experiment("bcast", hosts(8), 1000), Experiment("p2p", hosts(2), 1000)))
    found = measure_blocks(plan)
    (bcast_s,), (p2p_s,) = found.times_s
    assert found.node_s == pytest.approx(8 * bcast_s + 2 * 2 * p2p_s)  # a message and its answer


@pytest.mark.parametrize("size", [1, 1000, 65535, 65536, 1_000_000])
def test_the_time_of_a_send_costs_the_whole_round_trip(size):
    # The sender of a small message is free at once, but its partner waits for the message.
    plans = (BlockPlan(crossbar(), (Experiment(block, hosts(2), size),)) for block in ("send", "p2p"))
    send, p2p = map(measure_blocks, plans)
    assert send.node_s == pytest.approx(p2p.node_s, rel=1e-12)
    assert send.node_s == pytest.approx(2 * 2 * p2p.times_s[0][0], rel=1e-12)  # two nodes, there and back


def test_ranks_are_as_few_as_the_largest_groups_need():
    found, lines = mpi_plan(
        [Experiment("compute", ("a", "a"), 5.0), Experiment("p2p", ("b", "a"), 8), Experiment("barrier", ("a", "b"))]
    )
    assert found == ["a", "a", "b"]
    assert lines == ["groups 3 experiments 3", "2 0 1", "2 2 0", "2 0 2", "compute 0 5", "p2p 1 8", "barrier 2 0"]


def test_hosts_and_options_are_checked():
    with pytest.raises(PlatformError, match="no host 'x'"):
        measure_blocks(BlockPlan(crossbar(), (Experiment("barrier", (*hosts(1), "x")),)))
    options = (("network/model", "CM02"),)
    with pytest.raises(OptionError, match="set by the engine"):
        measure_blocks(BlockPlan(crossbar(), (Experiment("barrier", hosts(2)),), options))


def test_a_broker_charges_for_blocks():
    target = Target(problem("ep", "S"), crossbar(), hosts(2))
    plan = BlockPlan(crossbar(), (Experiment("p2p", hosts(2), 1000),))
    broker = Broker(Settings(), [target], record=lambda spec: pytest.fail("nothing is to be run"))
    (evidence,) = broker.gather([EvidenceRequest("blocks", target, plan=plan)])
    assert evidence.answer.times_s[0][0] == pytest.approx(LATENCY_S + transfer_s(1000), rel=1e-9)
    assert evidence.cost.node_s == pytest.approx(4 * evidence.answer.times_s[0][0])


READ_BPS, WRITE_BPS = 2e8, 1e8


@cache
def with_disk(folder, properties=""):
    """A server with a disk; ``properties`` is the XML of the disk's properties."""
    path = folder / "disk.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        "<config>" + "".join(f'<prop id="{key}" value="{value}"/>' for key, value in PLAIN) + "</config>\n"
        '<zone id="z" routing="Full"><host id="user" speed="1Gf"/><host id="server" speed="1Gf">'
        f'<disk id="array" read_bw="200MBps" write_bw="100MBps">{properties}</disk></host>\n'
        '<link id="l" bandwidth="100MBps" latency="100us"/>'
        '<route src="user" dst="server"><link_ctn id="l"/></route></zone></platform>\n'
    )
    return read_platform(path)


def test_a_network_disk_is_a_request_the_disk_and_the_network(tmp_path_factory):
    platform = with_disk(tmp_path_factory.getbasetemp())
    (disk,) = disks_of(platform)
    assert disk == Disk("server", "array", READ_BPS, WRITE_BPS)
    size = 1_000_000
    read_s, write_s, own_s = times_s(
        Experiment("disk_read", ("user",), size, disk),
        Experiment("disk_write", ("user",), size, disk),
        Experiment("disk_read", ("server",), size, disk),
        platform=platform,
    )
    network_s = 2 * LATENCY_S + (size + 1) / BANDWIDTH_BPS  # includes a request of one byte; S4U adds no envelope
    assert read_s == pytest.approx(network_s + size / READ_BPS, rel=1e-9)
    assert write_s == pytest.approx(network_s + size / WRITE_BPS, rel=1e-9)
    assert own_s == pytest.approx(size / READ_BPS, rel=1e-9)


def test_a_disk_is_waited_for_before_its_first_byte(tmp_path):
    waits = '<prop id="read_latency_s" value="0.0127"/><prop id="write_latency_s" value="0.003"/>'
    platform = with_disk(tmp_path, waits)
    (disk,) = disks_of(platform)
    blocks = [(name, host) for name in ("disk_read", "disk_write") for host in ("user", "server")]
    found = times_s(*(Experiment(name, (host,), 1000, disk) for name, host in blocks), platform=platform)
    network_s = 2 * LATENCY_S + 1001 / BANDWIDTH_BPS
    read_s, write_s = 0.0127 + 1000 / READ_BPS, 0.003 + 1000 / WRITE_BPS
    assert found == pytest.approx([network_s + read_s, read_s, network_s + write_s, write_s], rel=1e-9)


def test_a_disk_whose_latency_is_no_time_is_refused(tmp_path):
    platform = with_disk(tmp_path, '<prop id="read_latency_s" value="soon"/>')
    (disk,) = disks_of(platform)
    with pytest.raises(SimulationError, match="read_latency_s, soon, is no time in seconds"):
        times_s(Experiment("disk_read", ("user",), 1000, disk), platform=platform)


def test_a_platform_without_disks_has_none():
    assert disks_of(crossbar()) == ()


@pytest.mark.parametrize(("block", "disk"), [("disk_read", None), ("compute", Disk("h", "d", 1e8, 1e8))])
def test_disk_blocks_alone_have_a_disk(block, disk):
    with pytest.raises(ValueError, match=f"{block} with"):
        Experiment(block, ("h",), 1.0, disk)
