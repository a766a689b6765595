"""``python -m predictor.predict``: what is asked before anything runs."""

from predictor import predict


def test_a_host_file_that_cannot_be_written_is_refused_before_anything_runs(pretend, refused, tmp_path):
    done = pretend(lambda target: 1.0, predict)
    options = ["--scenario", "grid4x2", "--app", "ep", "--class", "S", "--write-hostfile"]
    for place in (tmp_path / "none" / "hosts", tmp_path):
        refused(predict.main, [*options, str(place)], f"--write-hostfile {place}: cannot be written")
    assert not done.targets
    assert predict.main([*options, str(tmp_path / "hosts")]) == 0
    assert done.targets and (tmp_path / "hosts").read_text().startswith("c1-0\n")
