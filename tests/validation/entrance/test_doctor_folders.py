"""The doctor knows file systems on which a folder of programs is slow or of no use."""

from pathlib import Path

import pytest

from validation.doctor.examine import file_system

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
