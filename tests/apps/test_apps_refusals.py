"""What runs cannot be, and what is said where a record, a recording or a system tells little."""

import dataclasses
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from apps import catalog, failure, process
from apps.catalog import own_problem, problem
from apps.cluster import Cluster
from apps.errors import KernelError
from apps.options import own_problem_from_arguments
from apps.recording import EVENT
from apps.recording_io import Incomplete, _by_rank
from apps.run import _energy, _own_cautions
from apps.s4u import cg as s4u_cg
from apps.s4u import ep as s4u_ep
from apps.s4u.limits import check_limits
from apps.s4u.program import check_program
from apps.spec import RunSpec, Settings, Target, check_host_names
from apps.store import Store, export
from apps.store.cli import main as store_command
from apps.store.database import DATABASE
from apps.summa.reference import references
from apps.traffic import traffic
from apps.user_program import read_program
from platforms.errors import UserError
from platforms.placement import block
from platforms.read import materialise, read_platform
from platforms.scenario import named_grid

JACOBI = Path(__file__).parents[2] / "examples" / "jacobi" / "jacobi.c"


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


def jacobi():
    return own_problem(read_program(JACOBI, "100 {iterations}", 10))


def own_spec(target, **how):
    return RunSpec(Target(jacobi(), target.platform, target.placement), **how)


# --- what cannot be run ---


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda t: Target(t.problem, t.platform, ()), "placement: no ranks. Place at least one rank"),
        (lambda t: RunSpec(t, mode="quick"), "mode 'quick': no such mode. Known: "),
        (lambda t: RunSpec(t, memory_bus="wide"), "--memory-bus wide: neither a number nor a known word"),
        (lambda t: check_host_names(["a", "b:1"]), "host 'b:1': smpirun's host file cannot name it"),
        (
            lambda t: check_limits(own_spec(t, engine="s4u")),
            "--engine s4u: jacobi is not a program in Python",
        ),
    ],
)
def test_a_run_that_cannot_be_is_refused(target, make, said):
    with pytest.raises(KernelError) as error:
        make(target)
    assert said in str(error.value)


def test_problems_that_the_kernels_in_python_have_no_room_for_are_refused():
    # CG has at most a quarter of a row in each of nonzer vectors; EP draws batches of 2^16 pairs.
    assert s4u_cg.refusal({"na": 8, "nonzer": 1}, 9) == "9 ranks need at least as many rows, na is 8"
    assert s4u_cg.refusal({"na": 1400, "nonzer": 351}, 4) == "nonzer is 351, not between 1 and na / 4"
    assert s4u_ep.refusal({"m": 15}, 1) == "m is 15, not between 16 and 42"
    assert s4u_ep.refusal({"m": 24}, 256) is None


def test_a_platform_whose_options_runs_cannot_have_is_refused(tmp_path):
    path = tmp_path / "own.xml"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<config><prop id="smpi/simulate-computation" value="yes"/></config>'
        '<zone id="w" routing="None"><host id="h" speed="1Gf"/></zone></platform>'
    )
    platform = read_platform(path)
    with pytest.raises(KernelError, match="its <config> sets smpi/simulate-computation to yes, but runs need no"):
        Settings().spec(Target(problem("cg", "S"), platform, ("h",)))


def test_a_parameter_of_a_kernel_is_none_of_a_program():
    args = SimpleNamespace(program="x.c", app=None, preset=None, size=None, param=["n=3"])
    with pytest.raises(UserError, match=r"--param n=3: does not go with --program\. Use --program-args"):
        own_problem_from_arguments(args)


def test_a_kernel_file_without_its_keys_is_said(tmp_path, monkeypatch):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "kernel.toml").write_text('title = "t"\ncolour = "red"\n')
    monkeypatch.setattr(catalog, "_HERE", tmp_path)
    monkeypatch.setattr(catalog, "app_names", lambda: ("odd",))
    catalog.app.cache_clear()
    with pytest.raises(KernelError, match=r"odd/kernel\.toml: missing or unknown keys: .*colour"):
        catalog.app("odd")


def test_python_that_is_nested_too_deep_is_no_program(tmp_path):
    path = tmp_path / "deep.py"
    path.write_text("x = " + "-" * 20_000 + "1\n")
    with pytest.raises(KernelError, match=r"deep\.py.*: not Python: "):
        check_program(path)


def test_matrices_that_memory_does_not_hold_are_said(monkeypatch):
    def none(*_, **__):
        raise MemoryError

    monkeypatch.setattr(np, "empty", none)
    with pytest.raises(KernelError, match="size 100000: the matrices, 160 GB, do not fit into memory"):
        references({"n": 100_000}, 4)


