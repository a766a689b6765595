"""``python -m tests.adversary.surroundings N [FIRST]``: try N drawn programs; status 1 if one is silently wrong.

A third of the seeds draws each of these families:

* *changing*: what another process, moment or computer answers otherwise reaches the calls of the program, or does not.
  Where it does, nothing may be kept or extrapolated.
* *clock*: a duration or a date is compared with a limit between 10 us and 100 s.  The extrapolated run and the
  prediction by dpgraph:known are compared with the full run on a slow network.
* *shared*: random numbers, environment and folder of each rank, used while the ranks take turns.  The time has to be
  that of a program that has drawn all of its numbers before it first meets another rank.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.results.record import iterations_caution
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.registry import predictor

FAMILIES = ("changing", "clock", "shared")
RANKS, ITERATIONS = 4, 40
MOST_ERROR, MOST_ERROR_OF_GRAPH = 1e-6, 0.01  # of a time without a caution

FRAME = """/* Program {seed} of tests/adversary/surroundings.py. */
#define _GNU_SOURCE
#include <alloca.h>
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#undef getpid /* SimGrid's is a number of its own */

static double mine[2000], theirs[8000];
static char text[4096];
extern char **environ;

static long hash(const char *word)
{{
  long sum = 7;
  while (*word)
    sum = (31 * sum + *word++) % 1000003;
  return sum;
}}

static double now_s(void)
{{
  struct timespec now;
  {now}
}}

