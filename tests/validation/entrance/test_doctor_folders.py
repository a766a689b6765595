"""The doctor knows file systems on which a folder of programs is slow or of no use."""

import resource
from pathlib import Path

import pytest

from validation import doctor
from validation.doctor import file_system

MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
tmpfs /home/ada/my\\040cache tmpfs rw,noexec 0 0
/dev/sdb1 /home/ada/my\\040cache ext4 rw,nosuid 0 0
broken line
"""


@pytest.mark.parametrize(
    ("folder", "kind", "options"),
    [
        ("/var/tmp", "ext4", {"rw", "relatime"}),
        ("/home/ada", "nfs4", {"rw", "vers=4.2"}),
        ("/homes", "ext4", {"rw", "relatime"}),  # no folder of /home
        ("/home/ada/my cache/x", "ext4", {"rw", "nosuid"}),  # the later mount covers the earlier one
    ],
)
def test_the_last_and_longest_mount_has_the_folder(tmp_path, folder, kind, options):
    (tmp_path / "mounts").write_text(MOUNTS)
    assert file_system(Path(folder), tmp_path / "mounts") == (kind, options)


def test_without_a_list_of_mounts_nothing_is_known(tmp_path):
    assert file_system(Path("/var"), tmp_path / "absent") == ("", frozenset())


def folders(monkeypatch, tmp_path, **named):
    """Return the doctor's findings about folders, by name, with these variables set."""
    for variable in ("GRID_VALIDATOR_CACHE", "TMPDIR"):
        monkeypatch.setenv(variable, str(named.get(variable, tmp_path)))
    return {finding.name: finding for finding in doctor._folders()}


@pytest.fixture
def full():
    """``full()``: from now on no file of this process may have a megabyte, as where a quota is used up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (999_999, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_folders_that_take_files_are_in_order(monkeypatch, tmp_path):
    found = folders(monkeypatch, tmp_path)
    assert set(found) == {"cache folder", "store"} and found["cache folder"].found
    assert not list(tmp_path.iterdir())  # nothing is left in them


def test_folders_that_are_full_are_missing_and_the_remedy_names_the_variable(monkeypatch, tmp_path, full):
    full()
    found = folders(monkeypatch, tmp_path)
    for name, variable in (("cache folder", "GRID_VALIDATOR_CACHE"), ("temporary folder", "TMPDIR")):
        assert found[name].text.endswith("it takes no file of 1 MB: File too large")
        assert found[name].needed and not found[name].found and variable in found[name].remedy
    assert not list(tmp_path.iterdir())


def test_a_temporary_folder_that_is_missing_is_said_though_python_would_take_another(monkeypatch, tmp_path):
    found = folders(monkeypatch, tmp_path, TMPDIR=tmp_path / "absent")
    assert "absent: it takes no file of 1 MB: No such file or directory" in found["temporary folder"].text


@pytest.mark.parametrize(
    ("kind", "options", "said", "good"),
    [
        ("nfs4", {"rw"}, "on a file system of the network (nfs4), slow", True),
        ("tmpfs", {"rw", "noexec"}, "programs in it cannot run (noexec)", False),
    ],
)
def test_a_file_system_that_is_slow_or_runs_no_programs_has_a_remedy(monkeypatch, tmp_path, kind, options, said, good):
    monkeypatch.setattr(doctor, "file_system", lambda folder: (kind, frozenset(options)))
    found = folders(monkeypatch, tmp_path)
    assert found["cache folder"].text.endswith(said) and found["cache folder"].found is good
    assert found["cache folder"].remedy == "Set GRID_VALIDATOR_CACHE to a folder of a local disk"
    assert ("temporary folder" in found) is not good