# --- what a kernel sends ---


def test_one_rank_of_cg_sends_nothing():
    assert traffic(problem("cg", "S"), 1).totals(1).messages.sum() == 0


def test_ft_on_more_ranks_than_planes_is_a_grid():
    # Class S has 64^3 points: 128 ranks are 2 x 64, each with an equal share.
    declared = traffic(problem("ft", "S"), 128)
    assert len(set(declared.totals(1).flops.tolist())) == 1
    # Both transpositions, each way of an iteration: among 2 ranks along x and y, among 64 along y and z.
    assert declared.totals(1).flops.sum() == pytest.approx(traffic(problem("ft", "S"), 64).totals(1).flops.sum())


def test_a_program_of_one_s_own_does_not_say_what_it_moves():
    assert jacobi().bytes_per_flop is None


# --- what is said of a record ---


def test_energy_of_links_is_told(record_of, target):
    record = dataclasses.replace(record_of(target, 1.0, 1.0), link_energy_j={"a": 1.5, "b": 2.0})
    assert _energy(record)[-1].endswith("3.5 J on 2 links")


def test_a_program_whose_iterations_do_not_settle_is_said(record_of, target):
    record = dataclasses.replace(
        record_of(target, 1.0, 1.0), identity={"compute": "none", "iterations": "steady"}, extrapolation=None
    )
    assert _own_cautions(record, jacobi()) == [
        "all iterations were simulated: few do not settle, or cannot be told apart"
    ]
    with pytest.raises(ValueError, match="does not say what its iterations consumed"):
        _ = record.energy_by_iteration


def test_a_recording_that_lacks_ranks_is_not_complete(tmp_path):
    (tmp_path / "1.events").write_bytes(b"")
    with pytest.raises(Incomplete, match="2 of 3 ranks did not reach MPI_Finalize, rank 0 for one"):
        _by_rank(tmp_path, 3, "events", EVENT)


def test_a_moved_byte_needs_a_bus(target):
    assert RunSpec(target).moved_bytes_per_flop == 0


# --- processes ---


def test_a_keeper_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(process, "_PATIENCE_S", 0.3)
    words = ["sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.05; done"]
    keeper = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE)
    keeper.stdout.readline()
    process._end(keeper)
    keeper.stdout.close()
    assert keeper.returncode == -9


def test_output_that_found_no_room_is_none(tmp_path):
    assert process._kept(tmp_path / "none", 10, 10) == ""


# --- the store's command ---


def test_what_is_no_text_is_told_by_its_size_and_a_date_that_is_none_by_a_mark(tmp_path, capsys):
    with Store(tmp_path / "store") as store:
        store.put_bytes("trace", {"app": "cg"}, b"\x00\xff" * 5)
    with sqlite3.connect(tmp_path / "store" / DATABASE) as connection:
        ((key,),) = connection.execute("SELECT key FROM entries").fetchall()
        connection.execute("UPDATE entries SET created_s = 1e300")
    assert store_command(["show", key, "--store", str(tmp_path / "store")]) == 0
    assert '"payload": "10 bytes that are no text"' in capsys.readouterr().out
    assert store_command(["list", "--store", str(tmp_path / "store")]) == 0
    assert "?" in capsys.readouterr().out


# --- what is not installed, and what stores cannot read ---


def test_dask_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match="--scheduler: Dask is not installed"):
        Cluster("tcp://127.0.0.1:1")


def test_pyarrow_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match="export to Parquet: pyarrow is not installed"):
        export._parquet({"a": [1]})


@pytest.mark.parametrize(("value", "joules"), [(None, None), ([1, 2], None), ({"a": "x"}, None)])
def test_energies_in_another_form_are_none(value, joules):
    assert export._joules(value) == joules


def test_a_payload_that_has_gone_is_said(tmp_path, capsys):
    with Store(tmp_path / "store") as store:
        store.put_bytes("trace", {"app": "cg"}, b"\x00\xff" * 5)
        ((key,),) = [(entry.key,) for entry in store.entries()]
    for path in (tmp_path / "store" / "payloads").rglob("*.*"):
        path.unlink()
    assert store_command(["show", key, "--store", str(tmp_path / "store")]) == 2
    assert f"trace {key} cannot be read. Run it again to mend it." in capsys.readouterr().err


def test_a_store_opened_for_reading_takes_nothing(tmp_path):
    Store(tmp_path).close()
    with Store(tmp_path, read_only=True) as store, pytest.raises(ValueError, match="for reading only"):
        store.put("record", "key", {}, {})


def test_ranks_that_wait_are_named_as_far_as_they_are_known():
    assert failure._who_waits("nothing about ranks") == "the ranks that are left wait"
