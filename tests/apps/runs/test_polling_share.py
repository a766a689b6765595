"""Programs that poll for messages repeatedly: the share of SimGrid's charge in their time."""

import pytest

from apps.errors import SimulationError
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.cautions import CHARGED
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.predict import COMMAND as PREDICT

FRAME = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
  int flag, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  %s
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""
POLLS = "for (int i = 0; i < 50; i++) MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);"


def spec_of(tmp_path, body, options=()):
    (tmp_path / "polls.c").write_text(FRAME % body)
    platform = materialise(named_grid("grid4x2"))
    target = Target(own_problem(read_program(tmp_path / "polls.c")), platform, block(platform, 4))
    return RunSpec(target, options=options)


def test_the_share_of_charged_looks_is_a_caution_with_its_remedy(tmp_path):
    record = simulate(spec_of(tmp_path, POLLS))
    # By hand: 50 looks of 0.1 ms (smpi/iprobe) at least, beside one barrier of about 1 ms.
    assert min(record.look_s) >= 50 * 1e-4 and record.polling_share > 0.5
    (caution,) = (said for said in record.cautions if CHARGED in said)
    assert "smpi/iprobe:1e-6" in caution
    cheaper = simulate(spec_of(tmp_path, POLLS, (("smpi/iprobe", "1e-6"), ("smpi/test", "1e-6"))))
    assert cheaper.time_s < record.time_s / 2
    assert record.time_s - cheaper.time_s == pytest.approx(0.99 * max(record.look_s), rel=0.05)


def test_a_program_that_does_not_poll_has_no_such_caution(tmp_path):
    record = simulate(spec_of(tmp_path, ""))
    assert record.polling_share == 0 and not any(CHARGED in said for said in record.cautions)


def test_a_program_that_polls_has_no_interval(tmp_path, capsys):
    spec_of(tmp_path, POLLS)
    asked = ["--program", str(tmp_path / "polls.c"), "--scenario", "grid4x2", "--ranks", "4", "--no-store"]
    assert PREDICT.main([*asked, "--compute", "none", "--predictor", "dpgraph:known"]) == 0
    said = capsys.readouterr()
    assert "no 90 % interval" in said.out
    assert "smpi/iprobe:1e-6" in said.err


def test_the_last_line_that_a_failed_program_printed_is_its_reason(tmp_path):
    with pytest.raises(SimulationError, match="ended with status 3: its last line of output is 'ranks must be 8'"):
        simulate(spec_of(tmp_path, 'if (!rank) { puts("ranks must be 8"); fflush(stdout); } return 3;'))
