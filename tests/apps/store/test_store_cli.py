"""gridval store on small stores."""

import json
import math
import sqlite3
import subprocess
import sys
import time

import pandas as pd
import pytest

from apps.store import Entry, Store
from apps.store.database import DATABASE
from apps.store.export import flat_row
from apps.store.store import FILE_BYTES
from tests.verbs import store as main
from tests.verbs import store as store_command


def payload(time_s, **more):
    return {
        "time_s": time_s,
        "compute_s": [0.1, 0.2],
        "messages": [3, 4],
        "iteration_s": [[0.5, 1.0], [0.25, 2.0]],
        "verified": None,
        "checks": {"zeta": [8.5, 8.5]},
        "command": ["smpirun", "a b"],
        "source": "simulation",
        "extrapolation": None,
        **more,
    }


def identity(app, **more):
    hosts = ["c1-0", "c1-0"] if app == "cg" else ["c1-0", "c1-1"]
    return {"app": app, "class": "S", "platform_hash": "ab12" + "0" * 60, "host": hosts, "iterations": 4, **more}


@pytest.fixture
def folder(tmp_path):
    with Store(tmp_path / "store") as store:
        store.put("record", "aa01", identity("cg"), payload(1 / 3), summary="0.333333 s")
        store.put("record", "aa02", identity("lu", **{"class": "W"}), payload(2.0, verified=True))
        store.put("measurement", "bb01", identity("mg", platform_hash="cd34"), payload(7.0, source="measurement"))
        store.put("recording", "bb01", {"app": "cg"}, {"text": "x" * FILE_BYTES})
    return tmp_path / "store"


def age(folder, key, days):
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute("UPDATE entries SET created_s = ? WHERE key = ?", (time.time() - days * 86400, key))


def run(capsys, arguments, folder=None):
    status = main([*arguments.split(), *(["--store", str(folder)] if folder else [])])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def keys(folder):
    with Store(folder) as store:
        return sorted((entry.key, entry.kind) for entry in store.entries())


def test_list_has_one_line_per_entry(folder, capsys):
    status, out, err = run(capsys, "list", folder)
    assert status == 0
    header, *rows = out.splitlines()
    assert header.split()[:3] == ["key", "kind", "app"]
    assert [row.split()[:3] for row in rows] == [
        ["aa01", "record", "cg.S"],
        ["aa02", "record", "lu.W"],
        ["bb01", "measurement", "mg.S"],
        ["bb01", "recording", "cg"],
    ]
    assert "0.333333 s" in rows[0]
    assert err.startswith("4 entries, ")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ("--app cg", ["aa01", "bb01"]),
        ("--app cg --kind record", ["aa01"]),
        ("--class W", ["aa02"]),
        ("--platform AB12", ["aa02", "aa01"]),
        ("--platform 0", []),
        ("--older-than 5", ["aa02"]),
        ("--older-than 0", ["aa02", "aa01", "bb01", "bb01"]),
    ],
)
def test_filters_narrow_the_list(folder, capsys, filters, found):
    age(folder, "aa02", days=9)
    status, out, err = run(capsys, f"list {filters}", folder)
    assert status == 0
    assert [row.split()[0] for row in out.splitlines()[1:]] == found
    assert err.startswith(f"{len(found)} entries")


def test_show_gives_the_whole_entry(folder, capsys):
    status, out, _ = run(capsys, "show aa01", folder)
    assert status == 0
    shown = json.loads(out)
    assert (shown["kind"], shown["key"], shown["identity"]) == ("record", "aa01", identity("cg"))
    assert shown["payload"] == payload(1 / 3)


def test_the_beginning_of_a_key_is_enough_if_it_is_the_only_one(folder, capsys):
    assert json.loads(run(capsys, "show bb --kind measurement", folder)[1])["key"] == "bb01"
    status, out, err = run(capsys, "show aa", folder)
    assert (status, out) == (2, "")
    assert "aa01 (record), aa02 (record)" in err


def test_probes_are_listed_under_a_kind_of_their_own_and_are_not_exported(folder, tmp_path, capsys):
    with Store(folder) as store:
        store.put("probe", "cc01", {"host": ["c1-0"], "experiments": "ab"}, {"times_s": [[0.5]]}, summary="new")
        store.put("measurement", "cc02", {"block_experiments": "ab"}, {"times_s": [[0.5]]}, summary="old")
    _, out, err = run(capsys, "list --kind probe", folder)
    assert [row.split()[:2] for row in out.splitlines()[1:]] == [["cc01", "probe"], ["cc02", "probe"]]
    assert err.startswith("2 entries")
    assert json.loads(run(capsys, "show cc02", folder)[1])["kind"] == "probe"
    assert run(capsys, f"export {tmp_path / 'runs.csv'}", folder)[2].startswith("3 runs written")
    assert set(pd.read_csv(tmp_path / "runs.csv")["kind"]) == {"record", "measurement"}
    status, _, err = run(capsys, f"export {tmp_path / 'probes.csv'} --kind probe", folder)
    assert (status, "there are no runs to export" in err) == (2, True)
    run(capsys, "prune --kind probe", folder)
    assert "cc01" not in dict(keys(folder)) and "cc02" not in dict(keys(folder))


