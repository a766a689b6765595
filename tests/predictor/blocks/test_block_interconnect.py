"""Energy of the interconnect of an application's nodes."""

import pytest

from platforms.system.convert import system_named
from predictor.blocks import run_command
from predictor.blocks.application import Application
from predictor.blocks.machines.power import interconnect
from predictor.blocks.programs import Compute, Label
from predictor.blocks.setting import Setting


def setting(system, processes):
    return Setting(Application("", (Label("slave1", processes, (Compute(1e9),)),)), system_named(system))


def test_adapters_and_ports_of_the_nodes_in_use_take_their_watts():
    # Gigabit Ethernet: a port of a switch of 33.1 W and 24 ports; no adapter's watts are known.  QDR: 12.23 W each.
    merpsys = setting("examples/systems/merpsys.toml", 9)  # 4 processes on each node
    found = interconnect(merpsys.system, merpsys.schedule, 10.0)
    assert (found.nodes, found.adapters_j) == (3, None)
    assert found.switches_j == pytest.approx(3 * 33.1 / 24 * 10)
    galera = setting("examples/systems/galera-plus.toml", 25)  # 12 on each
    found = interconnect(galera.system, galera.schedule, 100.0)
    assert (found.nodes, found.switches_j) == (3, None)
    assert found.adapters_j == pytest.approx(3 * 12.23 * 100)
    assert interconnect(*(lambda one: (one.system, one.schedule))(setting("grid4x2", 2)), 1.0).adapters_j is None


def test_the_command_shows_it_beside_the_total(tmp_path, capsys):
    path = tmp_path / "app.toml"
    path.write_text("[labels.p]\ncount = 12\nprogram = [{ compute = 1e9 }]\n")
    assert run_command.main([str(path), "--system", "examples/systems/galera-plus.toml"]) == 0
    # 1e9 operations of 1.65 ns, on one node.
    text = capsys.readouterr().out
    assert f"adapters {12.23 * 1.65 / 3600:.6g} Wh" in " ".join(text.split())
    assert "of unknown watts" in " ".join(text.split())
