"""``gridval plan cores --simulate`` of a NAS kernel: declared counts beside simulated allocations."""

import json

import pytest

from validation.cores.cli import main


def test_a_kernel_with_a_class_is_simulated_on_the_machine_of_the_model(tmp_path, capsys):
    # EP computes nearly all the time, at l_c, so that it takes half as long on twice as many cores.
    asked = ["--app", "ep", "--class", "S", "--cores", "1,2", "--nodes", "1,2", "--json", "--store", str(tmp_path)]
    assert main(asked) == 0
    made = json.loads(capsys.readouterr().out)
    points = {(point["cores_per_node"], point["nodes"]): point for point in made["points"]}
    assert len(points) == 4
    alone_s = points[1, 1]["simulated_s"]
    for (q, p), point in points.items():
        assert point["simulated_s"] == pytest.approx(alone_s / (q * p), rel=0.05)
        assert point["error_pct"] == pytest.approx(0, abs=5)
    assert main(["--app", "cg"]) == 2
    assert "its class is not given" in capsys.readouterr().err
    assert main(["--app", "cg", "--class", "S", "--cores", "99"]) == 2
    assert "nodes of 16 cores" in capsys.readouterr().err
