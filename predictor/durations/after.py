"""The sentence on evidence that took long on this computer, beside the simulations of the same runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from platforms.terminal.quantities import range_text, significant
from predictor.durations.before import PREDICTORS


def sentences(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield for each predictor how long its evidence took where that was more than half of the simulation's time.

    Args:
        rows: Results with the columns of validation/comparison/compare.py; only those of simulated runs count.
    """
    for name in dict.fromkeys(row["predictor"] for row in rows):
        if name.partition(":")[0] not in PREDICTORS:
            continue
        pairs = [
            (row["evidence_wall_s"], row["simulation_wall_s"])
            for row in rows
            if row["predictor"] == name
            and row.get("truth") == "simulation"
            and row.get("evidence_wall_s")
            and row.get("simulation_wall_s")
        ]
        long = [(evidence_s, run_s) for evidence_s, run_s in pairs if evidence_s > run_s / 2]
        if not long:
            continue
        took, instead = (
            range_text(*(significant(end, 2) for end in (min(times_s), max(times_s))))
            for times_s in zip(*long, strict=True)
        )
        more = sum(evidence_s > run_s for evidence_s, run_s in long)
        where = "" if len(pairs) == 1 else f" in {len(long)} of {len(pairs)} cases"
        said = "more than half of it" if not more else "simulating is faster"
        if 0 < more < len(long):
            said += f" in {more} of them"
        yield f"the evidence of {name} took {took} s{where}, simulating the run {instead} s: {said}"
