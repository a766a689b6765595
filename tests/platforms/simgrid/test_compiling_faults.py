"""Compilers that do not end or lack a part, and a cache that they cannot write."""

import pytest

from platforms.errors import UserError
from platforms.simgrid import compiling, installed
from platforms.simgrid.compiling import compile_once


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """``compiled(script)``: the result of a compiler that is this shell script."""
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(installed, "wheel_prefix", lambda: None)
    source, compiler = tmp_path / "a.c", tmp_path / "cc"
    source.write_text("int main(void) { return 0; }\n")

    def run(script):
        compiler.write_text(f"#!/bin/sh\n{script}\n")
        compiler.chmod(0o755)
        return compile_once("a", [source], compiler=[str(compiler)])

    return run


def test_a_compiler_without_end_is_given_up(compiled, monkeypatch):
    monkeypatch.setattr(compiling, "TIME_LIMIT_S", 0.2)
    with pytest.raises(UserError, match=r"compiling a: not finished after 0\.2 s"):
        compiled("exec sleep 9")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'gcc: not found' >&2; exit 127", "compiling a: gcc: not found. Run: apt-get install gcc g++ gfortran."),
        ("exit 1", "compiling a: the compiler printed no message. The full log is in "),
        ("exit 0", "compiling a: the compiler printed no message. The full log is in "),
        ("echo one; echo 'a.c:1: error: two' >&2; exit 1", "compiling a: a.c:1: error: two. The full log is in "),
    ],
)
def test_a_compiler_that_fails_is_quoted(compiled, script, said):
    with pytest.raises(UserError) as error:
        compiled(script)
    assert str(error.value).startswith(said)


def test_a_cache_that_takes_no_folder_is_said(compiled, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "compiled").write_text("in the way")
    with pytest.raises(UserError, match=r"cache folder .*: cannot be used: File exists"):
        compiled("exit 0")
