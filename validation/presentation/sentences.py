"""Closing sentences of a validation, made from its figures, and the coverage of its intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import percent, range_text, significant
from platforms.wording import number_of
from predictor.answers.regime import TOLERATED_PCT
from predictor.registry import SELF_CHECKS
from validation.comparison.metrics import mean
from validation.comparison.rows import CASE, Column, Row, column, distinct, known, rows_by, rows_of
from validation.presentation.tables import listed, table_of, truth_name

if TYPE_CHECKING:
    import pandas as pd

_SAME = 0.01  # relative difference up to which communication grows in proportion to the nodes


def closing_sentences(results: Sequence[Row]) -> list[str]:
    """Return sentences on the closest predictor, the farthest one, and evidence that costs more than the run.

    Targets that were given to the same predictors are compared together.  A self-check is never called closest.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
    """
    rivals = [row for row in results if row["predictor"] not in SELF_CHECKS]
    cases = rows_by(rivals, *CASE).values()
    together: dict[frozenset[str], list[Row]] = {}
    for case in cases:
        together.setdefault(frozenset(column(case, "predictor")), []).extend(case)
    said: list[str] = []
    for part in together.values():
        apps = f" on {listed(distinct(part, 'app'))}" if len(together) > 1 else ""
        said += [*_closest(part, apps), *_farthest(part, apps)]
    return [*said, *_costly(rivals)]


def _closest(part: Sequence[Row], apps: str) -> Iterator[str]:
    """Yield the sentence on the predictor with the smallest mean error among those that answer most targets."""
    errors = _errors_pct(part)
    most, cases = max(map(len, errors.values())), len(rows_by(part, *CASE))
    if most == 0:  # those asked are named, because a self-check may have answered
        yield f"{listed(list(errors))} {'has' if len(errors) == 1 else 'have'} no answer{apps}."
        return
    means = {name: mean(errors_pct) for name, errors_pct in errors.items() if len(errors_pct) == most}
    least = percent(min(means.values()))
    names = [name for name, error_pct in means.items() if percent(error_pct) == least]
    tie = f" (a tie of {len(names)})" if len(names) > 1 else ""
    who = f"Closest{apps}: {listed(names)}{tie}," if len(errors) > 1 else f"{names[0]} is"
    yield f"{who} {_within(max(max(errors[name]) for name in names))}{_on(most, cases)}."


def _errors_pct(part: Sequence[Row]) -> dict[str, list[float]]:
    """Return the absolute errors of every predictor, in %; none of those that have no answer."""
    by_name = rows_by(part, "predictor").items()
    return {name: column(known(rows, "abs_error_pct"), "abs_error_pct") for (name,), rows in by_name}


def _within(error_pct: float) -> str:
    """Return a bound of an error, rounded up."""
    decimals = 2 if error_pct < 10 else 1 if error_pct < 100 else 0
    bound = math.ceil(round(error_pct * 10**decimals, 6)) / 10**decimals
    text = f"{max(bound, 0.01):.{decimals}f}"
    shown = text.rstrip("0").rstrip(".") if decimals else text
    return f"within {shown} %" if error_pct <= TOLERATED_PCT else f"off by up to {shown} %"


def _on(answered: int, cases: int) -> str:
    if cases == 1:
        return ""
    return f" on all {cases} targets" if answered == cases else f" on {answered} of {number_of(cases, 'target')}"


def _farthest(part: Sequence[Row], apps: str) -> Iterator[str]:
    """Yield the sentence on the predictor with the largest mean error, if that is not tolerable."""
    means = {name: mean(errors) for name, errors in _errors_pct(part).items() if errors}
    if len(means) < 2 or not max(means.values()) > TOLERATED_PCT:
        return
    least, most = (percent(end(means.values())) for end in (min, max))
    if least == most:
        return
    worst = {name: _answered(part, name) for name, error_pct in means.items() if percent(error_pct) == most}
    first = next(iter(worst.values()))
    ratios = _ratios(first)
    names = [name for name, rows in worst.items() if _ratios(rows) == ratios]
    says, they = (f"{names[0]} predicts", "it") if len(names) == 1 else (f"{listed(names)} predict", "they")
    times = "time" if len(first) == 1 else "times"
    why = _cause(first, they)
    yield f"{says}{apps} {ratios} times the {truth_name(column(first, 'truth'))} {times}{f': {why}' if why else ''}."


def _answered(part: Sequence[Row], name: str) -> list[Row]:
    return [row for row in known(part, "error_pct") if row["predictor"] == name]


def _ratios(rows: Sequence[Row]) -> str:
    return _range([row["predicted_s"] / row["simulated_s"] for row in rows])


def _cause(rows: Sequence[Row], they: str) -> str | None:
    """Return which part of the predicted time is wrong and how; None: not known, or not the same on all targets.

    Args:
        rows: The results of one predictor.
        they: The pronoun of the predictors that the sentence is about: it or they.
    """
    if len(known(rows, "compute_share", "predicted_compute_share")) < len(rows):
        return None
    shares = column(rows, "compute_share")
    parts = [_Parts(row["simulated_s"], row["compute_share"]) for row in rows]
    predicted_parts = [_Parts(row["predicted_s"], row["predicted_compute_share"]) for row in rows]
    pairs = list(zip(parts, predicted_parts, strict=True))
    by_comm = [abs(b.comm_s - a.comm_s) >= abs(b.compute_s - a.compute_s) for a, b in pairs]
    of_runs = "of the run" if len(rows) == 1 else "of the runs"
    expects, lets = (f"{they} expects", f"{they} lets") if they == "it" else (f"{they} expect", f"{they} let")
    if all(by_comm):
        said = f"{_shares([1 - share for share in shares])} % {of_runs} is communication, "
        if all(_grows_with_nodes(row, b.comm_s) for row, b in zip(rows, predicted_parts, strict=True)):
            return f"{said}and {lets} that grow with the nodes"
        if not all(a.comm_s > 0 for a in parts):
            return None
        if not any(b.comm_s > 0 for b in predicted_parts):
            return f"{said}and {expects} none"
        return f"{said}of which {expects} {_range([b.comm_s / a.comm_s for a, b in pairs])} times as much"
    if not any(by_comm) and all(a.compute_s > 0 for a in parts):
        often = f"{_range([b.compute_s / a.compute_s for a, b in pairs])} times as much"
        return f"{_shares(shares)} % {of_runs} is computation, of which {expects} {often}"
    return None


class _Parts:
    """Computation and communication of a run, s."""

    def __init__(self, time_s: float, compute_share: float) -> None:
        self.compute_s = compute_share * time_s
        self.comm_s = time_s - self.compute_s


def _grows_with_nodes(row: Row, own_comm_s: float) -> bool:
    """Return whether the predicted communication is the probe's times the nodes of the run over those of the probe."""
    nodes = row["ranks"] / len(row["clusters"].split())  # the probe has a node of each cluster
    probed_s = row["probe_cm_s"]
    return nodes > 1 and bool(probed_s) and abs(own_comm_s / probed_s / nodes - 1) <= _SAME


