"""The help of commands: sections, the ten options that matter most, 80 columns."""

import importlib
import re
from pathlib import Path

import pytest

from platforms.command.help_text import MOST_SHOWN, WIDTH
from platforms.command.parser import CommandParser

ROOT = Path(__file__).parents[3]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("platforms", "apps", "predictor", "validation")
    for path in (ROOT / package).rglob("*.py")
    if re.search(r"^def build_parser\(\)", path.read_text(), re.MULTILINE)
)
HELPS = ("--help", "--help-all")


def shown(parser, how, capsys):
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([how])
    assert ended.value.code == 0
    return capsys.readouterr().out


def options(text):
    """Return the names of the options with two hyphens that a help describes."""
    return set(re.findall(r"^ +(?:-\w[^-]*, )?(--[\w-]+)", text, re.MULTILINE)) - set(HELPS)


@pytest.mark.parametrize("module", MODULES)
def test_the_help_of_a_command_is_short_and_has_80_columns(module, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    parser = importlib.import_module(module).build_parser()
    short, whole = (shown(parser, how, capsys) for how in HELPS)
    assert max(map(len, (short + whole).splitlines())) <= WIDTH
    every = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    assert options(whole) >= every - set(HELPS) - {"--time-limit", "--computation"}  # second names stand behind first
    required = [action for action in parser._actions if action.required and action.option_strings]
    assert len(options(short)) <= MOST_SHOWN + 2 + len(required)


def parser_of(names):
    parser = CommandParser(prog="gridval try", epilog="The end.", first=["--own-11", "--scenario"])
    for name in names:
        parser.add_argument(name, help=f"about {name}")
    return parser


def test_the_options_named_first_and_then_the_commands_own_are_shown(capsys):
    own = [f"--own-{i}" for i in range(12)]
    parser = parser_of(["--scenario", "--jobs", *own])
    short = shown(parser, "--help", capsys)
    assert options(short) == {"--scenario", "--own-11", *own[:8]}
    assert short.startswith("usage: gridval try [OPTION ...]\n")
    assert short.endswith("gridval try --help-all shows 4 more options.\n") and "The end." not in short
    whole = shown(parser, "--help-all", capsys)
    assert options(whole) == {"--scenario", "--jobs", *own} and whole.endswith("The end.\n")


def test_a_command_with_few_options_shows_all(capsys):
    parser = parser_of(["--scenario", "--jobs", "--own"])
    assert options(shown(parser, "--help", capsys)) == {"--scenario", "--jobs", "--own"}


def test_sections_come_in_one_order(capsys):
    text = shown(parser_of(["--jobs", "--out", "--predictor", "--scenario", "--app", "--own"]), "--help", capsys)
    titles = re.findall(r"^([a-z ]+):$", text, re.MULTILINE)
    assert titles == ["what to run", "where", "which models", "options", "output", "expert"]


def test_file_names_and_words_are_not_broken_at_hyphens(capsys):
    parser = CommandParser(prog="try", description="See docs/programs/own-program.md. " * 9)
    parser.add_argument("--a", help="fit:amdahl or docs/programs/own-program.md, " * 9)
    assert not re.search(r"-$", shown(parser, "--help", capsys), re.MULTILINE)


def test_paragraphs_and_indented_lines_stay(capsys):
    parser = CommandParser(prog="try", description="One\nparagraph.\n\nAnother.\n\n  a = 1\n  b = 2")
    assert "\n\nOne paragraph.\n\nAnother.\n\n  a = 1\n  b = 2\n" in shown(parser, "--help", capsys)
