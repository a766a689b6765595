"""Recordings from the user: --recording of predictor.predict and predictor.dpgraph."""

import json

import pytest

from predictor import predict
from predictor.graph import cli as graph

CALL = "{name} {which} at walltime 5.{at:03d}000000, cputime 0.1 seconds in thread 0."
MESSAGE = "int count=100", "MPI_Datatype datatype=14 (MPI_DOUBLE)", "int {end}={peer}", "int tag=1"
SPEED = ["--recorded-gflops", "40"]


def call(name, begin_ms, end_ms, *arguments):
    return [
        CALL.format(name=name, which="entering", at=begin_ms),
        *arguments,
        CALL.format(name=name, which="returning", at=end_ms),
    ]


@pytest.fixture
def trace(tmp_path):
    """DUMPI's text of two ranks: rank 0 computes 100 ms and sends 800 bytes to rank 1."""
    for rank, (name, end) in enumerate((("MPI_Send", "dest"), ("MPI_Recv", "source"))):
        shown = [one.format(end=end, peer=1 - rank) for one in MESSAGE]
        status = ["MPI_Status status=<IGNORED>"] if rank else []
        lines = [
            *call("MPI_Init", 0, 0, "int argc=0"),
            *call(name, 100 if rank == 0 else 0, 200, *shown, "MPI_Comm comm=2 (MPI_COMM_WORLD)", *status),
            *call("MPI_Finalize", 200, 200),
        ]
        (tmp_path / f"halo-{rank:04d}.txt").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "halo-0000.txt")


def test_a_recording_costs_nothing_and_the_answer_tells_where_it_comes_from(trace, capsys):
    # c1-0 computes at 40 Gflop/s, as the core that the trace was recorded on: 100 ms, and then the message.
    command = ["--recording", trace, *SPEED, "--scenario", "grid4x2", "--no-store"]
    assert predict.main([*command, "--predictor", "dpgraph:known"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "halo on 2 ranks of grid4x2, dpgraph:known: 0.1" in said
    assert "computation 0.100 s" in said
    assert "evidence costs 0 node-seconds" in said
    assert "made on cores of 40 Gflop/s; it was given, so that it costs no node-seconds here" in said


def test_the_network_is_measured_for_dpgraph_as_for_any_program(trace, capsys):
    command = ["--recording", trace, *SPEED, "--scenario", "grid4x2", "--no-store", "--json"]
    assert predict.main(command) == 0
    (found,) = json.loads(capsys.readouterr().out)["predictions"]
    assert found["predictor"] == "dpgraph:known"  # reads the network where nothing else is asked
    assert predict.main([*command, "--predictor", "dpgraph"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["predictions"]
    assert found["predictor"] == "dpgraph"
    costs = {one["kind"]: one["node_s"] for one in found["evidence"]}
    assert costs["recording"] == 0 and costs["exchange"] > 0
    assert found["prediction"]["time_s"] == pytest.approx(0.1, rel=0.1)


def test_predictors_that_run_the_program_are_refused(trace, refused, capsys):
    command = ["--recording", trace, *SPEED, "--scenario", "grid4x2", "--no-store"]
    said = "recording of halo: the requested evidence is a run, and a recording cannot be run"
    refused(predict.main, [*command, "--predictor", "hcf"], said)
    assert predict.main([*command, "--predictor", "dpgraph:li,dpgraph:known"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "dpgraph:li: no answer recording of halo: it is of 2 ranks, and the requested evidence is of 1" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--recording: the speed of the cores that it was recorded on is not given"),
        (["--recorded-gflops", "fast"], "--recorded-gflops fast: not a number"),
        (["--recorded-gflops", "0"], "--recorded-gflops 0: not between 0 and 1e+06"),
        (["--recorded-gflops", "nan"], "--recorded-gflops nan: not between"),
        (["--recorded-gflops", "1,2,3"], "3 speeds for 2 ranks"),
        ([*SPEED, "--app", "cg"], "--app cg: does not go with --recording"),
        ([*SPEED, "--class", "S"], "--class S: does not go with --recording"),
        ([*SPEED, "--compute", "none"], "--compute none: does not go with --recording"),
        ([*SPEED, "--param", "a=1"], "--param a=1: does not go with --recording"),
        ([*SPEED, "--iterations", "3"], "--iterations 3: does not go with --recording"),
        ([*SPEED, "--ranks", "4"], "--ranks 4: the recording is of 2 ranks"),
    ],
)
def test_options_that_do_not_go_with_a_recording_are_refused(options, said, trace, refused):
    refused(predict.main, ["--recording", trace, *options, "--scenario", "grid4x2"], said)


def test_a_speed_without_a_recording_is_refused(refused):
    refused(predict.main, [*SPEED, "--scenario", "grid4x2"], "--recorded-gflops 40: there is no recording")


def test_the_graph_of_a_recording_is_written(trace, tmp_path, capsys):
    assert graph.main(["--recording", trace, *SPEED, "--json", "--graphml", str(tmp_path / "halo.graphml")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["processes"] == 2 and found["message_bytes"] == 800
    assert found["elements"]["segment"] == 1 and found["flops"] == pytest.approx(4e9)
    assert "RECEIVE" in (tmp_path / "halo.graphml").read_text().upper()
