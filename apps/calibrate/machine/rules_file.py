"""Read a file of rules of Open MPI's module "tuned" (coll_tuned_dynamic_rules_filename).

It has numbers, with comments behind #: the number of operations; of each its number and the number of sizes of
communicators; of each of these the ranks and the number of sizes of messages; and a line for each of these: bytes,
algorithm, fan-out, size of segments, and in version 2 of the format the most requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
