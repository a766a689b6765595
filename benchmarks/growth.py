"""Growth of processor time and memory with the messages of a graph, and with the ranks of `structural`.

Each figure is that of a process of its own.  A graph is CG B on 32 ranks with as many iterations as give the messages;
a prediction of `structural` is that of CG D on 4 clusters, evidence included.  The growth with the ranks of a
simulation is in scaling.py, that with the platforms in graph_speed.py.
"""

import argparse
import subprocess
import sys

MESSAGES = (10**6, 10**7, 10**8)
RANKS = (128, 256, 512, 1024)

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
    parser.add_argument("--most-ranks", type=int, default=max(RANKS), help="of structural (default: 1024)")
    args = parser.parse_args()
    for messages in (count for count in MESSAGES if count <= args.most_messages):
        seconds, megabytes = cost([sys.executable, "-c", GRAPH, str(messages)])
        print(f"graph of {messages:.0e} messages: {seconds:.1f} s of processor time, {megabytes:.0f} MB", flush=True)
    for ranks in (count for count in RANKS if count <= args.most_ranks):
        words = f"-m predictor.predict --scenario grid4x{ranks // 4} --speeds 40,50,60,70 --app cg --class D --no-store"
        seconds, megabytes = cost([sys.executable, *words.split(), "--predictor", "structural"])
        print(f"structural, {ranks} ranks: {seconds:.1f} s of processor time, {megabytes:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
