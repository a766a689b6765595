"""How far the nodes that ``gridval plan nodes`` advises are from the best of a simulated search.

Five programs, two of them of one's own, on three small grids that differ in their speeds, cores and networks.  Every
configuration within the limits of the default search is simulated; the advised one is that of the command's defaults.

Usage: python benchmarks/advised_nodes.py [--json FILE]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
GRIDS = {
    # Two equal speeds far apart: is the second cluster worth its latency?
    "far": """<cluster id="a" prefix="a-" suffix="" radical="0-3" speed="20Gf" core="1" bw="1Gbps" lat="50us"/>
    <cluster id="b" prefix="b-" suffix="" radical="0-3" speed="20Gf" core="1" bw="1Gbps" lat="50us"/>""",
    # Few nodes of many cores beside many of one core, twice as fast.
    "cores": """<cluster id="a" prefix="a-" suffix="" radical="0-1" speed="10Gf" core="4" bw="10Gbps" lat="10us"/>
    <cluster id="b" prefix="b-" suffix="" radical="0-3" speed="20Gf" core="1" bw="1Gbps" lat="50us"/>""",
    # Unlike speeds behind a narrow link.
    "narrow": """<cluster id="a" prefix="a-" suffix="" radical="0-2" speed="40Gf" core="1" bw="1Gbps" lat="50us"/>
    <cluster id="b" prefix="b-" suffix="" radical="0-3" speed="15Gf" core="2" bw="1Gbps" lat="50us"/>""",
}
LINKS = {"far": ("10Gbps", "2ms"), "cores": ("10Gbps", "100us"), "narrow": ("200Mbps", "100us")}
PROGRAMS = {
    "cg A": ["--app", "cg", "--class", "A"],
    "ep A": ["--app", "ep", "--class", "A"],
    "hpl 2000": ["--app", "hpl", "--size", "2000"],
    "jacobi": [
        "--program", f"{ROOT}/examples/jacobi/jacobi.c", "--program-args", "2048 {iterations} charged",
        "--program-iterations", "100",
    ],
    "farm": ["--program", f"{ROOT}/benchmarks/farm.c", "--program-args", "200 2e8 20000"],
}  # fmt: skip
WITHIN = 0.03


def platform(name, folder):
    bandwidth, latency = LINKS[name]
    path = folder / f"{name}.xml"
    clusters = GRIDS[name].replace("/>", ' bb_bw="20Gbps" bb_lat="10us" router_id="ROUTER"/>')
    for cluster in "ab":
        clusters = clusters.replace("ROUTER", f"r{cluster}", 1)
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f'<platform version="4.1"><zone id="{name}" routing="Full">{clusters}\n'
        f'<link id="wan" bandwidth="{bandwidth}" latency="{latency}"/>'
        '<zoneRoute src="a" dst="b" gw_src="ra" gw_dst="rb"><link_ctn id="wan"/></zoneRoute></zone></platform>\n'
    )
    return path


def judged(grid, program):
    command = [
        sys.executable,
        "-m",
        "validation.gridval",
        "plan",
        "nodes",
        "--simulate",
        "--platform",
        str(grid),
        "--json",
    ]
    done = subprocess.run([*command, *program], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in GRIDS:
            grid = platform(name, Path(folder))
            for program, options in PROGRAMS.items():
                made = judged(grid, options)
                rows.append({"grid": name, "program": program, **made})
                chosen = f"{made['predictor']:14} {made['chosen']:12} {made['simulated_s']:9.4g} s"
                best = f"best {made['optimum']:12} {made['optimum_s']:9.4g} s"
                loss = f"{100 * made['epsilon']:+6.2f} % of {made['configurations']} configurations"
                print(f"{name:8} {program:9} {chosen}, {best}: {loss}", flush=True)
    within = sum(row["epsilon"] <= WITHIN for row in rows)
    largest = max(row["epsilon"] for row in rows)
    print(f"within {100 * WITHIN:g} %: {within} of {len(rows)}; largest loss {100 * largest:.2f} %")
    if args.json:
        Path(args.json).write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
