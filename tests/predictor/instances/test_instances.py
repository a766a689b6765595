"""Cloud instances: their networks against measured messages, and the choice between them."""

import json
from statistics import fmean

import pytest

from platforms.read.read import materialise
from predictor.instances.command import presets
from validation.entrance.main import main

ASK = ("plan", "instance", "--app", "cg", "--class", "S", "--ranks", "8", "--json")


def offers(capsys, *words):
    assert main([*ASK, *words]) == 0
    return json.loads(capsys.readouterr().out)["offers"]


@pytest.mark.parametrize("name", presets())
def test_a_preset_meets_the_rows_that_it_rests_on(name):
    made = presets()[name]
    for message in made.used:
        # The bandwidth of a line is at most that of a node, which lengthens a few messages by up to 1.1 %.
        assert made.message_s(message.size_bytes) == pytest.approx(message.time_s, rel=0.02)


@pytest.mark.parametrize("name", presets())
def test_messages_of_other_sizes_and_clusters_are_within_seven_per_cent_in_the_mean(name):
    made = presets()[name]
    known = {(one.cluster_nodes, one.size_bytes) for one in made.used}
    assert not known & {(one.cluster_nodes, one.size_bytes) for one in made.held_out}
    assert len(made.held_out) >= 59
    assert fmean(made.held_out_errors_pct()) < 7


PING_PONG = """
#include <mpi.h>
static char data[2097152];
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int trip = 0; trip < 200; trip++) {
        if (rank == 0)
            MPI_Send(data, SIZE, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, SIZE, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(data, SIZE, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
"""


@pytest.mark.parametrize("size", [131072, pytest.param(8, marks=pytest.mark.slow)])
def test_a_message_in_simgrid_takes_the_time_of_the_preset(capsys, tmp_path, size):
    made = presets()["h3-standard-88"]
    (tmp_path / "ping.c").write_text(PING_PONG.replace("SIZE", str(size)))
    platform = ("--platform", str(materialise(made.grid(2)).path), "--ranks", "2", "--ranks-per-host", "1")
    assert main(["program", "run", "--program", str(tmp_path / "ping.c"), *platform, "--no-store", "--json"]) == 0
    time_s = json.loads(capsys.readouterr().out)["time_s"]
    assert time_s / 400 == pytest.approx(made.message_s(size), rel=0.01)


def test_the_cost_is_that_of_the_nodes_for_the_predicted_time(capsys, tmp_path):
    (tmp_path / "prices.toml").write_text(
        'currency = "USD"\ndate = 2026-11-01\n[prices."hpc6a.48xlarge"]\nprice = 36\n'
        '[prices."h3-standard-88"]\nprice = 1\nunit = "core hour"\ndate = 2026-11-02\n'
    )
    by_name = {one["instance"]: one for one in offers(capsys, "--price", str(tmp_path / "prices.toml"))}
    hpc6a, h3 = by_name["hpc6a.48xlarge"], by_name["h3-standard-88"]
    assert hpc6a["cost"] == pytest.approx(hpc6a["time_s"] / 100) and hpc6a["price_date"] == "2026-11-01"
    assert h3["cost"] == pytest.approx(88 * h3["time_s"] / 3600) and h3["price_date"] == "2026-11-02"
    assert by_name["c2d-standard-112"]["cost"] is None
    assert main([*ASK[:-1], "--price", str(tmp_path / "prices.toml")]) == 0
    shown = capsys.readouterr().out
    assert "cheapest: hpc6a.48xlarge, by prices 2026-11-01" in shown
    assert "no price for c2d-standard-112" in shown


def test_ranks_that_fill_a_node_take_the_next_one(capsys):
    (made,) = offers(capsys, "--ranks", "89", "--instances", "h3-standard-88", "--class", "S", "--app", "ep")
    assert made["nodes"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--instances h4", "no such instance"),
        ("--ranks 0", "below 1"),
        ("--price h4=1", "--price h4: no such instance"),
        ("--price 1,2", "prices without names"),
        ("--price nan", "not a number"),
        ("--app cg,mg", "2 programs"),
    ],
)
def test_wrong_options_end_in_one_line(capsys, words, said):
    assert main([*ASK, *words.split()]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1 and said in errors[0]
