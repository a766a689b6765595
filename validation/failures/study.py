"""The checks: cases drawn with numpy, and runs in SimGrid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from apps.spec.run_spec import RunSpec
from predictor.blocks.published.formulas import success
from predictor.failures.expected import daly, restart_from_scratch, with_checkpoints, young
from validation.failures.checks import Check, mean_check, probability_check
from validation.failures.draws import completion_times, first_failures
from validation.failures.simulated import SimulatedRuns, duration, simulate_failing

_DAY_S = 86400.0
_YEAR_S = 365.25 * _DAY_S


@dataclass(frozen=True)
class FailureCase:
    """A run on failing nodes."""

    nodes: int
    node_mtbf_s: float
    work_s: float
    checkpoint_s: float
    restart_s: float

    @property
    def rate_per_s(self) -> float:
        """Failure rate of one node, 1/s."""
        return 1 / self.node_mtbf_s

    @property
    def system_rate_per_s(self) -> float:
        """Failure rate of all nodes together, 1/s."""
        return self.nodes * self.rate_per_s


# Galera+ for a month and for a year, then a larger system with a higher failure rate.
_SUCCESS_CASES = (
    FailureCase(nodes=192, node_mtbf_s=1 / 5.03372e-10, work_s=30 * _DAY_S, checkpoint_s=0, restart_s=0),
    FailureCase(nodes=192, node_mtbf_s=1 / 5.03372e-10, work_s=365 * _DAY_S, checkpoint_s=0, restart_s=0),
    FailureCase(nodes=1024, node_mtbf_s=5 * _YEAR_S, work_s=1 * _DAY_S, checkpoint_s=0, restart_s=0),
)
# A failure every two days with runs of three and of ten days; then failures so frequent that the time between failures
# is of the order of a checkpoint and a restart.
_TIME_CASES = (
    FailureCase(nodes=192, node_mtbf_s=_YEAR_S, work_s=3 * _DAY_S, checkpoint_s=600, restart_s=0),
    FailureCase(nodes=32, node_mtbf_s=_YEAR_S / 6, work_s=10 * _DAY_S, checkpoint_s=600, restart_s=1200),
    FailureCase(nodes=64, node_mtbf_s=2 * _DAY_S, work_s=10_000, checkpoint_s=300, restart_s=900),
)


def drawn_checks(runs: int, seed: int) -> list[Check]:
    """Check success and expected times of every case with ``runs`` runs each; cases have independent draws."""
    checks = []
    streams = iter(np.random.SeedSequence(seed).spawn(len(_SUCCESS_CASES) + 3 * len(_TIME_CASES)))
    for case in _SUCCESS_CASES:
        first_s = first_failures(
            np.random.default_rng(next(streams)), runs, nodes=case.nodes, rate_per_s=case.rate_per_s
        )
        name = f"success, {case.nodes} nodes, {case.work_s / _DAY_S:g} days"
        formula = float(success(case.work_s, case.nodes, case.rate_per_s))
        checks.append(probability_check(name, formula, successes=int((first_s > case.work_s).sum()), runs=runs))
    for case in _TIME_CASES:
        rate, M = case.system_rate_per_s, 1 / case.system_rate_per_s
        about = f"{case.nodes} nodes, {case.work_s:g} s, failure every {M:.4g} s"
        intervals = {
            "scratch": math.inf,
            "young": float(young(case.checkpoint_s, M)),
            "daly": float(daly(case.checkpoint_s, M)),
        }
        for name, interval_s in intervals.items():
            times_s = completion_times(
                np.random.default_rng(next(streams)), runs,
                nodes=case.nodes, rate_per_s=case.rate_per_s, work_s=case.work_s, interval_s=interval_s,
                checkpoint_s=case.checkpoint_s, restart_s=case.restart_s,
            )  # fmt: skip
            if name == "scratch":
                formula = float(restart_from_scratch(case.work_s, rate, restart_s=case.restart_s))
            else:
                formula = float(with_checkpoints(
                    case.work_s, rate,
                    interval_s=interval_s, checkpoint_s=case.checkpoint_s, restart_s=case.restart_s,
                ))  # fmt: skip
            checks.append(mean_check(f"{name}, {about}", formula, times_s))
    return checks


def simulated_check(
    spec: RunSpec, *, runs: int, success_wanted: float, seed: int, jobs: int
) -> tuple[Check, SimulatedRuns]:
    """Check the probability of success in SimGrid, for the lambda with exp(-lambda dt P) = ``success_wanted``."""
    nodes, lasts_s = spec.target.nodes, duration(spec)
    rate_per_s = -math.log(success_wanted) / (nodes * lasts_s)
    done = simulate_failing(spec, lasts_s, runs=runs, rate_per_s=rate_per_s, seed=seed, jobs=jobs)
    name = f"success, {spec.target.problem} on {nodes} nodes in SimGrid, {lasts_s:.6g} s"
    formula = float(success(lasts_s, nodes, rate_per_s))
    return probability_check(name, formula, successes=done.succeeded, runs=runs), done
