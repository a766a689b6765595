"""Command lines that start a program on the nodes of a job: srun, mpirun, mpiexec, aprun, jsrun and ibrun.

The options are those of the manual pages srun (Slurm), mpirun (Open MPI), mpiexec (MPICH and Intel MPI's Hydra), aprun
(Cray ALPS) and jsrun (IBM Job Step Manager).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apps.batch.headers import Allocation
from apps.batch.lexer import Unknown


@dataclass(frozen=True)
class Launch:
    """A step of a job: a program on a number of ranks."""

    line: int  # its number, from 1
    launcher: str
    ranks: int
    nodes: int | None  # None: as many as the ranks need
    per_node: int | None  # ranks; None: as many as a node has room for
    cpus_per_rank: int
    program: str
    arguments: tuple[str, ...]
    folder: str | None = None  # where it runs, as the script says it; None: not known
    threads: int = 1  # OMP_NUM_THREADS
    times: int = 1  # how often a loop repeats it
    beside: bool = False  # started with &: the next line does not wait for it
    doubt: str | None = None  # why it is not known whether or how often it runs


_RANKS, _PER_NODE, _NODES, _CPUS, _SETS, _HOST_SETS = "ranks", "per_node", "nodes", "cpus", "sets", "host_sets"
_MPI = {"-n": _RANKS, "-np": _RANKS, "--n": _RANKS, "--np": _RANKS, "-c": _RANKS, "-N": _PER_NODE,
        "-npernode": _PER_NODE, "--npernode": _PER_NODE, "-ppn": _PER_NODE, "-perhost": _PER_NODE,
        "--ppn": _PER_NODE, "-cpus-per-proc": _CPUS, "--cpus-per-proc": _CPUS, "--cpus-per-rank": _CPUS}  # fmt: skip
_MEANING: dict[str, Mapping[str, str]] = {
    "srun": {"-n": _RANKS, "--ntasks": _RANKS, "-N": _NODES, "--nodes": _NODES, "-c": _CPUS, "--cpus-per-task": _CPUS,
             "--ntasks-per-node": _PER_NODE, "--tasks-per-node": _PER_NODE},
    "mpirun": _MPI,
    "aprun": {"-n": _RANKS, "--pes": _RANKS, "-N": _PER_NODE, "--pes-per-node": _PER_NODE, "-d": _CPUS,
              "--cpus-per-pe": _CPUS},
    "jsrun": {"-n": _SETS, "--nrs": _SETS, "-a": _RANKS, "--tasks_per_rs": _RANKS, "-c": _CPUS, "--cpu_per_rs": _CPUS,
              "-r": _HOST_SETS, "--rs_per_host": _HOST_SETS, "-p": "total", "--np": "total"},
    "ibrun": {"-n": _RANKS, "-np": _RANKS},
}  # fmt: skip
LAUNCHERS = {**{name: name for name in _MEANING}, "mpiexec": "mpirun", "orterun": "mpirun", "mpiexec.hydra": "mpirun",
             "mpirun_rsh": "mpirun", "prterun": "mpirun"}  # fmt: skip
# Options without a value; for srun the other short ones and for all long ones without = have one.
_FLAGS = {
    "srun": frozenset("--exclusive --overcommit --oversubscribe --label --unbuffered --verbose --quiet --no-kill --pty "
                      "--exact --overlap --disable-status --contiguous --hold --spread-job --use-min-nodes --mem-bind "
                      "--kill-on-bad-exit --immediate -l -u -v -Q -K -X -s -O -k -E -H -I".split()),
    "aprun": frozenset("-b -B -q -ss -T -v --batch-args --bypass-app-transfer --quiet --strict-memory".split()),
    "jsrun": frozenset("-i -V --immediate --version".split()),
    "ibrun": frozenset(),
}  # fmt: skip
# Options with values; the number of words, where it is not one.
_MPI_VALUES = {name: 1 for name in "hostfile machinefile f H host hosts x genvlist envlist wdir wd map-by bind-to "
               "rank-by rmk launcher bootstrap iface prefix rf rankfile path output-filename timeout tune am "
               "configfile app cpu-set cpu-list xterm report-uri stdin launcher-exec outfile-pattern errfile-pattern "
               "pernode-list ordered-file umask order rr-by".split()}  # fmt: skip
_MPI_VALUES |= {"mca": 2, "gmca": 2, "genv": 2, "env": 2, "prtemca": 2, "pmixmca": 2}
_UNKNOWN = {"--multi-prog": "programs of a --multi-prog file", "--het-group": "parts of a heterogeneous job",
            "--pack-group": "parts of a heterogeneous job", "-configfile": "programs of a -configfile",
            "--app": "programs of an --app file", "-app": "programs of an --app file"}  # fmt: skip
_WRAPPERS = ("time", "nice", "numactl", "taskset", "env", "stdbuf", "hpcrun", "tacc_affinity")
_CONTAINERS = ("apptainer", "singularity", "shifter", "docker", "podman", "sarus", "charliecloud", "ch-run")
_PYTHON = re.compile(r"python(?:[23](?:\.[0-9]+)?)?")
_MOST_RANKS = 10_000_000


def launch_of(words: Sequence[str], line: int, asked: Allocation) -> Launch:
    """Return the step that a command line starts, as a launcher inside this allocation does.

    Args:
        words: The expanded words; the first is the launcher, perhaps with a path.
        line: Number of the line.
        asked: What the job has.

    Raises:
        Unknown: The line does not say what it starts.
    """
    name = words[0].rpartition("/")[2]
    kind = LAUNCHERS[name]
    values: dict[str, int] = {}
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            at += 1
            break
        at += _option(kind, words, at, values)
    rest = list(words[at:])
    if ":" in rest:
        raise Unknown("several programs of one launcher, separated by a colon")
    program, arguments = _program(rest)
    made = Launch(line, name, 0, None, None, 1, program, arguments)
    return _sized(kind, made, values, asked)


def _option(kind: str, words: Sequence[str], at: int, values: dict[str, int]) -> int:
    """Note the value of an option, and return how many words it takes."""
    word = words[at]
    name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
    if name in _UNKNOWN:
        raise Unknown(_UNKNOWN[name])
    meaning = _MEANING[kind]
    if not equals and not word.startswith("--") and kind != "mpirun" and len(word) > 2 and word[:2] in meaning:
        name, equals, value = word[:2], "=", word[2:].removeprefix("=")
    if name in ("--map-by", "-map-by"):
        _mapped(value if equals else "".join(words[at + 1 : at + 2]), values)
    taken = 1
    if not equals:
        taken = 1 + _values(kind, name, name in meaning)
        value = "".join(words[at + 1 : at + 2])
    if name in meaning:
        first = value.partition("-")[0]  # srun -N 2-4
        if not re.fullmatch(r"[0-9]{1,8}", first) or int(first) < 1:
            raise Unknown(f"{name} {value[:100]!r}, which is no number")
        values[meaning[name]] = int(first)
    return taken


def _values(kind: str, name: str, has_meaning: bool) -> int:
    """Return how many words behind an option are its values."""
    if has_meaning:
        return 1
    if kind == "mpirun":
        return _MPI_VALUES.get(name.lstrip("-"), 0)
    if name in ("-cc", "-cp", "-pa"):  # of aprun
        return 1
    if name in _FLAGS[kind] or (not name.startswith("--") and len(name) > 2):
        return 0
    return 1


def _mapped(value: str, values: dict[str, int]) -> None:
    """Read Open MPI's ``--map-by ppr:16:node``."""
    match = re.match(r"ppr:([0-9]{1,6}):(\w+)", value)
    if match is None:
        return
    if match[2] not in ("node", "host"):
        raise Unknown(f"--map-by {value[:100]}, as ranks per {match[2]} need the sockets of a node")
    values[_PER_NODE] = int(match[1])


