"""Stores return what was put into them, and only under the same identity."""

import os
import pickle
import random
import re
import sqlite3
import subprocess
import sys
import threading
import types
import typing
from dataclasses import dataclass, fields, is_dataclass, make_dataclass, replace

import pytest

from apps.results.record import RunRecord, Timed
from apps.store import Store, is_exact
from apps.store.codec import DoesNotFit, as_fields, from_fields
from apps.store.database import DATABASE
from apps.store.entries import IS_ENTRY
from apps.store.store import FILE_BYTES

AWKWARD_FLOATS = (0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, float("inf"), 2.0**53 + 2)


def sample(hint, rng):
    """Return a value of an annotation, for any fields of a record."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: sample(hints[field.name], rng) for field in fields(hint) if kept(field)})
    if origin is tuple:
        return tuple(sample(arguments[0], rng) for _ in range(rng.randrange(4)))
    if hint == dict[str, typing.Any]:
        return {"app": "cg", "floats": [1e-300, 0.1], "nested": {"none": None, "number": rng.randrange(9)}}
    if origin is dict:  # by host; many hosts have the same value
        some = [sample(arguments[1], rng) for _ in range(2)]
        return {sample(str, rng) + suffix: rng.choice(some) for suffix in ("", "08", "9", "10", "11.site", "12.site")}
    if origin in (types.UnionType, typing.Union):
        return sample(rng.choice(arguments), rng)
    values = {
        float: lambda: rng.choice((*AWKWARD_FLOATS, rng.random(), rng.expovariate(1e-9), 3)),
        int: lambda: rng.randrange(2**70),
        bool: lambda: rng.random() < 0.5,
        str: lambda: rng.choice(("", "c1-0", "é \n\0\"'", "\udcff", "ranks")),
        type(None): lambda: None,
    }
    return values[hint]()


def kept(field):
    return field.metadata.get("kept", True)


def sample_record(seed=0, **changes):
    identity = {"app": "cg", "class": "S", "params": {"na": 1400}, "host": ["c1-0", "c2-0"], "seed": seed}
    record = replace(sample(RunRecord, random.Random(seed)), identity=identity, source="simulation")
    return replace(record, **changes)


@pytest.mark.parametrize("seed", range(30))
def test_every_field_of_a_record_survives_to_the_last_bit(tmp_path, seed):
    record = sample_record(seed)
    with Store(tmp_path / "store") as store:
        assert store.put_record(record)
    with Store(tmp_path / "store") as store:
        known = store.get_record(record.identity)
    for field in filter(kept, fields(RunRecord)):  # repr: -0.0 and 0.0 are equal, and `command` is not compared by ==
        assert repr(getattr(known, field.name)) == repr(getattr(record, field.name)), field.name


def test_what_was_never_put_is_unknown(store):
    assert store.get_record({"app": "cg"}) is None
    assert store.get("recording", "0123") is None


@pytest.mark.parametrize("change", [{"iterations": 5}, {"seed": 1}, {"efficiency": 0.1 + 1e-17 + 0.2}, {"class": None}])
def test_another_identity_is_another_record(store, change):
    record = sample_record(identity={"app": "cg", "class": "S", "iterations": 75, "efficiency": 0.3})
    store.put_record(record)
    assert store.get_record(record.identity) == record
    assert store.get_record({**record.identity, **change}) is None


def test_an_identity_that_only_shares_the_hash_is_not_taken_for_the_same(store, monkeypatch):
    monkeypatch.setattr("apps.store.store.identity_hash", lambda identity: "0" * 16)
    store.put_record(sample_record(1))
    assert store.get_record(sample_record(2).identity) is None


def test_a_measurement_is_given_only_when_asked_for_and_said(store, lines):
    measured = sample_record(source="measurement")
    store.put_record(measured)
    assert not is_exact(measured)
    assert store.get_record(measured.identity) is None
    assert lines == []
    assert store.get_record(measured.identity, inexact=True) == measured
    assert len(lines) == 1
    assert "taken from the store" in lines[0]


@pytest.mark.parametrize("timed", [None, Timed(replayed=False, spread_rel=0.0), Timed(True, 0.0, kept=False)])
def test_computation_that_another_run_would_not_replay_is_given_only_when_asked_for(store, lines, timed):
    record = sample_record(identity={"app": "mine", "compute": "measured"}, timed=timed)
    store.put_record(record)
    assert store.get_record(record.identity) is None
    assert store.get_record(record.identity, inexact=True) == record
    assert len(lines) == 1


def test_replayed_computation_is_given_again(store):
    record = sample_record(identity={"app": "mine", "compute": "measured"}, timed=Timed(True, 0.02))
    store.put_record(record)
    assert store.get_record(record.identity) == record


def test_a_measurement_does_not_take_the_place_of_the_simulation(store):
    simulated, measured = sample_record(1), sample_record(1, source="measurement", time_s=77.0)
    store.put_record(simulated)
    store.put_record(measured)
    assert store.get_record(simulated.identity, inexact=True) == simulated


@pytest.mark.parametrize("change", [lambda data: data.pop("flops"), lambda data: data.update(colour="red")])
def test_a_record_with_fewer_or_more_fields_is_unknown(store, lines, change):
    record = sample_record()
    store.put_record(record)
    (entry,) = store.entries()
    payload = store.get("record", entry.key)
    change(payload)
    store.put("record", entry.key, record.identity, payload)
    others = sample_record(seed=1)
    store.put_record(others)
    store.put("record", store.entries()[1].key, others.identity, payload)
    assert store.get_record(record.identity) is store.get_record(others.identity) is None
    (line,) = lines  # one for all of them: after an update of this project there are many
    assert f"record {entry.key} is not used: RunRecord: fields are missing or unknown: " in line


@dataclass(frozen=True)
class Inner:
    share: float


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (float, 1, "1"),
        (float, 0.5, True),
        (int, 1, 1.0),
        (bool, False, 0),
        (tuple[int, ...], [1, 2], [1, 2.5]),
        (tuple[int, ...], [], 3),
        (tuple[tuple[float, ...], ...], [[1.5], []], [1.5]),
        (Inner | None, {"share": 1.5}, {"share": 1.5, "more": 1}),
        (Inner | None, None, 7),
        (dict, {}, []),
        (dict[str, float], {"c1-0": 1.5}, {"c1-0": "1.5"}),
        (dict[str, float], {}, [[1.5, "c1-0"]]),
    ],
)
def test_values_of_another_type_do_not_fit(hint, good, bad):
    one_field = make_dataclass("OneField", [("field", hint)])
    assert from_fields(one_field, {"field": good}) is not None
    with pytest.raises(DoesNotFit):
        from_fields(one_field, {"field": bad})
    with pytest.raises(DoesNotFit):
        from_fields(one_field, {})


def test_a_value_that_is_no_json_is_a_bug_and_not_stored(store):
    with pytest.raises(TypeError):
        store.put("recording", "k", {}, {"folder": object()})
    with pytest.raises(ValueError, match="kind"):
        store.put("tracee", "k", {}, {})
    assert store.entries() == []


def test_a_large_payload_is_a_file_and_a_small_one_is_not(store):
    small, large = {"text": "x" * (FILE_BYTES - 100)}, {"text": "x" * (FILE_BYTES + 100)}
    store.put("recording", "small", {}, small)
    assert not list(store.folder.glob("payloads/*/*"))
    store.put("recording", "large", {}, large)
    assert len(list(store.folder.glob("payloads/*/*.json"))) == 1
    assert not list(store.folder.glob("tmp/*"))
    assert (store.get("recording", "small"), store.get("recording", "large")) == (small, large)


def test_the_last_one_put_counts(store):
    for value in (1, "x" * (FILE_BYTES + 1), 2):
        assert store.put("recording", "k", {}, {"value": value})
        assert store.get("recording", "k") == {"value": value}
    assert len(store.entries()) == 1


def test_entries_tell_what_there_is_without_reading_it(store):
    record = sample_record(time_s=1.5)
    store.put_record(record)
    store.put("recording", "k", {"app": "lu"}, {"events": []}, summary="no events")
    first, second = store.entries()
    assert (first.kind, first.identity, first.summary) == ("record", record.identity, "1.5 s")
    assert (second.kind, second.key, second.summary, second.size_bytes) == ("recording", "k", "no events", 13)
    assert first.created_s <= second.created_s


@pytest.mark.parametrize("name", ["experiments", "block_experiments"])
def test_a_probe_that_an_earlier_version_stored_as_a_measurement_is_a_probe(store, name):
    identity = {"host": ["a"], name: "ab12"}
    assert store.put("measurement", "k", identity, {"n": 1})
    (entry,) = store.entries()
    assert (entry.kind, entry.identity) == ("probe", identity)
    assert (store.get("probe", "k"), store.get("measurement", "k")) == ({"n": 1}, None)
    assert store.put("probe", "k", identity, {"n": 2})
    (entry,) = store.entries()
    assert store.get("probe", "k") == {"n": 2}
    store.remove([entry])
    assert store.entries() == []


def test_a_recording_that_an_earlier_version_stored_as_a_trace_is_a_recording(store):
    store.put("recording", "k", {"app": "cg"}, {"n": 1})
    with sqlite3.connect(store.folder / DATABASE) as connection:
        connection.execute("UPDATE entries SET kind = 'trace'")
    (entry,) = store.entries()
    assert (entry.kind, store.get("recording", "k")) == ("recording", {"n": 1})
    assert store.put("recording", "k", {"app": "cg"}, {"n": 2})
    (entry,) = store.entries()
    assert store.get("recording", "k") == {"n": 2}
    store.remove([entry])
    assert store.entries() == []


def test_an_earlier_probe_is_removed_by_its_kind_and_key(store):
    store.put("measurement", "k", {"experiments": "ab12"}, {"n": 1})
    store.put("measurement", "l", {"app": "cg"}, {"n": 2})
    store.remove([entry for entry in store.entries() if entry.kind == "probe"])
    assert [(entry.kind, entry.key) for entry in store.entries()] == [("measurement", "l")]


def test_a_measurement_stays_one_whatever_its_program_is_told(store):
    identity = {"app": "mine", "arguments": ['--"experiments": "ab12"']}
    store.put("measurement", "k", identity, {"n": 1})
    assert [entry.kind for entry in store.entries()] == ["measurement"]
    assert (store.get("probe", "k"), store.get("measurement", "k")) == (None, {"n": 1})


def test_kinds_that_nobody_writes_are_refused(store):
    for kind in ("calibration", "fit"):
        with pytest.raises(ValueError, match=f"no such kind of entry: '{kind}'"):
            store.put(kind, "k", {}, {})


def test_entries_of_a_kind_that_is_not_known_here_are_read_all_the_same(store):
    store.put("recording", "k", {}, {"n": 1})
    with sqlite3.connect(store.folder / DATABASE) as connection:
        connection.execute("UPDATE entries SET kind = 'colour'")
    (entry,) = store.entries()
    assert (entry.kind, store.get("colour", "k")) == ("colour", {"n": 1})


def test_an_entry_is_found_by_the_index(store):
    with sqlite3.connect(store.folder / DATABASE) as connection:
        query = f"EXPLAIN QUERY PLAN SELECT identity FROM entries WHERE {IS_ENTRY}"
        ((*_, plan),) = connection.execute(query, {"kind": "probe", "key": "k"}).fetchall()
    assert re.search(r"SEARCH .*INDEX.*\(kind=\? AND key=\?\)", plan)


def test_without_a_path_the_store_is_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    with Store() as store:
        assert store.folder == tmp_path / "cache" / "store"
        assert store.put("recording", "k", {}, {})


def test_odd_folder_names_are_just_names(tmp_path):
    folder = tmp_path / "a?mode=ro&b#c %41 é;'"
    with Store(folder) as store:
        assert store.put("recording", "k", {}, {"x": "x" * (FILE_BYTES + 1)})
    assert {path.name for path in tmp_path.iterdir()} == {folder.name}


def test_threads_share_a_store(store):
    def work(number):
        for step in range(10):
            assert store.put("recording", f"{number}-{step}", {}, {"n": number})
            assert store.get("recording", f"{number}-{step}") == {"n": number}

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.entries()) == 40


def test_a_forked_process_opens_the_store_anew(store):
    store.put("recording", "parent", {}, {"n": 1})
    child = os.fork()
    if child == 0:
        worked = store.get("recording", "parent") == {"n": 1} and store.put("recording", "child", {}, {"n": 2})
        os._exit(0 if worked else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.get("recording", "child") == {"n": 2}
    assert store.put("recording", "parent", {}, {"n": 3})


def test_a_store_can_be_sent_to_another_process(store):
    with pickle.loads(pickle.dumps(store)) as other:
        other.put("recording", "k", {}, {"n": 1})
    assert store.get("recording", "k") == {"n": 1}


def test_nested_dataclasses_are_written_field_by_field(store):
    store.put("probe", "k", {}, {"inner": [Inner(0.25)]})
    assert store.get("probe", "k") == {"inner": [{"share": 0.25}]}
    assert as_fields(Inner(0.25)) == {"share": 0.25}


def test_reading_a_store_loads_no_numerical_library(tmp_path):
    with Store(tmp_path):
        pass
    script = (
        "import sys; from pathlib import Path; from apps.store import Store\n"
        "Store(Path(sys.argv[1])).get_record({})\n"
        "print(*({'numpy', 'pandas', 'pyarrow', 'lxml'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_store_opened_for_reading_takes_nothing(tmp_path):
    Store(tmp_path).close()
    with Store(tmp_path, read_only=True) as store, pytest.raises(ValueError, match="for reading only"):
        store.put("record", "key", {}, {})
