"""Collective operations: ask a machine's MPI library for its algorithms, and name SMPI's for them.

Open MPI reports its parameters by ``ompi_info`` (module "tuned": its rules, one algorithm for each operation, or a file
of rules), MPICH and its relatives by environment variables.  The query runs under the machine's launcher, so that its
set-up lines, variables and options apply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from apps.machines.launch import alone_on, launch
from apps.machines.machine_file import Machine

# Read a file of rules of Open MPI's module "tuned" (coll_tuned_dynamic_rules_filename).
#
# It has numbers, with comments behind #: the number of operations; of each its number and the number of sizes of
# communicators; of each of these the ranks and the number of sizes of messages; and a line for each of these: bytes,
# algorithm, fan-out, size of segments, and in version 2 of the format the most requests.

ANY = "ignore"  # algorithm 0: Open MPI's fixed rules
# Operations by their numbers in the file.
_OPERATIONS = {
    0: "allgather", 1: "allgatherv", 2: "allreduce", 3: "alltoall", 4: "alltoallv", 6: "barrier", 7: "bcast",
    9: "gather", 11: "reduce", 12: "reduce_scatter", 15: "scatter",
}  # fmt: skip
_VERSION_2 = "rule-file-version-2"


def rules_for(text: str, ranks: int) -> Mapping[str, list[tuple[int, int]]]:
    """Return, by operation, the first sizes in bytes of the algorithms for communicators of some ranks, ascending.

    Open MPI takes the rules of the largest communicator that is not larger.  Operations without such rules are left
    out, and so is everything after a format error.
    """
    lines = [line.partition("#")[0] for line in text.splitlines()]
    fields = 5 if any(_VERSION_2 in line for line in lines) else 4
    numbers = iter(int(word) for line in lines for word in line.split() if word.lstrip("-").isdigit())
    rules: dict[str, list[tuple[int, int]]] = {}
    try:
        for _ in range(next(numbers)):
            operation = _OPERATIONS.get(next(numbers))
            chosen: list[tuple[int, int]] = []
            for _ in range(next(numbers)):
                members = next(numbers)
                by_size = _sizes(numbers, fields)
                if members <= ranks:
                    chosen = by_size
            if operation is not None and chosen:
                rules[operation] = chosen
    except StopIteration:
        pass
    return rules


def _sizes(numbers: Iterator[int], fields: int) -> list[tuple[int, int]]:
    """Return the rules of one size of communicators: bytes and the number of the algorithm."""
    rules = []
    for _ in range(next(numbers)):
        size, algorithm, *_rest = [next(numbers) for _ in range(fields)]
        rules.append((size, algorithm))
    return sorted(rules)


_QUESTION = r"""
ldd "$1" 2>/dev/null
ompi_info --parsable --level 9 --param coll all 2>/dev/null
rules=$(ompi_info --parsable --level 9 --param coll tuned 2>/dev/null |
  sed -n 's/.*:coll_tuned_dynamic_rules_filename:value://p')
