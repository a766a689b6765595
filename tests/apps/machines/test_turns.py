"""Runs on machines take turns where their files name the same host."""

import threading
from dataclasses import replace

import pytest

from apps.errors import Stopped
from apps.machines.launch import alone_on
from apps.machines.machine_file import MachineCluster


def with_hosts(machine, *hosts):
    return replace(machine, name="-".join(hosts), clusters=(MachineCluster("all", hosts, 1, 1e9),))


def test_machines_with_a_common_host_take_turns_and_others_do_not_wait(local, monkeypatch, tmp_path):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path))
    stop = threading.Event()
    stop.set()  # a turn that is not there at once is given up
    with alone_on(with_hosts(local, "a", "b")):
        with pytest.raises(Stopped, match="not started"), alone_on(with_hosts(local, "b", "c"), stop):
            pass
        with alone_on(with_hosts(local, "d"), stop):
            pass
    with alone_on(with_hosts(local, "b", "c"), stop):
        pass


def test_a_machine_of_many_hosts_opens_few_files(local):
    with alone_on(with_hosts(local, *(f"node{i}" for i in range(5000)))):
        pass