def test_the_help_says_what_the_kinds_of_entries_are(capsys):
    with pytest.raises(SystemExit):
        main(["list", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "measurement (run with times of a real machine), probe (simulated experiments" in said


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_export_is_read_back_by_pandas(folder, tmp_path, capsys, suffix):
    file = tmp_path / f"runs.{suffix}"
    status, _, err = run(capsys, f"export {file}", folder)
    assert (status, err) == (0, f"3 runs written to {file}\n")
    table = pd.read_csv(file) if suffix == "csv" else pd.read_parquet(file)
    assert list(table["key"]) == ["aa01", "aa02", "bb01"]
    assert list(table["kind"]) == ["record", "record", "measurement"]
    assert list(table["time_s"]) == pytest.approx([1 / 3, 2.0, 7.0], rel=1e-15)
    assert suffix == "parquet" or ",0.3333333333333333," in file.read_text()  # all digits are in the file
    first = table.iloc[0]
    assert (first["app"], first["class"], first["iterations"]) == ("cg", "S", 4)
    assert (first["compute_s_sum"], first["compute_s_max"]) == pytest.approx((0.3, 0.2), rel=1e-15)
    assert (first["messages_sum"], first["messages_max"], first["iteration_s_max"]) == (7, 4, 2.0)
    assert (first["ranks"], first["nodes"], first["node_s"]) == pytest.approx((2, 1, 1 / 3), rel=1e-15)
    assert json.loads(first["checks"]) == {"zeta": [8.5, 8.5]}
    assert first["command"] == "smpirun 'a b'"
    assert list(table["verified"].isna()) == [True, False, True]
    assert table["extrapolation_bound_rel"].isna().all()
    assert "host" not in table


def test_an_extrapolation_has_columns_of_its_own(tmp_path, capsys):
    known = {"iterations": 75, "simulated": 5, "period": 1, "period_s": 0.25, "bound_rel": 1e-7}
    with Store(tmp_path / "store") as store:
        store.put("record", "aa", {"app": "cg"}, payload(1.0, extrapolation=known))
    assert run(capsys, f"export {tmp_path}/runs.csv", tmp_path / "store")[0] == 0
    (row,) = pd.read_csv(tmp_path / "runs.csv").to_dict("records")
    assert {name: row[f"extrapolation_{name}"] for name in known} == known


def test_energies_are_summed_over_hosts_and_links(tmp_path, capsys):
    # By hand: c1-0 and c1-1 take 1.5 J each, c1-2 2 J; ranks run on c1-0 and c1-2.
    known = {
        "energy_j": [[1.5, "c1-", 0, 1, ""], [2.0, "c1-2"]],
        "link_energy_j": [[0.25, "wan"]],
        "energy_span_s": 1.0,
    }
    with Store(tmp_path / "store") as store:
        store.put("record", "aa", {"app": "cg", "host": ["c1-0", "c1-2", "c1-0"]}, payload(1.0, **known))
        store.put("record", "bb", {"app": "cg"}, payload(1.0, energy_j=None, link_energy_j=None))
    assert run(capsys, f"export {tmp_path}/runs.csv", tmp_path / "store")[0] == 0
    first, second = pd.read_csv(tmp_path / "runs.csv").to_dict("records")
    assert [first[name] for name in ("energy_j", "used_energy_j", "link_energy_j")] == [5.0, 3.5, 0.25]
    assert math.isnan(second["energy_j"]) and math.isnan(second["used_energy_j"])


def test_odd_values_are_exported_too(tmp_path, capsys):
    with Store(tmp_path / "store") as store:
        store.put("record", "a", {"x": 1}, {"x": True, "text": '\udcff,\n"', "number": math.inf, "large": 2**80})
        store.put("record", "b", {"x": "one"}, {"number": math.nan, "list": [], "rows": [[], []], "large": 1})
    for suffix in ("csv", "parquet"):
        assert run(capsys, f"export {tmp_path}/runs.{suffix}", tmp_path / "store")[0] == 0
    table = pd.read_parquet(tmp_path / "runs.parquet")
    assert list(table["x"]) == ["1", "one"]
    assert table["record_x"][0]
    assert list(table["large"]) == [2.0**80, 1.0]
    assert table["text"][0] == '\\udcff,\n"'
    assert math.isinf(table["number"][0])


def test_a_filter_narrows_the_export(folder, tmp_path, capsys):
    assert run(capsys, f"export {tmp_path}/runs.csv --kind record --app lu", folder)[0] == 0
    assert list(pd.read_csv(tmp_path / "runs.csv")["key"]) == ["aa02"]


def test_prune_removes_what_fits_the_filters_and_its_files(folder, capsys):
    age(folder, "aa02", days=9)
    assert run(capsys, "prune --older-than 5 --dry-run", folder)[0] == 0
    assert len(keys(folder)) == 4
    assert run(capsys, "prune --older-than 5", folder)[0] == 0
    assert keys(folder) == [("aa01", "record"), ("bb01", "measurement"), ("bb01", "recording")]
    status, _, err = run(capsys, "prune --kind recording", folder)
    assert status == 0
    assert err.startswith("removed 1 entries")
    assert err.endswith("and 1 files\n")
    assert keys(folder) == [("aa01", "record"), ("bb01", "measurement")]
    assert not list(folder.glob("payloads/*/*"))


def test_prune_alone_removes_only_files_that_no_entry_names(folder, capsys):
    with Store(folder) as store:
        store.put("recording", "bb01", {}, {"text": "y" * FILE_BYTES})
    assert len(list(folder.glob("payloads/*/*"))) == 2
    assert run(capsys, "prune", folder)[0] == 0
    assert len(list(folder.glob("payloads/*/*"))) == 1
    assert len(keys(folder)) == 4


def test_prune_all_empties_the_store(folder, capsys):
    assert run(capsys, "prune --all", folder)[0] == 0
    assert keys(folder) == []
    assert not list(folder.glob("payloads/*/*"))


def test_a_user_who_has_run_nothing_yet_has_an_empty_store(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path))
    assert run(capsys, "list") == (0, "", "0 entries, 0 bytes\n")
    assert run(capsys, "prune --all")[0] == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("list --kind colour", "Known: record, measurement, probe, recording"),
        ("list --older-than soon", "not a number of days"),
        ("list --older-than nan", "not a number of days"),
        ("list --older-than -1", "not a number of days"),
        ("show zz", "no such entry"),
        ("export runs.xlsx", ".csv or .parquet"),
        ("export /no/such/folder/runs.csv", "cannot be written"),
        ("export runs.csv --app hpl", "no runs to export"),
        ("prune --all --kind recording", "Leave out one of them"),
    ],
)
def test_bad_input_gets_one_line_and_status_2(folder, capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, arguments, folder)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
    assert len(keys(folder)) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("command", ["list", "show aa01", "export runs.csv", "prune --all"])
