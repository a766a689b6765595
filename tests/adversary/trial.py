"""Try drawn programs: extrapolated against simulated in full."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.results.record import iterations_caution
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from tests.adversary.programs import Program, drawn

COUNTS = ("messages", "bytes", "self_messages", "self_bytes", "collectives")
MOST_ERROR = 1e-6  # of a time without a caution


@dataclass
class Trial:
    """The outcome of one program."""

    seed: int
    program: Program
    extrapolated: bool
    basis: str | None
    error: float
    bound: float
    same_counts: bool
    cautioned: bool
    steady_s: float  # wall time
    full_s: float

    @property
    def violated(self) -> bool:
        """The error is above the stated bound."""
        return self.error > self.bound

    @property
    def wrong(self) -> bool:
        """The result is wrong, and nothing says so."""
        return self.violated or not self.same_counts or (self.error > MOST_ERROR and not self.cautioned)


def tried(seed: int, folder: Path) -> Trial:
    """Simulate the program of this seed with and without extrapolation."""
    program = drawn(seed)
    path = folder / f"drawn{seed}.c"
    path.write_text(program.source)
    platform = materialise(named_grid(program.scenario))
    asked = own_problem(read_program(path, "{iterations}", program.iterations))
    target = Target(asked, platform, block(platform, program.ranks))
    began_s = time.perf_counter()
    full = simulate(RunSpec(target, iterations="full"))
    between_s = time.perf_counter()
    steady = simulate(RunSpec(target, iterations="steady"), full_below_messages=0)
    ended_s = time.perf_counter()
    how = steady.extrapolation
    return Trial(
        seed=seed,
        program=program,
        extrapolated=how is not None,
        basis=steady.iterations_basis,
        error=abs(steady.time_s - full.time_s) / full.time_s if full.time_s else abs(steady.time_s),
        bound=0.0 if how is None else float("inf") if how.bound_rel is None else how.bound_rel,
        same_counts=all(getattr(steady, name) == getattr(full, name) for name in COUNTS),
        cautioned=iterations_caution(steady) is not None,
        steady_s=ended_s - between_s,
        full_s=between_s - began_s,
    )


@dataclass
class Report:
    """Sums over trials."""

    trials: list[Trial] = field(default_factory=list)

    def add(self, trials: Iterable[Trial]) -> None:
        """Add trials."""
        self.trials += trials

    def text(self) -> str:
        """Return the sums as a few lines."""
        done = self.trials
        repeating = [one for one in done if one.program.repeats]
        extrapolated = [one for one in done if one.extrapolated]
        bases = Counter("extrapolated" if one.extrapolated else one.basis for one in done)
        lines = [
            f"{len(done)} programs: bound violated {sum(one.violated for one in done)} times, "
            f"silently wrong {sum(one.wrong for one in done)} times",
            f"extrapolated {len(extrapolated)}, in full {len(done) - len(extrapolated)}, "
            f"with a caution {sum(one.cautioned for one in done)}; "
            f"of {len(repeating)} that repeat {sum(one.extrapolated for one in repeating)} were extrapolated",
            f"largest error {max((one.error for one in extrapolated), default=0.0):.1e}, "
            f"largest bound {max((one.bound for one in extrapolated), default=0.0):.1e}",
            f"wall time {sum(one.steady_s for one in done):.0f} s, "
            f"always in full {sum(one.full_s for one in done):.0f} s (with compilation)",
            *(f"  {count:5} {basis}" for basis, count in bases.most_common()),
        ]
        lines += [
            f"WRONG: seed {one.seed} ({', '.join(one.program.features)}): error {one.error:.2e}, "
            f"bound {one.bound:.1e}, counts {'equal' if one.same_counts else 'differ'}, {one.basis}"
            for one in done
            if one.wrong
        ]
        return "\n".join(lines)
