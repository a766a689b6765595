"""What platforms, systems and commands refuse, and the places that fail them."""

import errno
import fcntl
import math
import os
import pickle
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from apps.errors import KernelError, NoIterations, SimulationError
from apps.store.database import StoreError
from platforms import caching, locks, scratch, writing, xml_check
from platforms.command import exit_status
from platforms.errors import PlatformError, UserError
from platforms.frequency import Frequencies
from platforms.grid import Wire
from platforms.hardware import DiskArray
from platforms.inspect import as_text
from platforms.inspect.cli import main as inspect
from platforms.inspect.quantities import bandwidth_text
from platforms.inspect.survey import evenly
from platforms.options import _grid_of
from platforms.placement import write_host_file
from platforms.platform import Power
from platforms.read import materialise, read_platform, read_routes
from platforms.scenario import named_grid
from platforms.system.checks import check_system
from platforms.system.grids import of_grid
from platforms.system.named import system_named
from predictor.base import OutOfRange

MERPSYS = Path(__file__).parents[2] / "examples" / "systems" / "merpsys.toml"
GRID = named_grid("grid2x2", speeds_flops=[1e9, 2e9])


@contextmanager
def saying(text):
    """What goes on within is refused with these words."""
    with pytest.raises(UserError) as error:
        yield
    assert text in str(error.value)


# --- grids and systems made in Python ---


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda g: replace(g, clusters=()), "no clusters. Give at least one"),
        (lambda g: replace(g, wan_shape="ring"), "no WAN shape 'ring'. Known: "),
        (lambda g: replace(g, wan_links=g.wan_links[1:]), "its WAN links are not those of a mesh"),
        (lambda g: with_cluster(g, frequency_hz=1e9), "1 GHz, but its levels are not known"),
        (lambda g: with_cluster(g, memory_Bps=math.inf), "memory bandwidth is inf byte/s"),
        (lambda g: with_cluster(g, power=Power(3, 2, 2)), "3 W idle and 2 W at full load"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(change, said):
    with saying(said):
        change(GRID)


def with_cluster(grid, **changes):
    return replace(grid, clusters=(replace(grid.clusters[0], **changes), *grid.clusters[1:]))


def test_a_frequency_near_a_level_is_not_one():
    levels = Frequencies(2e9, 1e9, 0.5e9)
    with saying("1500000100.0 Hz is near a level, but none"):
        with_cluster(GRID, frequencies=levels, frequency_hz=1.5e9 + 100)


def a_system(**changes):
    """Two LANs; ``level``, ``node``, ``unit``: what is changed in the first."""
    system = of_grid(GRID)
    lan = system.top.levels[0]
    (node,) = lan.nodes
    (unit,) = node.units
    node = replace(node, **{"units": (replace(unit, **changes.get("unit", {})),), **changes.get("node", {})})
    lan = replace(lan, **{"nodes": (node,), **changes.get("lan", {})})
    return replace(
        system, top=replace(system.top, **{"levels": (lan, *system.top.levels[1:]), **changes.get("wan", {})})
    )


DISK = DiskArray("d", "a disk", 1e8, 1e8, 0.0, 0.0, "made up")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"wan": {"shape": "ring"}}, "no shape 'ring'. Known: "),
        ({"wan": {"links": ()}}, "its links are not those of a mesh"),
        ({"lan": {"nodes": ()}}, "a LAN holds nodes, and only nodes"),
        ({"node": {"units": ()}}, "no compute unit. Give it a cpu or a gpu"),
        ({"node": {"link": Wire(math.inf, 0.0)}}, "bandwidth is inf byte/s"),
        ({"unit": {"kind": "tpu"}}, "no kind 'tpu'. Known: cpu, gpu"),
        ({"unit": {"speed_flops": 0.0}}, "speed is 0.0 flop/s"),
        ({"unit": {"cores": 0}}, "0 cores"),
        ({"unit": {"cores": 2, "threads": 1}}, "1 threads on 2 cores"),
        ({"node": {"disks": (replace(DISK, read_Bps=0.0),)}}, "read bandwidth is 0.0 byte/s"),
        ({"node": {"disks": (replace(DISK, write_latency_s=-1.0),)}}, "write latency is -1.0 s"),
    ],
)
def test_a_system_that_cannot_be_is_refused(changes, said):
    with saying(said):
        check_system(a_system(**changes))


