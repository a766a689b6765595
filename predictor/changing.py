"""Predictions on platforms whose hosts or links change over time."""

from __future__ import annotations

from dataclasses import replace

from apps.spec import Target
from predictor.base import Prediction


def with_changes(prediction: Prediction, target: Target) -> Prediction:
    """With a flag where the platform file has profiles: a model takes hosts and links for what they are when probed."""
    changes = target.changes
    if not changes:
        return prediction
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    flag = f"the platform changes over time, which is not followed: {changes[0]}{more}"
    return replace(prediction, flags=(*prediction.flags, flag))
