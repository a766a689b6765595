"""Growth of processor time and memory with the messages of a graph, and with the ranks of `structural` and `learned`.

Each figure is that of a process of its own.  A graph is CG B on 32 ranks with as many iterations as give the messages;
a prediction of `structural` is that of a program on 4 clusters of one network, evidence included.  One of
`learned:known` is that of a halo along three axes with a sum, learned from recordings on at most 32 ranks.  Learning
alone is that of a kernel of class A, recorded on 4, 8, 16 and 32 ranks with as many iterations as stated; its memory
includes the recordings.  LU E is
class D with the 1,020 points along an axis of class E, because 408 are too few for 100,000 ranks.  The growth with the
ranks of a simulation is in scaling.py, that with the platforms in graph_speed.py.
"""

import argparse
import subprocess
import sys
import tempfile

MESSAGES = (10**6, 10**7, 10**8)
LEARNED_RANKS = (1024, 10_000, 32_768, 100_000, 131_072, 1_000_000)
LEARNING = (("lu", 19), ("cg", 18))  # kernels and recorded iterations: 10^6 events
RUNS = (
    *(("cg", "D", ranks) for ranks in (256, 512, 1024, 131_072)),
    *(("ep", "D", ranks) for ranks in (1024, 100_000)),
    *(("lu", "E", ranks) for ranks in (1024, 100_000)),
    *(("ft", "C", ranks) for ranks in (1024, 65_536)),
)

GRAPH = """
import sys
sys.path.insert(0, "benchmarks")
from graph_speed import network_of, sections_of
from platforms.grids.scenario import named_grid
from predictor.dpgraph.evaluate import execute
grid = named_grid("grid4x8", "gigabit", [40e9, 50e9, 60e9, 70e9])
placement = tuple(host for cluster in grid.clusters for host in cluster.host_names)
speeds = [1 / cluster.speed_flops for cluster in grid.clusters for _ in cluster.host_names]
sections = sections_of("cg", 32)
one = sections.looped(4)
program = sections.looped(4 + int(sys.argv[1]) // (one.nmessages - one.loop.fixed))
execute(program, network_of(sections, grid, placement), placement, speeds)
"""


STRUCTURAL = """
import sys
from dataclasses import replace
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.registry import predictor
app, preset, network, ranks = *sys.argv[1:4], int(sys.argv[4])
asked = problem(app, "D" if (app, preset) == ("lu", "E") else preset)
if (app, preset) == ("lu", "E"):
    asked = replace(asked, params=tuple({**dict(asked.params), "n": 1020}.items()), preset="E")
platform = materialise(named_grid(f"grid4x{-(-ranks // 4)}", network, [40e9, 50e9, 60e9, 70e9]))
target, settings = Target(asked, platform, block(platform, ranks)), Settings()
with Runner(jobs=1) as runner:
    (answer,) = predict(predictor("structural"), [target], Broker.of(settings, [target], runner))
if answer.prediction is None:
    sys.exit(answer.refusal)
"""


LEARNED = """
import sys
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.registry import predictor
network, ranks = sys.argv[1], int(sys.argv[2])
asked = own_problem(read_program("tests/predictor/learned/data/halo3d.c", "10 {iterations}", 50))
platform = materialise(named_grid(f"grid4x{-(-ranks // 4)}", network, [40e9, 50e9, 60e9, 70e9]))
target, settings = Target(asked, platform, block(platform, ranks)), Settings()
with Runner(jobs=1) as runner:
    (answer,) = predict(predictor("learned:known"), [target], Broker.of(settings, [target], runner))
if answer.prediction is None:
    sys.exit(answer.refusal)
"""


RECORDING = """
import pickle, sys
sys.path.insert(0, "benchmarks")
import any_count
any_count.RECORDED_ITERATIONS = int(sys.argv[2])
asked = any_count.problem_of(any_count.kernel(sys.argv[1]))
recordings = [any_count.recorded(asked, ranks) for ranks in (4, 8, 16, 32)]
with open(sys.argv[3], "wb") as file:
    pickle.dump((*any_count.with_calls_merged(recordings, asked), any_count.numbers_of(asked, {})), file)
print(sum(len(events) for recording in recordings for events in recording.events))
"""

LEARN = """
import pickle, sys
from predictor.learned.learn import learn
with open(sys.argv[1], "rb") as file:
    recordings, text, numbers = pickle.load(file)
learn(recordings, numbers, text)
"""


def cost(words: list[str]) -> tuple[float, float]:
    """Return the processor time, s, of a command and its children, and the most memory of one of its processes, MB."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, "
        "stderr=subprocess.DEVNULL); used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, done.stdout.split())
    return seconds, megabytes


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-messages", type=float, default=max(MESSAGES), help="of a graph (default: 10^8)")
    parser.add_argument("--most-ranks", type=int, default=1024, help="of structural (default: 1024)")
    parser.add_argument("--most-learned", type=int, default=1024, help="ranks of learned (default: 1024)")
    parser.add_argument("--app", choices=sorted({app for app, _, _ in RUNS}), help="of structural (default: all)")
    parser.add_argument("--network", default="gigabit", help="of structural and learned (default: gigabit)")
    parser.add_argument("--learning", action="store_true", help="learn from 10^6 recorded events as well")
    args = parser.parse_args()
    for messages in (count for count in MESSAGES if count <= args.most_messages):
        seconds, megabytes = cost([sys.executable, "-c", GRAPH, str(messages)])
        print(f"graph of {messages:.0e} messages: {seconds:.1f} s of processor time, {megabytes:.0f} MB", flush=True)
    for app, preset, ranks in RUNS:
        if ranks <= args.most_ranks and args.app in (None, app):
            words = ["-c", STRUCTURAL, app, preset, args.network, str(ranks)]
            seconds, megabytes = cost([sys.executable, *words])
            what = f"structural, {app} {preset} on {ranks} ranks, {args.network}"
            print(f"{what}: {seconds:.1f} s of processor time, {megabytes:.0f} MB", flush=True)
    for ranks in (count for count in LEARNED_RANKS if count <= args.most_learned):
        seconds, megabytes = cost([sys.executable, "-c", LEARNED, args.network, str(ranks)])
        what = f"learned:known, halo on {ranks} ranks, {args.network}"
        print(f"{what}: {seconds:.1f} s of processor time, {megabytes:.0f} MB", flush=True)
    for app, iterations in LEARNING if args.learning else ():
        with tempfile.NamedTemporaryFile() as file:
            words = [sys.executable, "-c", RECORDING, app, str(iterations), file.name]
            events = int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
            seconds, megabytes = cost([sys.executable, "-c", LEARN, file.name])
        what = f"learning {app} A from {events} events"
        print(f"{what}: {seconds:.1f} s of processor time, {megabytes:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
