"""Programs learned from recordings of the user: DUMPI's texts of a ring on several numbers of ranks."""

import json

import pytest

from validation.entrance.main import main

_CALL = "{name} {when} at walltime {at_s:.9f}, cputime 0.02 seconds in thread 0."


def ring(folder, nranks, count=20000, pause_s=0.1):
    """Write the texts of ranks that pass integers around a ring, each after a pause; return that of rank 0."""
    folder.mkdir()
    for rank in range(nranks):
        lines, at_s = [], 100.0

        def call(name, *rows, took_s=0.0005, lines=lines):
            nonlocal at_s
            lines += [_CALL.format(name=name, when="entering", at_s=at_s), *rows]
            at_s += took_s
            lines.append(_CALL.format(name=name, when="returning", at_s=at_s))

        call("MPI_Init", "int argc=1", 'string argv[1]=["./ring"]')
        message = (
            f"int count={count}",
            "MPI_Datatype datatype=9 (MPI_INT)",
            "int tag=7",
            "MPI_Comm comm=2 (MPI_COMM_WORLD)",
        )
        receive = ("MPI_Recv", *message, f"int source={(rank - 1) % nranks}", "MPI_Status status=<IGNORED>")
        if rank:
            call(*receive)
        at_s += pause_s
        call("MPI_Send", *message, f"int dest={(rank + 1) % nranks}")
        if not rank:
            call(*receive)
        call("MPI_Finalize")
        lines += ["Datatype 9 (MPI_INT) has size 4", "Datatype 14 (MPI_DOUBLE) has size 8"]
        (folder / f"ring-{rank:04d}.txt").write_text("\n".join(lines) + "\n")
    return str(folder / "ring-0000.txt")


def predicted(capsys, *words):
    assert main(["predict", "--recorded-gflops", "10", "--scenario", "grid4x4", "--json", *words]) == 0
    (made,) = json.loads(capsys.readouterr().out)["predictions"]
    return made["prediction"]


def test_recordings_of_the_user_are_learned_and_continued(capsys, tmp_path):
    few = ",".join(ring(tmp_path / f"on{nranks}", nranks) for nranks in (3, 5, 6))
    learned = predicted(capsys, "--recording", few, "--predictor", "learned:known", "--ranks", "12")
    recorded = predicted(capsys, "--recording", ring(tmp_path / "on12", 12), "--predictor", "dpgraph:known")
    assert learned["time_s"] == pytest.approx(recorded["time_s"], rel=1e-9)
    assert learned["low_s"] is None and {call["state"] for call in learned["calls"]} == {"exact"}
    assert learned["cost"]["node_s"] == 0


def test_an_answer_that_is_assumed_has_no_range(capsys, tmp_path):
    # A message has 960 / P bytes, which is a multiple of 8 on all numbers of ranks but the target's.
    few = ",".join(ring(tmp_path / f"on{nranks}", nranks, 240 // nranks, 0) for nranks in (3, 5, 6))
    words = ["--recording", few, "--known", "n=240"]
    learned = predicted(capsys, *words, "--predictor", "learned:known", "--ranks", "16")
    assert {call["state"] for call in learned["calls"]} == {"exact", "assumed"}
    assert learned["low_s"] is None and learned["high_s"] is None
    assert "is not known" in learned["no_interval"]


def test_a_platform_with_other_collectives_is_refused_before_anything_is_learned(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("predictor.learned.predictor._learned", None)
    few = ",".join(ring(tmp_path / f"on{nranks}", nranks) for nranks in (3, 5, 6))
    words = ["--recording", few, "--recorded-gflops", "10", "--scenario", "grid4x4", "--ranks", "12"]
    calibrated = ["--cfg", "smpi/coll-selector:ompi", "--predictor", "learned:known"]
    assert main(["predict", *words, *calibrated]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "smpi/coll-selector:ompi: the graph predictor does not model this option" in said
    assert "use dpgraph or learned, which measure the network" in said


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ([], "several recordings are for predictors that learn from them"),
        (["--predictor", "learned:known"], "not a list of at least three numbers of ranks"),
        (["--predictor", "learned:known", "--recorded", "4,8,9"], "does not go with --recording"),
    ],
)
def test_recordings_that_do_not_go_together_are_one_line(options, error, capsys, tmp_path):
    few = ",".join(ring(tmp_path / f"on{nranks}", nranks) for nranks in (3, 5))
    words = ["--recording", few, "--recorded-gflops", "10", "--scenario", "grid4x4", "--ranks", "12"]
    assert main(["predict", *words, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert error in line
