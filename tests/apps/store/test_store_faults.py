"""Several writers, killed processes, damage, full disks: finished entries stay, incomplete ones are never visible."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from apps.store import Store, StoreError
from apps.store.database import DATABASE, SCHEMA_VERSION
from apps.store.store import FILE_BYTES

LARGE = "x" * (FILE_BYTES + 1)
# Writes entries NAME-0, NAME-1, ... (every third one as a file) and some under a key that all writers share; prints
# the finished ones.
WRITER = f"""
import sys
from pathlib import Path
from apps.store import Store
folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store(folder)
for step in range(count):
    text = "x" * {FILE_BYTES} if step % 3 == 0 else "x"
    assert store.put("recording", f"{{name}}-{{step}}", {{"writer": name}}, {{"n": step, "text": text}})
    print(step, flush=True)
    assert store.put("recording", "shared", {{}}, {{"n": step, "text": text + name}})
"""


def start_writer(folder, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, folder, name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_whole(folder):
    """Check that every entry can be read without a warning."""
    lines = []
    with Store(folder, report=lines.append) as store:
        for entry in store.entries():
            payload = store.get(entry.kind, entry.key)
            assert payload is not None
            assert entry.key == "shared" or entry.key.endswith(f"-{payload['n']}")
    with sqlite3.connect(folder / DATABASE) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert lines == []


@pytest.fixture
def lines():
    return []


@pytest.fixture
def folder(tmp_path):
    """A store with one small and one large entry."""
    with Store(tmp_path / "store") as store:
        store.put("recording", "small", {"app": "cg"}, {"n": 1})
        store.put("recording", "large", {"app": "cg"}, {"text": LARGE})
    return tmp_path / "store"


def test_many_processes_write_into_one_new_store(tmp_path):
    writers = [start_writer(tmp_path / "store", f"w{number}", 9) for number in range(5)]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert (writer.returncode, errors) == (0, "")
    assert_whole(tmp_path / "store")
    with Store(tmp_path / "store") as store:
        assert len(store.entries()) == 5 * 9 + 1
        assert store.sweep()  # the shared entry has had many files
        assert len(list(store.folder.glob("payloads/*/*"))) <= 3 + 1
    assert_whole(tmp_path / "store")


def test_sweeping_does_not_take_the_files_of_those_who_write(tmp_path):
    with Store(tmp_path / "store") as store:
        writers = [start_writer(tmp_path / "store", f"w{number}", 30) for number in range(2)]
        removed = 0
        while any(writer.poll() is None for writer in writers):
            removed += len(store.sweep())
        assert [writer.communicate()[1] for writer in writers] == ["", ""]
        assert removed > 0
        assert len(store.entries()) == 2 * 30 + 1
    assert_whole(tmp_path / "store")


def test_writers_killed_at_random_moments_leave_whole_entries_only(tmp_path):
    rng = random.Random(1)
    finished = set()
    for turn in range(6):
        writers = {f"t{turn}w{number}": start_writer(tmp_path / "store", f"t{turn}w{number}", 10**6) for number in "ab"}
        for writer in writers.values():
            writer.stdout.readline()  # it has begun
        for name, writer in writers.items():
            time.sleep(rng.uniform(0, 0.1))
            writer.send_signal(signal.SIGKILL)
            finished |= {f"{name}-{step}" for step in writer.communicate(timeout=60)[0].split()} | {f"{name}-0"}
        assert_whole(tmp_path / "store")
    with Store(tmp_path / "store") as store:
        assert finished <= {entry.key for entry in store.entries()}
        store.sweep()
    assert_whole(tmp_path / "store")


def test_a_transaction_that_dies_in_its_commit_is_rolled_back_by_the_next_to_open(folder):
    # SQLite's journal is on the disk as soon as a page is spilled; the database itself then has half of the change.
    script = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size=1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE entries SET payload = 'half'")
for number in range(200):
    connection.execute("INSERT INTO entries VALUES ('trace', ?, '{}', '', 0, 9000, 'x', ?)", (str(number), "y" * 9000))
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", script, folder / DATABASE])
    assert (folder / f"{DATABASE}-journal").stat().st_size > 0
    with Store(folder) as store:
        assert [entry.key for entry in store.entries()] == ["small", "large"]
        assert store.get("recording", "small") == {"n": 1}


def spoil_by_text(path):
    path.write_text("<html>not a database</html>" * 400)


def spoil_by_truncation(path):
    os.truncate(path, 5000)


def spoil_the_pages(path):
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(os.urandom(path.stat().st_size - 100))


def spoil_the_tables(path):
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE entries ADD COLUMN more TEXT")


SPOILERS = [spoil_by_text, spoil_by_truncation, spoil_the_pages, spoil_the_tables]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_damaged_store_is_said_and_set_aside_and_a_new_one_begun(folder, lines, spoil):
    spoil(folder / DATABASE)
    before = (folder / DATABASE).read_bytes()
    with Store(folder, report=lines.append) as store:
        assert store.entries() == []
        assert store.put("recording", "new", {}, {"text": LARGE})
        assert store.sweep() == []
    assert len(lines) == 1
    assert "Set aside as store.sqlite.corrupt-1" in lines[0]
    assert (folder / f"{DATABASE}.corrupt-1").read_bytes() == before
    assert len(list(folder.glob("payloads.corrupt-1/*/*"))) == 1  # payloads that only the old database refers to
    with Store(folder, report=lines.append) as store:
        assert store.get("recording", "new") == {"text": LARGE}
    assert len(lines) == 1


def test_each_damaged_store_has_a_name_of_its_own(folder, lines):
    for _ in range(2):
        spoil_by_text(folder / DATABASE)
        Store(folder, report=lines.append).close()
    assert len(lines) == 2
    assert len(list(folder.glob(f"{DATABASE}.corrupt-*"))) == 2


@pytest.mark.parametrize("work", ["get", "put", "entries"])
def test_damage_that_comes_to_light_later_is_set_aside_too(folder, lines, work):
    with Store(folder, report=lines.append) as store:
        spoil_by_text(folder / DATABASE)
        if work == "get":
            assert store.get("recording", "small") is None
        elif work == "entries":
            assert store.entries() == []
        assert store.put("recording", "new", {}, {"n": 3})
        assert store.get("recording", "new") == {"n": 3}
    assert len(lines) == 1
    assert "corrupt-1" in lines[0]


def test_a_store_damaged_under_many_processes_is_set_aside_once(folder):
    spoil_by_text(folder / DATABASE)
    writers = [start_writer(folder, f"w{number}", 3) for number in range(4)]
    errors = [writer.communicate(timeout=60)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    assert sum("Set aside" in text for text in errors) == 1
    assert [path.name for path in folder.glob(f"{DATABASE}.corrupt-*")] == [f"{DATABASE}.corrupt-1"]
    with Store(folder) as store:
        assert len(store.entries()) == 4 * 3 + 1


def test_a_store_that_is_taken_away_is_begun_anew(folder, tmp_path):
    with Store(folder) as store:
        folder.rename(tmp_path / "elsewhere")
        assert store.put("recording", "new", {}, {"n": 3})
    with Store(folder) as store:
        assert [entry.key for entry in store.entries()] == ["new"]


def test_reading_only_changes_nothing(folder):
    spoil_by_text(folder / DATABASE)
    before = sorted(folder.rglob("*"))
    with pytest.raises(StoreError, match="damaged"):
        Store(folder, read_only=True)
    assert sorted(folder.rglob("*")) == before
    with pytest.raises(StoreError, match="no store here"):
        Store(folder / "none", read_only=True)
    assert sorted(folder.rglob("*")) == before


def test_a_newer_schema_is_refused_and_left_alone(folder):
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    before = (folder / DATABASE).read_bytes()
    with pytest.raises(StoreError, match=f"schema {SCHEMA_VERSION + 1}, known here: {SCHEMA_VERSION}"):
        Store(folder)
    assert (folder / DATABASE).read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / DATABASE).touch()
    with Store(tmp_path) as store:
        assert store.put("recording", "k", {}, {})


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes() + b" ")])
def test_a_payload_file_that_is_missing_or_changed_counts_as_unknown(folder, lines, spoil):
    (path,) = folder.glob("payloads/*/*.json")
    spoil(path)
    with Store(folder, report=lines.append) as store:
        assert store.get("recording", "large") is None
        assert store.get("recording", "large") is None
        assert len(lines) == 1
        assert "recording large is damaged" in lines[0]
        assert store.get("recording", "small") == {"n": 1}
        assert store.put("recording", "large", {}, {"text": LARGE})
        assert store.get("recording", "large") == {"text": LARGE}


@pytest.mark.parametrize(
    "change",
    [
        "payload = replace(payload, '1', '2')",
        "payload = x'ff'",
        "payload = NULL, sha256 = '../../../../etc/passwd'",
        "identity = x'00'",
        "payload = '[]', sha256 = '4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945'",
    ],
)
def test_a_row_that_has_changed_counts_as_unknown(folder, lines, change):
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute(f"UPDATE entries SET {change} WHERE key = 'small'")
    with Store(folder, report=lines.append) as store:
        assert store.get("recording", "small") is None
        assert len(lines) == 1
        assert store.get("recording", "large") == {"text": LARGE}
        assert store.entries()


@pytest.mark.parametrize("text", ["x", LARGE])
def test_a_full_disk_costs_the_entry_and_not_the_run(folder, text):
    # A limit of the file size represents the full disk; both fail in write().
    script = """
