"""Test that a reader of unexpected input raises nothing but a clear error in one line."""

import importlib
import tomllib
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import DEEP, QUICK
from readers.common import fenced, is_one_line

from platforms.errors import UserError

READERS = sorted(file.stem for file in (Path(__file__).parent / "readers").glob("*.py") if file.stem != "common")
IN_TOML = ("application", "campaign", "design", "machine", "scenario", "system")
HOSTILE_VALUES = st.one_of(
    st.sampled_from([0, -1, 2**63 - 1, -(2**63), 10**18, True, False, [], {}, [[]], [{}], {"a": {}}]),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), -float("inf")]),
    st.sampled_from(["", " ", "../../x", "/etc/passwd", "-x", "a b", 'a"b', "a'b", "a;b", "a\nb", "$(touch x)"]),
    st.sampled_from(["`touch x`", "\u0000", "\u202e", "x" * 5000, "\u0663"]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.one_of(st.integers(-5, 5), st.floats(), st.text(max_size=3)), max_size=4),
)


def reader_of(name: str) -> ModuleType:
    return importlib.import_module(f"readers.{name}")


def attack(reader: ModuleType, content: bytes) -> None:
    try:
        reader.read(content)
    except UserError as err:
        assert is_one_line(err), str(err)


@st.composite
def mutated(draw: st.DrawFn, reader: ModuleType) -> bytes:
    """A seed with a few places cut out, repeated, overwritten, or with a word of the reader inserted."""
    content = bytearray(draw(st.sampled_from(reader.SEEDS)).read_bytes())
    for _ in range(draw(st.integers(1, 6))):
        begin = draw(st.integers(0, len(content)))
        end = min(len(content), begin + draw(st.integers(0, 40)))
        new = draw(
            st.one_of(
                st.just(b""),
                st.just(bytes(content[begin:end]) * 2),
                st.binary(max_size=8),
                st.sampled_from(reader.WORDS).map(str.encode),
            )
        )
        content[begin:end] = new
    return bytes(content)


def in_toml(value: Any) -> str:
    """Return a value in TOML notation, in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{in_toml(str(key))} = {in_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(in_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = "".join(c if c.isalnum() and c.isascii() else f"\\U{ord(c):08x}" for c in value)
        return f'"{escaped}"'
    return repr(value)


def file_in_toml(table: dict[str, Any]) -> bytes:
    return "".join(f"{in_toml(key)} = {in_toml(value)}\n" for key, value in table.items()).encode()


@st.composite
def changed_tables(draw: st.DrawFn, reader: ModuleType) -> bytes:
    """A seed with wrong values, keys and entries at random places."""
    table = tomllib.loads(draw(st.sampled_from(reader.SEEDS)).read_text("utf-8"))
    for _ in range(draw(st.integers(1, 4))):
        place: Any = table
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 4)):
                place = place[key]
                continue
            what = draw(st.sampled_from(["value", "gone", "twice", "wrapped"]))
            if what == "gone":
                del place[key]
            elif what == "twice" and isinstance(place, list):
                place.append(deepcopy(place[key]))
            elif what == "wrapped":
                place[key] = [place[key]]
            else:
                place[key] = deepcopy(draw(HOSTILE_VALUES))
            break
    return file_in_toml(table)


@pytest.fixture
def fence(tmp_path):
    with fenced(tmp_path):
        yield


def search(name: str, strategy: Any, profile: settings) -> None:
    reader = reader_of(name)

    @profile
    @given(strategy(reader))
    def attempt(content: bytes) -> None:
        attack(reader, content)

    attempt()


def anything(_: ModuleType) -> st.SearchStrategy[bytes]:
    return st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))


STRATEGIES = [(name, strategy) for name in READERS for strategy in (anything, mutated)]
STRATEGIES += [(name, changed_tables) for name in IN_TOML]


@pytest.mark.parametrize("name, strategy", STRATEGIES)
def test_nothing_but_the_clear_error(name, strategy, fence):
    search(name, strategy, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name, strategy", STRATEGIES)
def test_nothing_but_the_clear_error_in_many_attempts(name, strategy, fence):
    search(name, strategy, DEEP)


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_taken(name, fence):
    # Otherwise all inputs would fail at the same first check.
    reader, taken = reader_of(name), 0
    for seed in reader.SEEDS:
        try:
            reader.read(seed.read_bytes())
            taken += 1
        except UserError:
            pass
    assert taken or name in ("platform_xml", "campaign")


FOUND = sorted((Path(__file__).parent / "corpus" / "found").glob("*"))


@pytest.mark.parametrize("found", FOUND, ids=[file.name for file in FOUND])
def test_what_the_fuzzer_once_found(found, fence):
    attack(reader_of(found.name.partition("-")[0]), found.read_bytes())
