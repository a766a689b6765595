"""Values of every kind that are written and read again are unchanged."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import QUICK
from readers.common import platform_of

from apps.recording.events import EVENT_FIELDS, Recording
from apps.recording.files import from_bytes, to_bytes
from apps.results.energy import packed, unpacked
from apps.store import Store
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import read_host_file, write_host_file
from predictor.allocation.configuration import Configuration
from predictor.blocks.expressions import Expression

PLATFORM = platform_of(named_grid("grid4x2"))
HOSTS = [host.name for host in PLATFORM.hosts]
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBERED = st.from_regex(r"c-\d{1,3}", fullmatch=True)
SHARES = st.one_of(st.just((0, 0)), st.tuples(st.integers(1, 10**6), st.integers(1, 99)))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


@QUICK
@given(placement=st.lists(st.sampled_from(HOSTS), min_size=1, max_size=40))
def test_host_files(placement, tmp_path):
    write_host_file(tmp_path / "hosts", placement)
    assert read_host_file(tmp_path / "hosts", PLATFORM) == tuple(placement)


@QUICK
@given(
    energies=st.dictionaries(st.one_of(NAMES, st.from_regex(r"c-\d{1,3}", fullmatch=True)), st.sampled_from([0.5, 2.0]))
)
def test_energies_of_hosts_of_any_name(energies):
    again = unpacked(json.loads(json.dumps(packed(energies))))
    assert again == energies
    assert list(again) == list(energies)


@QUICK
@given(payload=st.dictionaries(NAMES, JSON, max_size=5), identity=st.dictionaries(NAMES, JSON, max_size=3))
def test_payloads_of_a_store(payload, identity, tmp_path):
    with Store(tmp_path / "store") as store:
        assert store.put("recording", "f" * 64, identity, payload, summary="one")
        assert store.get("recording", "f" * 64) == payload
        assert [entry.identity for entry in store.entries()] == [identity]


@QUICK
@given(content=st.binary(max_size=2000), identity=st.dictionaries(NAMES, JSON, max_size=3))
def test_bytes_of_a_store(content, identity, tmp_path):
    with Store(tmp_path / "store") as store:
        assert store.put_bytes("recording", identity, content)
        assert store.get_bytes("recording", identity) == content


@QUICK
@given(data=st.data())
def test_recordings(data):
    from apps.recording.events import EVENT

    ranks = data.draw(st.integers(1, 3))
    rows = [np.frombuffer(data.draw(st.binary(min_size=EVENT.itemsize, max_size=EVENT.itemsize)), EVENT)] * ranks
    counts = [np.array(data.draw(st.lists(st.integers(0, 2**62), max_size=3)), np.int64) for _ in range(ranks)]
    again = from_bytes(to_bytes(Recording(tuple(rows), tuple(counts), (tuple(range(ranks)),))))
    assert again.communicators == (tuple(range(ranks)),)
    for mine, other in zip(rows, again.events, strict=True):
        assert all(mine[name].tobytes() == other[name].tobytes() for name in EVENT_FIELDS)
    assert [one.tolist() for one in counts] == [one.tolist() for one in again.counts]


@QUICK
@given(
    shares=st.lists(
        st.one_of(st.just((0, 0)), st.tuples(st.integers(1, 10**6), st.integers(1, 99))), min_size=1, max_size=5
    )
)
def test_configurations(shares):
    try:
        configuration = Configuration(tuple(shares))
    except UserError:
        assert not any(pes for pes, _ in shares)
        return
    assert Configuration.parse(str(configuration)) == configuration


@QUICK
@given(number=st.one_of(st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_as_expressions(number):
    assert Expression.of(number).value({}, "here") == number
    assert Expression.of(repr(number)) == Expression.of(number)


@pytest.mark.parametrize("name", ["two\nlines", "\x01", "\u202e"])
def test_names_that_cannot_be_shown_are_refused(name, tmp_path):
    from platforms.grids.scenario import read_grid
    from platforms.read.clusters import parse_clusters

    escaped = "".join(f"\\U{ord(c):08x}" for c in name)
    (tmp_path / "grid.toml").write_text(f'name = "{escaped}"\n[[clusters]]\nnodes = 1\nspeed_gflops = 1\n')
    with pytest.raises(UserError, match="cannot be shown"):
        read_grid(tmp_path / "grid.toml")
    with pytest.raises(UserError, match="cannot be shown"):
        parse_clusters(f"a{name}b=*")