import resource, sys
from pathlib import Path
from apps.store import Store
store = Store(Path(sys.argv[1]))
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, unlimited[1]))
print([store.put("recording", "new", {}, {"text": sys.argv[2] * 9000}) for _ in range(3)])
print(store.get("recording", "small"))
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
print(store.put("recording", "new", {}, {"n": 2}))
"""
    text = "x" if text == "x" else "x" * 40  # an argument has a limit too
    done = subprocess.run([sys.executable, "-c", script, folder, text], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[False, False, False]", "{'n': 1}", "True"]
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"warning: store {folder}: ")
    assert line.endswith("A result is used but not kept.")
    assert not list(folder.glob("tmp/*"))
    assert_whole_without_names(folder)


def assert_whole_without_names(folder):
    lines = []
    with Store(folder, report=lines.append) as store:
        assert all(store.get(entry.kind, entry.key) for entry in store.entries())
    assert lines == []


def test_a_store_locked_for_too_long_costs_the_entry_and_not_the_run(folder, lines, monkeypatch):
    monkeypatch.setattr("apps.store.database.BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(folder / DATABASE, isolation_level=None)
    with Store(folder, report=lines.append) as store:
        other.execute("BEGIN EXCLUSIVE")
        assert store.put("recording", "new", {}, {"n": 2}) is False
        assert store.get("recording", "small") is None
        other.execute("ROLLBACK")
        assert [("locked" in line) for line in lines] == [True, True]
        assert store.get("recording", "small") == {"n": 1}
    other.close()


def test_a_place_that_is_no_folder_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match=r"--store"):
            Store(path)
    (tmp_path / "folder" / DATABASE).mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_is_one_clear_error(folder):
    folder.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="not writable"):
            Store(folder)
        with Store(folder, read_only=True) as store:
            assert store.get("recording", "small") == {"n": 1}
    finally:
        folder.chmod(0o700)


def test_temporary_files_of_killed_writers_go_after_a_day(folder):
    (folder / "tmp").mkdir(exist_ok=True)
    for name, age_s in (("old", 2 * 86400), ("young", 60)):
        (folder / "tmp" / name).write_text("half")
        os.utime(folder / "tmp" / name, (time.time() - age_s,) * 2)
    Store(folder).close()
    assert [path.name for path in (folder / "tmp").iterdir()] == ["young"]


def test_an_entry_written_anew_since_it_was_listed_is_not_removed(folder):
    with Store(folder) as store:
        listed = store.entries()
        store.put("recording", "small", {}, {"n": 2})
        store.remove(listed)
        assert [entry.key for entry in store.entries()] == ["small"]
        assert len(store.sweep(dry_run=True)) == 1
        assert len(store.sweep()) == 1
        assert store.sweep() == []