if [ -f "$rules" ]; then sed 's/^/rules: /' "$rules"; fi
mpichversion 2>/dev/null | head -1
env | grep -E '^(MPIR_CVAR_[A-Z_]*_ALGORITHM|I_MPI_(ROOT|ADJUST_[A-Z]*)|MV2_[A-Z]*)=' || true
"""
_TIME_LIMIT_S = 60.0
_DEFAULT = "ompi"
_NAMES = {"ompi": "Open MPI", "mpich": "MPICH", "impi": "Intel MPI", "mvapich2": "MVAPICH2"}

# SMPI's algorithms with the same messages, by operation and the library's name of the algorithm.
_OPEN_MPI: Mapping[str, Mapping[str, str]] = {
    "allgather": {"bruck": "bruck", "recursive_doubling": "rdb", "ring": "ring", "neighbor": "ompi_neighborexchange"},
    "allgatherv": {"default": "GB", "bruck": "ompi_bruck", "ring": "ring", "neighbor": "ompi_neighborexchange"},
    "allreduce": {
        "basic_linear": "redbcast", "nonoverlapping": "redbcast", "recursive_doubling": "rdb", "ring": "lr",
        "segmented_ring": "ompi_ring_segmented", "rabenseifner": "rab_rdb",
    },
    "alltoall": {
        "linear": "basic_linear", "pairwise": "ring", "modified_bruck": "bruck", "linear_sync": "basic_linear",
    },
    "alltoallv": {"basic_linear": "ompi_basic_linear", "pairwise": "ring"},
    "barrier": {
        "linear": "ompi_basic_linear", "double_ring": "ompi_doublering", "bruck": "ompi_bruck", "tree": "ompi_tree",
        "recursive_doubling": "ompi_recursivedoubling",
    },
    "bcast": {
        "basic_linear": "flattree", "pipeline": "ompi_pipeline", "split_binary_tree": "ompi_split_bintree",
        "binomial": "binomial_tree", "scatter_allgather": "scatter_rdb_allgather",
        "scatter_allgather_ring": "scatter_LR_allgather",
    },
    "gather": {"basic_linear": "ompi_basic_linear", "binomial": "ompi_binomial", "linear_sync": "ompi_linear_sync"},
    "reduce": {
        "linear": "ompi_basic_linear", "chain": "ompi_chain", "pipeline": "ompi_pipeline", "binary": "ompi_binary",
        "binomial": "ompi_binomial", "in-order_binary": "ompi_in_order_binary", "rabenseifner": "scatter_gather",
    },
    "reduce_scatter": {
        "recursive_halving": "ompi_basic_recursivehalving", "ring": "ompi_ring", "butterfly": "ompi_butterfly",
    },
    "scatter": {"basic_linear": "ompi_basic_linear", "binomial": "ompi_binomial", "linear_nb": "ompi_linear_nb"},
}  # fmt: skip
_MPICH: Mapping[str, Mapping[str, str]] = {
    "allgather": {"brucks": "bruck", "recursive_doubling": "rdb", "ring": "ring"},
    "allreduce": {"recursive_doubling": "rdb", "reduce_scatter_allgather": "rab_rdb"},
    "alltoall": {"brucks": "bruck", "pairwise": "ring", "scattered": "mvapich2_scatter_dest"},
    "bcast": {
        "binomial": "binomial_tree", "scatter_recursive_doubling_allgather": "scatter_rdb_allgather",
        "scatter_ring_allgather": "scatter_LR_allgather",
    },
    "reduce": {"binomial": "binomial", "reduce_scatter_gather": "scatter_gather"},
}  # fmt: skip
# Modules of Open MPI that replace "tuned" for some operations if their priority is higher.
_MODULES = ("acoll", "adapt", "han", "hcoll", "sm", "ucc", "xhc")
_OF_LARGE = ("allgather", "allgatherv", "alltoall", "alltoallv")  # operations whose time is dominated by large messages
_OLD_RULES = (4, 1)  # first version of Open MPI with the rules of SMPI's selector

_PARAMETER = re.compile(r"^mca:coll:(?P<module>\w+):param:(?P<name>\w+):value:(?P<value>.*)$", re.MULTILINE)
_ENUMERATED = re.compile(
    r"^mca:coll:tuned:param:coll_tuned_(?P<operation>\w+)_algorithm:enumerator:value:(?P<number>\d+):(?P<name>.+)$",
    re.MULTILINE,
)
_VERSION = re.compile(r'^mca:coll:tuned:version:"component:(?P<version>[\d.]+)', re.MULTILINE)
_VARIABLE = re.compile(r"^MPIR_CVAR_(?P<operation>[A-Z_]+)_INTRA_ALGORITHM=(?P<name>\w+)$", re.MULTILINE)

Chosen: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class Collectives:
    """The algorithms of collective operations in a platform."""

    selector: str  # smpi/coll-selector
    options: Chosen  # SimGrid's options for operations with another algorithm than the selector's
    said: str  # their origin, in words
    notes: tuple[str, ...] = ()  # rules that SMPI cannot reproduce


def asked_collectives(machine: Machine, program: str, hosts: Sequence[str]) -> Collectives:
    """Query a machine's library; without an answer, use Open MPI's rules with a note.

    Args:
        machine: The machine.
        program: A program that is linked with its MPI library.
        hosts: The host of every rank of the largest communicator.
    """
    with alone_on(machine):
        done = launch(machine, ["/bin/sh", "-c", _QUESTION, "sh", program], hosts[:1], time_limit_s=_TIME_LIMIT_S)
    return collectives_of(done.stdout if done.succeeded else "", len(hosts))


def collectives_of(answer: str, ranks: int) -> Collectives:
    """Return the algorithms from the output of the query, for communicators of a number of ranks."""
    library = _library(answer)
    if library is None:
        note = "the MPI library is unknown: its collective operations are assumed to be Open MPI's (--collectives)"
        return Collectives(_DEFAULT, {}, f"{_NAMES[_DEFAULT]}'s, not asked", (note,))
    if library == "ompi":
        return _open_mpi(answer, ranks)
    chosen = {found["operation"].lower(): found["name"] for found in _VARIABLE.finditer(answer)}
    chosen = {operation: name for operation, name in chosen.items() if name != "auto"}
    options, notes = _options(chosen, _MPICH, _NAMES[library])
    adjusted = sorted(set(re.findall(r"^(I_MPI_ADJUST_\w+|MV2_\w*TUN\w*)=", answer, re.MULTILINE)))
    if adjusted:
        notes.append(f"SMPI cannot reproduce {', '.join(adjusted)}: the library's default rules are used instead")
    return Collectives(library, options, _said(_NAMES[library], chosen), tuple(notes))


def _library(answer: str) -> str | None:
    """Return the selector of the library that the program is linked with; None: it is not known."""
    linked = re.search(r"\blibmpi(?P<name>ch)?\.so\.(?P<number>\d+)", answer)
    if linked is None:
        return None
    if not linked["name"] and int(linked["number"]) != 12:  # 12: the common interface of MPICH and its relatives
        return "ompi"
    if re.search(r"^I_MPI_ROOT=", answer, re.MULTILINE):
        return "impi"
    return "mvapich2" if re.search(r"mvapich|^MV2_", answer, re.MULTILINE | re.IGNORECASE) else "mpich"


def _open_mpi(answer: str, ranks: int) -> Collectives:
    parameters = {found["name"]: found["value"].strip() for found in _PARAMETER.finditer(answer)}
    version = _VERSION.search(answer)
    name = f"Open MPI {version['version']}" if version else "Open MPI"
    notes = [*_other_modules(parameters)]
    if not version:
        notes.append("ompi_info did not answer on the machine: Open MPI is assumed to use its default rules")
    chosen: dict[str, str] = {}
    if parameters.get("coll_tuned_use_dynamic_rules") in ("true", "1"):
        chosen, more = _dynamic(answer, parameters, ranks)
        notes += more
    options, more = _options(chosen, _OPEN_MPI, name)
    if version and tuple(map(int, version["version"].split(".")[:2])) < _OLD_RULES and "alltoall" not in chosen:
        options = {"smpi/alltoall": "ring", **options}
        notes.append(
            f"{name} exchanges blocks of 3000 bytes or more in pairs, unlike SMPI's rules for Open MPI 4.1: "
            "MPI_Alltoall of all sizes does so on this platform"
        )
    return Collectives("ompi", options, _said(name, chosen), (*notes, *more))


def _dynamic(answer: str, parameters: Mapping[str, str], ranks: int) -> tuple[dict[str, str], list[str]]:
    """Return the algorithms by operation that replace the fixed rules, and notes.

    An algorithm named by a parameter takes precedence over the rules of the file.
    """
    names: dict[str, dict[int, str]] = {}
    for found in _ENUMERATED.finditer(answer):
        names.setdefault(found["operation"], {})[int(found["number"])] = found["name"].strip()
    chosen, notes = {}, []
    text = "\n".join(line.removeprefix("rules: ") for line in answer.splitlines() if line.startswith("rules: "))
    for operation, rules in rules_for(text, ranks).items():
        by_size = [(size, names.get(operation, {}).get(number, str(number))) for size, number in rules]
        chosen[operation] = by_size[-1 if operation in _OF_LARGE else 0][1]
        if len({name for _, name in by_size}) > 1:
            listed = ", ".join(f"{name} from {size} bytes" for size, name in by_size)
            notes.append(
                f"Open MPI's rules for {operation} depend on the size ({listed}), which SMPI cannot reproduce: "
                f"{chosen[operation]} is used for all sizes"
            )
    if parameters.get("coll_tuned_dynamic_rules_filename") and not text:
        notes.append("the file of rules coll_tuned_dynamic_rules_filename could not be read on the machine")
    for operation in _OPEN_MPI:
        value = parameters.get(f"coll_tuned_{operation}_algorithm", ANY)
        if value not in (ANY, "0"):
            chosen[operation] = names.get(operation, {}).get(int(value), value) if value.isdigit() else value
    return {operation: name for operation, name in chosen.items() if name != ANY}, notes


def _other_modules(parameters: Mapping[str, str]) -> list[str]:
    """Return notes about modules that take precedence over "tuned"."""
    tuned = int(parameters.get("coll_tuned_priority") or 30)
    before = [
        module
        for module in _MODULES
        if int(parameters.get(f"coll_{module}_priority") or 0) > tuned
        and parameters.get(f"coll_{module}_enable", "true") not in ("0", "false")
    ]
    listed = parameters.get("coll", "")
    words = listed.lstrip("^").split(",")
    if listed and (("tuned" in words) if listed.startswith("^") else ("tuned" not in words)):
        return [f"Open MPI is configured to use the modules coll={listed}, not tuned, whose algorithms SMPI simulates"]
    if before:
        return [
            f"Open MPI's module {' and '.join(before)} takes precedence over tuned, whose algorithms SMPI simulates"
        ]
    return []


def _options(chosen: Chosen, known: Mapping[str, Chosen], library: str) -> tuple[dict[str, str], list[str]]:
    """Return SimGrid's options for the algorithms chosen by a user, and notes about those that SMPI lacks."""
    options, notes = {}, []
    for operation, name in sorted(chosen.items()):
        algorithm = known.get(operation, {}).get(name)
        if algorithm is None:
            notes.append(f"SMPI has no algorithm like {name}, which {library} is configured to use for {operation}")
        else:
            options[f"smpi/{operation}"] = algorithm
    return options, notes


def _said(library: str, chosen: Chosen) -> str:
    listed = ", ".join(f"{operation} {name}" for operation, name in sorted(chosen.items()))
    return f"{library}'s, as it answered: {f'{listed}; else ' if listed else ''}its own rules"
