"""Errors of methods that extrapolate to more ranks, side by side on the same programs, beside simulated runs.

Each predictor gathers its own evidence on fewer ranks: `learned:known` recordings, `extrap` and `fit:amdahl` runs,
`dpgraph:li` recordings and messages.  The output is the table of docs/validation/extrapolation.md, and with --plot its
picture.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

PREDICTORS = ("learned:known", "extrap", "fit:amdahl", "dpgraph:li")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from pictures.style import BLUE, GREEN, ORANGE, PURPLE, card, plain_log, style, svg  # noqa: E402

HALO = "tests/predictor/learned/data/halo3d.c"
KERNELS = tuple(
    (f"{app.upper()}, class A", ranks, ("--app", app, "--class", "A"))
    for app, ranks in (("cg", 64), ("cg", 128), ("ft", 64), ("ep", 64), ("lu", 64))
)
IS = ("--app", "is", "--class", "A", "--recorded", "4,8,16")  # fitted, however many more are recorded
# Numbers of ranks that show on which levels ranks have no points (docs/validation/extrapolation.md).
MG = ("--app", "mg", "--class", "A", "--recorded", "4,7,11,16,22,27,32,36,48,64")
JACOBI = ("--program", "examples/jacobi/jacobi.c", "--program-args", "2048 {iterations} charged")
OWN = (
    ("Jacobi, 2,048 x 2,048", 64, (*JACOBI, "--program-iterations", "50")),
    ("halo along 3 axes", 64, ("--program", HALO, "--program-args", "40 {iterations}", "--program-iterations", "50")),
)
CASES = (*KERNELS, *(("IS, class A", ranks, IS) for ranks in (64, 128)), ("MG, class A", 128, MG), *OWN)
LEAST_PCT = 1e-4  # the picture ends there
PLACES = ("--scenario", "grid1x128", "--speeds", "40", "--network", "infiniband")  # one rank per node


def errors_pct(ranks, options):
    """Return the error of each predictor, None where it refuses, in %."""
    words = ["run", *PLACES, "--ranks", str(ranks), *options, "--predictor", ",".join(PREDICTORS), "--json"]
    command = [str(Path(sys.executable).with_name("gridval")), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    made = {row["predictor"]: row["error_pct"] for row in json.loads(done.stdout)["results"]}
    return {name: made.get(name) for name in PREDICTORS}


def cell(error_pct):
    """Return an error as text."""
    if error_pct is None:
        return "refused"
    return "< 0.0001" if abs(error_pct) < LEAST_PCT else f"{error_pct:+.2g}"


def draw(made, path):
    """Draw the absolute errors by program."""
    with style():
        figure = card(0.55 * len(made) + 1.2)
        axes = figure.subplots()
        for number, (name, color) in enumerate(zip(PREDICTORS, (BLUE, ORANGE, GREEN, PURPLE), strict=True)):
            known = [
                (at - 0.3 + 0.2 * number, max(abs(errors[name]), LEAST_PCT))
                for at, (_, errors) in enumerate(made)
                if errors[name] is not None
            ]
            axes.barh([place for place, _ in known], [error for _, error in known], 0.18, color=color, label=name)
        plain_log(axes, "x", [LEAST_PCT, 0.01, 1, 100])
        axes.set_xlim(LEAST_PCT / 3, None)
        axes.set_yticks(range(len(made)), [title for title, _ in made])
        axes.invert_yaxis()
        axes.set_xlabel("absolute error of the time, %; 0.0001 stands for less")
        figure.legend(loc="outside upper center", ncols=len(PREDICTORS))
        Path(path).write_text(svg(figure, "Errors of methods that extrapolate to more ranks"))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="draw the errors to this .svg file")
    parser.add_argument("--cases", type=int, nargs="*", help="numbers of cases, from 0 (default: all)")
    options = parser.parse_args()
    print(f"| program | ranks | {' | '.join(f'`{name}`' for name in PREDICTORS)} |")
    print(f"|---|---:|{'---:|' * len(PREDICTORS)}", flush=True)
    made = []
    for title, ranks, words in [CASES[at] for at in options.cases or range(len(CASES))]:
        errors = errors_pct(ranks, words)
        made.append((f"{title}, {ranks} ranks", errors))
        print(f"| {title} | {ranks} | {' | '.join(cell(errors[name]) for name in PREDICTORS)} |", flush=True)
    if options.plot:
        draw(made, options.plot)


if __name__ == "__main__":
    main()
