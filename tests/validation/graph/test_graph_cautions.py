"""Cautions of a recording reach the commands that draw its graph, as text and as JSON."""

import json

import pytest

from predictor.graph.cli import main as graph
from validation.graph.cli import main as compared

TIMED = """#include <mpi.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  double began = MPI_Wtime();
  for (int more = 1; more; MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
    MPI_Barrier(MPI_COMM_WORLD);
    more = MPI_Wtime() - began < 2e-3;
  }
  return MPI_Finalize();
}
"""
SAID = "recording of timed on 2 ranks: the program's course depends on the time, which it queries with MPI_Wtime"
# Nothing is timed: on a busy computer a single pass, timed, may take the two milliseconds on any platform.
INJECTED = ["--scenario", "grid4x2", "--compute", "injected"]


@pytest.mark.parametrize(
    ("main", "where"),
    [(graph, []), (graph, INJECTED), (compared, INJECTED)],
    ids=["graph", "platform", "compared"],
)
def test_a_graph_tells_that_the_programs_course_depends_on_the_time(tmp_path, capsys, main, where):
    (tmp_path / "timed.c").write_text(TIMED)
    words = ["--program", str(tmp_path / "timed.c"), *where, "--ranks", "2", "--no-store"]
    assert main(words) == 0
    assert f"caution: {SAID}" in capsys.readouterr().err
    assert main([*words, "--json"]) == 0
    assert any(SAID in one for one in json.loads(capsys.readouterr().out)["cautions"])
