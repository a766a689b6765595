"""Temporary folders and files of killed processes are removed at the next start; those of living ones stay."""

import os
import subprocess
import sys

from apps.store import Store
from apps.store.claims import claim
from platforms.files.scratch import scratch_folder

HOLD = """
import os, sys
from pathlib import Path
from platforms.files.scratch import scratch_file, scratch_folder
place = Path(sys.argv[1])
with scratch_folder("held", place) as folder, scratch_file(place) as (handle, path):
    (folder / "inside").mkdir()
    (folder / "inside" / "file").write_text("x")
    print(folder.name, path.name, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), 9)
"""


START = """
import sys
from pathlib import Path
from platforms.files.scratch import scratch_file
with scratch_file(Path(sys.argv[1])):
    pass
"""


def names(place):
    return sorted(path.name for path in place.iterdir())


def test_what_killed_processes_leave_goes_and_what_others_use_stays(tmp_path):
    (tmp_path / "grid-validator-scratch-notes").mkdir()  # not the form of a temporary folder's name
    (tmp_path / "mine").touch()
    others = names(tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    held = holder.stdout.readline().split()
    with scratch_folder("other", tmp_path) as folder:
        assert names(tmp_path) == sorted([*others, *held, folder.name])  # its process lives
    holder.communicate("\n", timeout=20)
    assert names(tmp_path) == sorted([*others, *held])
    subprocess.run([sys.executable, "-c", START, str(tmp_path)], check=True)
    assert names(tmp_path) == others


def test_a_claim_is_anothers_until_its_holder_ends(tmp_path):
    with Store(tmp_path / "store") as store:
        with store.claim("record", "k") as mine:
            assert mine is not None
            assert store.claim("record", "k") is None  # claimed by another thread, for example
            with store.claim("recording", "k") as other:
                assert other is not None
        with store.claim("record", "k") as again:
            assert again is not None
        script = "import os, sys; from pathlib import Path; from apps.store.claims import claim\n"
        script += "kept = claim(Path(sys.argv[1]), 'record', 'k'); os.kill(os.getpid(), 9)"
        subprocess.run([sys.executable, "-c", script, str(store.folder)])
        assert names(store.folder / "claims")
        Store(store.folder).close()
        assert names(store.folder / "claims") == []


def test_where_nothing_can_be_claimed_everyone_goes_on(tmp_path):
    (tmp_path / "claims").touch()  # a file in place of the folder
    first, second = claim(tmp_path, "record", "k"), claim(tmp_path, "record", "k")
    assert first is not None and second is not None


def test_links_are_not_followed_when_abandoned_folders_go(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    left = tmp_path / "grid-validator-scratch-smpi-abcd1234"
    left.mkdir()
    os.symlink(tmp_path / "precious", left / "work")
    os.symlink(tmp_path / "precious", tmp_path / "grid-validator-scratch-smpi-abcd5678")
    with scratch_folder("other", tmp_path):
        assert not left.exists()
    assert names(tmp_path / "precious") == ["file"]
