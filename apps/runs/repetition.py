"""Repetition of a user program's iterations: shown by fingerprints of all of them; otherwise all are simulated."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from apps.errors import KernelError, NoIterations, SimulationError, Stopped
from apps.recording.events import DATA_OPS
from apps.recording.fingerprints import Fingerprints, departure, pattern_of
from apps.results.inputs import Inputs
from apps.results.record import RunRecord
from apps.results.steady import FIRST_TRY, Pattern, extrapolate, settle
from apps.runs.fingerprints import noted_in_full
from apps.spec.run_spec import RunSpec
from apps.store import Store
from platforms.addons import is_there, provided

# Fingerprints cost nearly a full run, so runs with fewer messages than this are cheaper in full
# (docs/validation/extrapolation.md); a collective counts as one message of each rank.
FULL_BELOW_MESSAGES = 50_000
_PERIODS = "apps.runs.longer_periods"  # an add-on
NOT_SETTLED = "the first ones did not settle"


# Removes everything found to be harmless from the inputs of a run (apps/runs/surroundings.py).
Settle = Callable[[Inputs | None], Inputs | None]


class NotShown(Exception):
    """The iterations are not shown to repeat; the message says why.

    ``may_in_turns``: groups of iterations may still repeat.
    """

    def __init__(self, reason: str, *, may_in_turns: bool = False):
        super().__init__(reason)
        self.may_in_turns = may_in_turns


def repeating(
    spec: RunSpec,
    run: Callable[[int, RunSpec], RunRecord],
    *,
    settle_inputs: Settle,
    store: Store | None,
    time_limit_s: float | None,
    stop: threading.Event | None,
    full_below_messages: int = FULL_BELOW_MESSAGES,
) -> RunRecord:
    """Return the record of all iterations of a user's program, extrapolated only if all were found to repeat.

    ``run`` simulates a given number of iterations of a spec of the same program.  The wall time is the sum over all
    simulations.
    """
    walls_s: list[float] = []

    def timed(iterations: int, of: RunSpec = spec) -> RunRecord:
        record = run(iterations, of)
        walls_s.append(record.wall_s)
        return record

    try:
        limits: dict[str, Any] = {
            "settle_inputs": settle_inputs, "store": store, "time_limit_s": time_limit_s, "stop": stop
        }  # fmt: skip
        record = _extrapolated(spec, timed, limits, full_below_messages, walls_s)
    except NotShown as reason:
        began_s = time.perf_counter()
        longer = (
            provided(f"{_PERIODS}:in_periods")(spec, full_below_messages=full_below_messages, **limits)
            if reason.may_in_turns and is_there(_PERIODS)
            else None
        )
        walls_s.append(time.perf_counter() - began_s)
        try:
            if longer is None:
                raise
            made = _extrapolated(longer, lambda count: timed(count, longer), limits, full_below_messages, walls_s)
            record = provided(f"{_PERIODS}:of_iterations")(made, longer)
        except NotShown:
            record = replace(timed(spec.full_iterations), iterations_basis=str(reason))
    return replace(record, wall_s=sum(walls_s))


def _extrapolated(
    spec: RunSpec,
    run: Callable[[int], RunRecord],
    limits: dict[str, Any],
    full_below_messages: int,
    walls_s: list[float],
) -> RunRecord:
    iterations = spec.full_iterations
    if iterations < 2 * FIRST_TRY:
        raise NotShown("there are few of them")
    if spec.compute == "measured" and (spec.work is None or not spec.work.uniform):
        raise NotShown("measured computation varies from one to the next")
    first = _run(run, FIRST_TRY)
    if first.seen is None:
        raise NotShown("programs in Python are not compared by iterations")
    if _messages(extrapolate(first, iterations)) < full_below_messages:
        raise NotShown("a full run has few messages")
    began_s = time.perf_counter()
    inputs = limits["settle_inputs"](first.inputs)
    _check_asks(inputs)
    harmless = inputs is not None and inputs.clock_is_harmless
    full = _full(spec, first.seen.marked, first.seen.cuts, limits)
    walls_s.append(time.perf_counter() - began_s)
    pattern = pattern_of(full.with_readings)
    if pattern is None:
        raise NotShown("they do not repeat")

    def checked(count: int) -> RunRecord:
        record = first if count == FIRST_TRY else _run(run, count)
        if count < iterations:
            seen = record.seen
            check_like(seen.fingerprints, seen.cuts, full, first.seen.cuts, clock_is_harmless=harmless)
        return record

    record = settle(checked, iterations, pattern=pattern)
    if record.extrapolation is None:
        return replace(record, iterations_basis=NOT_SETTLED)
    if spec.compute != "none" and not _same_counts(record, full):
        raise NotShown("their messages do not add up to those of a full run")
    return replace(record, iterations_basis=_words(pattern, iterations))


def shown_pattern(
    spec: RunSpec, fingerprints: Fingerprints | None, cuts: Any, *, marked: bool, clock_is_harmless: bool, **limits: Any
) -> Pattern:
    """Return how the iterations repeat, given the fingerprints of a shortened run.

    Raises:
        NotShown: They are not shown to repeat, or the shortened run behaves differently.
    """
    full = _full(spec, marked, cuts, limits)
    pattern = pattern_of(full.iterations)
    if pattern is None:
        raise NotShown("they do not repeat")
    check_like(fingerprints, cuts, full, cuts, clock_is_harmless=clock_is_harmless)
    return pattern


def check_like(
    short: Fingerprints | None, cuts: Any, full: Fingerprints, full_cuts: Any, *, clock_is_harmless: bool
) -> None:
    """Raise NotShown if a shortened run behaves differently from the full run."""
    if short is None or cuts != full_cuts:
        raise NotShown("their boundaries were not found")
    reason = departure(short, full, clock_is_harmless=clock_is_harmless)
    if reason is not None:
        raise NotShown(reason)


def _run(run: Callable[[int], RunRecord], iterations: int) -> RunRecord:
    try:
        return run(iterations)
    except NoIterations as err:
        raise NotShown(err.problem, may_in_turns=True) from err


def _full(spec: RunSpec, marked: bool, cuts: Any, limits: dict[str, Any]) -> Fingerprints:
    """Return the fingerprints of all iterations; raise NotShown if there are none, or their number is wrong."""
    iterations = spec.full_iterations
    if not marked and cuts is None:
        raise NotShown("their boundaries were not found")
    try:
        notes = noted_in_full(spec, marked=marked, **limits)
        _check_asks(notes.inputs)
        full = notes.fingerprints(cuts)
    except Stopped:
        raise
    except (SimulationError, KernelError) as err:
        raise NotShown(f"the run that compares them failed ({err})") from err
    if full is None:
        raise NotShown("they do not repeat", may_in_turns=not marked)
    if len(full.iterations) != iterations:
        raise NotShown(f"the program was given {iterations} iterations and makes {len(full.iterations)}")
    return full


def _check_asks(inputs: Inputs | None) -> None:
    """Raise NotShown if fingerprints, made on other hosts and at another time, may show another course."""
    if inputs is None:
        return
    if inputs.asks:
        raise NotShown(f"its course may depend on its hosts, which it queries with {inputs.asks[0]}")
    if inputs.varies:
        raise NotShown(f"its course may depend on {inputs.varies[0]}, whose results change by themselves")
    if inputs.depends:
        raise NotShown(f"its course depends on {inputs.depends[0]}")


def _messages(record: RunRecord) -> int:
    calls: int = sum(used["calls"] for used in record.collectives.values())
    return sum(record.messages) + record.ranks * calls


def _same_counts(record: RunRecord, full: Fingerprints) -> bool:
    """Return whether a record counts the messages and bytes of the full run."""
    return all(
        getattr(record, name) == tuple(int(totals[name]) for totals in full.totals)
        for name in ("messages", "bytes", "self_messages", "self_bytes")
    ) and sum(used["calls"] for used in record.collectives.values()) == int(
        sum(max(totals["calls"][op] for totals in full.totals) for op in DATA_OPS)
    )


def _words(pattern: Pattern, iterations: int) -> str:
    every = "every one" if pattern.period == 1 else f"every {pattern.period}"
    return f"all {iterations} were found to repeat, {every} from iteration {pattern.start + 1} on"
