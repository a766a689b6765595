"""The paper's Tables 2 to 4 and Figures 6 and 7 beside the same of the simulated machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from apps.programs.problem import problem
from apps.recording.events import Mode
from apps.runs.plan import Plan
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.files.writing import write_csv
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.read.read import materialise
from platforms.terminal.prose import prose_lines
from platforms.terminal.table import table_lines
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.evidence.plan import planned
from predictor.registry import predictors
from predictor.sends import tables as li_tables
from predictor.sends.components import percentage_error
from predictor.sends.send_model import Line, Side
from predictor.sends.tables import INTEGER_BYTES
from validation.comparison.rows import records
from validation.modes.machines import CLUSTERS
from validation.modes.messages import message_specs, read_costs
from validation.modes.study import MODES, Study, messages, study

CLUSTER = "li-1"
CLASSES = ("A", "B")
NODES = (2, 4, 6, 8, 10, 12, 14, 16)
# The printed formula and the variant in which sends and receives overlap; each from the class itself on fewer nodes,
# and from smaller classes.
PREDICTORS = ("dpgraph:li", "dpgraph:li-duplex", "dpgraph:li-size", "dpgraph:li-size-duplex")


def targets(platform: Platform, classes: Sequence[str] = CLASSES, nodes: Sequence[int] = NODES) -> list[Target]:
    """Return IS of each class on each number of nodes."""
    return [Target(problem("is", name), platform, block(platform, P)) for name in classes for P in nodes]


def integer_sort(platform: Platform, asked: Sequence[Target], runner: Runner) -> pd.DataFrame:
    """Return one row per target and predictor: class, nodes, predictor, simulated_s, predicted_s and error_pct.

    Args:
        platform: The cluster.
        asked: The targets, of ``targets``.
        runner: Makes the runs.

    Raises:
        SimulationError: A run failed.
    """
    settings = Settings()
    runner.start(settings.spec(target) for target in asked)
    broker = Broker.of(settings, asked, runner)
    answers = {model.name: predict(model, asked, broker) for model in predictors(PREDICTORS)}
    records = [runner.record(settings.spec(target)) for target in asked]

    def rows() -> Iterator[dict[str, Any]]:
        for at, (target, record) in enumerate(zip(asked, records, strict=True)):
            for name, of_predictor in answers.items():
                prediction = of_predictor[at].prediction
                assert prediction is not None  # ``predict`` raises otherwise
                predicted_s = prediction.time_s
                yield {
                    "class": target.problem.preset,
                    "nodes": target.nranks,
                    "predictor": name,
                    "simulated_s": record.time_s,
                    "predicted_s": predicted_s,
                    "error_pct": percentage_error(predicted_s, record.time_s),
                }

    return pd.DataFrame(rows())


_ENDS = {Side.SENDER: "S", Side.RECEIVER: "R"}


@dataclass(frozen=True)
class Paper:
    """The tables of the paper with ours, as one data frame each, and the studies that they come from.

    - ``table-2``: columns cluster, mode, side, integers, paper_s, simulated_s and error_pct.
    - ``table-3``: cluster, mode, side, and c in microseconds per integer and k_l in ms: as printed (paper), of our fit
      of the paper's Table 2 (fit), and of the fit of simulated times (simulated).
    - ``table-4``: cluster, mode, integers; measured_s, predicted_s and error_pct as printed; the prediction of our fit
      (fit_s) and its error; simulated_s, the prediction of the lines of simulated times (line_s) and its error.
    - ``figure-7``: as ``integer_sort``.
    """

    studies: Mapping[str, Study]
    tables: Mapping[str, pd.DataFrame]


def paper(runner: Runner) -> Paper:
    """Make the runs and return the tables.

    Raises:
        SimulationError: A run failed.
    """
    platforms = {name: materialise(named_grid(name)) for name in CLUSTERS}
    studies = {name: study(name, platform, read_costs(name), runner) for name, platform in platforms.items()}
    made = {
        "table-2": pd.DataFrame(_table_2(studies)),
        "table-3": pd.DataFrame(_table_3(studies)),
        "table-4": pd.DataFrame(_table_4(studies)),
        "figure-7": integer_sort(platforms[CLUSTER], targets(platforms[CLUSTER]), runner),
    }
    return Paper(studies, made)


def planned_paper() -> Plan:
    """Return the simulations that ``paper`` needs."""
    platforms = {name: materialise(named_grid(name)) for name in CLUSTERS}
    runs = tuple(
        spec
        for name, platform in platforms.items()
        for spec in message_specs(platform, messages(), read_costs(name)).values()
    )
    sort = planned([(Settings(), targets(platforms[CLUSTER]))], predictors(PREDICTORS))
    return sort.joined(Plan(truths=runs))


def _table_2(studies: Mapping[str, Study]) -> Iterator[dict[str, Any]]:
    for name, cluster_study in studies.items():
        for row in cluster_study.reproduced.to_dict("records"):
            yield {
                "cluster": name, "mode": row["mode"], "side": row["side"], "integers": row["integers"],
                "paper_s": row["published_s"], "simulated_s": row["simulated_s"], "error_pct": row["error_pct"],
            }  # fmt: skip


def _table_3(studies: Mapping[str, Study]) -> Iterator[dict[str, Any]]:
    printed = {(row.cluster, row.mode, row.side): row for row in li_tables.published_models()}
    for name, cluster_study in studies.items():
        cluster = CLUSTERS[name]
        for mode in MODES:
            for side in Side:
                row = printed.get((cluster, mode, side))
                lines = {
                    "fit": li_tables.model(cluster).line(mode, side),
                    "simulated": cluster_study.model.line(mode, side),
                }
                yield {
                    "cluster": name, "mode": mode.name.lower(), "side": side.value,
                    "paper_c_us": None if row is None else row.c_s_per_byte.value * INTEGER_BYTES * 1e6,
                    **{f"{whose}_c_us": _c_us(line) for whose, line in lines.items()},
                    "paper_k_ms": None if row is None else row.k_l_s.value * 1e3,
                    **{f"{whose}_k_ms": line.k_s * 1e3 for whose, line in lines.items()},
                }  # fmt: skip


def _c_us(line: Line) -> float:
    return line.c_s_per_byte * INTEGER_BYTES * 1e6


def _table_4(studies: Mapping[str, Study]) -> Iterator[dict[str, Any]]:
    for name, cluster_study in studies.items():
        simulated = {
            (row["mode"], row["size_bytes"]): row
            for row in cluster_study.predicted.to_dict("records")
            if row["side"] == Side.SENDER
        }
        for row in li_tables.predictions():
            if row.cluster != CLUSTERS[name]:
                continue
            ours, mode = simulated[row.mode.name.lower(), row.size_bytes], Mode(row.mode)
            fit_s = li_tables.model(row.cluster).line(mode, Side.SENDER).time_s(row.size_bytes)
            yield {
                "cluster": name, "mode": mode.name.lower(), "integers": row.size_bytes // INTEGER_BYTES,
                "measured_s": row.measured_s.value, "predicted_s": row.predicted_s.value,
                "error_pct": row.error_pct.value, "fit_s": fit_s,
                "fit_error_pct": percentage_error(fit_s, row.measured_s.value),
                "simulated_s": ours["simulated_s"], "line_s": ours["predicted_s"], "line_error_pct": ours["error_pct"],
            }  # fmt: skip


def paper_json(reproduction: Paper) -> dict[str, Any]:
    """Return the tables as lists of rows."""
    return {name: records(table) for name, table in reproduction.tables.items()}


def write_tables(reproduction: Paper, folder: Path) -> None:
    """Write each table as CSV.

    Raises:
        OSError: A file cannot be written.
    """
    for name, table in reproduction.tables.items():
        write_csv(table, folder / f"{name}.csv")


def paper_text(reproduction: Paper, *, wide: bool = False) -> str:
    """Return the tables as text.

    Args:
        reproduction: The tables.
        wide: They may be wider than the terminal.
    """
    parts = []
    for name in reproduction.studies:
        tables = {
            title: table[table["cluster"] == name] for title, table in reproduction.tables.items() if "cluster" in table
        }
        parts += [
            (f"{name}: Table 2, s, by integers, as printed and simulated (S: sender, R: receiver)",
             _rows_2(tables["table-2"])),
            (f"{name}: Table 3, c in us per integer and k_l in ms: as printed, fitted to Table 2 (fit), and to "
             "simulated times (sim.)", _rows_3(tables["table-3"])),
            (f"{name}: Table 4, the sender's time in s and the error of its prediction in %: as printed, by the fit "
             "of Table 2, and of simulated times by their own lines", _rows_4(tables["table-4"])),
        ]  # fmt: skip
    parts.append(
        (f"Figure 7: IS on {CLUSTER}, simulated time in s, and errors of predictions in %", _rows_7(reproduction))
    )
    lines = []
    for title, rows in parts:
        lines += [*prose_lines(title), "", *table_lines(rows, left={0}, wide=wide), ""]
    lines += prose_lines(
        "size: from smaller classes, with the size as an input; duplex: sends and receives at the same time; the "
        "others add them up, as the printed formula says"
    )
    return "\n".join(lines)


def _rows_2(table: pd.DataFrame) -> list[tuple[str, ...]]:
    sizes = list(dict.fromkeys(table["integers"]))
    rows: list[tuple[str, ...]] = [("mode", "", *(f"{size // 1000}k" for size in sizes))]
    for (mode, side), part in table.groupby(["mode", "side"], sort=False):
        for whose, column in (("paper", "paper_s"), ("ours", "simulated_s")):
            first = f"{mode}, {_ENDS[Side(str(side))]}" if whose == "paper" else ""
            rows.append((first, whose, *(f"{time_s:.4f}" for time_s in part[column])))
    return rows


def _rows_3(table: pd.DataFrame) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("mode", "c paper", "fit", "sim.", "k_l paper", "fit", "sim.")]
    for row in table.to_dict("records"):
        numbers = [row[f"{whose}_c_us"] for whose in ("paper", "fit", "simulated")]
        more = [row[f"{whose}_k_ms"] for whose in ("paper", "fit", "simulated")]
        shown = [*(_number(value, ".6f") for value in numbers), *(_number(value, "+.3f") for value in more)]
        rows.append((f"{row['mode']}, {_ENDS[row['side']]}", *shown))
    return rows


def _rows_4(table: pd.DataFrame) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("mode", "integers", "measured", "paper", "%", "fit", "%", "sim.", "line", "%")]
    for row in table.to_dict("records"):
        rows.append((
            row["mode"], f"{row['integers'] // 1000}k", f"{row['measured_s']:.4f}", f"{row['predicted_s']:.4f}",
            f"{row['error_pct']:+.2f}", f"{row['fit_s']:.4f}", f"{row['fit_error_pct']:+.2f}",
            f"{row['simulated_s']:.4f}", f"{row['line_s']:.4f}", f"{row['line_error_pct']:+z.2f}",
        ))  # fmt: skip
    return rows


def _rows_7(reproduction: Paper) -> list[tuple[str, ...]]:
    table = reproduction.tables["figure-7"]
    names = [name.removeprefix("dpgraph:") for name in PREDICTORS]
    rows: list[tuple[str, ...]] = [("class", "nodes", "simulated", *names)]
    for (preset, nodes), part in table.groupby(["class", "nodes"], sort=False):
        errors = {row["predictor"]: f"{row['error_pct']:+.2f}" for row in part.to_dict("records")}
        time_s = f"{part['simulated_s'].iloc[0]:.4g}"
        rows.append((str(preset), str(nodes), time_s, *(errors[name] for name in PREDICTORS)))
    return rows


def _number(value: float | None, form: str) -> str:
    return "-" if value is None or value != value else format(value, form)
