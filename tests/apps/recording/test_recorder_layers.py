"""Calls that simulations of programs provide or grant, and calls that have no event in a recording."""

from pathlib import Path

import numpy as np
import pytest

from apps.errors import KernelError, NoIterations
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import Kind, Mode, Op, Tag
from apps.runs.cautions import recording_cautions
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.read.read import read_platform

DATA = Path(__file__).parents[1] / "data"


def spec_of(path, ranks, arguments="", *, full=None, platform=None, **more):
    platform = neutral_platform(ranks) if platform is None else platform
    problem = own_problem(read_program(path, arguments, full))
    return RunSpec(Target(problem, platform, tuple(host.name for host in platform.hosts)), **more)


def recorded(path, ranks, arguments=""):
    spec = spec_of(path, ranks, arguments)
    return record_events(spec, spec.target.iterations)


def test_graphs_parts_of_grids_neighbourhoods_and_matched_probes_do_what_mpi_says():
    # The program checks every result itself; under Open MPI 4.1 it ends well too.
    assert simulate(spec_of(DATA / "lacking.c", 6)).time_s > 0


def test_neighbourhoods_are_recorded_as_messages_to_the_neighbours():
    events = recorded(DATA / "lacking.c", 6).events[0]
    sends = events[events["kind"] == Kind.SEND]
    # Rank 0 of a periodic 3 x 2 grid: before and after it in the first dimension, and its two sides in the second.
    assert sends["peer"][:4].tolist() == [4, 2, 1, 1]
    assert sends["size_bytes"][:4].tolist() == [4] * 4


@pytest.mark.parametrize(
    ("call", "sends", "size_bytes"),  # of each of four ranks, three times; by hand from SimGrid's smpi_nbc_impl.cpp
    [
        ("ibarrier", [3, 1, 1, 1], 0),
        ("ibcast", [0, 3, 0, 0], 800),
        ("ireduce", [1, 0, 1, 1], 800),
        ("iscan", [3, 2, 1, 0], 800),
        ("iallreduce", [3, 3, 3, 3], 800),
        ("ialltoall", [3, 3, 3, 3], 800),
    ],
)
def test_non_blocking_collectives_are_the_messages_that_begin_with_them(call, sends, size_bytes):
    recording = recorded(DATA / "nonblocking.c", 4, f"{call} 100")
    for events, expected in zip(recording.events, sends, strict=True):
        sent = events[events["kind"] == Kind.SEND]
        assert sent["size_bytes"].tolist() == [size_bytes] * 3 * expected
        assert set(sent["tag"].tolist()) <= {Tag.NONBLOCKING - Op[call[1:].upper()]}
        started = events["request"][np.isin(events["kind"], (Kind.SEND, Kind.RECV))]
        assert sorted(started) == sorted(events["request"][events["kind"] == Kind.WAIT])


def test_a_put_is_waited_for_by_its_target_and_a_get_by_its_origin():
    for way, kind, mode in (("put", Kind.SEND, Mode.PUT), ("get", Kind.RECV, Mode.GET)):
        for rank, events in enumerate(recorded(DATA / "onesided.c", 4, f"{way} 100").events):
            accesses = events[(events["kind"] == kind) & (events["mode"] == mode)]
            assert accesses["peer"].tolist() == [(rank + 1) % 4] * 3
            assert accesses["size_bytes"].tolist() == [800] * 3
            waited = events["request"][events["kind"] == Kind.WAIT]
            assert len(waited) == 3
            assert np.isin(waited, accesses["request"]).all() == (way == "get")


def test_many_requests_that_are_waited_for_at_once_end_as_those_in_parts():
    # 63 at a time are waited for by SMPI's own waitall, of which 150 at a time take another way (waiting/many.cpp).
    in_parts, at_once = (simulate(spec_of(DATA / "many_requests.c", 4, f"150 {chunk}")).time_s for chunk in (63, 150))
    assert at_once == in_parts > 0


def test_locks_carry_a_caution_and_fences_none():
    for way, cautioned in (("lock_put", True), ("lock_rget", True), ("put", False), ("groups_get", False)):
        spec = spec_of(DATA / "onesided.c", 4, f"{way} 100")
        shown = recording_cautions(spec, record_events(spec, spec.target.iterations))
        assert any("wait for each other at a window" in one for one in shown) == cautioned


