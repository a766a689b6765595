"""IS on cluster 1 of the Li paper, predicted by its method and simulated: the paper's Figure 7, in simulated time.

The output is a table of classes and numbers of nodes.  The predictors are fitted on fewer nodes than they predict,
except for 2 and 3 nodes.  Recordings, messages and runs are kept in the store.
"""

from dataclasses import dataclass

from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, runner_from_request
from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.command.request import option
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.graph.li_predictor import DPGRAPH_LI, DPGRAPH_LI_DUPLEX, recorded_counts
from predictor.li.predictor import DPGRAPH_LI_SIZE, DPGRAPH_LI_SIZE_DUPLEX

NODES = (2, 4, 6, 8, 10, 12, 14, 16)
PREDICTORS = (DPGRAPH_LI, DPGRAPH_LI_DUPLEX)
OF_SIZE = (DPGRAPH_LI_SIZE, DPGRAPH_LI_SIZE_DUPLEX)  # from smaller classes


@dataclass(frozen=True, kw_only=True)
class Asked(RunnerOptions):
    """What the table shows."""

    cluster: str = option("li-1", "NAME", "li-1 or li-2 (default: li-1)")
    app: str = option("is", "NAME", "kernel (default: is)")
    sizes: bool = option(False, help="predict from smaller classes, with the size as an input")
    classes: str = option("A,B", "C1,C2,...", "problem classes, separated by commas (default: A,B)")


def run(asked: Asked) -> int:
    """Print the table and return the exit status."""
    models = OF_SIZE if asked.sizes else PREDICTORS
    platform = materialise(named_grid(asked.cluster))
    most = len(platform.hosts)
    problems = [problem(asked.app, name) for name in asked.classes.split(",")]
    targets = [Target(one, platform, block(platform, P)) for one in problems for P in NODES if most >= P]
    settings = Settings()
    with runner_from_request(asked) as runner:
        runner.start(settings.spec(target) for target in targets)
        broker = Broker.of(settings, targets, runner)
        answers = [predict(model, targets, broker) for model in models]
        records = [runner.record(settings.spec(target)) for target in targets]
    print(f"{asked.app} on {asked.cluster}; errors: 100 (predicted - simulated) / simulated")
    names = "".join(f"  {model.name + ' s':>19}  error %" for model in models)
    print(f"class nodes  fitted on  simulated s  compute %{names}  evidence % of run")
    for target, record, *said in zip(targets, records, *answers, strict=True):
        fitted = ",".join(map(str, recorded_counts(target.problem, target.nranks)))
        share = 100 * max(record.compute_s) / record.time_s
        line = f"{target.problem.preset:>5} {target.nranks:5d}  {fitted:>9}  {record.time_s:11.4f}  {share:9.1f}"
        for answer in said:
            time_s = answer.prediction.time_s
            line += f"  {time_s:19.4f}  {100 * (time_s / record.time_s - 1):+7.2f}"
        cost = 100 * said[0].prediction.cost.node_s / record.node_seconds
        print(f"{line}  {cost:17.0f}")
    return 0


COMMAND = Command("li-is", Asked, run, __doc__, status=exit_status)


if __name__ == "__main__":
    raise SystemExit(COMMAND.main(prog="python benchmarks/li_is.py"))
