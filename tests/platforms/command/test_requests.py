"""Requests of commands: from words, from Python or TOML values, and back to words."""

from dataclasses import MISSING, dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from platforms.command.parser import CommandParser
from platforms.command.request import Request, argument, fields_of, given, option, titled, words_behind
from platforms.command.values import add_options, parsed, request_of, words_of
from platforms.errors import UserError


def whole_or_all(text):
    return text if text == "all" else int(text)


@dataclass(frozen=True, kw_only=True)
class WhereOptions(Request):
    """Where a run takes place."""

    grid: str = option("grid4x2", "NAME", "a grid", choices=("grid4x2", "grid4x4"))
    speeds: str | None = option(None, "S1,S2,...", "speeds of the clusters", unit="Gflop/s")


@dataclass(frozen=True, kw_only=True)
class RunRequest(WhereOptions):
    """Run something."""

    files: tuple[str, ...] = argument("FILE", "files to read")
    problem_class: str = option("A", "C", "problem class", name="--class")
    share: float = option(0.5, "X", "a share")
    repeats: int | None = option(None, "N", "how often")
    ranks: int | str = option(1, "N|all", "ranks on a host", parse=whole_or_all)
    set: tuple[str, ...] = option((), "NAME=VALUE", "a variable")
    inputs: tuple[str, ...] = option((), "FILE", "files of input", several=True)
    quiet: bool = option(False, help="say nothing")
    command: tuple[str, ...] = words_behind("a command to start")


def of_words(*words):
    parser = CommandParser()
    add_options(parser, RunRequest)
    return parsed(RunRequest, parser, words)


def of_values(**values):
    return request_of(RunRequest, {"files": "a", **values})


# --- declarations ---


def test_fields_come_group_by_group_and_have_the_names_of_their_options():
    assert [(field.key, field.option) for field in fields_of(RunRequest)] == [
        ("grid", "--grid"), ("speeds", "--speeds"), ("files", "FILE"), ("problem_class", "--class"),
        ("share", "--share"), ("repeats", "--repeats"), ("ranks", "--ranks"), ("set", "--set"), ("inputs", "--inputs"),
        ("quiet", "--quiet"), ("command", "--command"),
    ]  # fmt: skip


def test_kinds_follow_from_the_annotations():
    known = {field.key: (field.kind, field.repeated, field.optional) for field in fields_of(RunRequest)}
    assert known["files"] == ("str", True, False)
    assert known["repeats"] == ("int", False, True)
    assert known["share"] == ("float", False, False)


def test_what_a_request_goes_without_keeps_its_default_and_has_no_option():
    @dataclass(frozen=True, kw_only=True)
    class Narrow(RunRequest):
        """Run less."""

        without = frozenset({"speeds", "share"})

    assert not {"speeds", "share"} & {field.key for field in fields_of(Narrow)}
    assert request_of(Narrow, {"files": ["a"]}).share == 0.5
    with pytest.raises(UserError, match="share: no such option"):
        request_of(Narrow, {"files": ["a"], "share": 0.1})


def test_a_request_is_frozen_and_lists_nothing_that_users_cannot_give():
    assert {field.name for field in fields(RunRequest)} == {field.key for field in fields_of(RunRequest)}
    with pytest.raises(AttributeError):
        of_words("a").share = 1


def test_fields_of_groups_are_put_into_one_section():
    assert titled("where", WhereOptions) == {"grid": "where", "speeds": "where"}


def test_a_checked_value_is_given():
    assert given(0) == 0
    with pytest.raises(AssertionError):
        given(None)


# --- from words, and back ---

CASES = [
    ("a",),
    ("a", "b", "--grid", "grid4x4", "--speeds", "10,20"),
    ("a", "--class", "B", "--share", "1e-05", "--repeats", "3", "--ranks", "all", "--quiet"),
    ("a", "--set", "n=1", "--set", "m=2"),
    ("a", "--speeds=-1,2", "--set=-n=1"),
    ("a", "--speeds", "", "--share", "-0.25"),
    ("a", "--inputs", "x.csv", "y.csv"),
    ("a", "--quiet", "--", "make", "-j", "--", "all"),
]


@pytest.mark.parametrize("words", CASES)
def test_words_of_a_request_ask_for_the_same(words):
    request = of_words(*words)
    assert of_words(*words_of(request)) == request