def test_a_level_above_a_cluster_called_wan_has_another_name():
    assert of_grid(GRID).top.name == "wan"
    links = tuple(replace(link, first="wan" if link.first == "c1" else link.first) for link in GRID.wan_links)
    renamed = replace(GRID, clusters=(replace(GRID.clusters[0], name="wan"), GRID.clusters[1]), wan_links=links)
    assert of_grid(renamed).top.name == "wan_"


def test_a_system_of_several_kinds_of_units_is_no_grid():
    with saying("not a grid of clusters, each of a single kind of node"):
        _grid_of(system_named(str(MERPSYS)))


@pytest.mark.parametrize(
    ("unit", "said"),
    [('gpu = "tesla-k40"\nsockets = 2', "a gpu with sockets. Write count = 2"), ("price = 3", "price")],
)
def test_units_that_cannot_be_are_refused(tmp_path, unit, said):
    path = tmp_path / "own.toml"
    path.write_text(f'[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\n{unit}\n')
    with pytest.raises(UserError, match=said):
        system_named(str(path))


def test_a_lone_gpu_is_behind_its_node_s_bus(tmp_path):
    path = tmp_path / "own.toml"
    node = 'name = "n"\ncount = 2\nbus = "pcie3-x16"\ngpu = "tesla-k40"\n'
    path.write_text(f'[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\n{node}')
    (group,) = system_named(str(path)).groups
    assert group.unit.bus is not None and group.host(1) == "n-1-gpu"


def test_a_price_below_nothing_is_refused(tmp_path):
    path = tmp_path / "hardware.toml"
    path.write_text(
        '[cpus.test]\ntitle = "t"\nsource = "s"\ncores = 2\nthreads = 2\nclock_ghz = 1\ndouble_per_cycle = 1\n'
        "single_per_cycle = 1\nidle_w = 1\nfull_w = 2\nprice_usd = -1\n"
    )
    with saying("cpus test: price_usd = -1. Give 0 or more"):
        system_named(str(MERPSYS), hardware=[path])


# --- files ---


def test_a_host_file_that_cannot_be_written_is_said(tmp_path):
    with saying(f"host file {tmp_path}: cannot be written: Is a directory"):
        write_host_file(tmp_path, ["a"])


def test_a_picture_that_does_not_fit_on_the_disk_is_said(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing, "save_figure", full)
    with saying("one.png: cannot be written: No space left on device"):
        writing.write_picture("--picture", tmp_path / "one.png", None)


def zone(content):
    head = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    return f'{head}<zone id="w" routing="None">{content}</zone></platform>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<?xml version="1.0" encoding="martian"?><platform version="4.1"/>', "its encoding is 'martian'"),
        (zone('<host id="h" speed="1Gf" availability_file="p"/>'), "availability_file='p' is larger than 0 MiB"),
        (zone('<host id="h" speed="1Gf,2Gf"><prop id="wattage_per_state" value="1:2:3"/></host>'),
         "wattage_per_state '1:2:3' is of 1 states, but the host has 2"),
    ],
)  # fmt: skip
def test_a_platform_file_that_cannot_be_taken_is_refused(tmp_path, monkeypatch, text, said):
    monkeypatch.setattr(xml_check, "MOST_PROFILE_BYTES", 3)
    (tmp_path / "p").write_text("0 1\n")
    (tmp_path / "own.xml").write_text(text)
    with saying(said):
        read_platform(tmp_path / "own.xml")


def test_a_platform_that_goes_while_it_is_looked_at_is_said(tmp_path):
    with saying("gone.xml: cannot be read: No such file"):
        xml_check.check_platform_xml(tmp_path / "gone.xml")


def test_no_pairs_have_no_routes():
    assert read_routes(materialise(GRID).path, []) == []


# --- what is said of a platform ---