def test_a_store_that_is_not_there_is_not_made(tmp_path, capsys, command):
    status, out, err = run(capsys, command, tmp_path / "none")
    assert (status, out) == (2, "")
    assert "there is no store here" in err
    assert not list(tmp_path.iterdir())


def test_it_is_the_module_s_command(folder):
    command = [sys.executable, "-m", "gridval", "store", "list", "--store", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "aa01" in done.stdout


def test_the_help_of_export_names_the_columns(capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    out = capsys.readouterr().out
    assert "NAME_sum and NAME_max" in out


def test_what_is_no_text_is_told_by_its_size_and_a_date_that_is_none_by_a_mark(tmp_path, capsys):
    with Store(tmp_path / "store") as store:
        store.put_bytes("recording", {"app": "cg"}, b"\x00\xff" * 5)
    with sqlite3.connect(tmp_path / "store" / DATABASE) as connection:
        ((key,),) = connection.execute("SELECT key FROM entries").fetchall()
        connection.execute("UPDATE entries SET created_s = 1e300")
    assert store_command(["show", key, "--store", str(tmp_path / "store")]) == 0
    assert '"payload": "10 bytes of binary data"' in capsys.readouterr().out
    assert store_command(["list", "--store", str(tmp_path / "store")]) == 0
    assert "?" in capsys.readouterr().out


def test_a_payload_that_has_gone_is_said(tmp_path, capsys):
    with Store(tmp_path / "store") as store:
        store.put_bytes("recording", {"app": "cg"}, b"\x00\xff" * 5)
        ((key,),) = [(entry.key,) for entry in store.entries()]
    for path in (tmp_path / "store" / "payloads").rglob("*.*"):
        path.unlink()
    assert store_command(["show", key, "--store", str(tmp_path / "store")]) == 2
    assert f"recording {key} cannot be read. Repeat the run to replace it." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "columns"),
    [
        (None, {"energy_j": None}),
        ([1, 2], {"energy_j_sum": 3, "energy_j_max": 2}),
        ({"a": "x"}, {"energy_j": '{"a": "x"}'}),
    ],
)
def test_energies_in_another_form_are_exported_as_they_are(value, columns):
    entry = Entry("record", "k", {}, "", 0.0, 1)
    assert flat_row(entry, {"energy_j": value}) == {"kind": "record", "key": "k", "created_s": 0.0, **columns}
