"""Text tables of results for a terminal: the times first, the errors, and numbered cautions below."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from apps.results.cautions import kind_of, merged
from platforms.terminal.prose import numbered_lines, prose_lines
from platforms.terminal.quantities import (
    NONE,
    duration,
    duration_beside,
    interval_text,
    percent,
    range_text,
    significant,
)
from platforms.terminal.table import Cell, Group, table_lines
from platforms.wording import number_of
from predictor.answers.regime import TOLERATED_PCT
from predictor.registry import HCF_FAMILY
from validation.comparison.metrics import ALL_APPS
from validation.comparison.rows import Column, Row, column, distinct, known, rows_by


class Notes:
    """The cautions of all predictions, each kind numbered once, in the order of the results.

    Cautions that differ in their numbers only are of one kind.
    """

    def __init__(self, flags: Iterable[str]) -> None:
        """Number the cautions; ``flags`` has those of one prediction in each text, separated by semicolons."""
        self._sentences: dict[str, list[str]] = {}
        for sentence in (caution for text in flags for caution in _cautions(text)):
            self._sentences.setdefault(kind_of(sentence), []).append(sentence)
        self._numbers = {kind: str(number) for number, kind in enumerate(self._sentences, 1)}

    def numbers(self, flags: str) -> str:
        """Return the numbers of one prediction's cautions, with commas between them."""
        return ",".join(sorted({self._numbers[kind_of(caution)] for caution in _cautions(flags)}, key=int))

    def lines(self) -> list[str]:
        """Return the numbered cautions."""
        return numbered_lines([merged(dict.fromkeys(sentences)) for sentences in self._sentences.values()])


def _cautions(flags: str) -> list[str]:
    return [caution for caution in flags.split("; ") if caution]


