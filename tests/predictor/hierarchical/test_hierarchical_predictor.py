"""The predictor ``hierarchical``: which targets its model covers, and the times of memory, checked by hand."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.programs.problem import problem, sized_problem
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform
from predictor.base import OutOfRange
from predictor.hierarchical.predictor import bytes_per_operation, core_probe, memory_time_s, shape


def test_unequal_nodes_of_one_cluster_are_no_machine_of_the_hierarchical_model():
    hosts = Host("a", 1e9, 2), Host("b", 2e9, 2)
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", hosts),))
    with pytest.raises(OutOfRange, match="the model's nodes are equal"):
        shape(Target(problem("cg", "S"), platform, ("a", "b")))


def test_memory_takes_its_bytes_over_its_bandwidth():
    # By hand: 8 byte per operation over 16 GB/s.
    host = dataclasses.replace(Host("a", 1e9, 2), memory_Bps=16e9)
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", (host,)),))
    target = Target(problem("cg", "S"), platform, ("a",))
    for bus, expected_s in ((None, 0), (16e9, 5e-10), ("platform", 5e-10)):
        record = SimpleNamespace(identity={"memory_bus": bus, "bytes_per_flop": 8.0})
        assert memory_time_s(record, target) == pytest.approx(expected_s)


def test_the_bytes_of_an_fft_are_those_of_its_own_size():
    # 320 bytes per point over 5 log2 N operations: N = 2^16 has 4 byte per operation, its probe of 2^13 points 64 / 13.
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", (Host("a", 1e9, 2),)),))
    target = Target(sized_problem("fft", 2**16), platform, ("a",))
    probe = core_probe(target)
    assert probe.problem.size == 2**13
    for used, expected in ((64 / 13, 4.0), (2.5, 2.5)):
        record = SimpleNamespace(identity={"memory_bus": 1e9, "bytes_per_flop": used})
        assert bytes_per_operation(record, probe, target) == pytest.approx(expected)
    assert bytes_per_operation(SimpleNamespace(identity={"memory_bus": None}), probe, target) == 0
