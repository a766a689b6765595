"""Cost of recording a program of 10^6 messages, beside its plain simulation (limit: 1.3 times).

The program is halo.c on 32 ranks.  Plain is smpirun without this project's recorder, on the same platform as the
recording.  A recording of all steps is one run; that of three steps needs a full run besides, which shows that all
steps are alike.  All times are processor times, children included; the ratio is the median over pairs of runs.
"""

import argparse
import resource
import statistics
from collections.abc import Callable
from pathlib import Path

from apps.child.process import run_bounded
from apps.child.run_folder import environment
from apps.child.verdict import check_success
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.smpi.launch import launch, prepare
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.files.scratch import scratch_folder
from platforms.model.placement import block

RANKS = 32
NEIGHBOURS = 4
SIZE_BYTES = 8000
RUNS = 5
HALO = Path(__file__).with_name("halo.c")


def spec_of(messages: int, how: str) -> RunSpec:
    """Return the run of the program with about this number of messages."""
    steps = messages // (RANKS * NEIGHBOURS)
    program = read_program(HALO, f"{{iterations}} {SIZE_BYTES} {how}", steps)
    platform = neutral_platform(RANKS)
    return Settings().spec(Target(own_problem(program), platform, block(platform, RANKS)))


def run_plain(spec: RunSpec) -> None:
    """Run the program under smpirun without the recorder."""
    iterations = spec.target.iterations
    with scratch_folder("plain") as folder:
        command = prepare(spec, launch(spec, iterations), folder)
        done = run_bounded(command, folder=folder, environment=environment(folder), time_limit_s=600)
    check_success(done, "the plain run")


def processor_s(action: Callable[..., object], *arguments: object) -> float:
    """Return the processor time of an action, its children included."""

    def used_s() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in both)

    began_s = used_s()
    action(*arguments)
    return used_s() - began_s


def compare(how: str, messages: int, runs: int) -> None:
    """Print the times of the program, in its plain simulation and in its recordings."""
    spec = spec_of(messages, how)
    run_plain(spec_of(RANKS * NEIGHBOURS, how))  # warm-up: compiled programs
    record_events(spec_of(10 * RANKS * NEIGHBOURS, how), 10)
    rows = []
    for _ in range(runs):
        plain = processor_s(run_plain, spec)
        whole = processor_s(record_events, spec, spec.target.iterations)
        few = processor_s(record_events, spec, 3)
        rows.append((plain, whole, few, whole / plain, few / plain))
    plain, whole, few, whole_ratio, few_ratio = map(statistics.median, zip(*rows, strict=True))
    print(
        f"{how or 'non-blocking'}: plain {plain:.2f} s; recorded whole {whole:.2f} s, {whole_ratio:.2f} times; "
        f"three steps of {spec.target.iterations} {few:.2f} s, {few_ratio:.2f} times",
        flush=True,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10**6, help="messages of the program (default: 10^6)")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"repetitions (default: {RUNS})")
    args = parser.parse_args()
    for how in ("", "blocking"):
        compare(how, args.messages, args.runs)


if __name__ == "__main__":
    main()
