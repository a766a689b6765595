"""What a rank has for itself on a machine it has for itself in a simulation, where all ranks are in one process."""

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

# Each program ends with status 3 on a rank that finds another's state: then the run fails.
FRAME = """
#define _GNU_SOURCE
#include <mpi.h>
#include <smpi/smpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int rank;
static void meet(void) {{ MPI_Barrier(MPI_COMM_WORLD); }}
static void check(int right) {{ if (!right) {{ fprintf(stderr, "rank %d differs\\n", rank); exit(3); }} }}
int main(int argc, char **argv)
{{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  smpi_execute_flops_benched(1e6);
{body}
  MPI_Finalize();
}}
"""
# The first numbers of the GNU C library, printed by a program without MPI.
BODIES = {
    "rand without srand": """
  static const int drawn[] = {1804289383, 846930886, 1681692777};
  for (int i = 0; i < 3; i++) { meet(); check(rand() == drawn[i]); }""",
    "srand": """
  static const int drawn[2][2] = {{1804289383, 846930886}, {1505335290, 1738766719}};
  srand(rank ? 2 : 1);
  for (int i = 0; i < 2; i++) { meet(); check(rand() == drawn[rank][i]); }""",
    "drand48": """
  srand48(5);
  double first = drand48();
  meet();
  if (rank) srand48(6);
  meet();
  srand48(rank ? 6 : 5);
  check((drand48() == first) == !rank);""",
    "setenv": """
  char text[16];
  sprintf(text, "%d", rank);
  check(!getenv("OWN_STATE"));
  setenv("OWN_STATE", text, 1);
  meet();
  check(!strcmp(getenv("OWN_STATE"), text));
  if (rank) unsetenv("OWN_STATE");
  meet();
  check(!getenv("OWN_STATE") == rank);
  putenv(rank ? "OWN_STATE=b" : "OWN_STATE=a");
  meet();
  check(*getenv("OWN_STATE") == (rank ? 'b' : 'a'));
  if (rank) clearenv();
  meet();
  check(!getenv("OWN_STATE") == rank && !getenv("PATH") == rank);""",
    "chdir": """
  char name[16], before[4096], now[4096];
  getcwd(before, sizeof before);
  sprintf(name, "d%d", rank);
  mkdir(name, 0700);
  if (rank) check(!chdir(name));
  meet();
  close(open(rank ? "in" : "out", O_CREAT | O_WRONLY, 0600));
  meet();
  check(!access(rank ? "in" : "out", F_OK) && access(rank ? "out" : "in", F_OK));
  check(!!strcmp(getcwd(now, sizeof now), before) == rank);""",
}


@pytest.fixture(scope="module")
def platform():
    return materialise(named_grid("grid4x2"))


@pytest.mark.parametrize("what", BODIES)
def test_each_rank_has_its_own(what, platform, tmp_path):
    path = tmp_path / "own.c"
    path.write_text(FRAME.format(body=BODIES[what]))
    record = simulate(RunSpec(Target(own_problem(read_program(path)), platform, block(platform, 2))))
    assert record.time_s > 0 and record.inputs.hidden == ()
    if what == "setenv":
        assert record.inputs.environment["OWN_STATE"] is None