int main(int argc, char **argv)
{{
  int rank, size, n = atoi(argv[1]), more = 0;
  long value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double start_s = now_s(), spent_s = 0;
  (void)start_s, (void)spent_s, (void)value;
{before}
  for (int i = 0; i < n; i++) {{
{body}
    MPI_Allreduce(mine, theirs, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1002);
  }}
{after}
  MPI_Finalize();
}}
"""
# An integer that differs from run to run, from computer to computer or from day to day.
CHANGING = {
    "time": "time(NULL)",
    "clock": "clock() / 7",
    "pid": "getpid()",
    "ppid": "getppid()",
    "tid": "gettid()",
    "host": "(gethostname(text, 99), hash(text))",
    "random": "(getrandom(&value, 4, 0), value)",
    "arc4random": "arc4random() % 100003",
    "heap": "(uintptr_t)malloc(1000) / 64",
    "large heap": "(uintptr_t)malloc(10000000) / 4096",
    "stack": "(uintptr_t)alloca(64) / 64",
    "folder": "(getcwd(text, 4096) ? hash(text) : 0)",
    "environment": "hash(environ[0])",
    "file's date": "(stat(argv[0], (struct stat *)text), ((struct stat *)text)->st_mtim.tv_nsec / 1000 + "
                   "((struct stat *)text)->st_mtime)",
    "processors": "sysconf(_SC_NPROCESSORS_ONLN)",
    "made name": '(strcpy(text, "nXXXXXX"), close(mkstemp(text)), unlink(text), hash(text))',
}  # fmt: skip
# What the program does with it: on all ranks, from rank 0, or on each rank separately.
REACHES = {
    "number of calls": "MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);"
                       " for (int k = 0; k < labs(value) % 97; k++) MPI_Barrier(MPI_COMM_WORLD);",
    "size": "MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);"
            " MPI_Bcast(mine, labs(value) % 997, MPI_DOUBLE, 0, MPI_COMM_WORLD);",
    "computation": "smpi_execute_flops_benched(1e6 * (labs(value) % 97));",
    "partner": "MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD); for (int k = 0; k < 8; k++)"
               " MPI_Bcast(mine, 10, MPI_DOUBLE, (labs(value) >> (2 * k)) % size, MPI_COMM_WORLD);",
}  # fmt: skip
HARMLESS = {
    "printed": 'printf("%ld\\n", value);',
    "name of a file": 'sprintf(text, "log.%ld", value); fclose(fopen(text, "w"));',
    "ignored": "",
    "content": "mine[0] = value; MPI_Bcast(mine, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);",
}
NOW = {
    "MPI_Wtime": "(void)now; return MPI_Wtime();",
    "clock_gettime": "clock_gettime(CLOCK_MONOTONIC, &now); return now.tv_sec + 1e-9 * now.tv_nsec;",
    "gettimeofday": "(void)now; struct timeval of; gettimeofday(&of, NULL); return of.tv_sec + 1e-6 * of.tv_usec;",
}
# What is compared with the limit {s}: before the loop, in it, of one operation or of all so far.
MEASURED = {
    "one reading": ("value = now_s() > {s};", ""),
    "a broadcast": (
        "double at_s = now_s(); MPI_Bcast(mine, 2000, MPI_DOUBLE, 0, MPI_COMM_WORLD); value = now_s() - at_s > {s};",
        "",
    ),
    "each iteration": ("", "double at_s = now_s(); MPI_Bcast(mine, 2000, MPI_DOUBLE, 0, MPI_COMM_WORLD);"
                           " value = now_s() - at_s > {s};"),
    "since the start": ("", "value = now_s() - start_s > {s};"),
    "a late iteration": ("", "value = i == 29 && now_s() - start_s > {s};"),
    "sum of spans": ("", "double at_s = now_s(); MPI_Barrier(MPI_COMM_WORLD); spent_s += now_s() - at_s;"
                         " value = spent_s > {s};"),
}  # fmt: skip
THEN = {
    "more calls": "MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD); if (value) for (int k = 0; k < 50; k++)"
                  " MPI_Barrier(MPI_COMM_WORLD);",
    "larger": "MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);"
              " MPI_Bcast(mine, value ? 2000 : 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);",
    "computation": "smpi_execute_flops_benched(value ? 1e9 : 1e6);",
    "nothing": 'if (value) fprintf(stderr, "slow");',
}  # fmt: skip
# A number that depends on what a rank has asked before, and how it begins; {r} is the rank.
SHARED = {
    "rand": ("srand({r} + 3);", "rand() % 1000"),
    "random": ("srandom({r} + 3);", "random() % 1000"),
    "drand48": ("srand48({r} + 3);", "(long)(1000 * drand48())"),
    "default rand": ("", "rand() % 1000"),
    "environment": (
        'setenv("MINE", "1", 1); for (int k = 0; k < {r}; k++) strcat(text, "1"); setenv("MINE", text, 1);',
        '(sprintf(text, "%ld", (atol(getenv("MINE")) * 7 + 1) % 1000), setenv("MINE", text, 1), atol(getenv("MINE")))',
    ),
    "folder": (
        'sprintf(text, "d%d", {r}); mkdir(text, 0700); chdir(text); chdir({r} % 2 ? "." : "..");',
        "(getcwd(text, 4096) ? (long)(strlen(strrchr(text, '/')) * 100) : 0)",
    ),
}


@dataclass(frozen=True)
class Drawn:
    """A drawn program."""

    family: str
    features: tuple[str, ...]
    source: str
    harmless: bool  # its calls do not depend on what it asks for
    before: str = ""  # of the family "shared": the program that has drawn its numbers before


def drawn(seed: int) -> Drawn:
    """Return the program of this seed."""
    draw = random.Random(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    return {"changing": _changing, "clock": _clock, "shared": _shared}[family](seed, draw)


def _source(seed: int, *, before: str = "", body: str = "", after: str = "", now: str = "MPI_Wtime") -> str:
    return FRAME.format(seed=seed, before=before, body=body, after=after, now=NOW[now])


def _changing(seed: int, draw: random.Random) -> Drawn:
    what, harmless = draw.choice(list(CHANGING)), draw.random() < 0.4
    use = draw.choice(list(HARMLESS if harmless else REACHES))
    place = draw.choice(("before", "after", "body"))
    does = f"value = {CHANGING[what]};\n{(HARMLESS if harmless else REACHES)[use]}"
    if place == "body":
        does = f"if (i == {draw.choice((0, 1, 2, 20, 33))}) {{ {does} }}"
    return Drawn("changing", (what, use, place), _source(seed, **{place: does}), harmless)


def _clock(seed: int, draw: random.Random) -> Drawn:
    what, then, now = draw.choice(list(MEASURED)), draw.choice(list(THEN)), draw.choice(list(NOW))
    limit_s = 10 ** draw.uniform(-5, 2)
    before, body = (part.format(s=f"{limit_s:.3e}") for part in MEASURED[what])
    before, body = (f"{part}\n{THEN[then]}" if part else "" for part in (before, body))
    return Drawn(
        "clock", (what, then, now, f"{limit_s:.1e} s"), _source(seed, before=before, body=body, now=now),
        then == "nothing",
    )  # fmt: skip


def _shared(seed: int, draw: random.Random) -> Drawn:
    what = draw.choice(list(SHARED))
    begin, step = (part.replace("{r}", "rank") for part in SHARED[what])
    compute = "smpi_execute_flops_benched(1e5 * (1 + {}));"
    turns = draw.choice(("", "MPI_Barrier(MPI_COMM_WORLD);", "if (i % 2) MPI_Barrier(MPI_COMM_WORLD);"))
    ask = f"{compute.format(step)} {turns}"
    array = f"static long drawn[{ITERATIONS}]; {begin} for (int i = 0; i < n; i++) drawn[i] = {step};"
    return Drawn(
        "shared", (what, turns or "no turns"), _source(seed, before=begin, body=ask), True,
        _source(seed, before=array, body=f"{compute.format('drawn[i]')} {turns}"),
    )  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """The outcome of one program."""

    seed: int
    program: Drawn
    wrong: str  # empty: no
    kept: bool
    extrapolated: bool
    cautioned: bool


def tried(seed: int, folder: Path) -> Trial:
    """Run the program of this seed, and compare."""
    program = drawn(seed)
    platform = materialise(named_grid("grid4x2", "metro"))

    def target_of(name: str, source: str) -> Target:
        path = folder / f"{name}{seed}.c"
        path.write_text(source)
        asked = own_problem(read_program(path, "{iterations}", ITERATIONS, flags="-w"))
        return Target(asked, platform, block(platform, RANKS))

    target = target_of("asks", program.source)
    with Store(folder / f"store{seed}", report=lambda _: None) as store:
        steady = simulate(RunSpec(target, iterations="steady"), store=store, full_below_messages=0)
        kept = store.put_record(steady)
    extrapolated, said = steady.extrapolation is not None, iterations_caution(steady) is not None
    wrong = ""
    if program.family == "changing":
        if not program.harmless and (kept or extrapolated):
            wrong = f"kept {kept}, extrapolated {extrapolated}"
    elif program.family == "shared":
        before = simulate(RunSpec(target_of("drew", program.before), iterations="full"))
        if abs(steady.time_s - before.time_s) > MOST_ERROR * before.time_s:
            wrong = f"{steady.time_s:.6g} s for {before.time_s:.6g} s"
    else:
        full = simulate(RunSpec(target, iterations="full"))
        error = abs(steady.time_s - full.time_s) / full.time_s
        graph_error, graph_said = _by_graph(target, full.time_s)
        if error > MOST_ERROR and not said:
            wrong = f"extrapolated with an error of {error:.1e}"
        elif graph_error > MOST_ERROR_OF_GRAPH and not graph_said:
            wrong = f"dpgraph:known is off by {graph_error:.1e}"
    return Trial(seed, program, wrong, kept, extrapolated, said)


def _by_graph(target: Target, time_s: float) -> tuple[float, bool]:
    """Return the error of dpgraph:known, and whether it has a caution; no error where it refuses."""
    with Runner(jobs=1) as runner:
        broker = Broker(Settings(), [target], record=runner.record, recording=runner.recording, measure=runner.measure)
        (answer,) = predict(predictor("dpgraph:known"), [target], broker)
        said = [*runner.cautions.lines(), *(answer.prediction.flags if answer.prediction else ())]
    error = 0.0 if answer.prediction is None else abs(answer.prediction.time_s - time_s) / time_s
    return error, any("course" in line or "left out" in line or "varies" in line for line in said)


def report(trials: list[Trial]) -> str:
    """Return the sums over trials as a few lines."""
    lines = []
    for family in FAMILIES:
        of = [trial for trial in trials if trial.program.family == family]
        harmless = [trial for trial in of if trial.program.harmless]
        lines.append(
            f"{family}: {len(of)} programs, silently wrong {sum(bool(trial.wrong) for trial in of)}; "
            f"of {len(harmless)} harmless ones {sum(trial.kept for trial in harmless)} were kept, "
            f"{sum(trial.extrapolated for trial in harmless)} extrapolated"
        )
    features = Counter(trial.program.features[0] for trial in trials if trial.wrong)
    lines += [f"  {count:5} {feature}" for feature, count in features.most_common()]
    lines += [f"WRONG: seed {t.seed} ({', '.join(t.program.features)}): {t.wrong}" for t in trials if t.wrong]
    return "\n".join(lines)


def main(number: int, first: int = 0) -> bool:
    """Try a number of programs and print a report; return whether one is silently wrong."""
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for trial in pool.map(lambda seed: tried(seed, Path(folder)), range(first, first + number)):
            trials.append(trial)
            if len(trials) % 60 == 0 or trial.wrong:
                print(report(trials), end="\n\n", flush=True)
    print(report(trials))
    return any(trial.wrong for trial in trials)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
