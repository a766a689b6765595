"""What the evidence behind many predictions costs together: what several of them rest on is paid once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apps.identity import identity_hash
from predictor.base import Cost
from validation.league.standing import SIMULATE
from validation.metrics import ALL_APPS

if TYPE_CHECKING:
    import pandas as pd

    from apps.record import RunRecord
    from predictor.predict import Answer
    from validation.compare import Result


class EvidenceCosts:
    """Collects the evidence of answers, by app and predictor; ``simulate`` has the runs of all targets."""

    def __init__(self) -> None:
        self._evidence: dict[tuple[str, str], dict[str, Cost]] = {}
        self._answer_wall_s: dict[tuple[str, str], float] = {}

    def witness(self, answer: Answer, truth: RunRecord, result: Result) -> None:
        """Takes note of an answer and of its truth, as ``validate`` tells them."""
        for app in (result.app, ALL_APPS):
            key = app, answer.predictor
            self._evidence.setdefault(key, {}).update({one.id: one.cost for one in answer.evidence})
            self._answer_wall_s[key] = self._answer_wall_s.get(key, 0.0) + answer.wall_s
            run = identity_hash(truth.identity)
            self._evidence.setdefault((app, SIMULATE), {})[run] = Cost(truth.node_seconds, truth.wall_s)

    def table(self) -> pd.DataFrame:
        """Columns app (``all`` too), predictor; evidence_node_s and wall_s of all its evidence, with its answers, and
        evidence_share of the node-seconds of the targets' own runs."""
        import pandas as pd

        rows = []
        for (app, predictor), evidence in self._evidence.items():
            cost = sum(evidence.values(), Cost())
            runs = sum(self._evidence[app, SIMULATE].values(), Cost())
            wall_s = cost.wall_s + self._answer_wall_s.get((app, predictor), 0.0)
            rows.append((app, predictor, cost.node_s, cost.node_s / runs.node_s, wall_s))
        return pd.DataFrame(rows, columns=["app", "predictor", "evidence_node_s", "evidence_share", "wall_s"])
