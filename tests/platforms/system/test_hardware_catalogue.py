"""``gridval platform hardware``, failure rates of nodes, and hardware threads."""

import json

import pytest

from platforms.system import catalogue
from platforms.system.cli import main as show_system
from platforms.system.convert import system_named
from platforms.system.database import KINDS, read_hardware

GALERA_PLUS = "examples/systems/galera-plus.toml"
SYSTEM = '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\n'


def test_every_entry_is_listed(capsys):
    assert catalogue.main([]) == 0
    text = capsys.readouterr().out
    hardware = read_hardware()
    assert all(f"\n{name} " in text for kind in KINDS for name in getattr(hardware, kind))
    assert max(map(len, text.splitlines())) <= 80


def test_all_words_are_searched_in_names_titles_and_sources(capsys):
    assert catalogue.main(["InfiniBand", "oracle", "--json"]) == 0  # the source of its watts
    (kind, (entry,)) = json.loads(capsys.readouterr().out).popitem()
    # Oracle, document 820-6536, Table A-1: 12.23 W typical.
    assert (kind, entry["name"], entry["adapter_w"]) == ("networks", "infiniband-qdr", 12.23)


def test_a_name_shows_its_entry_alone_with_its_source(capsys):
    assert catalogue.main(["gluster-galera+"]) == 0  # also the beginning of another name
    text = capsys.readouterr().out
    assert "The paper, Table 3." in text and "gluster-galera+-server" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["xeon-l564O"], "no entry contains it"),
        (["--kind", "disk"], "no such kind of hardware"),
        (["a", "zz"], "fewer"),
    ],
)
def test_what_is_not_there_is_one_line(capsys, arguments, words):
    assert catalogue.main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said


def test_rates_come_from_the_cited_studies():
    hardware = read_hardware()
    # Proficz and Czarnul, Table 3: lambda = 5.03372e-10 per second and node of two CPUs.
    assert 2 * hardware.cpus["xeon-l5640"].failures_per_year / (365.25 * 86400) == pytest.approx(5.03372e-10, rel=1e-5)
    # Nightingale and others: 1 in 190 in 8 months; a year has 1.5 times as many.
    survive_a_year = (1 - 1 / 190) ** 1.5
    assert 1 - hardware.cpus["core-i7-2600k"].failures_per_year == pytest.approx(survive_a_year, abs=1e-4)


def test_a_node_fails_as_often_as_its_parts_together(tmp_path, capsys):
    path = tmp_path / "s.toml"
    path.write_text(SYSTEM + 'count = 10\ncpu = "core-i7-2600k"\nsockets = 2\ndisks = ["hdd-7200", "ssd-sata"]\n')
    (group,) = system_named(str(path)).groups
    assert group.node.failures_per_year == pytest.approx(2 * 0.00792 + 0.0157 + 0.01)
    assert show_system([str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failures_per_year"] == pytest.approx(10 * 0.04154)
    path.write_text(SYSTEM + 'cpu = "epyc-7742"\n')
    assert system_named(str(path)).groups[0].node.failures_per_year is None  # nobody has published it
    path.write_text(SYSTEM + 'cpu = "epyc-7742"\nfailures_per_year = 0.3\n')
    assert system_named(str(path)).groups[0].node.failures_per_year == 0.3


def test_watts_of_a_network_with_all_its_values(tmp_path, capsys):
    hardware = tmp_path / "h.toml"
    hardware.write_text(
        "[networks.mine]\nbandwidth_gbit_s = 1\nlatency_us = 1\nadapter_w = 4\nswitch_w = 36\nswitch_ports = 12\n"
        'source = "made up"\n'
    )
    path = tmp_path / "s.toml"
    path.write_text(f'{SYSTEM}count = 100\ncpu = "epyc-7742"\n'.replace("gigabit-ethernet", "mine"))
    assert show_system([str(path), "--hardware", str(hardware), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["network_w"] == 100 * (4 + 36 / 12)


@pytest.mark.parametrize(
    ("threads", "slowdown"),
    # Table 3 of Galera+: T_low / T_min = 0.00194 / 0.00165 from 13 to 24 threads; beyond
    # (T_hi + K_hi p) / T_min.
    [(1, 1), (12, 1), (13, 0.00194 / 0.00165), (24, 0.00194 / 0.00165), (48, (0.329 + 48 * 0.0796) / 1.65)],
)
def test_hardware_threads_slow_one_another_as_published(threads, slowdown):
    unit = system_named(GALERA_PLUS).groups[0].unit
    assert unit.slowdown(threads) == pytest.approx(slowdown)


def test_without_a_published_value_threads_share_the_cores(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(SYSTEM + 'cpu = "core-i7-2600k"\n')
    assert system_named(str(path)).groups[0].unit.slowdown(8) == 2
    path.write_text(SYSTEM + 'cpu = "core-i7-2600k"\nthread_slowdown = 1.5\n')
    assert system_named(str(path)).groups[0].unit.slowdown(8) == 1.5


@pytest.mark.parametrize("line", ["thread_slowdown = 0.9", "failures_per_year = -1"])
def test_an_impossible_value_is_refused(tmp_path, capsys, line):
    path = tmp_path / "s.toml"
    path.write_text(f'{SYSTEM}cpu = "core-i7-2600k"\n{line}\n')
    assert show_system([str(path)]) == 2
    assert line.split(" ")[0] in capsys.readouterr().err
