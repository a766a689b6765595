"""The layer over MPI sees all functions of MPI that communicate, wait or use files, in C and in Fortran."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from apps.machines.launch import launch
from apps.machines.machine_file import read_machine
from apps.measuring.compiling import layer_library
from apps.measuring.notes import FILE, VARIABLE, parse_notes
from apps.recording.recorder.real.library import read_calls

FOLDER = Path(__file__).parents[3]
TABLE = FOLDER / "apps" / "recording" / "recorder" / "real" / "calls.txt"
TWO = ("localhost", "localhost")
SLEEP_S = 0.4  # of rank 1, before the first call

# One call of every kind; rank 1 comes late to the first.
IN_C = r"""
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  int rank;
  double a[10] = {0}, b[10];
  MPI_Request r[2];
  MPI_Comm ring;
  MPI_Win win;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int other = 1 - rank;
  if (rank == 1)
    usleep(400000);
  MPI_Ibarrier(MPI_COMM_WORLD, r);
  MPI_Wait(r, MPI_STATUS_IGNORE);
  MPI_Iallreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
  MPI_Wait(r, MPI_STATUS_IGNORE);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &ring);
  MPI_Neighbor_alltoall(a, 3, MPI_DOUBLE, b, 3, MPI_DOUBLE, ring);
  MPI_Comm_free(&ring);
  MPI_Win_create(a, sizeof a, sizeof *a, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(b, 5, MPI_DOUBLE, other, 0, 5, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Send_init(a, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Recv_init(b, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &r[1]);
  for (int i = 0; i < 2; i++) {
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 32 * rank, a, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 32 * rank, b, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
"""
IN_FORTRAN = """
program everything
#ifdef BY_F08
#define HANDLE(kind) type(kind)
  use mpi_f08
  implicit none
#else
#define HANDLE(kind) integer
#ifdef BY_MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
#endif
  interface
    integer(c_int) function usleep(us) bind(c, name='usleep')
      use iso_c_binding
      integer(c_int), value :: us
    end function
  end interface
  integer :: rank, other(1), e, i
  double precision, asynchronous :: a(10), b(10)
  HANDLE(MPI_Request) :: r(2)
  HANDLE(MPI_Comm) :: ring
  HANDLE(MPI_Win) :: win
  HANDLE(MPI_File) :: file
  character(len=256) :: name
  call mpi_init(e)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, e)
  call get_command_argument(1, name)
  other(1) = 1 - rank
  a = 0
  if (rank == 1) e = usleep(400000)
  call mpi_ibarrier(MPI_COMM_WORLD, r(1), e)
  call mpi_wait(r(1), MPI_STATUS_IGNORE, e)
  call mpi_iallreduce(a, b, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, r(1), e)
  call mpi_wait(r(1), MPI_STATUS_IGNORE, e)
  call mpi_alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE_PRECISION, a, 2, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, e)
  call mpi_dist_graph_create_adjacent(MPI_COMM_WORLD, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., ring, e)
  call mpi_neighbor_alltoall(a, 3, MPI_DOUBLE_PRECISION, b, 3, MPI_DOUBLE_PRECISION, ring, e)
  call mpi_comm_free(ring, e)
  call mpi_win_create(a, 80_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, e)
  call mpi_win_fence(0, win, e)
  call mpi_put(b, 5, MPI_DOUBLE_PRECISION, other(1), 0_MPI_ADDRESS_KIND, 5, MPI_DOUBLE_PRECISION, win, e)
  call mpi_win_fence(0, win, e)
  call mpi_win_free(win, e)
  call mpi_send_init(a, 1, MPI_DOUBLE_PRECISION, other(1), 0, MPI_COMM_WORLD, r(1), e)
  call mpi_recv_init(b, 1, MPI_DOUBLE_PRECISION, other(1), 0, MPI_COMM_WORLD, r(2), e)
  do i = 1, 2
    call mpi_startall(2, r, e)
    call mpi_waitall(2, r, MPI_STATUSES_IGNORE, e)
  end do
  call mpi_request_free(r(1), e)
  call mpi_request_free(r(2), e)
  call mpi_file_open(MPI_COMM_WORLD, trim(name), MPI_MODE_RDWR + MPI_MODE_CREATE, MPI_INFO_NULL, file, e)
  call mpi_file_write_at(file, 32_MPI_OFFSET_KIND * rank, a, 4, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, e)
  call mpi_file_read_at(file, 32_MPI_OFFSET_KIND * rank, b, 4, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, e)
  call mpi_file_close(file, e)
  call mpi_finalize(e)
end program
"""
CALLS = 26  # of both programs, without MPI_Comm_rank and MPI_Finalize
COLLECTIVES = {  # calls and bytes of a rank; a double has 8 bytes
    "barrier": (1, 0),
    "allreduce": (1, 80),
    "alltoall": (1, 32),  # two doubles to each of two ranks
    "neighbor_alltoall": (1, 24),  # three doubles to one neighbour
    "put": (1, 40),
    "file_read": (1, 32),
    "file_write": (1, 32),
}

# Persistent collectives, which Open MPI 4 has as an extension; calls with large counts, which come with MPI 4.
NEWER = r"""
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
int main(int argc, char **argv)
{
  double a[10] = {0}, b[10];
  MPI_Request r;
  MPI_Init(&argc, &argv);
#if MPI_VERSION >= 4
  MPI_Allreduce_init(a, b, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
#else
  MPIX_Allreduce_init(a, b, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
#endif
  for (int i = 0; i < 3; i++) {
    MPI_Start(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&r);
#if MPI_VERSION >= 4
  MPI_Count counts[2] = {1, 2};
  MPI_Aint at[2] = {0, 1};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
  MPI_Bcast_c(a, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Alltoallw_c(a, counts, at, types, b, counts, at, types, MPI_COMM_WORLD);
#else
  MPI_Bcast(a, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  int counts[2] = {1, 2}, at[2] = {0, 1};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
  MPI_Alltoallw(a, counts, at, types, b, counts, at, types, MPI_COMM_WORLD);
#endif
  MPI_Finalize();
  return 0;
}
"""

# Functions that do not communicate, wait, or use files: queries, datatypes, attributes, and what begins and ends MPI.
LOCAL = re.compile(
    r"Init\w*|Finaliz\w+|Pcontrol|Abort|Session_\w+|Query_thread|Is_thread_main|DUP_FN|T_\w+|W(time|tick)|Get_\w+"
    r"|(Type|Group|Info|Errhandler|Attr|Keyval|Op|Status|Error|Grequest|Topo|Address|Dims|Cartdim|Graphdims)_\w+"
    r"|Aint_\w+|Add_error_\w+|(Comm|Win|File)_(create_|free_|delete_|set_|get_)(attr|errhandler|keyval|name|info|group)"
    r"|Comm_(rank|size|compare|group|remote_\w+|test_inter|get_parent)|(Comm|Win|File)_call_errhandler"
    r"|Cart_(coords|get|map|rank|shift)|Graph_(get|map|neighbors\w*)|Dist_graph_neighbors\w*|\w+_(c2f|f2c|c2f08|f082c)"
    r"|Address|(Alloc|Free)_mem|Buffer_attach|(Un)?[Pp]ack\w*|Reduce_local|Test_cancelled|Win_(attach|detach|shared_query)"
    r"|File_get_(amode|atomicity|byte_offset|position|type_extent|view)|Register_datarep|(Un)?[Rr]egister_\w+"
    r"|Status_\w+|NULL_\w+|CONVERSION_FN_NULL|Request_(c2f|f2c)"
)


@pytest.fixture(params=["local", "mpich"])
def machine(request):
    if request.param == "local":
        return request.getfixturevalue("local")
    found = read_machine(FOLDER / "examples" / "machines" / "mpich.toml")
    if any(shutil.which(one) is None for one in (found.launcher.command[0], found.compilers.c)):
        pytest.skip("there is no MPICH here: sh setup.sh machine")
    return found


def ranks_of(machine, program, *arguments):
    done = launch(
        machine, [str(program), *map(str, arguments)], TWO, environment={VARIABLE: f"{{folder}}/{FILE}"},
        preload=[layer_library(machine)], collect=[FILE],
    )  # fmt: skip
    assert done.succeeded, done.why
    return parse_notes(done.files[FILE], 2).ranks


def compiled(compiler, source, text, *flags):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} here")
    source.write_text(text)
    subprocess.run([compiler, *flags, "-o", source.with_suffix(""), source], check=True)
    return source.with_suffix("")


def check_everything(ranks):
    for one in ranks:
        assert one.section.collectives == COLLECTIVES
        assert (one.section.messages, one.section.bytes) == (2, 16)  # one persistent request, started twice
        assert one.mpi_calls == CALLS
        assert 0 < one.file_s < one.mpi_s < one.elapsed_s
    early, late = ranks
    assert early.mpi_s >= 0.5 * SLEEP_S  # it waits for the other one
    assert late.compute_s >= SLEEP_S


def test_every_kind_of_call_in_c_is_timed_and_counted(machine, tmp_path):
    program = compiled(machine.compilers.c, tmp_path / "everything.c", IN_C)
    check_everything(ranks_of(machine, program, tmp_path / "file"))


@pytest.mark.parametrize("way", ["MPIF_H", "MODULE", "F08"])
def test_every_kind_of_call_in_fortran_is_timed_and_counted(machine, tmp_path, way):
    flags = (f"-DBY_{way}", "-fallow-argument-mismatch")
    program = compiled(machine.compilers.fortran, tmp_path / "everything.F90", IN_FORTRAN, *flags)
    check_everything(ranks_of(machine, program, tmp_path / "file"))


def test_persistent_collectives_count_when_they_are_started_and_large_counts_like_others(machine, tmp_path):
    program = compiled(machine.compilers.c, tmp_path / "newer.c", NEWER)
    for one in ranks_of(machine, program):
        assert one.section.collectives == {"allreduce": (3, 240), "bcast": (1, 32), "alltoallv": (1, 16)}


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc.mpich"])
def test_every_function_of_the_installed_libraries_is_in_the_table_or_local(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} here")
    source = tmp_path / "all.c"
    source.write_text("#include <mpi.h>\n")
    text = subprocess.run([compiler, "-E", "-P", source], capture_output=True, text=True, check=True).stdout
    known = {call.name for call in read_calls(TABLE.read_text())}
    declared = set(re.findall(r"\bint\s+MPI_(\w+) ?\(", text))
    assert len(declared) > 300
    plain = {name.removesuffix("_c") for name in declared}
    assert {name for name in plain - known if not LOCAL.fullmatch(name)} == set()


def test_a_line_that_is_no_function_is_refused():
    with pytest.raises(ValueError, match="not a function of MPI: Send"):
        read_calls("[calls]\nSend\n")
