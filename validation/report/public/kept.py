"""Contents of a page from results that were kept, and published data, named by a hash of their content."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from platforms.errors import UserError, printable
from platforms.files.reading import input_text
from validation.report.gather import Gathered, Invocation, PredictionNote


def gathered_of(rows: Sequence[dict[str, Any]], invocation: Invocation, kept: tuple[str, ...]) -> Gathered:
    """Return the contents of the page of these rows.

    Control characters in texts are escaped.

    Args:
        rows: Results, with all their columns.
        invocation: The command that the page shows.
        kept: Names of the files of the results.
    """
    # Imported here because it is slow to import.
    from validation.comparison.rows import CASE

    cases: dict[tuple[object, ...], int] = {}
    notes = []
    for row in rows:
        case = cases.setdefault(tuple(row[name] for name in CASE), len(cases))
        refusal = (row["flags"] or "the reason is not kept") if row["predicted_s"] is None else None
        notes.append(PredictionNote(case, {}, refusal, None))
    shown = [
        {name: printable(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    ]
    return Gathered(invocation, rows=shown, notes=notes, kept=kept)


def _printable(row: dict[str, Any]) -> dict[str, Any]:
    return {name: printable(value) if isinstance(value, str) else value for name, value in row.items()}


Kind = Literal["results", "clusters"]
KINDS: tuple[Kind, ...] = ("results", "clusters")
CLUSTER_COLUMNS = ("cluster", "program", "predictor", "error", "within", "cost")
ID_DIGITS = 16  # of the SHA-256 of the content
_REMEDY = "Name the clusters.csv of make clusters, or a table with its columns"


@dataclass(frozen=True)
class Published:
    """Data of a site.

    Attributes:
        kind: What the rows are: predictions as in results.csv, or errors on real clusters.
        rows: Rows by column; errors on real clusters are relative to the measured time.
        name: Name of the file or folder that they came from.
        day: Day of their publication.
    """

    kind: Kind
    rows: tuple[dict[str, Any], ...]
    name: str
    day: date

    @property
    def content(self) -> bytes:
        """Return the rows as the bytes of a JSON file that ``gridval report`` reads."""
        return content_of(self.kind, self.rows)

    @property
    def id(self) -> str:
        """Return the name of the rows in addresses, which depends on nothing else."""
        return id_of(self.content)


def content_of(kind: Kind, rows: Sequence[dict[str, Any]]) -> bytes:
    """Return rows as a JSON file with one row per line."""
    lines = ",\n".join(json.dumps(row, sort_keys=True, allow_nan=False) for row in rows)
    return f'{{"{kind}": [\n{lines}\n]}}\n'.encode()


def id_of(content: bytes) -> str:
    """Return the name of a file's content in addresses."""
    return hashlib.sha256(content).hexdigest()[:ID_DIGITS]


def kept_results(path: str, day: date | None) -> Published:
    """Return the results in a file or folder, published on this day or on that of the file's last change.

    Raises:
        UserError: The file cannot be read, or holds no results.
    """
    # Imported here because it is slow to import.
    from validation.comparison.kept import read_results, rows_of_results

    rows = [{key: _plain(value) for key, value in row.items()} for row in rows_of_results(read_results(path))]
    file = Path(path) / "results.csv" if Path(path).is_dir() else Path(path)
    return Published("results", tuple(rows), _name(path), day or _changed(file))


def kept_clusters(path: str, day: date | None) -> Published:
    """Return the league of real clusters in a CSV file, published on this day or on that of the file's last change.

    Raises:
        UserError: The file cannot be read, or is not such a table.
    """
    # Imported here because it is slow to import.
    import pandas as pd

    try:
        table = pd.read_csv(
            StringIO(input_text(path)), dtype={name: str for name in CLUSTER_COLUMNS[:3]} | {"within": str}
        )
    except (OSError, ValueError) as err:
        raise UserError(path, str(getattr(err, "strerror", None) or err).splitlines()[0], _REMEDY) from err
    missing = [name for name in CLUSTER_COLUMNS if name not in table]
    if missing or table.empty:
        problem = f"no column {', '.join(missing)}" if missing else "no rows"
        raise UserError(path, problem, _REMEDY)
    rows = [_cluster_row(path, line, row) for line, row in enumerate(table.to_dict("records"), 2)]
    return Published("clusters", tuple(rows), _name(path), day or _changed(Path(path)))


def _cluster_row(path: str, line: int, row: dict[Any, Any]) -> dict[str, Any]:
    texts = {name: row[name] for name in CLUSTER_COLUMNS[:3]}
    empty = [name for name, text in texts.items() if not isinstance(text, str)]
    if empty:
        raise UserError(f"{path}:{line}", f"no {empty[0]}", _REMEDY)
    within = {"true": True, "false": False}.get(str(row["within"]).lower()) if _plain(row["within"]) else None
    if _plain(row["within"]) is not None and within is None:
        raise UserError(f"{path}:{line}", f"within is {row['within']!r}", "Write true, false or nothing")
    try:
        error, cost = float(row["error"]), float(row["cost"])
    except ValueError as err:
        raise UserError(f"{path}:{line}", "error or cost is no number", _REMEDY) from err
    if not math.isfinite(error):
        raise UserError(f"{path}:{line}", "no finite error", _REMEDY)
    return {**texts, "error": error, "within": within, "cost": _plain(cost)}


def _plain(value: Any) -> Any:
    """Return the value as JSON has it: no number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _name(path: str) -> str:
    return Path(path).resolve().name


def _changed(file: Path) -> date:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).date()
