"""``gridval predict``: checks before the first run, and targets without an answer."""

from predictor import predict


def test_a_host_file_that_cannot_be_written_is_refused_before_anything_runs(pretend, refused, tmp_path):
    done = pretend(lambda target: 1.0, predict)
    options = ["--scenario", "grid4x2", "--app", "ep", "--class", "S", "--write-hostfile"]
    for place in (tmp_path / "none" / "hosts", tmp_path):
        refused(predict.main, [*options, str(place)], f"--write-hostfile {place}: cannot be written")
    assert not done.targets
    assert predict.main([*options, str(tmp_path / "hosts"), "--predictor", "structural"]) == 0
    assert done.targets and (tmp_path / "hosts").read_text().startswith("c1-0\n")


def test_a_predictor_without_evidence_does_not_stop_the_others(capsys, refused):
    # On one node of each cluster the probe of HCF would be the run itself.
    options = "--scenario grid2x1 --speeds 1,2 --app cg --class S --no-store".split()
    refused(predict.main, [*options, "--predictor", "hcf"], "the requested evidence is a run of the target itself")
    assert predict.main([*options, "--predictor", "hcf,dpgraph:known"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "hcf: no answer " in out and "the requested evidence is a run of the target itself" in out
    assert "cg S on 2 ranks of grid2x1, dpgraph:known: " in out and "dpgraph:known: no answer" not in out


def test_a_size_without_a_program_is_refused(refused):
    refused(predict.main, "--scenario grid4x2 --size 100".split(), "--size 100: goes with --app. Name one of ")


def test_a_recording_knows_no_memory_bus(refused):
    arguments = "--scenario grid4x2 --app cg --class S --predictor dpgraph:known --memory-bus 20 --no-store"
    refused(predict.main, arguments.split(), "a recording, which does not include the effect of a memory bus")
