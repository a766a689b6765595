"""Exit statuses and error lines of commands."""

import errno
import sys

import pytest

from platforms.command.parser import CommandParser, any_case
from platforms.command.status import exit_status
from platforms.errors import UserError, known_names, matching


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
    line = "error: unrecognized arguments: --job 3. Did you mean --jobs? See python -m some.command --help.\n"
    assert said(capsys, "list", "name", "--job", "3") == line


def test_arguments_of_programs_may_begin_with_a_dash():
    parser = CommandParser(prog="python -m some.command")
    parser.add_argument("--program-args")
    parser.add_argument("--json", action="store_true")
    assert parser.parse_args(["--program-args", "-s", "--json"]).program_args == "-s"
    assert parser.parse_args(["--program-args", "--steps=5"]).program_args == "--steps=5"
    with pytest.raises(SystemExit):
        parser.parse_args(["--program-args", "--json"])


def ended(raised, capsys):
    def run():
        raise raised

    return exit_status(run), capsys.readouterr().err


def test_what_the_system_refuses_is_one_line(capsys):
    assert ended(OSError(errno.ENAMETOOLONG, "File name too long", "x" * 5), capsys) == (
        2,
        "error: xxxxx: File name too long\n",
    )
    assert ended(OSError(errno.ENOSPC, "No space left on device"), capsys) == (
        1,
        "error: output: No space left on device\n",
    )


def test_characters_that_the_output_does_not_have_are_named(capsys):
    error = UnicodeEncodeError("ascii", "a µs b", 2, 3, "ordinal not in range(128)")
    line = "error: 'a µs b': the output's encoding ascii has no such character. Set PYTHONIOENCODING to utf-8.\n"
    assert ended(error, capsys) == (2, line)


def test_an_error_that_nobody_can_read_is_no_other_error(monkeypatch):
    class Closed:
        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

        def fileno(self):
            raise ValueError("closed")

    def run(raised):
        raise raised

    monkeypatch.setattr(sys, "stderr", Closed())
    monkeypatch.setattr(sys, "stdout", Closed())
    assert exit_status(lambda: run(UserError("a", "b", "c"))) == 2
    assert exit_status(lambda: run(BrokenPipeError())) == 141


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--jbos=3"], "Did you mean --jobs?"),
        (["list", "name", "--jbos=3"], "Did you mean --jobs?"),
        (["lsit", "name"], "Did you mean list?"),
        (["list", "name", "--verbose"], "unrecognized arguments: --verbose. See"),
    ],
)
def test_a_similar_option_or_command_is_named(capsys, words, asked):
    assert asked in said(capsys, *words)


def test_names_are_known_in_any_case_unless_two_differ_in_case_alone():
    assert [matching(name, ("Ab", "c")) for name in ("Ab", "aB", "C", "d")] == ["Ab", "Ab", "c", None]
    assert [matching(name, ("a", "A")) for name in ("a", "A")] == ["a", "A"]
    assert matching("b", ("B", "b", "c")) == "b" and matching("x", ("X", "x ")) == "X"
    assert matching("ab", ("Ab", "aB")) is None
    assert any_case("all")("ALL") == "all" and any_case("all")("Mine.toml") == "Mine.toml"


def test_only_a_similar_name_is_asked_for():
    assert known_names("structual", ["structural", "hcf"]) == "Did you mean structural? Known: structural, hcf"
    assert known_names("oracle", ["structural", "hcf"], more=", or yours") == "Known: structural, hcf, or yours"


def test_an_interrupt_says_what_is_kept_and_the_command_that_goes_on(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/gridval", "run", "--app", "a b"])
    line = "interrupted: 3 runs are kept in the store. To continue: gridval run --app 'a b'\n"
    assert ended(KeyboardInterrupt("3 runs are kept in the store"), capsys) == (130, line)
    monkeypatch.setattr(sys, "argv", ["/somewhere/run.py"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "validation.run", "--jobs", "2"])
    assert ended(KeyboardInterrupt("1 run is kept"), capsys)[1].endswith(
        "continue: python -m validation.run --jobs 2\n"
    )
    assert ended(KeyboardInterrupt(), capsys) == (130, "interrupted\n")
