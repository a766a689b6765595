"""Lines of descriptions in errors."""

import pytest

from platforms.errors import UserError
from predictor.blocks.cli import main
from predictor.blocks.lines import named_lines

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
    ("place", "line"),
    [
        ("variable n, expression 'x'", 2),
        ("function half(x), expression 'y'", 6),
        ("function half, expression 'y'", 6),
        ("steps work", 8),
        ("steps work, step 2.1", 13),
        ("label p", 17),
        ("label p, count, expression 'x'", 18),
        ("label p, efficiency", 19),
        ("label p, step 1", 21),
        ("label p, step 1, work step 1, expression 'much'", 11),
        ("label p, step 2.1", 23),
        ("label p, step 2.else.2", 26),
        ("label p, step 2.7", 22),  # the list has no seventh step
    ],
)
def test_an_error_has_the_line_of_its_element(tmp_path, place, line):
    file = tmp_path / "app.toml"
    file.write_text(TEXT)
    with pytest.raises(UserError) as caught, named_lines():
        raise UserError(f"{file}, {place}", "wrong", "Correct it")
    assert caught.value.where == f"{file}:{line}, {place}"


def test_a_place_without_a_file_or_an_element_stays_as_it_is(tmp_path):
    (tmp_path / "broken.toml").write_text("[")
    for where in ("application 'x', label p, step 1", "--set n", f"{tmp_path / 'broken.toml'}, label p",
                  f"{tmp_path}, label p, step 1", "system 'x'"):  # fmt: skip
        with pytest.raises(UserError) as caught, named_lines():
            raise UserError(where, "wrong", "Correct it")
        assert caught.value.where == where


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
