"""The compile cache, the start-up check and the generator; generated XML files describe the intended network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.files import caching
from platforms.grids.scenario import read_grid
from platforms.make import main as generate
from platforms.read.read import materialise, read_platform
from platforms.simgrid import installed as simgrid
from platforms.simgrid.compiling import compile_once

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(simgrid, "wheel_prefix", lambda: None)  # the PATH decides
    simgrid.simgrid_version.cache_clear()
    yield tmp_path / "cache"
    simgrid.simgrid_version.cache_clear()


# --- compiling ---


def test_two_processes_compiling_at_once_get_one_whole_program(own_cache, tmp_path):
    source = tmp_path / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); }\n')
    arguments = f"'hello', [{str(source)!r}], compiler=['gcc']"
    script = f"from platforms.simgrid.compiling import compile_once; print(compile_once({arguments}))"
    both = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {process.communicate()[0].strip() for process in both}
    assert len(paths) == 1
    assert subprocess.run([paths.pop()], capture_output=True, text=True, check=True).stdout == "hello\n"
    assert [path.name[:6] for path in (own_cache / "compiled").iterdir()] == ["hello-"]


def test_a_changed_header_is_compiled_anew(own_cache, tmp_path):
    source, header = tmp_path / "answer.c", tmp_path / "answer.h"
    source.write_text('#include "answer.h"\nint main(void) { return ANSWER; }\n')
    for answer in (3, 4):
        header.write_text(f"#define ANSWER {answer}\n")
        program = compile_once("answer", [source], compiler=["gcc"], headers=[header])
        assert subprocess.run([program], check=False).returncode == answer


def test_no_compiler_is_one_clear_line(own_cache, tmp_path):
    (tmp_path / "x.c").touch()
    with pytest.raises(UserError, match=r"no-such-cc: not found\. Correct its name"):
        compile_once("x", [tmp_path / "x.c"], compiler=["no-such-cc"])


def test_a_compile_error_is_shown_with_its_log(own_cache, tmp_path):
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return x; }\n")
    with pytest.raises(UserError, match="undeclared") as error:
        compile_once("wrong", [source], compiler=["gcc"])
    assert "\n" not in str(error.value)
    assert Path(str(error.value).rpartition(" is in ")[2].rstrip(".")).is_file()


def test_a_cache_that_cannot_be_written_is_said(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match="GRID_VALIDATOR_CACHE"):
        caching.cache_folder()


# --- the start-up check ---


def fake_smpirun(folder, version):
    """Put an smpirun of that version, without the rest of SimGrid, first on the PATH."""
    folder.mkdir()
    program = folder / "smpirun"
    program.write_text(f"#!/bin/sh\necho 'SimGrid version {version}'\n")
    program.chmod(0o755)
    return program


def test_this_machine_passes_and_is_not_asked_again(own_cache, monkeypatch):
    simgrid.check_simgrid()
    monkeypatch.setattr(subprocess, "Popen", lambda command, **how: pytest.fail(f"starts {command}"))
    simgrid.check_simgrid()


def test_no_simgrid_is_said_with_the_command_that_mends_it(own_cache, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install libsimgrid-dev"):
        simgrid.check_simgrid()


@pytest.mark.parametrize(("version", "said"), [("3.25", "too old"), ("4.1", "has version 4.1")])
def test_another_version_than_the_installed_one_is_refused(own_cache, monkeypatch, tmp_path, version, said):
    fake_smpirun(tmp_path / "bin", version)
    header = tmp_path / "include" / "simgrid" / "version.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define SIMGRID_VERSION_MAJOR 9\n#define SIMGRID_VERSION_MINOR 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(UserError, match=said) as error:
        simgrid.check_simgrid()
    assert "\n" not in str(error.value)


# --- SimGrid's headers and library ---


@pytest.fixture
def by_hand(own_cache, monkeypatch, tmp_path):
    """The prefix of a SimGrid 5.0 built by hand, first on the PATH, with a header and a library of its own."""
    prefix = tmp_path / "prefix"
    (prefix / "include" / "simgrid").mkdir(parents=True)
    (prefix / "include" / "simgrid" / "version.h").write_text("#define OF_THIS_HEADER 3\n")
    (prefix / "lib").mkdir()
    source = tmp_path / "library.c"
    source.write_text("int of_this_library(void) { return 40; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", prefix / "lib" / "libsimgrid.so", source], check=True)
    fake_smpirun(prefix / "bin", "5.0")
    monkeypatch.setenv("PATH", f"{prefix / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    return prefix


def test_a_program_takes_headers_and_library_of_the_simgrid_on_the_path(by_hand, tmp_path):
    source = tmp_path / "user.c"
    source.write_text(
        "#include <simgrid/version.h>\nint of_this_library(void);\n"
        "int main(void) { return of_this_library() + OF_THIS_HEADER; }\n"
    )
    program = compile_once("user", [source], compiler=["gcc"], libraries=["-lsimgrid"])
    assert subprocess.run([program], check=False).returncode == 43  # 40 from the library, 3 from the header


def test_a_program_without_simgrid_does_not_see_it(by_hand, tmp_path):
    (by_hand / "include" / "simgrid" / "nowhere_else.h").touch()
    source = tmp_path / "user.c"
    source.write_text(
        "#if __has_include(<simgrid/nowhere_else.h>)\n#error it is seen\n#endif\nint main(void) { return 0; }\n"
    )
    program = compile_once("user", [source], compiler=["gcc"])
    assert subprocess.run([program], check=False).returncode == 0


def test_a_link_to_smpirun_leads_to_its_own_headers_and_library(by_hand, monkeypatch, tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "smpirun").symlink_to(by_hand / "bin" / "smpirun")
    monkeypatch.setenv("PATH", f"{tmp_path / 'links'}:{os.environ['PATH']}")
    include, library, found_when_it_runs = simgrid.compiler_flags()
    assert include == f"-I{by_hand / 'include'}"
    assert library == f"-L{by_hand / 'lib'}"
    assert found_when_it_runs == f"-Wl,-rpath,{by_hand / 'lib'}"


def test_a_simgrid_without_headers_beside_it_is_left_to_the_compiler(by_hand):
    (by_hand / "include" / "simgrid" / "version.h").unlink()
    assert simgrid.compiler_flags() == []


@pytest.mark.skipif(not Path("/usr/bin/smpirun").is_file(), reason="the distribution's SimGrid is not installed")
def test_the_distributions_simgrid_needs_no_flags(own_cache, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    assert simgrid.compiler_flags() == []


# --- generated platforms ---


def test_the_generator_writes_what_the_reader_reads(tmp_path):
    assert generate(["--scenario", "grid3x9", "--network", "metro", "--output", str(tmp_path / "g.xml")]) == 0
    platform = read_platform(tmp_path / "g.xml")
    assert [(len(c.hosts), c.speed_flops) for c in platform.clusters] == [(9, 35e9), (9, 45e9), (9, 55e9)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "--scenario"),
        ("--scenario grid9x9", "--speeds"),
        ("--scenario grid3x9 --network dial-up", "Known: gigabit"),
        ("--scenario grid3x9 --output /proc/no/file.xml", "cannot be written"),
    ],
)
def test_the_generator_refuses_in_one_line_with_status_2(arguments, said, capsys):
    assert generate(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert said in captured.err


def pingpong(platform, first, second, sizes, folder, options=()):
    """One-way times in s, {("self" or "", bytes): s}."""
    program = compile_once("pingpong", [DATA / "pingpong.c"], compiler=["smpicc"], flags=["-O2"])
    (folder / "hosts").write_text(f"{first}\n{second}\n")
    command = ["smpirun", "-np", "2", "-hostfile", folder / "hosts", "-platform", platform.path, "-no-privatize"]
    command += ["--cfg=smpi/simulate-computation:no", *options, program, *map(str, sizes)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout.splitlines()
    return {(" ".join(line.split()[:-2]), int(line.split()[-2])): float(line.split()[-1]) for line in lines}


# One-way times on the reference platform under SimGrid 3.32, s: half a ping-pong's round trip; self: irecv, send, wait.
REFERENCE_S = {
    8: (0.00030261, 0.00030244, 0.00241785),
    1024: (0.00031826, 0.00031688, 0.00236469),
    14000: (0.00058943, 0.00057988, 0.00330252),
    65536: (0.00233190, 0.00230402, 0.01452980),
    1000000: (0.01067659, 0.01025104, 0.02247682),
    8000000: (0.07318363, 0.06978156, 0.08200735),
}


def test_the_metro_network_carries_messages_as_the_reference_platform_does(tmp_path):
    (tmp_path / "ref.toml").write_text(
        'network = "metro"\n' + "".join(f"[[clusters]]\nnodes = 12\nspeed_gflops = {g}\n" for g in (40, 50, 60, 70))
    )
    platform = materialise(read_grid(tmp_path / "ref.toml"))
    near = pingpong(platform, "c1-0", "c1-1", REFERENCE_S, tmp_path)
    far = pingpong(platform, "c1-0", "c2-0", REFERENCE_S, tmp_path)
    for size, (to_self_s, near_s, far_s) in REFERENCE_S.items():
        assert near["self", size] == pytest.approx(to_self_s, rel=1e-3)
        assert near["", size] == pytest.approx(near_s, rel=1e-4)
        assert far["", size] == pytest.approx(far_s, rel=1e-4)


def test_options_of_a_network_act_and_the_command_line_overrides_them(tmp_path):
    from platforms.grids.scenario import named_grid

    platform = materialise(named_grid("grid4x2", "infiniband"))
    # By hand: 1.5 + 1 + 1.5 us within a cluster, factor 1 for small messages, 24 bytes at 40 Gbit/s.
    plain = pingpong(platform, "c1-0", "c1-1", [8], tmp_path)["", 8]
    assert plain == pytest.approx(4e-6, rel=2e-2)
    slow = pingpong(platform, "c1-0", "c1-1", [8], tmp_path, ["--cfg=smpi/lat-factor:0:10"])["", 8]
    assert slow == pytest.approx(40e-6, rel=2e-2)


def test_the_ideal_network_takes_no_time(tmp_path):
    from platforms.grids.scenario import named_grid

    times = pingpong(materialise(named_grid("grid4x2", "ideal")), "c1-0", "c2-0", [8, 8000000], tmp_path)
    assert all(0 <= time_s < 1e-7 for time_s in times.values())
