"""Simulated runs on systems, compared with times calculated by hand."""

import pytest

from apps.probes.network.measure import Exchange, NetworkPlan, measure
from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from platforms.system.convert import materialise_system
from platforms.system.description import read_system
from platforms.system.scheduler import schedule

LAN = '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncount = 4\n'
SINGLE = LAN + 'cpu = "xeon-e5345"\n'
WITH_GPUS = LAN + 'bus = "pcie3-x16"\n[[lan.node.unit]]\ncpu = "xeon-e5345"\n[[lan.node.unit]]\ngpu = "tesla-k40"\n'


def system_of(tmp_path, text):
    (tmp_path / "lab.toml").write_text(text)
    return read_system(tmp_path / "lab.toml")


# Proficz and Czarnul, Table 3: T_p2p in us, K_p2p in us/B.
@pytest.mark.parametrize(("name", "p2p_us", "us_per_byte"), [("galera+", 3.7, 0.00063), ("kask", 1.3, 0.00181)])
def test_messages_on_the_papers_clusters_take_the_published_times(name, p2p_us, us_per_byte):
    platform = materialise(named_grid(name))
    one, other = (host.name for host in platform.hosts[:2])
    sizes = (1, 16384, 1 << 20, 1 << 24)
    plan = NetworkPlan(platform, tuple((Exchange(one, other, size, size),) for size in sizes))
    for size, (round_trip_s,) in zip(sizes, measure(plan).times_s, strict=True):
        # SMPI moves 16 bytes more than the message has.
        assert round_trip_s / 2 == pytest.approx((p2p_us + us_per_byte * (size + 16)) * 1e-6, rel=5e-3)


def test_a_program_on_the_cpus_takes_the_same_time_whether_gpus_stand_beside_them_or_not(tmp_path):
    times = []
    for text in (SINGLE, WITH_GPUS):
        system = system_of(tmp_path, text)
        hosts = tuple(group.host(i) for group in system.groups[:1] for i in range(4))
        target = Target(problem("cg", "S"), materialise_system(system), hosts)
        times.append(simulate(RunSpec(target, efficiency=0.05, iterations=2)).time_s)
    assert times[0] == pytest.approx(times[1], rel=1e-12)


def test_a_gpu_computes_at_the_speed_of_all_its_cores(tmp_path):
    system = system_of(tmp_path, WITH_GPUS)
    platform = materialise_system(system)
    record = simulate(RunSpec(Target(problem("ep", "S"), platform, ("n-0-gpu",))))
    # By hand: 15 multiprocessors x 0.745 GHz x 128 flops per cycle.
    assert sum(record.compute_s) == pytest.approx(sum(record.rank_flops) / (15 * 0.745e9 * 128), rel=1e-9)


def test_a_schedule_is_a_placement_of_a_run(tmp_path):
    system = system_of(tmp_path, WITH_GPUS)
    placement = schedule(system, {"any": 6}).placement()
    assert placement == ("n-0-gpu", "n-1-gpu", "n-2-gpu", "n-3-gpu", "n-0-cpu", "n-0-cpu")
    record = simulate(RunSpec(Target(problem("ep", "S"), materialise_system(system), placement)))
    assert record.host == placement
