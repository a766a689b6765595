"""Estimates of the time of suites in the workbench, made before each is queued, beside the time that it took.

The suites of several kinds run one after the other in a project and a store that are new, so that the first ones have
little to be estimated from, and the later ones the times of those before them.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from validation.workbench.dispatch.desk import Desk
from validation.workbench.project.folder import open_project

ROOT = Path(__file__).parents[1]
APPLICATION = 'applications = ["../applications/master-slave.toml"]\nsystems = ["../platforms/merpsys.toml"]\n'
SUITES = {
    "ep, classes S and W, hcf": 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S", "W"]\nranks = [2, 4, 8]\n'
    'predictors = ["hcf"]\n',
    "cg, mg, lu, class S, as gridval run predicts": 'scenarios = ["grid4x2"]\nclasses = ["S"]\nranks = [4, 8]\n',
    "the same, class W": 'scenarios = ["grid4x2"]\nclasses = ["W"]\nranks = [4, 8]\n',
    "the same again, all in the store": 'scenarios = ["grid4x2"]\nclasses = ["W"]\nranks = [4, 8]\n# again\n',
    "cg, class A, 8 to 32 ranks, hcf": 'scenarios = ["grid4x8"]\napps = ["cg"]\nclasses = ["A"]\nranks = [8, 16, 32]\n'
    'predictors = ["hcf"]\n',
    "ft and is, class W, all to all": 'scenarios = ["grid4x8"]\napps = ["ft", "is"]\nclasses = ["W"]\nranks = [8, 16]\n'
    'predictors = ["hcf", "npt"]\n',
    "lu, class W, dpgraph": 'scenarios = ["grid4x2", "grid4x8"]\napps = ["lu"]\nclasses = ["W"]\nranks = [2, 4, 8]\n'
    'predictors = ["dpgraph"]\n',
    "four networks, two mappings": 'scenarios = ["grid4x4"]\napps = ["mg"]\nclasses = ["S", "W"]\nranks = [8, 16]\n'
    'networks = ["gigabit", "infiniband", "metro", "fast-ethernet"]\nmappings = ["block", "cyclic"]\n'
    'predictors = ["hcf"]\n',
    "100 small runs": 'scenarios = ["grid4x8"]\napps = ["ep"]\nclasses = ["S", "W", "A", "B"]\nranks = '
    f'{list(range(1, 26))}\npredictors = ["hcf"]\n',
    "a SimGrid file, cg and lu, class W": 'platforms = ["../platforms/small.xml"]\napps = ["cg", "lu"]\n'
    'classes = ["W"]\nranks = [4, 8, 12]\npredictors = ["hcf", "structural"]\n',
    "an application, 200 points": APPLICATION + f"[counts]\nslave1 = {list(range(1, 21))}\n[variables]\n"
    f"operations = {[float(n) * 1e9 for n in range(1, 11)]}\n",
    "an application, 12 points, simulated too": "simulate = true\n" + APPLICATION
    + "[counts]\nslave1 = [2, 4, 6]\n[variables]\noperations = [1e9, 2e9, 3e9, 4e9]\n",
}  # fmt: skip
SMALL = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-15" speed="10Gf" bw="125MBps" lat="50us"/></platform>"""


def main() -> None:
    """Run the suites and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default: 2)")
    parser.add_argument("--only", default="", help="suites whose name has this text")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        project = open_project(Path(name) / "project", f"{name}/store", jobs=args.jobs)
        (project.platforms / "small.xml").write_text(SMALL)
        shutil.copy(ROOT / "examples" / "blocks" / "master-slave.toml", project.applications)
        shutil.copy(ROOT / "examples" / "systems" / "merpsys.toml", project.platforms)
        desk = Desk(project)
        desk.start()
        try:
            print("| suite | runs | estimated, s | range, s | took, s | estimated / took | ground |")
            print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
            for title, text in SUITES.items():
                if args.only in title:
                    show(desk, title, text)
        finally:
            desk.stop()


def show(desk: Desk, title: str, text: str) -> None:
    """Run a suite and print its line."""
    counted = desk.count(text)
    estimate = counted.estimate
    number = desk.add("one", "Ann", text)
    started_s = time.perf_counter()
    while (suite := desk.queue.suite(number)).ended < suite.total:
        time.sleep(0.02)
    took_s = time.perf_counter() - started_s
    failed = f" ({suite.counts['failed']} failed)" if suite.counts["failed"] else ""
    numbers = (f"{estimate[key]:.1f}" for key in ("wall_s", "low_s", "high_s"))
    guess, low, high = numbers
    ratio = f"{estimate['wall_s'] / took_s:.2f}"
    print(
        f"| {title}{failed} | {suite.total} | {guess} | {low} to {high} | {took_s:.1f} | {ratio} "
        f"| {estimate['ground'].removesuffix(' on this computer')} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
