"""``gridval plan job``: times of steps, the time and the nodes to request, and the script that is written."""

import json
import math
from pathlib import Path

import gridval
import pytest

from apps.batch.script import read_script
from predictor.job.cli import COMMAND, main
from predictor.job.sizes import Size, StepTime, chosen, grows, size_of
from predictor.job.steps import spread_factor
from predictor.predict import COMMAND as PREDICT

KERNEL = {"app": "cg", "problem_class": "S", "scenario": "grid4x2", "no_store": True}
SCRIPT = """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
module load gcc
srun ./cg
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Return a script of four nodes."""
    place = tmp_path / "job.sbatch"
    place.write_text(SCRIPT)
    return place


def words(job: Path, *more: str) -> list[str]:
    return [str(job), *"--app cg --class S --scenario grid4x2 --no-store".split(), *more]


def test_a_step_has_the_time_and_the_interval_of_gridval_predict(job: Path) -> None:
    plan = COMMAND.ask(job=str(job), nodes="4", **KERNEL)
    prediction = PREDICT.ask(ranks=4, **KERNEL).answers[0].answer.prediction
    (step,) = plan.sizes[0].steps
    assert (step.time_s, step.low_s, step.high_s) == (prediction.time_s, prediction.low_s, prediction.high_s)
    # By definition: 95 % of runs are below the upper end of the central 90 % interval.
    assert step.below_s == pytest.approx(prediction.high_s, rel=1e-12)


def test_a_higher_share_of_runs_needs_more_time_and_the_spread_multiplies_it(job: Path) -> None:
    below = [COMMAND.ask(job=str(job), nodes="4", risk=risk, **KERNEL).sizes[0].below_s for risk in (50.0, 95.0, 99.0)]
    assert below == sorted(below)
    spread = COMMAND.ask(job=str(job), nodes="4", spread=10.0, **KERNEL).sizes[0].below_s
    assert spread == pytest.approx(below[1] * math.exp(1.6448536 * 0.1), rel=1e-6)  # z of 95 %, from tables


def test_the_written_script_has_the_advised_values_and_the_original_stays(job: Path, tmp_path: Path) -> None:
    target = tmp_path / "job.gridval.sbatch"
    assert main(words(job, "--write", str(target), "--objective", "time", "--nodes", "1,4")) == 0
    plan = COMMAND.ask(job=str(job), nodes="1,4", objective="time", **KERNEL)
    made = read_script(str(target))
    assert (made.asked.nodes, made.asked.time_s) == (plan.chosen.nodes, plan.limit_s)
    assert plan.limit_s % 60 == 0 and plan.limit_s >= plan.chosen.below_s
    assert job.read_text() == SCRIPT
    assert made.content.decode().split("\n")[4:] == SCRIPT.split("\n")[4:]


def test_the_original_is_never_overwritten(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "link").symlink_to(job)
    (tmp_path / "hard").hardlink_to(job)
    for name in ("job.sbatch", "link", "hard", "./job.sbatch"):
        assert main(words(job, "--write", f"{tmp_path}/{name}")) == 2
        assert "is the script itself" in capsys.readouterr().err
    assert job.read_text() == SCRIPT


def test_the_choice_is_the_cheapest_within_the_slack_of_the_fastest() -> None:
    sizes = [Size(nodes, (), time_s, None, None, None) for nodes, time_s in ((1, 100.0), (2, 55.0), (4, 50.0))]
    by_slack = {slack: chosen(sizes, "node-hours", slack).nodes for slack in (0, 10, 100)}
    assert by_slack == {0: 4, 10: 2, 100: 1}  # by hand: 200, 110 and 100 node-seconds
    assert chosen(sizes, "time", 100).nodes == 4


def test_steps_follow_each_other_and_those_beside_each_other_count_once() -> None:
    def step(time_s: float | None, times: int = 1) -> StepTime:
        return StepTime(1, "srun", 1, 1, times, time_s, time_s, time_s, time_s)

    size = size_of(2, [[step(1.0)], [step(2.0, 3)], [step(4.0), step(5.0)]])
    assert (size.time_s, size.below_s, size.complete) == (12.0, 12.0, True)  # 1 + 3 x 2 + the longer of 4 and 5
    assert size.node_hours == pytest.approx(24 / 3600)
    partial = size_of(2, [[step(1.0)], [step(None)]])
    assert (partial.time_s, partial.below_s, partial.complete) == (1.0, None, False)
    assert chosen([partial], "time", 0) is None


def test_work_that_grows_with_the_ranks_differs_from_work_that_is_divided() -> None:
    def size(ranks: int, work_s: float | None) -> Size:
        step = StepTime(1, "srun", ranks, ranks, 1, 1.0, work_s=work_s)
        return Size(ranks, (step,), 1.0, None, None, None)

    assert not grows([size(1, 8.0), size(4, 8.4)])  # divided, with some overhead
    assert grows([size(1, 8.0), size(4, 32.0)])  # each rank has its own
    assert not grows([size(4, 8.0), size(4, 9.0)])  # a fixed number of ranks
    assert not grows([size(1, 8.0), size(4, None)])  # not known


