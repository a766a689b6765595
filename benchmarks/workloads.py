"""Workloads drawn from seeds, predicted and simulated: errors of the jobs' times and of their slowdowns.

python benchmarks/workloads.py --seed 1 --count 20
"""

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

APPS = ("cg", "mg", "lu", "is", "ft", "bt", "sp", "ep")
SQUARE = {"bt", "sp"}  # NPB's own programs want squares; drawn so here too
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="grid" routing="Full">
{clusters}
    <link id="wan" bandwidth="{wan:.4g}Bps" latency="{latency:.4g}s"/>
{routes}
  </zone>
</platform>
"""
CLUSTER = (
    '    <cluster id="c{0}" prefix="c{0}-" suffix="" radical="0-{1}" speed="{2:.4g}f" core="2"'
    ' bw="1.25e8Bps" lat="2e-5s" bb_bw="{3:.4g}Bps" bb_lat="1e-6s"/>'
)
ROUTE = (
    '    <zoneRoute src="c{0}" dst="c{1}" gw_src="c{0}-c{0}_router" gw_dst="c{1}-c{1}_router"><link_ctn id="wan"/>'
    "</zoneRoute>"
)


def platform(draw):
    """Return a platform of two or three clusters that share one narrow wide-area link."""
    count = draw.choice((2, 3))
    rows = [
        CLUSTER.format(i, draw.randint(5, 11), draw.uniform(2e10, 1e11), draw.uniform(2e7, 2e8)) for i in range(count)
    ]
    routes = [ROUTE.format(i, j) for i in range(count) for j in range(i + 1, count)]
    return PLATFORM.format(
        clusters="\n".join(rows), routes="\n".join(routes), wan=draw.uniform(2e6, 2e7), latency=draw.uniform(1e-5, 1e-4)
    )


def workload(draw):
    """Return the text of a workload of two to ten jobs."""
    lines = [
        'platform = "platform.xml"',
        f'policy = "{draw.choice(["fcfs", "backfill"])}"',
        f'placement = "{draw.choice(["packed", "spread", "spread"])}"',
    ]
    for _ in range(draw.randint(2, 10)):
        app = draw.choice(APPS)
        ranks = draw.choice((4, 9) if app in SQUARE else (2, 4, 6, 8))
        lines += [
            "[[jobs]]",
            f'app = "{app}"',
            'class = "S"',
            f"ranks = {ranks}",
            f"ranks_per_host = {draw.choice((1, 1, 2))}",
            f"arrival_s = {draw.uniform(0, 0.2):.4f}",
            f"walltime_s = {draw.uniform(0.5, 5):.2f}",
        ]
    return "\n".join(lines) + "\n"


def answer(seed, predictor):
    """Return what ``gridval series workload`` says of a workload, as JSON values."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"workload-{seed}.toml")
        draw = random.Random(seed)
        Path(folder, "platform.xml").write_text(platform(draw))
        file.write_text(workload(draw))
        command = [str(Path(sys.executable).with_name("gridval")), "series", "workload", str(file), "--json"]
        done = subprocess.run([*command, "--predictor", predictor], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"seed {seed}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    """Print a row for each workload and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--predictor", default="dpgraph")
    arguments = parser.parse_args()
    print("| seed | jobs | mean slowdown | largest | mean error % | largest % | slowdown error % |")
    print("|---|---|---|---|---|---|---|")
    errors, by_workload = [], []
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        jobs = answer(seed, arguments.predictor)["jobs"]
        slowdowns = [job["simulated"]["slowdown"] for job in jobs]
        of_jobs = [abs(job["error_pct"]) for job in jobs]
        mean, slow = sum(of_jobs) / len(jobs), sum(abs(job["slowdown_error_pct"]) for job in jobs) / len(jobs)
        errors += of_jobs
        by_workload.append(mean)
        figures = (sum(slowdowns) / len(jobs), max(slowdowns), mean, max(of_jobs), slow)
        print(f"| {seed} | {len(jobs)} | " + " | ".join(f"{value:.3f}" for value in figures) + " |", flush=True)
    print(f"mean error of {len(errors)} jobs {sum(errors) / len(errors):.3f} %, largest {max(errors):.3f} %")
    print(f"mean error of the workloads {sum(by_workload) / len(by_workload):.3f} %, largest {max(by_workload):.3f} %")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
