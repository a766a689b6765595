"""The tables of the measured league (docs/results/measured-league.md): predictors against runs on emulated grids.

Every case is one kernel in one class on one grid, median of three repeats, the most important ones first.  Everything
is kept in the folder: a second call with the same folder goes on where the first one ended, and ``table.md`` in it has
all cases so far.  It needs root, as the emulator does.  After the calibrations, of two minutes and a half each, a case
takes some 40 s, of CG two to four minutes, of LU W five to ten: ``--minutes 15`` has IS, FT, EP, LU and MG.
"""

import argparse
import csv
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parents[1]
GRIDS = ("free", "wan10")
TUNED = ("--eager-limit", "262144", "--queues", "turns")  # of gridval platform emulate
# Kernels and classes by what they tell, and then by how long they take.
ORDER = ("is S", "ft S", "ep S", "is W", "ft W", "lu S", "mg S", "mg W", "ep W", "cg S", "cg W", "lu W")
PREDICTORS = ("simulate", "structural", "dpgraph", "hcf:constant", "hcf", "hcf:printed")
MEAN_APPS = ("cg", "mg", "lu", "ep")


def cases(grids: tuple[str, ...], classes: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Return grid, class and kernel of every case, the most important ones first."""
    runs = [run.split() for run in ORDER]
    return [(grid, size, app) for app, size in runs if size in classes for grid in grids]


def gridval(*words: str) -> str:
    """Run a command of the project and return the last line that says why it failed; empty if it did not."""
    command = [str(Path(sys.executable).with_name("gridval")), *words]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return "" if done.returncode == 0 else next((line for line in lines if "error" in line), (lines or ["failed"])[-1])


def prepare(folder: Path, grid: str, tuned: Sequence[str], budget_s: float) -> None:
    """Write the machine file of a grid and calibrate it, unless that has been done."""
    machine, platform = folder / f"{grid}.toml", folder / f"{grid}.xml"
    if not machine.exists():
        _check(
            gridval("platform", "emulate", f"examples/emulation/{grid}.toml", *tuned, "--write-machine", str(machine))
        )
    if not platform.exists():
        words = ["--machine", str(machine), "--budget", f"{budget_s:g}", "--kernels", "none", "--out", str(platform)]
        _check(gridval("platform", "calibrate", *words))


def _check(problem: str) -> None:
    if problem:
        raise SystemExit(problem)


def run_case(folder: Path, grid: str, size: str, app: str) -> str:
    """Measure and predict a case, unless that has been done; return why it failed."""
    out = folder / f"{grid}-{app}-{size}"
    if (out / "results.csv").exists():
        return ""
    words = ["--machine", str(folder / f"{grid}.toml"), "--platform", str(folder / f"{grid}.xml")]
    words += ["--app", app, "--class", size, "--repeats", "3", "--predictor", ",".join(PREDICTORS)]
    return gridval("run", *words, "--store", str(folder / "store"), "--out", str(out))


def rows_of(folder: Path, grid: str, size: str, app: str) -> dict[str, dict[str, str]]:
    """Return the results of a case by predictor; empty if there are none."""
    path = folder / f"{grid}-{app}-{size}" / "results.csv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["predictor"]: row for row in csv.DictReader(lines)}


def table(folder: Path, chosen: list[tuple[str, str, str]]) -> Iterator[str]:
    """Yield the lines of both tables in Markdown."""
    names = " | ".join(f"`{name}`" for name in PREDICTORS)
    yield f"| grid | run | measured, s | range of 3, % | simulated, s | {names} |"
    yield "|---|---|" + "---:|" * (3 + len(PREDICTORS))
    errors: dict[tuple[str, str, str], list[float]] = {}
    for grid, size, app in sorted(chosen, key=lambda case: (case[1], case[0])):
        rows = rows_of(folder, grid, size, app)
        if not rows:
            continue
        some = next(iter(rows.values()))
        measured = float(some["simulated_s"])
        spread = 100 * (float(some["true_high_s"]) - float(some["true_low_s"])) / measured
        cells = [f"`{grid}`", f"{app.upper()} {size}", f"{measured:.4g}", f"{spread:.1f}"]
        simulated = rows.get("simulate", {}).get("predicted_s")
        cells.append(f"{float(simulated):.4g}" if simulated else "-")
        for name in PREDICTORS:
            error = rows.get(name, {}).get("error_pct")
            cells.append(f"{float(error):+.1f}" if error else "no answer")
            if app in MEAN_APPS and error:
                errors.setdefault((grid, size, name), []).append(abs(float(error)))
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"| grid | class | kernels of {', '.join(map(str.upper, MEAN_APPS))} | {names} |"
    yield "|---|---|---:|" + "---:|" * len(PREDICTORS)
    for grid, size in dict.fromkeys(key[:2] for key in errors):
        lists = [errors.get((grid, size, name), []) for name in PREDICTORS]
        means = [f"{sum(one) / len(one):.1f}" if one else "-" for one in lists]
        yield f"| `{grid}` | {size} | {max(map(len, lists))} | {' | '.join(means)} |"


def main() -> None:
    """Run what is missing and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", help="where everything is kept")
    parser.add_argument("--grids", default=",".join(GRIDS), help="some of examples/emulation (default: %(default)s)")
    parser.add_argument("--classes", default="S,W", help="classes to run (default: %(default)s)")
    parser.add_argument("--plain", action="store_true", help=f"emulate the grids without {' '.join(TUNED)}")
    parser.add_argument("--budget", type=float, default=120, help="of a calibration, s (default: %(default)g)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no case later (default: no limit)")
    args = parser.parse_args()
    folder = Path(args.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    grids = tuple(args.grids.split(","))
    kind = "plain" if args.plain else "tuned"
    if (folder / "kind").exists() and (folder / "kind").read_text(encoding="utf-8") != kind:
        raise SystemExit(f"error: {args.folder}: it was begun with other options. Name another folder.")
    (folder / "kind").write_text(kind, encoding="utf-8")
    for grid in grids:
        prepare(folder, grid, () if args.plain else TUNED, args.budget)
    chosen = cases(grids, tuple(args.classes.split(",")))
    for grid, size, app in chosen:
        if time.monotonic() - started > 60 * args.minutes:
            break
        problem = run_case(folder, grid, size, app)
        print(f"[{time.monotonic() - started:6.0f} s] {grid} {app} {size} {problem}", flush=True)
        (folder / "table.md").write_text("\n".join(table(folder, chosen)) + "\n", encoding="utf-8")
    print((folder / "table.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
