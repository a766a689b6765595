"""How every command line ends."""

import pytest

from platforms.command import CommandParser


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    parser = CommandParser(prog="python -m some.command")
    parser.add_argument("--jobs", type=int)
    commands = parser.add_subparsers()
    commands.add_parser("list").add_argument("name")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_wrong_options_are_one_line(capsys):
    line = "error: argument --jobs: invalid int value: 'many'. See python -m some.command --help.\n"
    assert said(capsys, "--jobs", "many") == line


def test_a_command_of_a_command_names_itself(capsys):
    line = "error: the following arguments are required: name. See python -m some.command list --help.\n"
    assert said(capsys, "list") == line


def test_an_option_with_newlines_stays_one_line(capsys):
    assert said(capsys, "list", "name", "--no\nsuch") == (
        "error: unrecognized arguments: --no\\nsuch. See python -m some.command --help.\n"
    )


def test_options_have_their_whole_names(capsys):
    line = "error: unrecognized arguments: --job 3. See python -m some.command --help.\n"
    assert said(capsys, "list", "name", "--job", "3") == line