def _costly(results: Sequence[Row]) -> Iterator[str]:
    """Yield the sentence on predictors whose evidence costs more than the run itself."""
    costly = [row for row in known(results, "error_pct", "evidence_share") if row["evidence_share"] > 1]
    if not costly:
        return
    names = distinct(costly, "predictor")
    instead = "running the program" if truth_name(column(results, "truth")) == "measured" else "simulating the run"
    times = _range(column(costly, "evidence_share"))
    yield f"The evidence of {listed(names)} costs {times} times the run: {instead} itself is cheaper."


def _shares(shares: Sequence[float]) -> str:
    return range_text(*(f"{100 * end:.0f}" for end in (min(shares), max(shares))))


def _range(ratios: Sequence[float]) -> str:
    return range_text(*(significant(end, 2) for end in (min(ratios), max(ratios))))


def coverage_text(table: pd.DataFrame, by: Sequence[str] = (), *, wide: bool = False) -> str:
    """Return a table of ``coverage`` as text, and the predictors without intervals below it.

    Args:
        table: The table.
        by: The columns beside ``predictor`` that distinguish its rows.
        wide: Allow lines of any length.
    """
    covered = table[table["intervals"] > 0]
    heads = ("predictor", *by)
    columns: dict[str, Column] = {name: [str(value) for value in covered[name]] for name in heads}
    columns["inside"] = [f"{row.inside} of {row.intervals}" for row in rows_of(covered)]
    columns["%"] = [f"{100 * share:.0f}" for share in covered["coverage"]]
    ends = zip(covered["coverage_low"], covered["coverage_high"], strict=True)
    columns["95 % interval"] = [f"{100 * low:.0f} to {100 * high:.0f}" for low, high in ends]
    columns["below"], columns["above"] = covered["below"].map(str), covered["above"].map(str)
    columns["median width %"] = covered["median_width_pct"].map(significant)
    head = "True times inside the 90 % intervals of the predictions, below and above them; width: % of the true time"
    lines = [*prose_lines(head), "", *table_of(columns, left=heads, wide=wide)] if len(covered) else []
    without = [name for name in dict.fromkeys(table["predictor"]) if name not in set(covered["predictor"])]
    if without:
        lines += ["", *prose_lines(f"No intervals: {', '.join(without)}.")]
    return "\n".join(lines).lstrip("\n")


def interval_sentence(results: Sequence[Row]) -> str | None:
    """Return a sentence on how many true times lie in their intervals, by predictor; None: there are no intervals."""
    covered = known(results, "interval_low_s")
    if not covered:
        return None
    each = [f"{_inside(rows)} of {len(rows)} ({name})" for (name,), rows in rows_by(covered, "predictor").items()]
    without = len(known(results, "predicted_s")) - len(covered)
    rest = f"; {number_of(without, 'prediction')} had none" if without else ""
    computing = any(row.get("compute_share") != 0 for row in covered)
    what = "True times" if computing else "True communication times"
    return f"{what} inside the 90 % intervals: {', '.join(each)}{rest}."


def _inside(covered: Sequence[Row]) -> int:
    return sum(row["interval_low_s"] <= row["simulated_s"] <= row["interval_high_s"] for row in covered)
