"""What --dry-run says: the runs that would be made, those in the store, their time and the cost of the evidence."""

import json
import math

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.run import main as program
from apps.runs.computation import with_work
from apps.runs.limits import rough_duration
from apps.runs.plan import Plan, plan_text
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.check import main as conform
from predictor.clock.cli import main as clock
from predictor.clock.levels import at_maximum
from predictor.evidence.plan import planned
from predictor.failures.cli import main as failures
from predictor.graph.cli import main as graph
from predictor.grid.cli import main as design
from predictor.nodes.cli import main as choose
from predictor.predict import main as predict
from predictor.registry import predictors
from tests.verbs import blocks
from validation.blocks.cli import main as simulate_blocks
from validation.clock.cli import main as simulate_clock
from validation.cores.cli import main as simulate_cores
from validation.entrance.main import main as gridval
from validation.failures.cli import main as simulate_failures
from validation.league import main as league
from validation.map.cli import main as regimes
from validation.modes.cli import main as modes
from validation.nodes.cli import main as choose_and_simulate
from validation.run import main as run


@pytest.fixture
def targets():
    platform = materialise(named_grid("grid4x2"))
    return [Target(problem(app, "S"), platform, block(platform, 8)) for app in ("cg", "ep")]


def test_a_probe_that_two_predictors_share_is_one_run(targets):
    plan = planned([(Settings(), targets)], predictors(["hcf", "hcf:constant"]))
    assert [(spec.target.problem.name, spec.target.nranks) for spec in plan.evidence] == [("cg", 4), ("ep", 4)]
    assert [spec.target for spec in plan.truths] == targets and plan.askers == ()
    assert planned([(Settings(), targets)], predictors(["hcf"]), truths=False).truths == ()
    assert planned([(Settings(), targets)], predictors(["hcf", "dpgraph"])).askers == ("dpgraph",)


def test_a_plan_in_words(targets):
    plan = planned([(Settings(), targets)], predictors(["hcf", "dpgraph"]))
    first, cost, others, limit = plan_text(plan, None, jobs=8).splitlines()
    assert first.startswith(
        "4 runs (2 of targets, 2 for evidence): 0 in the store, 4 to simulate, about 1 s with 4 at "
    )
    assert cost == "cost of the evidence: not known yet for 2 runs"
    # A recording of each program; both are on the same nodes, whose messages are measured once.
    assert others.startswith("besides these, 2 recordings and 1 measurement of messages for dpgraph, about ")
    assert limit == "limit of a prediction's evidence: 15 minutes and 4 GB (--evidence-time, --evidence-memory)"
    assert plan_text(Plan(), None, jobs=1) == "0 runs: 0 in the store, 0 to simulate"


def test_the_timing_of_a_program_s_computation_is_counted(tmp_path):
    source = tmp_path / "program.c"
    source.write_text("#include <mpi.h>\nint main(int n, char **v) { MPI_Init(&n, &v); MPI_Finalize(); return 0; }\n")
    platform = materialise(named_grid("grid4x2"))
    target = Target(own_problem(read_program(source)), platform, block(platform, 4))
    groups, models = [(Settings(host_speed_flops=1e9), [target])], predictors(["dpgraph:known"])
    with Store(tmp_path / "store") as store:
        # The truth and the evidence have a timing each.
        said = plan_text(planned(groups, models), store, jobs=1)
        assert "2 timings of a program's computation (1 to 3 runs each)\n" in said
        alone = plan_text(planned(groups, models, truths=False), store, jobs=1)
        assert "1 timing of a program's computation (1 to 3 runs)\n" in alone
        with_work(groups[0][0].spec(target), store=store)
        said = plan_text(planned(groups, models), store, jobs=1)
        assert "2 timings of a program's computation (1 to 3 runs each) (1 in the store)\n" in said
    untimed = plan_text(planned([(Settings(compute="none"), [target])], models), None, jobs=1)
    assert "timing" not in untimed


def test_durations_are_rounded():
    assert [rough_duration(time_s) for time_s in (0.1, 119, 120, 7300)] == ["1 s", "119 s", "2 minutes", "2 hours"]


def test_what_is_in_the_store_costs_what_it_cost(capsys, tmp_path):
    words = "--scenario grid4x2 --app ep --class S --predictor hcf --store".split()
    assert predict([*words, str(tmp_path), "--json"]) == 0
    paid = capsys.readouterr().out
    assert predict([*words, str(tmp_path), "--dry-run"]) == 0
    first, cost = capsys.readouterr().out.splitlines()
    assert first == "1 run (1 for evidence): 1 in the store, 0 to simulate"
    node_s = float(cost.removeprefix("cost of the evidence: ").partition(" node-seconds")[0])
    assert node_s == pytest.approx(json.loads(paid)["predictions"][0]["prediction"]["cost"]["node_s"], rel=5e-3)


SIMULATING = (
    "apps.runs.runner.Runner.__init__",
    "validation.failures.study.simulate_failing",
    "validation.cores.world.simulate_world",
)
BLOCKS = "examples/blocks/master-slave.toml --system examples/systems/galera-plus.toml --vary slave1=2,4"
FAILURES = "--node-mtbf-years 5 --checkpoint 60"