def _program(words: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return the program and its arguments, behind words that only prepare it."""
    while words:
        name = words[0].rpartition("/")[2]
        if name in _CONTAINERS:
            raise Unknown(f"the program inside a container of {name}")
        if name in _WRAPPERS:
            del words[0]
            while words and (words[0].startswith("-") or (name == "env" and "=" in words[0])):
                values = 2 if words[0] in ("-u", "-n", "-C", "-m", "-N", "-c", "-e", "-o") and len(words) > 1 else 1
                del words[:values]
            if name == "taskset" and words:
                del words[0]
            continue
        if _PYTHON.fullmatch(name):
            del words[0]
            while words and words[0] in ("-u", "-O", "-B", "-s", "-E"):
                del words[0]
            if words[:2] == ["-m", "mpi4py"]:
                del words[:2]
            if words and words[0] in ("-m", "-c"):
                raise Unknown(f"python {words[0]}: no file of a program")
            continue
        return words[0], tuple(words[1:])
    raise Unknown("no program behind the launcher")


def _sized(kind: str, made: Launch, values: Mapping[str, int], asked: Allocation) -> Launch:
    """Return the step with its ranks, nodes and ranks per node."""
    cpus = values.get(_CPUS, asked.cpus_per_task or 1)
    nodes, per_node = values.get(_NODES, asked.least_nodes), values.get(_PER_NODE)
    if kind == "jsrun":
        of_set = values.get(_RANKS, 1)
        if _SETS not in values and "total" not in values:
            raise Unknown("how many resource sets jsrun starts: it has no -n")
        sets = values.get(_SETS, -(-values.get("total", 1) // of_set))
        ranks = values.get("total", sets * of_set)
        per_node = values[_HOST_SETS] * of_set if _HOST_SETS in values else None
        cpus = max(cpus // of_set, 1)
    elif _RANKS in values:
        ranks = values[_RANKS]
    elif kind == "srun" and _NODES in values:
        ranks = values[_NODES] * (per_node or asked.per_node or 1)
    elif per_node is not None and nodes is not None:
        ranks = nodes * per_node
    elif kind == "aprun":
        ranks = 1
    else:
        ranks = asked.total
    if not 1 <= ranks <= _MOST_RANKS:
        raise Unknown(f"{ranks} ranks")
    if per_node is None and kind == "srun" and nodes is not None:  # srun spreads them over all nodes
        per_node = min(-(-ranks // nodes), asked.per_node or ranks) if ranks >= nodes else 1
    elif per_node is None:
        per_node = asked.per_node or (None if nodes is None else -(-ranks // nodes))
    return replace(made, ranks=ranks, nodes=None if per_node is None else -(-ranks // per_node), per_node=per_node,
                   cpus_per_rank=cpus)  # fmt: skip
