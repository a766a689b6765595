"""``gridval blocks block``."""

import json
import math

import pytest

from tests.verbs import blocks as main


def test_a_block_has_time_power_energy_and_success(capsys):
    assert main("block --model galera+ --block bcast --size 65536 --processes 64 --power paper --json".split()) == 0
    found = json.loads(capsys.readouterr().out)
    time_s = 1e-6 * (1.7 + 0.00188 * 65536 * 6)
    assert found["time_s"] == pytest.approx(time_s)
    assert found["node_power_w"] == pytest.approx(82.84)  # 78 + 4.84: one active thread
    assert found["energy_j"] == pytest.approx(64 * 82.84 * time_s)
    assert found["success"] == pytest.approx(math.exp(-5.03372e-10 * time_s * 64), abs=1e-15)
    assert found["cautions"] == []


def test_what_a_model_does_not_know_is_said(capsys):
    assert main("block --model kask --block bcast --size 8".split()) == 0
    text = capsys.readouterr().out
    assert "no parameters for power" in text
    assert "no failure rate" in text
    assert "caution: K_broadcast as printed is 32 times K_p2p" in text


def test_the_power_law_can_be_the_printed_one(capsys):
    assert main("block --block compute --operations 1e9 --threads 13 --power-law printed --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["node_power_w"] == pytest.approx(133.7)


def test_a_disk_block_is_of_one_node(capsys):
    assert main("block --block disk_read --size 1e8 --power active-waiting --json".split()) == 0
    found = json.loads(capsys.readouterr().out)
    time_s = 1e-6 * (5200 + 0.00253 * 2048 * 48829)  # Table 3; 1e8 / 2048 = 48828.1
    assert (found["nodes"], found["time_s"]) == (1, pytest.approx(time_s))
    assert found["energy_j"] == pytest.approx(82.84 * time_s)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--block bcats --size 1", "--block bcats: no such block"),
        ("--block bcast", "--size is not given"),
        ("--block barrier --size 8", "block barrier does not take it"),
        ("--block compute --size 8 --operations 8", "block compute does not take it"),
        ("--block p2p --size 8 --processes 3", "a p2p block has two processes"),
        ("--block p2p --size -8", "below 0"),
        ("--block bcast --size 8 --processes 0", "--processes 0: below one"),
        ("--block p2p --size 8 --threads 0", "--threads 0: below one"),
        ("--block disk_read --size 8 --processes 100", "--processes 100: a disk block has one process"),
        ("--block disk_write --size 8 --processes 2", "--processes 2: a disk block has one process"),
        ("--block bcast --size 8 --processes 2147483648", "--processes 2147483648: more than MPI can count"),
        ("--block compute --operations 8 --threads 9999999999999999999", "more than MPI can count"),
        ("--block bcast --size 1e308 --processes 64", "its time is too large. Give a smaller --size"),
        ("--block compute --operations 1e308 --processes 2000000000", "its energy is too large"),
        ("--block p2p --size inf", "size inf: not a finite number"),
        ("--block compute", "--operations is not given. Give --operations H"),
        ("--block p2p --size 8 --power-law straight", "power law 'straight'"),
        ("--block p2p --size 8 --model tianhe", "model 'tianhe': no such model"),
        ("--block p2p --size 8 --shapes paper", "model galera+ is published"),
        ("--block p2p --size 8 --model missing.json", "missing.json: cannot be read"),
        ("--block p2p --size 8 --model some.json --power-law printed", "goes only with a published model"),
    ],
)
def test_bad_input_gives_one_line(arguments, message, capsys):
    assert main(["block", *arguments.split()]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