@pytest.mark.parametrize(
    ("main", "words", "said"),
    [
        (run, "--scenario grid4x2 --app cg --class S --predictor hcf", "2 runs (1 of targets, 1 for evidence)"),
        (predict, "--scenario grid4x2 --app cg --class S --predictor hcf", "1 run (1 for evidence)"),
        # 15 subsets of four clusters; two mappings differ if there are several clusters: 15 + 11 targets.
        (league, "--scenario grid4x2 --app cg --class S --predictor hcf", "(26 of targets, "),
        (regimes, "--scenario grid4x2 --app cg --class S --predictor hcf", "24 runs (12 of targets, 12 for evidence)"),
        (choose, "--scenario ichikawa --app hpl --size 960 --construction 480,960,1920,2880", "for evidence)"),
        (choose_and_simulate, "--scenario ichikawa --app hpl --size 960 --predictor hcf", " of targets"),
        (clock, "--scenario grid4x2 --app cg --class S --predictor hcf", "1 run (1 for evidence)"),
        # A recording for every number of nodes: 1, 2, 4 and 8.
        (failures, f"--scenario grid4x2 --app cg --class S {FAILURES}", "4 recordings for dpgraph:known, about "),
        (simulate_failures, "--simulations 7", "besides these, 7 runs with failures, about "),
        (blocks, "calibrate --scenario grid4x2", "1 measurement of blocks, about 1 s"),
        (simulate_blocks, BLOCKS, "2 runs (2 of targets): 0 in the store, 2 to simulate"),
        (graph, "--app cg --class S", "1 recording, about 1 s"),
        # Four modes and 25 sizes (docs/predictors/dpgraph-li.md).
        (modes, "", "100 runs (100 of targets)"),
        # Three targets, and these on three changed platforms; hcf probes each target, and some odd ones.
        (conform, "hcf", "(12 of targets, "),
        (design, "examples/grid-design.toml", "recordings for dpgraph:known, about "),
        # 2 x 2 combinations of cores and nodes; three of them have several ranks and run also without latency.
        (simulate_cores, "--app hpl --n 1024 --cores 1,2 --nodes 1,2", "7 runs (7 of targets)"),
        # Five programs by two scalings and two more forms of beta(q, p), each on 1 x 2 points.
        (simulate_cores, "--system bwGRiD --scaling hockney --cores 1 --nodes 1,2", " points of its own world, about "),
    ],
)
def test_commands_say_what_they_would_run_and_run_nothing(main, words, said, capsys, tmp_path, monkeypatch):
    for name in SIMULATING:
        monkeypatch.setattr(name, forbidden)
    store = [] if main is simulate_failures else ["--store", str(tmp_path / "store")]
    assert main([*words.split(), "--dry-run", *store]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "store").exists()


def forbidden(*_, **__):
    pytest.fail("something was simulated")


def test_a_program_runs_once_more_for_its_timeline(capsys, tmp_path):
    words = ["--scenario", "grid4x2", "--app", "cg", "--class", "S", "--dry-run"]
    assert program(words) == 0
    assert capsys.readouterr().out.startswith("1 run (1 of targets): 0 in the store, 1 to simulate, about 1 s")
    assert program([*words, "--timeline", str(tmp_path / "cg.json")]) == 0
    assert "besides these, 1 run for the timeline, about 1 s" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_comparison_of_frequencies_counts_what_does_not_depend_on_predictions(capsys):
    # By hand, from platforms/model/frequencies.toml: a cluster alone at each of its levels, and all at the lowest; the
    # highest frequencies are a level of every cluster.
    grid = at_maximum(named_grid("grid4x2"))
    levels = [len(cluster.frequencies.levels_hz) for cluster in grid.clusters]
    count = sum(levels) - (len(levels) - 1) + 1
    words = "--scenario grid4x2 --app cg --class S --predictor hcf --no-store --dry-run".split()
    assert simulate_clock(words) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{count + 1} runs ({count} of targets, 1 for evidence)")
    assert "and a run of each choice that is none of these" in said
    assert simulate_clock([*words, "--optimum"]) == 0
    assert f"{math.prod(levels) - count} choices for the optimum" in capsys.readouterr().out


def test_a_campaign_of_choices_counts_spaces_and_measured_runs(capsys, tmp_path):
    file = tmp_path / "choices.toml"
    file.write_text(CHOICES)
    assert choose_and_simulate([str(file), "--dry-run", "--no-store"]) == 0
    # By hand: up to 4 nodes of each of two sub-clusters with a process on each, 24 configurations with a process at
    # all.  Eight of them use one sub-cluster alone; each is measured at four sizes.
    assert capsys.readouterr().out.startswith("56 runs (24 of targets, 32 for evidence)")


@pytest.mark.parametrize(
    ("main", "words", "said"),
    [
        (failures, f"--work 1e6 {FAILURES}", "--dry-run: goes with --scenario or --platform"),
        (simulate_failures, "--simulations 0", "--dry-run: nothing is simulated with --simulations 0"),
    ],
)
def test_the_option_is_refused_where_nothing_is_simulated(main, words, said, refused):
    refused(main, [*words.split(), "--dry-run"], said)


@pytest.mark.parametrize(
    "words", [["plan", "cores"], ["blocks", "run"], ["blocks", "block"], ["store", "list"]], ids=" ".join
)
def test_commands_that_never_simulate_do_not_have_the_option(words, capsys):
    with pytest.raises(SystemExit):
        gridval([*words, "--help"])
    assert "--dry-run" not in capsys.readouterr().out


CHOICES = """
scenario = "ichikawa"
[[studies]]
app = "hpl"
construction = [480, 960, 1920, 2880]
evaluation = [3840]
nodes = [4, 4, 0]
processes = [1, 1, 0]
[[studies.models]]
form = "npt"
"""


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--jobs=0", "--jobs 0: not positive"),
        ("--wall-limit=nan", "--wall-limit nan: not a time"),
        ("--store=", "--store: an empty name"),
        ("--mapping=", "--mapping '': no such mapping"),
        ("--network=", "network '': no such network"),
    ],
)
def test_a_plan_refuses_what_the_runs_would_refuse(refused, option, said):
    words = ["--scenario", "grid4x2", "--app", "ep", "--class", "S", "--predictor", "hcf", "--dry-run", option]
    refused(run, words, said)
