"""Compiled programs in the cache folder that were damaged, and sources that change while they are compiled."""

import os
import subprocess

import pytest

from platforms.errors import UserError
from platforms.simgrid import compiling, includes
from platforms.simgrid.compiling import compile_once
from platforms.simgrid.includes import included_files


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "seven.c"
    path.write_text("int main(void) { return 7; }\n")
    return path


def compiled(source):
    return compile_once("seven", [source], compiler=["gcc"])


def status(program):
    return subprocess.run([program], check=False).returncode


def flipped(at):
    def damage(program):
        content = bytearray(program.read_bytes())
        content[at % len(content)] ^= 1 << at % 8
        program.write_bytes(content)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda program: program.write_bytes(b""),
        lambda program: os.truncate(program, 5000),
        lambda program: os.truncate(program, program.stat().st_size - 1),
        lambda program: program.write_bytes(program.read_bytes() + b"\0"),
        lambda program: program.chmod(0o644),
        *(flipped(at) for at in (0, 1001, 4096, 9003, 12006, -100, -40, -1)),
    ],
)
def test_a_damaged_program_is_compiled_anew_and_said_once(source, capfd, damage):
    program = compiled(source)
    whole = program.read_bytes()
    damage(program)
    assert compiled(source) == program
    assert (status(program), program.read_bytes()) == (7, whole)
    assert compiled(source) == program
    assert capfd.readouterr().err == f"warning: {program} was damaged. It is recompiled.\n"


def test_a_whole_program_is_kept(source, monkeypatch, capfd):
    program = compiled(source)
    monkeypatch.setattr(compiling, "_compile", lambda *_, **__: pytest.fail("compiled again"))
    assert compiled(source) == program
    assert (status(program), capfd.readouterr().err) == (7, "")


def test_a_folder_in_the_place_of_a_program_is_said(source):
    program = compiled(source)
    program.unlink()
    program.mkdir()
    with pytest.raises(UserError, match=r"cache folder .*: cannot be used: seven-.*: Is a directory"):
        compiled(source)


@pytest.mark.parametrize(
    ("changed", "to"), [("seven.c", "int main(void) { return 9; }\n"), ("params.h", "#define N 9\n")]
)
def test_a_source_that_changes_while_it_is_compiled_is_not_kept(source, monkeypatch, changed, to):
    header = source.with_name("params.h")
    header.write_text("#define N 7\n")
    source.write_text('#include "params.h"\nint main(void) { return N; }\n')
    included = included_files(source, compiler="gcc")
    real = compiling._compile

    def compile_slowly(*args, **kwargs):
        source.with_name(changed).write_text(to)
        real(*args, **kwargs)

    monkeypatch.setattr(compiling, "_compile", compile_slowly)
    with pytest.raises(UserError, match="compiling seven: its files changed meanwhile"):
        compile_once("seven", [source], compiler=["gcc"], included=included)
    assert not [path for path in (source.parent / "cache" / "compiled").iterdir() if path.suffix != ".includes"]


def test_a_damaged_list_of_includes_is_made_again(source):
    files = included_files(source, compiler="gcc")
    (kept,) = (source.parent / "cache" / "compiled").glob("*.includes")
    whole = kept.read_bytes()
    for at in range(0, len(whole), 7):
        content = bytearray(whole)
        content[at] ^= 2
        kept.write_bytes(content)
        assert included_files(source, compiler="gcc") == files
        assert kept.read_bytes() == whole


@pytest.mark.parametrize("name", ["twice.h", "stdlib.h", "bits/types.h"])
def test_a_header_that_appears_where_no_package_puts_it_makes_the_list_again(source, monkeypatch, tmp_path, name):
    # gcc looks in /usr/local/include before it looks in /usr/include; "later" is looked in after both.
    later, local = tmp_path / "later", tmp_path / "local"
    later.mkdir()
    (later / "twice.h").touch()
    monkeypatch.setattr(includes, "LOCAL", local)
    source.write_text("#include <stdlib.h>\n#include <twice.h>\nint main(void) { return 0; }\n")
    how = {"compiler": "gcc", "flags": (f"-idirafter{later}",)}
    files = included_files(source, **how)
    assert later / "twice.h" in files
    monkeypatch.setattr(includes, "_listed", lambda *_: pytest.fail("listed again"))
    assert included_files(source, **how) == files
    (local / name).parent.mkdir(parents=True)
    (local / name).touch()
    monkeypatch.setattr(includes, "_listed", lambda *_: [source])
    assert list(included_files(source, **how)) == [source]


def test_a_cache_on_a_file_system_that_runs_no_programs_is_said_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    noexec = type("Mounted", (), {"f_flag": os.ST_NOEXEC})
    monkeypatch.setattr(os, "statvfs", lambda folder: noexec)
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(
        UserError, match=r"cannot be used: programs in it cannot run \(noexec\)\. Set GRID_VALIDATOR_CACHE"
    ):
        compile_once("x", [source], compiler=["gcc"])