def test_the_words_are_those_that_a_user_would_write():
    request = of_values(share=0.25, set={"n": 1}, speeds=[10, 20], command=["make", "-j"])
    assert words_of(request) == ["a", "--speeds", "10,20", "--share", "0.25", "--set", "n=1", "--", "make", "-j"]
    assert words_of(request, WhereOptions) == ["--speeds", "10,20"]


def test_a_file_whose_name_begins_with_a_dash_stays_a_file():
    @dataclass(frozen=True, kw_only=True)
    class Show(Request):
        """Show a file."""

        file: str = argument("FILE", "a file")
        wide: bool = option(False, help="wide")

    parser = CommandParser()
    add_options(parser, Show)
    request = Show(file="-x.toml", wide=True)
    assert parsed(Show, parser, words_of(request)) == request
    assert words_of(of_values(inputs=["-x.csv"])) == ["a", "--inputs", "./-x.csv"]


# --- from values ---


def test_values_are_what_options_would_have_given():
    words = of_words(
        "a", "--speeds", "10,20.5", "--class", "B", "--share", "0.25", "--repeats", "2", "--ranks", "2", "--set", "n=4"
    )  # fmt: skip
    assert words == of_values(speeds=[10, 20.5], problem_class="B", share=0.25, repeats=2, ranks=2, set={"n": 4})
    assert words == of_values(
        speeds=np.array(["10", "20.5"]), share=np.float64(0.25), repeats=np.int64(2), ranks=np.int32(2),
        set=["n=4"], **{"class": "B"},
    )  # fmt: skip


def test_numbers_of_numpy_and_pandas_are_numbers():
    assert of_values(speeds=np.array([10.0, 20.5])).speeds == "10.0,20.5"
    assert of_values(speeds=pd.Series([10, 20])).speeds == "10,20"
    assert of_values(files=np.array(["a", "b"])).files == ("a", "b")
    assert type(of_values(share=np.float32(0.25)).share) is float


def test_paths_stand_for_their_names():
    assert of_values(inputs=[Path("x") / "y.csv", b"z".decode()]).inputs == ("x/y.csv", "z")


def test_none_is_a_value_that_is_not_given():
    assert of_values(share=None, set=None) == of_words("a")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"speeds": [True, 2]}, r"speeds: \[True, 2\] is neither a text nor a number, nor a list of them. Give one."),
        ({"speeds": b"ab"}, "speeds: b'ab' is neither"),
        ({"speeds": [None]}, r"speeds: \[None\] is neither"),
        ({"speeds": [[1, 2], [3]]}, "is neither"),
        ({"speeds": {1, 2}}, "is neither"),
        ({"speeds": {"c1": 2}}, "is neither"),
        ({"speeds": 1j}, "is neither"),
        ({"speeds": np.bool_(True)}, "is neither"),
        ({"set": {"n": [1, {}]}}, r"set, n: \[1, {}\] is neither"),
        ({"set": {"n": None}}, "set, n: None is neither"),
        ({"set": 5j}, "is neither"),
        ({"files": []}, "files: is missing. Give a value"),
        ({"share": "0.5"}, "share: '0.5' is not a number. Give one."),
        ({"share": True}, "share: True is not a number"),
        ({"repeats": 2.0}, "repeats: 2.0 is not a whole number"),
        ({"repeats": [2]}, "is not a whole number"),
        ({"ranks": "some"}, "ranks: invalid literal"),
        ({"quiet": 1}, "quiet: 1 is neither true nor false"),
        ({"grid": "grid4x3"}, "'grid4x3' is not one of grid4x2, grid4x4. Did you mean grid4x"),
        ({"shares": 1}, "shares: no such option. Did you mean share"),
        ({"problem-class": "B"}, "no such option"),
    ],
)
def test_a_value_that_no_option_could_have_is_refused_in_one_line(values, said):
    with pytest.raises(UserError, match=said) as raised:
        of_values(**values)
    assert "\n" not in str(raised.value)


def test_a_key_that_is_given_by_two_names_is_refused():
    with pytest.raises(UserError, match="class: is given twice"):
        of_values(problem_class="A", **{"class": "B"})


def test_errors_name_the_file_that_the_values_come_from():
    with pytest.raises(UserError, match=r"run\.toml, share: 'x' is not a number"):
        request_of(RunRequest, {"files": "a", "share": "x"}, "run.toml")


def test_a_required_field_has_no_default():
    (files,) = (field for field in fields_of(RunRequest) if field.key == "files")
    assert files.required and files.default is MISSING
    with pytest.raises(UserError, match="files: is missing"):
        request_of(RunRequest, {})
