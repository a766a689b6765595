"""Lines of descriptions in errors."""

import pytest

from platforms.errors import UserError
from predictor.blocks.description import read_application
from predictor.blocks.programs import all_steps
from tests.verbs import blocks as main

TEXT = """\
[variables]
n = 4            # line 2
cost = [1, 2]

[functions]
"half(x)" = "x / 2"   # line 6

[steps.work]
parameters = ["much"]
do = [
    { compute = "much" },    # line 11
    { repeat = 2, do = [
        { barrier = true },
    ] },
]

[labels.p]
count = 2        # line 18
efficiency = 1
program = [
    { call = "work", much = 1 },
    { if = "n > 0", then = [
        { compute = 1 },     # line 23
    ], else = [
        { compute = 2 },
        { barrier = true },  # line 26
    ] },
]
"""


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("n = 4 ", "n = 'x'", "2, variable n, expression 'x'"),
        ('"x / 2"', '"x / y"', "6, function half, expression 'half(x) = x / y'"),
        ('"x / 2"', '"x /"', "6, function half(x), expression 'x /'"),
        ('"x / 2"', "true", "6, function half(x)"),
        ('parameters = ["much"]', 'parameter = ["much"]', "9, steps work"),
        ('["much"]', "4", "8, steps work"),
        ('"much" }', '"many" }', "11, steps work, step 1, expression 'many'"),
        ("barrier = true },\n    ] },\n]", "barrier = 3 },\n    ] },\n]", "13, steps work, step 2.1"),
        ("count = 2 ", "count = 'x'", "18, label p, count, expression 'x'"),
        ("count = 2 ", "counts = 2", "18, label p"),
        ("efficiency = 1", "efficiency = 'x'", "19, label p, efficiency, expression 'x'"),
        ("much = 1 }", "many = 1 }", "21, label p, step 1"),
        ("compute = 1 }", "compute = 'm' }", "23, label p, step 2.1, expression 'm'"),
        ("{ compute = 2 },\n        { barrier = true }", "{ compute = 2 },\n        { barrier = 3 }",
         "26, label p, step 2.else.2"),
        ("{ compute = 1 },     # line 23", "7,", "23, label p, step 2.1"),
        ("[labels.p]", "[label.p]", "17"),
    ],
)  # fmt: skip
def test_an_error_has_the_line_of_its_element(old, new, place, tmp_path):
    file = tmp_path / "app.toml"
    assert TEXT.count(old) == 1
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(UserError) as caught:
        read_application(file)
    assert caught.value.where == f"{file}:{place}"


def test_each_step_of_the_expanded_program_has_its_keys(tmp_path):
    file = tmp_path / "app.toml"
    file.write_text(TEXT)
    application = read_application(file)
    (label,) = application.labels
    keys = {str(place): place.keys for _, place in all_steps(None, label.program, application.where.inside(""))}
    assert keys[f"{file}1, work step 1"] == ("steps", "work", "do", 0)
    assert keys[f"{file}1, work step 2.1"] == ("steps", "work", "do", 1, "do", 0)
    assert keys[f"{file}2.else.2"][-2:] == ("else", 1)


def test_an_application_of_a_program_has_no_lines():
    with pytest.raises(UserError) as caught:
        read_application("absent.toml")
    assert caught.value.where == "absent.toml"


def test_the_command_names_the_line(tmp_path, capsys):
    file = tmp_path / "app.toml"
    file.write_text(TEXT.replace("compute = 2", "compute = 'm'"))
    assert main(["run", str(file), "--system", "grid4x8"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {file}:25, label p, step 2.else.1, expression 'm': no name 'm'")


def test_an_error_of_one_point_of_a_series_has_its_line_too(tmp_path, capsys):
    file = tmp_path / "app.toml"
    file.write_text(TEXT.replace("compute = 1 }", "compute = '1 / (n - 3)' }"))
    assert main(["run", str(file), "--system", "grid4x8", "--vary", "n=3,4", "--no-store"]) == 2
    place = f"{file}:23, label p, step 2.1, expression '1 / (n - 3)'"
    assert f"error: n = 3: {place}: division by zero" in capsys.readouterr().err
