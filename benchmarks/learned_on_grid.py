"""Programs recorded on 2 to 6 nodes of an emulated grid and predicted on 9 to 16, beside measured runs.

Everything is kept in the folder: a second call goes on where the first one ended.  It needs root, as the emulator does.
The grid (examples/emulation/sixteen.toml) is calibrated first, for a minute; then a case takes some 40 s.  Prints the
table of docs/validation/extrapolation.md.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
GRID = ROOT / "examples/emulation/sixteen.toml"
RECORDED = "2,3,4,5,6"
FOLDER = "benchmarks/learned_on_grid"


def own(source, arguments, *known):
    """Return the options of a program of one's own."""
    return ("--program", source, "--program-args", arguments, *(word for size in known for word in ("--known", size)))


CASES = {  # options, ranks of the targets
    "slabs of rows, n = 2,000": (own(f"{FOLDER}/rows.c", "2000 40", "n=2000"), (9, 16)),
    "slabs of rows, n = 6,000": (own(f"{FOLDER}/rows.c", "6000 20", "n=6000"), (9, 12, 16)),
    "torus": (own(f"{FOLDER}/torus.c", "1000 40", "n=1000"), (9, 12, 16)),
    "shares from rank 0": (own("tests/predictor/learned/data/workers.c", "300000", "n=300000"), (9, 16)),
    "transposition": (own(f"{FOLDER}/transpose.c", "600 20", "n=600"), (9, 16)),
}


def gridval(*words):
    """Run a command of the project and return the JSON that it prints, if any."""
    command = [str(Path(sys.executable).with_name("gridval")), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout) if "--json" in words else None


def prepare(folder, budget_s):
    """Write the machine file of the grid and calibrate it, unless that has been done."""
    machine, platform = folder / "sixteen.toml", folder / "sixteen.xml"
    if not machine.exists():
        gridval("platform", "emulate", str(GRID), "--write-machine", str(machine))
    if not platform.exists():
        words = ["--machine", str(machine), "--budget", f"{budget_s:g}", "--kernels", "none", "--out", str(platform)]
        gridval("platform", "calibrate", *words)


def row(folder, name, ranks, repeats):
    """Measure and predict a case, unless that has been done, and return its cells."""
    options, _ = CASES[name]
    out = folder / f"{re.sub('[^a-z0-9]+', '-', name.lower())}-{ranks}.json"
    if not out.exists():
        asked = ["--machine", str(folder / "sixteen.toml"), "--platform", str(folder / "sixteen.xml"), *options]
        asked += ["--ranks", str(ranks), "--predictor", "learned", "--recorded", RECORDED]
        asked += ["--repeats", str(repeats), "--store", str(folder / "store"), "--json"]
        made = [
            gridval(verb, *asked) for verb in ("run", "predict")
        ]  # the second knows the range, and finds the evidence
        (got,), (said,) = made[0]["results"], made[1]["predictions"]
        out.write_text(json.dumps([got, said["prediction"], said.get("refused")]))
    got, prediction, _ = json.loads(out.read_text())
    true_s = got["simulated_s"]
    cells = [name, str(ranks), f"{true_s:.4g}", f"{100 * (got['true_high_s'] - got['true_low_s']) / true_s:.1f}"]
    if prediction is None:
        return [*cells, "refused", got["flags"]], None
    error = prediction["time_s"] / true_s - 1
    ends = "exact"
    if prediction["low_s"] is not None:
        ends = " to ".join(f"{100 * (prediction[key] / true_s - 1):+.1f}" for key in ("low_s", "high_s"))
    return [*cells, f"{100 * error:+.1f}", ends], error


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where everything is kept")
    parser.add_argument(
        "--budget", type=float, default=60, metavar="S", help="of the calibration (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of a measured run (default: %(default)s)")
    parser.add_argument("--only", metavar="TEXT", default="", help="only the programs with this text in their name")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = options.folder.resolve()
    prepare(folder, options.budget)
    print("| program | ranks | measured, s | range of the repeats, % | error, % | range of the answer, % |")
    print("|---|---:|---:|---:|---:|---|")
    errors = []
    for name, (_, targets) in CASES.items():
        for ranks in targets if options.only in name else ():
            cells, error = row(folder, name, ranks, options.repeats)
            errors += [] if error is None else [abs(error)]
            print(f"| {' | '.join(cells)} |", flush=True)
    if errors:
        print(f"\nmean error {100 * sum(errors) / len(errors):.1f} % of {len(errors)} answers")


if __name__ == "__main__":
    main()
