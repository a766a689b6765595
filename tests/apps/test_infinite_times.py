"""Simulated times that overflow: they are errors, not results."""

import json

import pytest

from apps.run import main

PLATFORM = (
    '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    '<zone id="z" routing="Full"><host id="a" speed="{speed}f"/><host id="b" speed="{speed}f"/>'
    '<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>'
)


def platform(folder, speed):
    path = folder / "slow.xml"
    path.write_text(PLATFORM.format(speed=speed))
    return str(path)


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_a_speed_that_nothing_can_be_computed_with_is_refused(tmp_path, capsys, ranks):
    words = ["--app", "ep", "--class", "S", "--ranks", ranks, "--json", "--platform", platform(tmp_path, "1e-300")]
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "host 'a' has a speed of 1" in err


def test_the_slowest_speed_gives_a_finite_time(tmp_path, capsys):
    words = ["--app", "ep", "--class", "S", "--ranks", "1", "--json", "--platform", platform(tmp_path, "1e-100")]
    assert main(words) == 0
    # EP S has 2^24 pairs; at any cost, their time is a number of JSON, and more than 1e7 flop / 1e-100 flop/s.
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert 1e107 < found["time_s"] < float("inf")


@pytest.mark.parametrize(("ranks", "last"), [(1, ""), (2, "MPI_Barrier(MPI_COMM_WORLD);")])
def test_an_infinite_time_is_a_failed_run(tmp_path, capsys, ranks, last):
    # Twice 1e308 flop at 1e-6 flop/s: more seconds than a number can hold.
    (tmp_path / "endless.c").write_text(
        "#include <mpi.h>\n#include <smpi/smpi.h>\nint main(int argc, char **argv)\n{\n  MPI_Init(&argc, &argv);\n"
        f"  smpi_execute_flops_benched(1e308);\n  {last}\n  MPI_Finalize();\n}}\n"
    )
    words = ["--program", str(tmp_path / "endless.c"), "--ranks", str(ranks), "--platform", platform(tmp_path, "1e-6")]
    assert main([*words, "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: endless on {ranks} rank") and "the simulated time is infinite" in err