def test_tasks_without_nodes_fill_the_cores_of_the_platform(tmp_path: Path) -> None:
    place = tmp_path / "job.sbatch"
    place.write_text("#SBATCH --ntasks=3\nsrun ./cg\n")  # the hosts have one core each
    plan = COMMAND.ask(job=str(place), nodes="3,4", objective="time", **KERNEL)
    assert [(size.nodes, size.steps[0].ranks, size.steps[0].line) for size in plan.sizes] == [(3, 3, 2), (4, 4, 2)]
    assert plan.own == 3


def test_python_asks_as_the_command_line_does(job: Path) -> None:
    assert gridval.ask("plan job", job=str(job), nodes="4", **KERNEL)["nodes"] == 4


def test_measured_times_predict_the_job_without_a_platform(job: Path, tmp_path: Path) -> None:
    # A job whose work is divided without anything added: 64 / nodes.
    (tmp_path / "times.csv").write_text("nodes,time_s\n1,64\n2,32\n4,16\n")
    plan = COMMAND.ask(job=str(job), measured=str(tmp_path / "times.csv"), nodes="4,8")
    assert plan.sizes[1].time_s == pytest.approx(8.0, rel=0.15)
    assert plan.sizes[1].low_s < plan.sizes[1].time_s < plan.sizes[1].high_s
    assert plan.sizes[1].below_s == pytest.approx(plan.sizes[1].high_s, rel=1e-12)


def test_a_step_whose_program_is_not_here_leaves_the_advice_out(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(job), "--scenario", "grid4x2", "--no-store"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "./cg is not found here: name it with --program" in said
    assert "no nodes and no time are advised" in said
    assert "line 5: module" in said


def test_json_has_the_plan_in_si_units(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(job, "--nodes", "2,4", "--json")) == 0
    made = json.loads(capsys.readouterr().out)
    assert [size["nodes"] for size in made["sizes"]] == [2, 4]
    assert made["requested"] == {"nodes": 4, "tasks": 4, "time_s": 600}
    assert made["limit_s"] % 60 == 0


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("--risk 99.9", "not between 50 and 99"),
        ("--spread -1", "not between 0 and 100"),
        ("--nodes 0", "not all between"),
        ("--nodes 99", "99"),
        ("--measured no.csv", "does not go with --measured"),
        ("--predictor hcf,structural", "several predictors"),
    ],
)
def test_wrong_options_end_in_one_line(job: Path, capsys: pytest.CaptureFixture[str], more: str, problem: str) -> None:
    assert main(words(job, *more.split())) == 2
    said = capsys.readouterr().err
    assert problem in said and len(said.splitlines()) == 1


def test_a_median_needs_no_spread() -> None:
    assert spread_factor(0.5, 30.0) == 1.0


def test_a_job_costs_its_nodes_for_its_time_and_emits_by_the_energy_of_its_steps(job: Path) -> None:
    # A node of c1 costs 2 euro an hour, others 1; ranks go to the clusters in turn.
    prices = "c1=2,c2=1,c3=1,c4=1"
    plan = COMMAND.ask(job=str(job), nodes="2,4", price=prices, carbon="360", objective="cost", slack=1000.0, **KERNEL)
    for size in plan.sizes:
        rate = 3.0 if size.nodes == 2 else 5.0
        assert size.bill.cost == pytest.approx(rate * size.time_s / 3600, rel=1e-12)
        prediction = PREDICT.ask(ranks=size.nodes, **KERNEL).answers[0].answer.prediction
        # 360 g per kWh are 1e-4 g per joule.
        assert size.bill.carbon_g == pytest.approx(1e-4 * prediction.energy_j, rel=1e-9)
    assert plan.chosen is min(plan.sizes, key=lambda size: size.bill.cost)
    assert "emissions" in plan.text() and plan.to_json()["sizes"][0]["bill"]["currency"] == "EUR"


def test_a_cost_that_is_not_known_is_not_the_least(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = COMMAND.ask(job=str(job), nodes="2,4", price="c1=2,c2=1", objective="cost", slack=1000.0, **KERNEL)
    assert plan.chosen.nodes == 2 and "unknown" in plan.text()
    assert main(words(job, "--objective", "cost")) == 2
    assert "--objective cost: needs prices" in capsys.readouterr().err


def test_a_node_without_a_step_is_paid_for_and_idle(job: Path) -> None:
    job.write_text(SCRIPT.replace("srun ./cg", "srun -N 2 -n 2 ./cg"))
    plan = COMMAND.ask(job=str(job), nodes="4", price="1", carbon="360", **KERNEL)
    (size,) = plan.sizes
    assert size.bill.cost == pytest.approx(4 * size.time_s / 3600, rel=1e-12)
    prediction = PREDICT.ask(ranks=2, **KERNEL).answers[0].answer
    idle_w = [prediction.target.platform.host(name).power.idle_w for name in ("c3-0", "c4-0")]
    # By hand: 1e-4 g per joule.
    energy_j = prediction.prediction.energy_j + sum(idle_w) * size.time_s
    assert size.bill.carbon_g == pytest.approx(1e-4 * energy_j, rel=1e-9)
