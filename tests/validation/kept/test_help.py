"""A help text is kept for equal command lines on equal terminals, code and variables, and for no others."""

import sys

import pytest

from platforms.files.caching import cache_folder
from validation.kept import help as kept


@pytest.fixture
def show(monkeypatch, tmp_path, capsys):
    """``show(words, text, status)``: what is printed for a command that would print the text, and whether it ran."""
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path))
    monkeypatch.delenv("PYTEST_CURRENT_TEST")

    def shown(words, text="help\n", status=0):
        ran = []

        def run():
            ran.append(words)
            print(text, end="")
            sys.exit(status)

        try:
            kept.shown(words, run)
        except SystemExit as err:
            assert err.code == status
        return capsys.readouterr().out, bool(ran)

    return shown


def test_the_same_help_is_made_once(show):
    assert show(["predict", "--help"], "añb\n") == ("añb\n", True)
    assert show(["predict", "--help"]) == ("añb\n", False)
    assert show(["run", "--help"]) == ("help\n", True)


def test_another_width_or_other_code_has_help_of_its_own(show, monkeypatch):
    show(["run", "--help"])
    monkeypatch.setenv("COLUMNS", "61")
    assert show(["run", "--help"], "narrow\n") == ("narrow\n", True)
    monkeypatch.setattr(kept, "files_state", lambda: {"a.py": (1,)})
    assert show(["run", "--help"], "new\n") == ("new\n", True)
    assert show(["run", "--help"]) == ("new\n", False)


def test_errors_and_damaged_texts_are_not_shown_again(show):
    assert show(["rnu", "--help"], status=2)[1] and show(["rnu", "--help"])[1]
    (path,) = (cache_folder() / "help").iterdir()
    path.write_bytes(path.read_bytes().replace(b"help\n", b"kelp\n"))
    assert show(["rnu", "--help"]) == ("help\n", True)
