"""Total cost of the evidence of many predictions; evidence that several predictions share is counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from apps.store.identity import identity_hash
from predictor.base import Cost
from validation.comparison.metrics import ALL_APPS
from validation.ranking.standing import SIMULATE

if TYPE_CHECKING:
    from apps.results.record import RunRecord
    from predictor.answers.answers import Answer
    from validation.comparison.compare import Result


class EvidenceCosts:
    """Collects the evidence of answers by app and predictor; that of ``simulate`` is the runs of all targets."""

    def __init__(self) -> None:
        self._evidence: dict[tuple[str, str], dict[str, Cost]] = {}
        self._once_node_s: dict[tuple[str, str], dict[str, float]] = {}  # with one repeat of each run
        self._answer_wall_s: dict[tuple[str, str], float] = {}

    def witness(self, answer: Answer, truth: RunRecord, result: Result) -> None:
        """Record an answer and its truth; a series calls this as its witness."""
        for app in (result.app, ALL_APPS):
            key = app, answer.predictor
            self._evidence.setdefault(key, {}).update({piece.id: piece.cost for piece in answer.evidence})
            self._once_node_s.setdefault(key, {}).update({piece.id: piece.once_node_s for piece in answer.evidence})
            self._answer_wall_s[key] = self._answer_wall_s.get(key, 0.0) + answer.wall_s
            run = identity_hash(truth.identity)
            self._evidence.setdefault((app, SIMULATE), {})[run] = Cost(truth.node_seconds, truth.wall_s)
            self._once_node_s.setdefault((app, SIMULATE), {})[run] = truth.once_node_s

    def table(self) -> pd.DataFrame:
        """Return a table with the costs by app (and ``all``) and predictor.

        Column evidence_node_s has the node-seconds of all evidence, wall_s the wall seconds of evidence and answers,
        and evidence_share the ratio of the node-seconds to those of the targets' own runs, each run counted once.
        """
        rows = []
        for (app, predictor), evidence in self._evidence.items():
            cost = sum(evidence.values(), Cost())
            once_s, runs_s = (sum(self._once_node_s[app, name].values()) for name in (predictor, SIMULATE))
            wall_s = cost.wall_s + self._answer_wall_s.get((app, predictor), 0.0)
            rows.append((app, predictor, cost.node_s, once_s / runs_s, wall_s))
        return pd.DataFrame(rows, columns=["app", "predictor", "evidence_node_s", "evidence_share", "wall_s"])
