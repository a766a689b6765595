"""The pitfalls of section 7 of the NP-T paper, simulated: values that links and frames alone decide."""

import json

import pytest

from apps.probes.patterns.measure import Call, pattern_times
from platforms.grids.scenario import named_grid
from validation.nodes import pitfalls
from validation.nodes.cli import main
from validation.nodes.plots.pitfalls import LOOKS, pitfall_figure


def test_frames_of_9000_bytes_carry_more_data_by_hand():
    # 8948 of 9038 bytes are data, in place of 1448 of 1538: 5.16 % more.
    node = pitfalls._mtu(named_grid("ichikawa"), 9000).clusters[0].node
    assert node.bandwidth_Bps == pytest.approx(125e6 * (8948 / 9038) / (1448 / 1538))
    assert pitfalls._mtu(named_grid("ichikawa"), 1500).clusters[0].node.bandwidth_Bps == pytest.approx(125e6)


def test_two_switches_are_as_slow_as_their_one_link():
    # Large messages: 8 x 8 of them cross the link each way, where a node of one switch sends 15.
    times_s = {
        label: pattern_times(platform, hosts, [Call("alltoall", 16, 2**20)])[0]
        for figure, label, platform, hosts in pitfalls._networks()
        if figure == 25
    }
    assert times_s["two switches"] / times_s["one switch"] == pytest.approx(64 / 15, rel=0.03)


def test_a_slow_clock_lowers_the_rate_of_large_messages(monkeypatch):
    monkeypatch.setattr(pitfalls, "MESSAGES", (2**23,))
    highest, _, lowest = pitfalls._clocks()
    # Sending, the wire and receiving, one after the other: 8 cycles a byte at each end, at 2.2 and 1 GHz.
    (plain,) = pitfalls._rates_Bps(pitfalls.materialise(named_grid("ichikawa")))
    for line, clock_hz in ((highest, 2.2e9), (lowest, 1e9)):
        assert 1 / line.y[0] - 1 / plain == pytest.approx(16 / clock_hz, rel=0.05)


def test_the_figures_and_the_table_have_every_line(monkeypatch, capsys, tmp_path):
    def lines(_):
        return [
            pitfalls.Line(number, label, (1, 2), (y, 2 * y)) for number in LOOKS for label, y in (("a", 1), ("b", 3))
        ]

    monkeypatch.setattr("validation.nodes.command.lines", lines)
    assert main(["--paper", "--no-store", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("3.000 to 3.000") == len(LOOKS) == 7
    assert sorted(path.name for path in tmp_path.glob("*.png")) == [f"figure-{number}.png" for number in LOOKS]
    assert main(["--paper", "--no-store", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["lines"]) == 14
    (panel,) = pitfall_figure(lines(None)[:2]).axes
    assert [line.get_label() for line in panel.lines] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("campaign.toml --paper", "error: --paper: does not go with a campaign file, campaign.toml. Leave one"),
        ("--paper --app himeno", "error: --app: does not go with --paper. Leave it out."),
        ("--paper --size 64", "error: --size: does not go with --paper. Leave it out."),
    ],
)
def test_the_figures_take_no_search(arguments, said, capsys):
    assert main(arguments.split()) == 2
    assert capsys.readouterr().err.startswith(said)
