"""Predictions on platforms whose hosts or links change over time."""

from __future__ import annotations

from dataclasses import replace

from apps.spec.target import Target
from predictor.base import Prediction


def with_changes(prediction: Prediction, target: Target) -> Prediction:
    """Return the prediction, with a flag added where the platform has profiles.

    A model assumes that hosts and links stay as they were when they were probed.
    """
    changes = target.changes
    if not changes:
        return prediction
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    flag = f"the platform changes over time, which the prediction ignores: {changes[0]}{more}"
    return replace(prediction, flags=(*prediction.flags, flag))
