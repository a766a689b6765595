"""``gridval platform modes`` on any platform."""

import json

import pytest

from validation.modes.cli import main


def test_the_lines_of_a_platform_are_those_of_its_wire(tmp_path, capsys):
    # Fast Ethernet: 1448 bytes of data in frames of 1538 byte times of 80 ns.  SMPI copies in no time.
    assert main(["--scenario", "li-2", "--json", "--store", str(tmp_path)]) == 0
    (path,) = json.loads(capsys.readouterr().out)["paths"]
    slopes = {(line["mode"], line["side"]): line["c_s_per_byte"] for line in path["model"]}
    assert len(slopes) == 8
    for (mode, side), slope in slopes.items():
        wire = 0 if (mode, side) == ("buffered", "sender") else 80e-9 * 1538 / 1448
        assert slope == pytest.approx(wire, rel=1e-3, abs=1e-15)
    assert path["components"]["c1_s_per_byte"] == pytest.approx(0, abs=1e-15)


def test_a_grid_has_lines_for_each_kind_of_path(tmp_path, capsys):
    assert main(["--scenario", "grid2x2", "--speeds", "20,40", "--store", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert all(path in text for path in ("within c1", "within c2", "c1 to c2"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scenario", "li-1", "--cluster", "li-1"], "--cluster: goes with the clusters of the paper"),
        (["--scenario", "li-1", "--machine", "m.toml"], "--machine: does not go with a platform"),
        (["--scenario", "grid1x1", "--speeds", "1"], "one host, which sends no messages"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, said, capsys):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