def test_long_lists_are_cut_and_say_so(monkeypatch, capsys):
    for name, most in (("_MOST_CLUSTERS", 3), ("_MOST_ZONES", 2), ("MOST_CLUSTERS", 4)):
        monkeypatch.setattr(as_text, name, most)
    assert inspect(["--scenario", "grid5x2", "--speeds", "1,1,1,1,1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "... 2 more clusters: --json lists all" in lines
    assert any(line.endswith(" more zones: --json lists all") for line in lines)
    assert "between clusters: 4 of 5" in lines


def test_radio_and_disks_are_told(data, capsys):
    assert inspect([str(data / "wireless.xml")]) == 0
    said = capsys.readouterr().out
    assert "bandwidth, Gbit/s: Wi-Fi between any two hosts" in said
    assert "wifi: Wi-Fi, whose bandwidth depends on the station, not given here: air" in said


def test_rates_and_samples_at_their_ends():
    assert bandwidth_text(math.inf) == "unlimited" and bandwidth_text(0.0125) == "0.1 bit/s"
    assert as_text._number(math.inf) == "unlimited"
    assert evenly("abcde", 1) == ("a",) and evenly("abcde", 3) == ("a", "c", "e")


# --- folders and locks ---


def test_the_cache_is_where_the_variables_say(monkeypatch, tmp_path):
    monkeypatch.delenv("GRID_VALIDATOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caching.cache_folder() == tmp_path / "grid-prediction-validator"

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the XDG specification
    monkeypatch.setattr(Path, "home", homeless)
    with saying("there is no home folder. Set GRID_VALIDATOR_CACHE"):
        caching.cache_folder()


def test_a_cache_that_cannot_be_written_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, how: False)
    with saying(f"cache folder {tmp_path}: cannot be used: it is not writable"):
        caching.cache_folder()
    (tmp_path / "file").write_text("")
    with saying("cannot be used: Not a directory. Set GRID_VALIDATOR_CACHE"):
        caching.write_atomically(tmp_path / "file" / "more" / "x", b"")


def test_a_file_system_without_locks_is_done_without(monkeypatch, tmp_path):
    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with scratch.scratch_folder("test", tmp_path) as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_what_is_swept_before_it_is_locked_is_made_anew(monkeypatch, tmp_path):
    swept = []

    def still_named(handle, path):
        if len(swept) < 2:
            swept.append(path)
            path.rmdir() if path.is_dir() else path.unlink()
        return locks.still_named(handle, path)

    monkeypatch.setattr(scratch, "still_named", still_named)
    with scratch.scratch_folder("test", tmp_path) as folder:
        assert folder.is_dir() and len(swept) == 2 and folder not in swept
    swept.clear()
    with scratch.scratch_file(tmp_path) as (_, path):
        assert path.is_file() and len(swept) == 2 and path not in swept
    assert list(tmp_path.iterdir()) == []


# --- how commands end ---


def ended(raised, capsys):
    def run():
        raise raised

    return exit_status(run), capsys.readouterr().err


def test_what_the_system_refuses_is_one_line(capsys):
    assert ended(OSError(errno.ENAMETOOLONG, "File name too long", "x" * 5), capsys) == (
        2,
        "error: xxxxx: File name too long\n",
    )
    assert ended(OSError(errno.ENOSPC, "No space left on device"), capsys) == (
        1,
        "error: output: No space left on device\n",
    )


def test_characters_that_the_output_does_not_have_are_named(capsys):
    error = UnicodeEncodeError("ascii", "a µs b", 2, 3, "ordinal not in range(128)")
    line = "error: 'a µs b': the output's encoding ascii has no such character. Set PYTHONIOENCODING to utf-8.\n"
    assert ended(error, capsys) == (2, line)


def test_an_error_that_nobody_can_read_is_no_other_error(monkeypatch):
    class Closed:
        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

        def fileno(self):
            raise ValueError("closed")

    def run(raised):
        raise raised

    monkeypatch.setattr(sys, "stderr", Closed())
    monkeypatch.setattr(sys, "stdout", Closed())
    assert exit_status(lambda: run(UserError("a", "b", "c"))) == 2
    assert exit_status(lambda: run(BrokenPipeError())) == 141


@pytest.mark.parametrize("kind", [UserError, PlatformError, KernelError, NoIterations, OutOfRange])
def test_an_error_arrives_whole_from_another_process(kind):
    error = kind("here", "wrong", "Mend it")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) == "here: wrong. Mend it."
    assert (again.where, again.problem, again.remedy) == ("here", "wrong", "Mend it")


def test_errors_of_a_store_and_of_a_simulation_arrive_whole():
    error = pickle.loads(pickle.dumps(StoreError(Path("/x"), "full", "Make room")))
    assert type(error) is StoreError and str(error) == "store /x: full. Make room."
    error = SimulationError("it hangs", "what it said")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.log) == (SimulationError, "it hangs", "what it said")
