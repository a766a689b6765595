"""Contents of a report, collected during a validation and written at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from apps.spec.run_spec import RunSpec
    from apps.spec.settings import Settings
    from apps.spec.target import Target
    from predictor.base import Evidence


@dataclass(frozen=True)
class ListedRun:
    """A simulation that the results are based on."""

    spec: RunSpec
    iterations: int  # number of simulated iterations
    time_s: float  # time of all iterations
    messages: int  # sent by all ranks in the simulated iterations
    command: tuple[str, ...]  # command of the record
    asked_by: str  # name of the predictor that asked for the run first; empty: the run is a truth


@dataclass(frozen=True)
class ReportedTarget:
    """A target and its truth."""

    target: Target
    mapping: str
    measured: bool  # whether the truth was measured on a real machine
    time_s: float
    compute_s: float | None  # computation time of the rank that computes longest; None: unknown
    period_s: float | None  # mean time of an iteration; None: there are no iterations, or all were simulated
    run: ListedRun | None  # None: the truth was measured


@dataclass(frozen=True)
class PredictionNote:
    """Data of a prediction that the report needs besides its result row, which has the same index."""

    case: int  # index in Gathered.cases, if there are any
    parts: Mapping[str, float]  # parts of the predicted time, s
    refusal: str | None  # reason why there is no prediction
    evidence: tuple[str, ...] | None  # kinds of its evidence, as in EvidenceRequest; None: they are not kept
    no_interval: str | None = None  # reason why the prediction has no interval
    bottleneck: str | None = None  # what takes most of the predicted time


@dataclass(frozen=True)
class GraphNote:
    """An answer of a graph predictor, with all evidence that it asked for."""

    predictor: str
    target: Target
    predicted_s: float
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Invocation:
    """The command, as the user wrote it."""

    command: tuple[str, ...]  # the words of the command line
    file: tuple[str, str] | None = None  # name and text of a campaign file
    truth: str | None = None  # file of the measured times
    energy: bool = False  # whether energies are shown
    platform_words: tuple[str, ...] = ()  # options of platforms.make that describe the only platform


@dataclass
class Gathered:
    """All contents of a report except the runs that are recorded for its pictures."""

    invocation: Invocation
    settings: list[Settings] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)  # as Result.to_json of validation.comparison returns them
    notes: list[PredictionNote] = field(default_factory=list)
    cases: list[ReportedTarget] = field(default_factory=list)
    graphs: list[GraphNote] = field(default_factory=list)  # the first answer of a graph predictor for each program
    runs: list[ListedRun] = field(default_factory=list)  # without duplicates
    failures: list[tuple[str, str]] = field(default_factory=list)  # target and error
    run_cautions: list[str] = field(default_factory=list)  # about the simulations, those of the evidence included
    interrupted: str | None = None  # reason of an early end; None: the validation is complete
    kept: tuple[str, ...] = ()  # files from which the rows were read; then the rows and their notes are all there is
    links: tuple[tuple[str, str], ...] = ()  # texts and addresses of links to other pages

    @property
    def results(self) -> pd.DataFrame:
        """Results with one row per prediction and the columns of validation.comparison.compare.Result."""
        # Imported here because they are slow to import.
        import pandas as pd

        from validation.comparison.compare import COLUMNS

        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    @property
    def answered(self) -> int:
        """Number of rows that have a prediction."""
        return sum(note.refusal is None for note in self.notes)

    @property
    def targets(self) -> int:
        """Number of targets that have rows."""
        return len({note.case for note in self.notes})
