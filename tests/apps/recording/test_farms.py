"""Farms: messages from any source that are answered before the next one; other hosts would send them otherwise."""

import re

import gridval
import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.farms import answers_in_turn
from apps.runs.cautions import recording_cautions
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

PROGRAM = """#include <mpi.h>
#include <smpi/smpi.h>
int main(int argc, char **argv)
{
  int rank, size, answer = argc > 1, n = 0;
  MPI_Status who;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int task = 0; task < 5; task++)
    if (rank) {
      smpi_execute_flops_benched(1e9);
      MPI_Send(&n, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      if (answer)
        MPI_Recv(&n, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &who);
    } else
      for (int i = 1; i < size; i++) {
        MPI_Recv(&n, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &who);
        if (answer)
          MPI_Send(&n, 1, MPI_INT, who.MPI_SOURCE, 0, MPI_COMM_WORLD);
      }
  MPI_Finalize();
}
"""


@pytest.mark.parametrize("arguments, answered", [("answer", 10), ("", 0)])
def test_a_rank_that_answers_whoever_comes_is_seen(tmp_path, arguments, answered):
    source = tmp_path / "serve.c"
    source.write_text(PROGRAM)
    platform = materialise(named_grid("grid4x2"))
    spec = RunSpec(Target(own_problem(read_program(source, arguments)), platform, block(platform, 3)))
    recording = record_events(spec, 1)
    assert answers_in_turn(recording) == answered  # by hand: two workers, five messages each
    said = [text for text in recording_cautions(spec, recording) if re.search("from any source", text)]
    assert len(said) == (answered > 0)


@pytest.mark.slow
def test_a_prediction_of_a_farm_has_no_interval(tmp_path):
    source = tmp_path / "serve.c"
    source.write_text(PROGRAM)
    answers = gridval.predict(platform="grid4x2", ranks=3, program=str(source), program_args="answer", no_store=True)
    assert answers.interval is None and "order of arrival" in answers.no_interval
