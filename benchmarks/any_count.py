"""Programs continued to more ranks than they were recorded on, beside recordings and simulated runs there.

Prints a line for each program and number of ranks: whether the messages and the computation are those of a recording,
the error of the time of `learned:known` against the simulated run on one cluster, one rank per node, and whether the
answer is called exact, has a range, and holds the simulated time.  The table of docs/validation/extrapolation.md.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from apps.programs.own_program import read_program  # noqa: E402
from apps.programs.problem import own_problem, problem, sized_problem  # noqa: E402
from apps.runs.neutral import neutral_platform  # noqa: E402
from apps.runs.record_events import record_events  # noqa: E402
from apps.spec.run_spec import RunSpec  # noqa: E402
from apps.spec.target import Target  # noqa: E402
from predictor.learned.errors import CannotContinue  # noqa: E402
from predictor.learned.generate import generate  # noqa: E402
from predictor.learned.learn import learn  # noqa: E402
from predictor.learned.matching import difference  # noqa: E402
from predictor.learned.numbers import numbers_of  # noqa: E402
from predictor.learned.skeleton import with_calls_merged  # noqa: E402

DATA = "tests/predictor/learned/data"
POWERS, SQUARES, ANY = "4,8,16,32", "4,9,16,25,36", "4,8,12,18,27"
RECORDED_ITERATIONS = 3


def own(source, arguments):
    """Return the options of a program of one's own."""
    return ("--program", source, "--program-args", arguments, "--program-iterations", "20")


def kernel(name):
    """Return the options of a kernel of class A."""
    return ("--app", name, "--class", "A")


CASES = {  # options, recorded numbers of ranks, targets
    "stencil": (own(f"{DATA}/stencil2d.c", "4100 {iterations}"), ANY, (96, 432, 1024)),
    "halo": (own(f"{DATA}/halo3d.c", "40 {iterations}"), ANY, (96, 432, 1024)),
    "halo-plain": (own(f"{DATA}/halo3d.c", "40 {iterations} plain"), ANY, (96, 432)),
    "jacobi": (own("examples/jacobi/jacobi.c", "1000 {iterations} charged"), ANY, (96,)),
    "cg": (kernel("cg"), POWERS, (64, 256, 512)),
    "ft": (kernel("ft"), POWERS, (64, 128, 256)),
    "is": (kernel("is"), "4,8,16", (64, 128)),
    "ep": (kernel("ep"), POWERS, (64, 256)),
    "lu": (kernel("lu"), POWERS, (64, 256)),
    "bt": (kernel("bt"), SQUARES, (64, 256)),
    "sp": (kernel("sp"), SQUARES, (64, 256)),
    "himeno": (("--app", "himeno", "--size", "64"), "4,8,12,18,27,45,64", (216, 512)),
    "summa": (("--app", "summa", "--size", "4096"), POWERS, (64, 256)),
    "fft": (("--app", "fft", "--size", "1048576"), POWERS, (64, 128, 256)),
    "hpl": (("--app", "hpl", "--size", "1024"), POWERS, (64,)),
    "mg": (kernel("mg"), "4,7,11,16,22,27,32,36,48,64", (128, 256)),
}


def problem_of(options):
    """Return the problem that options name."""
    said = dict(zip(options[::2], options[1::2], strict=True))
    if "--program" in said:
        iterations = int(said["--program-iterations"])
        return own_problem(read_program(ROOT / said["--program"], said["--program-args"], iterations))
    if "--class" in said:
        return problem(said["--app"], said["--class"])
    return sized_problem(said["--app"], int(said["--size"]))


def recorded(asked, nranks):
    """Return a recording."""
    platform = neutral_platform(nranks)
    hosts = tuple(host.name for host in platform.hosts)
    return record_events(RunSpec(Target(asked, platform, hosts)), RECORDED_ITERATIONS)


def messages(name):
    """Yield the targets, and how the messages differ from a recording there."""
    options, counts, targets = CASES[name]
    asked = problem_of(options)
    try:
        merged, text = with_calls_merged([recorded(asked, int(n)) for n in counts.split(",")], asked)
        structure = learn(merged, numbers_of(asked, {}), text)
    except CannotContinue as err:
        yield from ((nranks, f"refused: {err}") for nranks in targets)
        return
    for nranks in targets:
        try:
            made = generate(structure, nranks)
        except CannotContinue as err:
            yield nranks, f"refused: {err}"
        else:
            yield nranks, difference(made, recorded(asked, nranks)) or "identical"


def answer_of(*words):
    """Return the answer of a command as JSON, or the end of what it says instead."""
    command = [str(Path(sys.executable).with_name("gridval")), *words, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr.strip()[-200:]


def time_of(name, nranks):
    """Return the error of the time in %, and its range beside the simulated time."""
    options, counts, _ = CASES[name]
    places = ("--scenario", f"grid1x{nranks}", "--speeds", "40", "--network", "infiniband", "--ranks", str(nranks))
    answer = answer_of("predict", *places, *options, "--predictor", "learned:known", "--recorded", counts)
    run = answer_of("program", "run", *places, *options)
    if isinstance(answer, str) or isinstance(run, str):
        return f"no answer: {answer} {run}"
    (made,) = answer["predictions"]
    prediction = made["prediction"]
    if prediction is None:
        return "refused"
    low_s, high_s, true_s = prediction["low_s"], prediction["high_s"], run["time_s"]

    def error(time_s):
        return f"{100 * (time_s / true_s - 1):+.3g} %"

    unsure = "; ".join(prediction["flags"]) or "-"
    said = "exact" if low_s is None else f"range {error(low_s)} to {error(high_s)} of the simulated time; {unsure}"
    return f"{error(prediction['time_s'])}, {said}"


def main():
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--times", action="store_true", help="compare times with simulated runs, too")
    options = parser.parse_args()
    for name in options.cases or CASES:
        for nranks, text in messages(name):
            print(f"{name} from {CASES[name][1]} to {nranks}: {text}", flush=True)
        for nranks in CASES[name][2] if options.times else ():
            print(f"{name} from {CASES[name][1]} to {nranks}: time {time_of(name, nranks)}", flush=True)


if __name__ == "__main__":
    main()
