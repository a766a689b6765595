"""SimGrid's wheel: scripts that find their own folder, and a wheel whose list says what is in it."""

import importlib.util
import subprocess
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[2]
SCRIPT = """#!/usr/bin/env sh
export LD_LIBRARY_PATH="/usr/lib/x/y${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
CC=/usr/bin/cc
list_set INCLUDEARGS "-I/usr/include" "-I/usr/include/smpi"
list_set CMAKE_LINKARGS "-L/usr/lib/x"
echo "$CC|/usr/lib/x/simgrid/smpimain|$INCLUDEARGS|$CMAKE_LINKARGS"
"""


@pytest.fixture(scope="module")
def pack():
    spec = importlib.util.spec_from_file_location("pack", ROOT / "packaging" / "simgrid" / "pack.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("tools", [("cc",), ()])
def test_scripts_find_their_folder_through_links_and_take_the_compiler_that_there_is(pack, tmp_path, tools):
    made = pack.relocatable(SCRIPT, Path("/usr"), Path("/usr/lib/x"))
    program = tmp_path / "my prefix" / "bin" / "smpicc"
    program.parent.mkdir(parents=True)
    program.write_text(made.replace("list_set INCLUDEARGS ", "INCLUDEARGS=").replace('" "', " ").replace(
        "list_set CMAKE_LINKARGS ", "CMAKE_LINKARGS="))  # fmt: skip
    program.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "smpicc").symlink_to(program)
    for name in ("sh", "dirname", "readlink", "env"):
        (tmp_path / "bin" / name).symlink_to(subprocess.check_output(["which", name], text=True).strip())
    for name in tools:
        (tmp_path / "bin" / name).symlink_to("/bin/true")
    environment = {"PATH": str(tmp_path / "bin")}
    said = subprocess.check_output([str(tmp_path / "bin" / "smpicc")], env=environment, text=True).strip()
    prefix = tmp_path / "my prefix"
    compiler = "cc" if tools else f"{prefix}/libexec/zig-cc"
    assert said == (
        f"{compiler}|{prefix}/lib/simgrid/smpimain|-I{prefix}/include -I{prefix}/include/smpi"
        f"|-L{prefix}/lib -Wl,-rpath,{prefix}/lib"
    )


def test_a_script_that_still_names_the_old_prefix_is_not_packed(pack):
    with pytest.raises(SystemExit, match="still names /usr/share/lib"):
        pack.relocatable("#!/bin/sh\nx=/usr/share/lib/x\n", Path("/usr"), Path("/usr/lib/x"))


def test_the_wheel_lists_its_files_and_keeps_their_permissions(pack, tmp_path):
    (tmp_path / "tree" / "gridval_simgrid").mkdir(parents=True)
    program = tmp_path / "tree" / "gridval_simgrid" / "program"
    program.write_bytes(b"x")
    program.chmod(0o755)
    wheel = pack.write_wheel(tmp_path / "tree", tmp_path / "dist", version="9.1", tag="linux_x86_64")
    assert wheel.name == "gridval_simgrid-9.1-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(wheel) as archive:
        record = archive.read("gridval_simgrid-9.1.dist-info/RECORD").decode().splitlines()
        # sha256 of "x", in URL-safe base 64 without padding (PEP 427).
        assert "gridval_simgrid/program,sha256=LXEWQrcmsEQBYnyp-6wy9chTD7GQPMTbAiWHF5IaSIE,1" in record
        assert {line.partition(",")[0] for line in record} == set(archive.namelist())
        assert archive.getinfo("gridval_simgrid/program").external_attr >> 16 & 0o777 == 0o755