THREADS = """
#include <mpi.h>
#include <smpi/smpi.h>
int main(int argc, char **argv)
{
  int asked = argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, provided, again;
  MPI_Init_thread(&argc, &argv, asked, &provided);
  MPI_Query_thread(&again);
  smpi_execute_flops_benched(1e6);
  MPI_Finalize();
  return provided != MPI_THREAD_FUNNELED || again != provided;
}
"""


def test_more_threads_are_granted_as_one_with_a_caution(tmp_path):
    (tmp_path / "threads.c").write_text(THREADS)
    for arguments, cautioned in (("", False), ("many", True)):
        spec = spec_of(tmp_path / "threads.c", 2, arguments)
        shown = (*simulate(spec).cautions, *recording_cautions(spec, record_events(spec, spec.target.iterations)))
        assert sum("granted MPI_THREAD_FUNNELED" in one for one in shown) == (2 if cautioned else 0)


FILES = """
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
static char items[1000000];
int main(int argc, char **argv)
{
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, "/scratch/out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int i = 0; i < atoi(argv[1]); i++) {
    smpi_execute_flops_benched(1e6);
    MPI_File_write(file, items, sizeof items, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1002);
  }
  MPI_File_close(&file);
  MPI_Finalize();
}
"""
DISK = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full"><host id="h" speed="1Gf">
  <disk id="d" read_bw="100MBps" write_bw="50MBps">
    <prop id="size" value="500GiB"/><prop id="mount" value="/scratch"/><prop id="content" value="content.txt"/>
  </disk></host></zone></platform>
"""


@pytest.fixture
def with_files(tmp_path, monkeypatch):
    (tmp_path / "files.c").write_text(FILES)
    (tmp_path / "disk.xml").write_text(DISK)
    (tmp_path / "content.txt").write_text("/scratch/other 10\n")
    monkeypatch.chdir(tmp_path)
    return read_platform(tmp_path / "disk.xml"), tmp_path / "files.c"


def test_parallel_files_are_simulated_and_are_no_computation(with_files):
    platform, program = with_files
    record = simulate(spec_of(program, 1, "10", platform=platform))
    assert record.time_s == pytest.approx(10 * (1e-3 + 1e6 / 50e6), rel=1e-6)
    assert record.compute_s == pytest.approx((10e-3,))


def test_a_program_with_parallel_files_is_simulated_in_full_and_not_recorded(with_files):
    platform, program = with_files
    spec = spec_of(program, 1, "{iterations}", full=8, platform=platform, iterations="steady")
    assert simulate(spec, full_below_messages=0).iterations_basis is not None
    with pytest.raises(NoIterations, match="MPI_File_open, which cannot be recorded"):
        simulate(spec_of(program, 1, "{iterations}", full=8, platform=platform, iterations=4))
    with pytest.raises(KernelError, match="the program calls MPI_File_open, which cannot be recorded"):
        record_events(spec, 3)


def test_a_run_with_parallel_files_is_kept_until_what_disks_hold_changes(with_files, tmp_path):
    platform, program = with_files
    with Store(tmp_path / "store") as store:  # other surroundings cannot be tried: recordings have no disks
        assert store.put_record(simulate(spec_of(program, 1, "3", platform=platform), store=store))
    (tmp_path / "content.txt").write_text("/scratch/other 20\n")
    assert read_platform(tmp_path / "disk.xml").content_hash != platform.content_hash


def test_parallel_files_need_disks(with_files):
    with pytest.raises(KernelError, match="a host without a disk"):
        simulate(spec_of(with_files[1], 1, "10"))


FREED = """
#include <mpi.h>
int main(int argc, char **argv)
{
  int rank, item;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Irecv(&item, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Send(&rank, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def test_a_receive_that_is_freed_under_way_is_simulated(tmp_path):
    (tmp_path / "freed.c").write_text(FREED)
    assert simulate(spec_of(tmp_path / "freed.c", 2)).messages == (1, 1)
