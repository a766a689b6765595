"""The wheel gridval-simgrid takes the place of the SimGrid on the PATH; a bad one gives one line with the remedy."""

import os
import sys
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.simgrid import compiling, installed
from platforms.simgrid.compiling import compile_once, real_compiler

HEADER = "#define SIMGRID_VERSION_MAJOR 9\n#define SIMGRID_VERSION_MINOR 1\n#define SIMGRID_VERSION_PATCH 0\n"


def write(path, text, *, executable=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if executable:
        path.chmod(0o755)


def write_simgrid(prefix, version, names=("smpirun", "smpicc")):
    for name in names:
        write(prefix / "bin" / name, f"#!/bin/sh\necho 'SimGrid version {version}'\n", executable=True)
    write(prefix / "include" / "simgrid" / "version.h", HEADER)
    write(prefix / "lib" / "libsimgrid.so.9.1", "a library")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of packages with a wheel of SimGrid 9.1; on the PATH is SimGrid 3.25."""
    site = tmp_path / "site"
    prefix = site / "gridval_simgrid"
    write_simgrid(prefix, "9.1")
    write(prefix / "__init__.py", "")
    files = sorted(path for path in prefix.rglob("*") if path.is_file())
    lines = [f"{path.relative_to(site)},sha256=x,{path.stat().st_size}" for path in files]
    write(
        site / "gridval_simgrid-9.1.dist-info" / "RECORD", "\n".join([*lines, "gridval_simgrid-9.1.dist-info/RECORD,,"])
    )
    write_simgrid(tmp_path / "other", "3.25")
    monkeypatch.setenv("PATH", f"{tmp_path / 'other' / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(installed.VARIABLE, raising=False)
    others = [path for path in sys.path if not any(Path(path).glob("simgrid.*so"))]
    monkeypatch.setattr(sys, "path", [str(site), *others])
    installed.simgrid_version.cache_clear()
    yield site
    installed.simgrid_version.cache_clear()


def test_the_wheel_is_used_though_another_version_comes_first_on_the_path(site):
    installed.check_simgrid()
    assert installed.simgrid_version() == "9.1"
    assert installed.find_program("smpicc") == str(site / "gridval_simgrid" / "bin" / "smpicc")
    assert installed.compiler_flags()[0] == f"-I{site / 'gridval_simgrid' / 'include'}"


def test_a_variable_chooses_another_simgrid(site, monkeypatch, tmp_path):
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path / "other"))
    with pytest.raises(UserError, match=r"SimGrid 3\.25 .*too old"):
        installed.check_simgrid()
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path / "nowhere"))
    installed.simgrid_version.cache_clear()
    with pytest.raises(UserError, match=r"nowhere: bin/smpirun is missing.*Correct the variable GRIDVAL_SIMGRID"):
        installed.check_simgrid()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("bin/smpicc", None, "bin/smpicc is missing or is no program"),
        ("lib/libsimgrid.so.9.1", None, "libsimgrid.so.9.1 is missing or has another size"),
        ("lib/libsimgrid.so.9.1", "a lib", "libsimgrid.so.9.1 is missing or has another size"),
        ("include/simgrid/version.h", HEADER[:9], "version.h is missing or has another size"),
    ],
)
def test_a_wheel_that_was_copied_in_part_is_to_be_installed_again(site, name, content, said):
    path = site / "gridval_simgrid" / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    with pytest.raises(UserError) as error:
        installed.check_simgrid()
    assert said in str(error.value) and "\n" not in str(error.value)
    assert f"{sys.executable} -m pip install --force-reinstall --no-deps gridval-simgrid" in str(error.value)


def test_a_wheel_that_loses_a_file_later_is_noticed(site):
    installed.check_simgrid()
    (site / "gridval_simgrid" / "lib" / "libsimgrid.so.9.1").write_text("half")
    with pytest.raises(UserError, match="has another size"):
        installed.check_simgrid()


def test_programs_that_the_wheel_brings_need_no_compiler(site, monkeypatch, tmp_path):
    source = tmp_path / "answer.c"
    source.write_text("int main(void) { return 3; }\n")
    monkeypatch.setattr(compiling, "_SHIPPED", site / "gridval" / "_compiled")
    monkeypatch.setattr(compiling, "_ROOT", tmp_path)
    monkeypatch.setenv(compiling.COMPILED, str(site / "gridval" / "_compiled"))  # as when the wheel is built
    made = compile_once("answer", [source], compiler=["gcc"], flags=[f"-I{tmp_path}"])
    assert made.parent == site / "gridval" / "_compiled"
    monkeypatch.delenv(compiling.COMPILED)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compile_once("answer", [source], compiler=["gcc"], flags=[f"-I{tmp_path}"]) == made
    assert compiling.shipped_programs() == 1
    source.write_text("int main(void) { return 4; }\n")  # other content: it has to be compiled
    with pytest.raises(UserError, match="compiler gcc: not found"):
        compile_once("answer", [source], compiler=["gcc"], flags=[f"-I{tmp_path}"])


def test_the_compiler_behind_the_wheels_smpicc_is_the_systems_or_else_zig(site, monkeypatch, tmp_path):
    smpicc = site / "gridval_simgrid" / "bin" / "smpicc"
    smpicc.write_text("#!/bin/sh\nCC=cc\n")
    for name in ("bin/cc", "site/ziglang/zig"):
        write(tmp_path / name, "#!/bin/sh\n", executable=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert real_compiler(smpicc) == tmp_path / "bin" / "cc"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert real_compiler(smpicc) == tmp_path / "site" / "ziglang" / "zig"


def test_a_compiler_that_the_scripts_do_not_find_is_said_with_both_remedies(site, monkeypatch, tmp_path):
    smpicc = site / "gridval_simgrid" / "bin" / "smpicc"
    smpicc.write_text("#!/bin/sh\necho 'error: no C compiler: install gcc' >&2\nexit 127\n")
    source = tmp_path / "ring.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(
        UserError, match=r"compiling ring: error: no C compiler.*pip install ziglang .*apt-get install gcc"
    ):
        compile_once("ring", [source], compiler=["smpicc"])