def refusal_lines(results: Sequence[Row]) -> list[str]:
    """Return a line for each predictor without an answer, with the reason; predictors with one reason share a line.

    A predictor that has different reasons on different targets is shown with the first.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
    """
    refused = [row for row in results if row["predicted_s"] is None]
    cases = Counter(row["predictor"] for row in results)
    names_by_text: dict[str, list[str]] = {}
    for (name,), rows in rows_by(refused, "predictor").items():
        reasons: dict[str, list[str]] = {}
        for row in rows:
            said = row["flags"].removeprefix(name).lstrip(",: ").rstrip(".")
            reasons.setdefault(kind_of(said), []).append(said)
        where = "" if len(rows) == cases[name] else f" on {len(rows)} of {number_of(cases[name], 'target')}"
        more = "" if len(reasons) == 1 else f" (the first of {len(reasons)} reasons)"
        names_by_text.setdefault(f"no answer{where}{more}: {merged(next(iter(reasons.values())))}", []).append(name)
    texts = (f"{listed(names)}: {text}" for text, names in names_by_text.items())
    return [line for text in texts for line in prose_lines(text, indent="  ", first="")]


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """Return names as in a sentence.

    >>> listed(["cg", "mg", "lu"]), listed(["a", "b", "c", "d"], most=2)
    ('cg, mg and lu', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


MOST_TARGETS = 20  # more have no lines of their own
_TARGET = ("scenario", "network", "app", "class", "ranks", "mapping", "efficiency")
_BAR = 24  # characters


def name_of_times(targets: Sequence[Sequence[Row]]) -> str:
    """Return what to call the times of targets: communication times where none of them computes."""
    return "communication time" if all(of_target[0]["compute_share"] == 0 for of_target in targets) else "time"


def answers_lines(results: Sequence[Row]) -> list[str]:
    """Return a line for each simulated target; none if they are many, measured, or of several networks or sizes.

    The interval is the narrowest of its predictions'.

    Args:
        results: The results that have a prediction, with the columns of validation.comparison.compare.Result.
    """
    targets = list(rows_by(known(results, "compute_share"), *_TARGET).values())
    named = {(rows[0]["scenario"], rows[0]["app"], rows[0]["class"]) for rows in targets}
    alike = len(named) == len(targets)
    if not alike or not targets or len(targets) > MOST_TARGETS or {row["truth"] for row in results} == {"measurement"}:
        return []
    several = len(distinct(results, "scenario")) > 1
    rows: list[Sequence[str]] = [
        (
            "program",
            *(["platform"] if several else []),
            name_of_times(targets),
            "90 % interval",
            "computation #, rest .",
            "%",
            "by",
        )
    ]
    for of_target in targets:
        first = of_target[0]
        calibrated = known(of_target, "interval_low_s")
        time_text, interval, by = duration(first["simulated_s"]), NONE, ""
        if calibrated:
            best = min(calibrated, key=lambda row: row["interval_high_s"] - row["interval_low_s"])
            ends = best["interval_low_s"], best["interval_high_s"]
            time_text = duration_beside(first["simulated_s"], *ends)
            interval, by = interval_text(*ends, like_s=first["simulated_s"]), best["predictor"]
        share = min(1.0, max(0.0, first["compute_share"]))
        filled = round(_BAR * share)
        rows.append((
            f"{first['app']} {first['class']}" if first["class"] else first["app"],
            *([first["scenario"]] if several else []),
            time_text,
            interval,
            "#" * filled + "." * (_BAR - filled),
            percent(100 * share),
            by,
        ))  # fmt: skip
    last = len(rows[0]) - 1
    return table_lines(rows, left={0, last - 2, last, *({1} if several else ())})


GOOD_PCT = 5.0  # errors up to this size are green on a terminal, up to TOLERATED_PCT yellow, else red
_NONE = "-"
_LEGEND = "cost: node-seconds of the evidence, % of the run's"
_REPEATS = "repeats: from the shortest to the longest, % of their median; within: the prediction lies between them"
_CASE_COLUMNS = ("network", "class", "ranks", "mapping", "efficiency")


def results_text(results: Sequence[Row], *, energy: bool = False, wide: bool = False) -> str:
    """Return a table with one line per prediction, and below it the cautions and the predictors without an answer.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
        energy: Show energies too.
        wide: Show all columns, such as the probe's times and the iterations.
    """
    answered = known(results, "predicted_s")
    notes = Notes(column(answered, "flags"))
    legend: list[str] = []
    if wide:
        lines = _wide_lines(results, notes, energy=energy)
    else:
        legend = [_LEGEND] if answered else []
        if known(answered, "true_low_s"):
            legend += prose_lines(_REPEATS)
        lines = _grouped_lines(answered, _time_columns(answered, notes), before=answers_lines(answered))
        if energy:
            with_energy = known(answered, "energy_predicted_j")
            lines += ["", "Energies", *_grouped_lines(with_energy, _short_energy_columns(with_energy))]
            lines += [line for note in energy_notes(answered) for line in prose_lines(note)]
    for more in (legend, notes.lines(), refusal_lines(results)):
        lines += ["", *more] if more else []
    return "\n".join(lines).lstrip("\n")


def energy_notes(results: Iterable[Row]) -> list[str]:
    """Return sentences on predicted energies that are missing or rest on default watts, each once."""
    notes = (
        f"No energy: {row['energy_basis']}."
        if row["energy_predicted_j"] is None
        else f"Energies rest on {row['energy_basis']}."
        for row in results
        if row["energy_basis"] is not None
    )
    return list(dict.fromkeys(notes))


def _time_columns(results: Sequence[Row], notes: Notes) -> dict[str, Column]:
    spread: dict[str, Column] = {}
    if known(results, "true_low_s"):
        spread["repeats %"] = [significant(_spread_pct(row)) for row in results]
        spread["within"] = ["yes" if row["in_repeats"] else "no" for row in results]
    return {
        "predicted": [duration(row["predicted_s"], like_s=row["simulated_s"]) for row in results],
        truth_name(column(results, "truth")): [duration(row["simulated_s"]) for row in results],
        **spread,
        "error %": [error_cell(row["error_pct"]) for row in results],
        "cost %": [significant(_percent(row["evidence_share"])) for row in results],
        "caution": [notes.numbers(row["flags"]) for row in results],
    }


def _spread_pct(row: Row) -> float | None:
    if row["true_low_s"] is None:
        return None
    return float(100 * (row["true_high_s"] - row["true_low_s"]) / row["simulated_s"])


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _short_energy_columns(results: Sequence[Row]) -> dict[str, Column]:
    truth = truth_name(column(results, "truth"))
    return {
        "predicted J": [significant(row["energy_predicted_j"]) for row in results],
        truth + " J": [significant(row["energy_simulated_j"]) for row in results],
        "error %": [error_cell(row["energy_error_pct"]) for row in results],
        "EDP J s": [significant(row["edp_predicted_js"]) for row in results],
        truth: [significant(row["edp_simulated_js"]) for row in results],
    }


def _grouped_lines(results: Sequence[Row], columns: Mapping[str, Column], *, before: Sequence[str] = ()) -> list[str]:
    """Return a table whose lines are grouped by platform, ranks and what else differs, under a title for each.

    The lines ``before`` stand before it, behind the title where that is the only one.
    """
    if not results:
        return []
    differing = distinguishing_columns(results, ("mapping", "efficiency"))
    rows: list[Sequence[str | Cell] | Group] = [("program", "predictor", *columns)]
    blank = [""] if before else []
    titles = [_title(row, differing) for row in results]
    several = len(set(titles)) > 1
    above: tuple[str, str] | None = None
    for number, (title, row) in enumerate(zip(titles, results, strict=True)):
        if several and (above is None or above[0] != title):
            rows.append(Group(title))
            above = None
        program = f"{row['app']} {row['class']}" if row["class"] else row["app"]
        shown = "" if above == (title, program) else program
        rows.append((shown, row["predictor"], *(cells[number] for cells in columns.values())))
        above = (title, program)
    lines = table_lines(rows, left={0, 1})
    return [*([] if several else [*prose_lines(titles[0]), ""]), *before, *blank, *lines]


def _title(row: Row, differing: Sequence[str]) -> str:
    network = f", network {row['network']}" if row["network"] else ""
    more = "".join(f", {name} {row[name]}" for name in differing)
    return f"{row['scenario']}{network}, {number_of(row['ranks'], 'rank')}{more}"


def error_cell(error_pct: float | None, *, signed: bool = True) -> str | Cell:
    """Return an error in %, coloured by its size."""
    text = percent(error_pct, signed=signed)
    if error_pct is None or math.isnan(error_pct):
        return text
    size = abs(error_pct)
    return Cell(text, "green" if size <= GOOD_PCT else "yellow" if size <= TOLERATED_PCT else "red")


def _wide_lines(results: Sequence[Row], notes: Notes, *, energy: bool) -> list[str]:
    def formatted(name: str, form: str) -> list[str]:
        return format_column(column(results, name), form)

    columns: dict[str, Column] = {
        "scenario": column(results, "scenario"),
        "app": column(results, "app"),
        **{name: [str(row[name]) for row in results] for name in distinguishing_columns(results)},
        "predictor": column(results, "predictor"),
        "probe T_cp s": formatted("probe_cp_s", "{:.4g}"),
        "probe T_cm s": formatted("probe_cm_s", "{:.4g}"),
        "compute %": format_column((_percent(row["compute_share"]) for row in results), "{:.1f}"),
        "predicted s": formatted("predicted_s", "{:.5g}"),
        truth_name(column(results, "truth")) + " s": formatted("simulated_s", "{:.5g}"),
        "speed-up": format_column((row.get("speedup_predicted") for row in results), "{:.3g}"),
        truth_name(column(results, "truth")): format_column(
            (row.get("speedup_simulated") for row in results), "{:.3g}"
        ),
        "iterations": [
            f"{row['iterations_simulated']}/{row['iterations']}" if row["iterations"] else _NONE for row in results
        ],
        "bound": formatted("extrapolation_bound", "{:.0e}"),
        "error %": [error_cell(row["error_pct"]) for row in results],
        "caution": ["" if row["predicted_s"] is None else notes.numbers(row["flags"]) for row in results],
        "evidence % of run": format_column((_percent(row["evidence_share"]) for row in results), "{:.1f}"),
    }
    if energy:
        columns |= _energy_columns(results)
    return table_of(columns, left=("scenario", "app", "predictor"), wide=True)


def _energy_columns(results: Sequence[Row]) -> dict[str, Column]:
    truth = truth_name(column(results, "truth"))
    return {
        "predicted J": format_column(column(results, "energy_predicted_j"), "{:.5g}"),
        truth + " J": format_column(column(results, "energy_simulated_j"), "{:.5g}"),
        "energy error %": [error_cell(row["energy_error_pct"]) for row in results],
        "EDP predicted J s": format_column(column(results, "edp_predicted_js"), "{:.5g}"),
        "EDP " + truth + " J s": format_column(column(results, "edp_simulated_js"), "{:.5g}"),
    }


def summary_text(
    summary: Sequence[Row], published: Mapping[str, float], *, energy: bool = False, wide: bool = False
) -> str:
    """Return a table of errors with one line per predictor and app, and one per predictor over all apps.

    Lines of a single target are left out, because they would repeat the results; the text is empty if no predictor has
    two targets of one app.

    Args:
        summary: The statistics, as ``summary_rows`` returns them.
        published: The HCF paper's errors by app, shown in the lines of the HCF predictors; empty: not applicable.
        energy: Show the errors of the energy too.
        wide: Show all statistics.
    """
    of_apps = [row for row in summary if row["app"] != ALL_APPS]
    if not any(row["cases"] > 1 for row in of_apps):
        return ""
    apps = Counter(row["predictor"] for row in of_apps)  # with a single app the row over all apps repeats it
    rows = [row for row in summary if row["cases"] > 1 and (row["app"] != ALL_APPS or apps[row["predictor"]] > 1)]

    def errors(name: str, *, signed: bool = False) -> list[str | Cell]:
        return [error_cell(row[name], signed=signed) for row in rows]

    columns: dict[str, Column] = {"predictor": column(rows, "predictor"), "app": column(rows, "app")}
    columns["n"] = [str(row["n"]) if row["n"] == row["cases"] else f"{row['n']} of {row['cases']}" for row in rows]
    if wide:
        columns["mean signed"] = errors("mean_error_pct", signed=True)
    columns["mean"] = errors("mean_abs_error_pct")
    columns["95 % interval"] = format_interval(
        column(rows, "mean_abs_error_low_pct"), column(rows, "mean_abs_error_high_pct")
    )
    columns["median"] = errors("median_abs_error_pct")
    columns["largest"] = errors("max_abs_error_pct")
    if wide:
        columns["R²"] = format_column(column(rows, "r2"), "{:.4g}")
    if energy:
        columns["energy mean"] = [percent(row["mean_abs_energy_error_pct"]) for row in rows]
        if wide:
            columns["energy largest"] = [percent(row["max_abs_energy_error_pct"]) for row in rows]
    if published:
        columns["paper"] = [
            percent(published.get(row["app"]) if row["predictor"] in HCF_FAMILY else None) for row in rows
        ]
    lines = table_of(columns, left=("predictor", "app"), wide=wide)
    return "\n".join(["Absolute errors, %", "", *lines])


def distinguishing_columns(results: Iterable[Row], names: Sequence[str] = _CASE_COLUMNS) -> list[str]:
    """Return those columns of ``names`` that differ between lines of one scenario and app."""
    alike = rows_by(results, "scenario", "app").values()
    return [name for name in names if any(len(distinct(rows, name)) > 1 for rows in alike)]


def truth_name(truths: Iterable[str]) -> str:
    """Return what the truth of results is called, simulated or measured, from their column ``truth``."""
    return "measured" if set(truths) == {"measurement"} else "simulated"


def format_interval(low_pct: Iterable[float | None], high_pct: Iterable[float | None]) -> list[str]:
    """Return a column of intervals from their ends, which are None or NaN if there is none."""
    ends = zip(low_pct, high_pct, strict=True)
    return [_NONE if _missing(low) else range_text(percent(low), percent(high)) for low, high in ends]


def format_column(values: Iterable[float | None], form: str) -> list[str]:
    """Return the formatted values, with a dash for missing ones."""
    return [_NONE if _missing(value) else form.format(value) for value in values]


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)


def table_of(columns: Mapping[str, Column], *, left: Collection[str] = (), wide: bool = False) -> list[str]:
    """Return the lines of a table from its columns by heading; those named in ``left`` are left-aligned."""
    cells = [[cell if isinstance(cell, Cell) else str(cell) for cell in values] for values in columns.values()]
    rows = [list(columns), *zip(*cells, strict=True)]
    return table_lines(rows, left={number for number, name in enumerate(columns) if name in left}, wide=wide)
