"""The project as a Python module: ``import gridval``."""

import inspect
import json
import subprocess
import sys

import gridval as gv
import pandas as pd
import pytest

from platforms.errors import UserError
from predictor.predict import main as predict_command
from validation.run import main as run_command


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def found(store):
    return gv.run("grid4x2", "cg", predictors=["hcf:constant", "hcf"], problem_class="S", store=store)


def test_it_has_the_rows_of_the_command(found, store, tmp_path):
    words = "--scenario grid4x2 --app cg --class S --predictor hcf:constant,hcf --out".split()
    assert run_command([*words, str(tmp_path), "--store", str(store)]) == 0
    written = pd.read_csv(tmp_path / "results.csv")
    wall = [name for name in written if name.endswith("wall_s")]
    shown = pd.DataFrame(found).drop(columns=wall).reset_index(drop=True)
    pd.testing.assert_frame_equal(shown, written.drop(columns=wall), check_dtype=False)


def test_a_notebook_shows_the_columns_that_matter_and_the_picture(found, tmp_path):
    html = found._repr_html_()
    assert "predicted_s" in html and "platform_hash" not in html and html.count("<tr") == 3
    assert "<svg" in found.plot()._repr_svg_()
    found.plot("cg").save(tmp_path / "cg.png")
    assert (tmp_path / "cg.png").read_bytes().startswith(b"\x89PNG")
    assert any("iterations were simulated" in line for line in found.cautions)
    assert type(found[found["predictor"] == "hcf"]) is pd.DataFrame


def test_a_prediction_is_that_of_the_command(store, capsys):
    made = gv.predict("grid4x2", "cg", problem_class="S", predictor="hcf", store=store)
    words = "--scenario grid4x2 --app cg --class S --predictor hcf --json --store".split()
    assert predict_command([*words, str(store)]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["predictions"]
    assert made.time_s == printed["prediction"]["time_s"]
    assert made.cost.node_s > 0


def test_a_platform_file_and_a_program_of_the_users(tmp_path, store):
    from platforms.make import main as generate

    platform = tmp_path / "my-grid.xml"
    assert generate(["--scenario", "grid4x2", "--output", str(platform)]) == 0
    program = tmp_path / "a.c"
    program.write_text(
        "#include <mpi.h>\n#include <smpi/smpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n"
        "    smpi_execute_flops_benched(1e9);\n    MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize();\n}\n"
    )
    made = gv.predict(platform, program=program, ranks=8, predictor="hcf", store=store)
    assert made.time_s == pytest.approx(1e9 / 40e9 / 2, rel=0.1)  # HCF: half the slowest probe's, on twice the nodes


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gv.run("grid4x2", "nothing"), "app 'nothing': no such program"),
        (lambda: gv.run(""), "platform: an empty name"),
        (lambda: gv.run("nowhere.xml"), "nowhere.xml"),
        (lambda: gv.run("grid4x2", "cg", problem_class="S", ranks=9), "9 ranks do not fit"),
        (lambda: gv.run("grid4x2", "hpl", size=100, parameters={"x": 1}), "hpl has no such parameter"),
        (lambda: gv.run("grid4x2", "cg", truth="nowhere.csv"), "nowhere.csv"),
        (lambda: gv.predict("grid4x2"), "no program is named"),
        (lambda: gv.predict("grid4x2", "cg", predictor="hcf,hcf:printed"), "predictor: 2 are named"),
    ],
)
def test_wrong_arguments_are_user_errors(call, said):
    with pytest.raises(UserError, match=said):
        call()


def test_a_predictor_without_an_answer_says_why(store):
    with pytest.raises(gv.OutOfRange, match=r"^hierarchical, cg S on grid4x2: the nodes are in several .*\.$"):
        gv.predict("grid4x2", "cg", problem_class="S", predictor="hierarchical", store=store)


def test_several_programs_have_a_picture_each(found):
    both = gv.Results(pd.concat([found, found.assign(app="mg")]))
    with pytest.raises(gv.UserError, match="there are several programs"):
        both.plot()
    with pytest.raises(gv.UserError, match="no program 'lu'"):
        both.plot("lu")


def test_the_face_is_documented_and_typed():
    for name in gv.__all__:
        assert inspect.getdoc(getattr(gv, name))
    for function in (gv.run, gv.predict):
        assert all(one.annotation is not one.empty for one in inspect.signature(function).parameters.values())


def test_importing_it_prints_and_starts_nothing(tmp_path):
    code = "import sys, gridval; print(sorted({'matplotlib', 'simgrid', 'numba'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
