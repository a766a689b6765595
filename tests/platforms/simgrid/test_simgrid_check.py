"""The start-up check of SimGrid: an unusable installation gives one line that says how to correct it."""

import os
import shutil
import sys

import pytest

from platforms.errors import UserError
from platforms.simgrid import installed as simgrid

REMEDY = "apt-get install libsimgrid-dev python3-simgrid"
HEADER = "#define SIMGRID_VERSION_MAJOR 9\n#define SIMGRID_VERSION_MINOR 1\n#define SIMGRID_VERSION_PATCH 0\n"


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """The prefix of a SimGrid 9.1 without a Python module, the only SimGrid on the PATH."""
    prefix = tmp_path / "prefix"
    (prefix / "include" / "simgrid").mkdir(parents=True)
    (prefix / "include" / "simgrid" / "version.h").write_text(HEADER)
    (prefix / "bin").mkdir()
    write_program(prefix / "bin" / "smpirun", "echo 'SimGrid version 9.1'")
    write_program(prefix / "bin" / "smpicc", "exit 0")
    for name in ("sh", "sleep"):
        (prefix / "bin" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(prefix)])
    monkeypatch.setenv("PYTHONPATH", str(prefix))  # for the child process that imports the module
    simgrid.simgrid_version.cache_clear()
    yield prefix
    simgrid.simgrid_version.cache_clear()


def write_program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_one_that_is_whole_serves(prefix):
    simgrid.check_simgrid()
    assert simgrid.version_numbers() == (9, 1, 0)
    folders = f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"
    assert simgrid.compiler_flags() == list(folders)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bin/smpirun", "#!/bin/sh\necho 'SimGrid'\n", "smpirun: does not say its SimGrid version"),
        ("bin/smpirun", "#!/nowhere/sh\n", "smpirun: does not run"),
        ("bin/smpicc", None, "its headers and smpicc are not installed"),
        ("include/simgrid/version.h", "#define SOMETHING 1\n", "version.h: does not say its SimGrid version"),
        ("simgrid.py", "raise ImportError('no libsimgrid.so')\n", "cannot be imported: ImportError: no libsimgrid.so"),
        ("simgrid.py", "import os; os._exit(3)\n", "cannot be imported: no message"),
        ("simgrid.py", "simgrid_version = 'new'\n", "simgrid.py: does not say its SimGrid version"),
        ("simgrid.py", "simgrid_version = '9.2'\n", "has version 9.1, but Python's module simgrid"),
    ],
)
def test_one_that_is_not_is_said_in_one_line(prefix, name, text, said):
    path = prefix / name
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    with pytest.raises(UserError) as error:
        simgrid.check_simgrid()
    assert said in str(error.value) and REMEDY in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("asked", ["smpirun", "its module"])
def test_one_that_does_not_answer_is_not_waited_for(prefix, monkeypatch, asked):
    real = simgrid.subprocess.run
    monkeypatch.setattr(simgrid.subprocess, "run", lambda *what, timeout, **how: real(*what, timeout=0.2, **how))
    if asked == "smpirun":
        write_program(prefix / "bin" / "smpirun", "exec sleep 9")
    else:
        monkeypatch.setattr(simgrid, "_ask_smpirun", lambda smpirun: "9.1")
        (prefix / "simgrid.py").write_text("import time; time.sleep(9)\n")
    with pytest.raises(UserError, match=r"timed out after 0\.2 seconds"):
        simgrid.check_simgrid()


def test_a_version_is_remembered_until_a_file_changes(prefix):
    simgrid.check_simgrid()
    smpirun = prefix / "bin" / "smpirun"
    status = smpirun.stat()
    smpirun.write_text(smpirun.read_text().replace("9.1", "9.2"))
    os.utime(smpirun, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
    with pytest.raises(UserError, match=r"smpirun has version 9\.2, but the headers"):
        simgrid.check_simgrid()


def test_environments_that_share_the_cache_folder_do_not_forget_each_others_check(prefix, monkeypatch):
    other = prefix.parent / "python"
    other.symlink_to(sys.executable)
    first, asked = sys.executable, []
    ask = simgrid._ask_smpirun
    monkeypatch.setattr(simgrid, "_ask_smpirun", lambda smpirun: (asked.append(sys.executable), ask(smpirun))[1])
    for python in (first, str(other), first, str(other)):
        monkeypatch.setattr(sys, "executable", python)
        simgrid.check_simgrid()
    assert asked == [first, str(other)]
