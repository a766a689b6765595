"""Disks that processes share, with times calculated by hand."""

import pytest

from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.programs import Compute, If, Label, ReadDisk
from predictor.blocks.setting import Setting

# Disk of 540e6 byte/s, 0.1 ms; links of 100 Mbyte/s, 0.1 ms from node to node.
SYSTEM = """
[lan]
bandwidth_gbit_s = 0.8
latency_us = 100
[[lan.node]]
name = "n"
count = 4
cpu = "xeon-e5-1620"
{disks}
[[lan.node]]
name = "store"
cpu = "xeon-e5-1620"
slots = {{}}
disks = ["ssd-sata"]
"""


@pytest.fixture
def times(tmp_path):
    """Return ``times(steps, count, own)``: the ends of the first and the last process, on four nodes of four cores."""

    def found(steps, count, *, own, model="hardware", evaluator=None):
        path = tmp_path / "system.toml"
        path.write_text(SYSTEM.format(disks='disks = ["ssd-sata"]' if own else ""))
        setting = Setting(Application("", (Label("p", count, steps),)), system_named(str(path)))
        result = evaluate(setting.application, setting.machine(model), evaluator=evaluator)
        return result.labels[0].first_s, result.labels[0].last_s

    return found


@pytest.mark.parametrize(("count", "sharing"), [(1, 1), (4, 4), (8, 4), (16, 4)])
def test_a_nodes_disk_is_shared_by_its_own_processes(times, count, sharing):
    assert times((ReadDisk(54e6),), count, own=True) == pytest.approx([1e-4 + 0.1 * sharing] * 2)


@pytest.mark.parametrize("count", [1, 3, 16])
def test_a_network_disk_and_its_link_are_shared_by_all(times, count):
    # The disk first, then the bytes over the server's link.
    time_s = 1e-4 + count * 54e6 / 540e6 + 1e-4 + count * 54e6 / 100e6
    assert times((ReadDisk(54e6),), count, own=False) == pytest.approx([time_s] * 2)


def test_who_begins_at_another_moment_does_not_share(times):
    # At 28.8 Gflop/s a core, process 0 begins 1 s later than the three others.
    late = (If("index == 0", (Compute(28.8e9),)), ReadDisk(54e6))
    assert times(late, 4, own=True) == pytest.approx((1e-4 + 0.3, 1 + 1e-4 + 0.1))


def test_processes_told_apart_share_all_the_same(times):
    sizes = (If("index == 0", (ReadDisk(54e6),), (ReadDisk("27e6 * (1 + index // 2)"),)),)
    # 27e6 bytes for process 1, 54e6 for processes 0, 2 and 3: 4 * 27e6 bytes until the first is done, 189e6 for all.
    assert times(sizes, 4, own=True) == pytest.approx((1e-4 + 0.2, 1e-4 + 0.35))


@pytest.mark.parametrize("evaluator", ["graph", "cohorts"])
def test_processes_with_other_instructions_share_a_disk_on_their_own_node_only(times, evaluator):
    # Four processes on each node read the same, the first of each node in a step of its own.
    apart = (If("index % 4 == 0", (ReadDisk(54e6),), (ReadDisk(54e6),)),)
    assert times(apart, 16, own=True, evaluator=evaluator) == pytest.approx([1e-4 + 0.4] * 2)


def test_a_published_model_reads_the_bytes_of_all(times):
    # Table 3, galera+: 5200 us + 0.00253 us/B, in whole units of 2048 bytes; its disk is one for all.
    assert times((ReadDisk(2048),), 4, own=False, model="galera+")[1] == pytest.approx(5.2e-3 + 0.00253e-6 * 4 * 2048)
