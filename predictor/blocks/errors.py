"""Errors of evaluations that callers tell apart."""

from platforms.errors import UserError
from predictor.base import OutOfRange


class SettingError(UserError):
    """An option, a model or a calibration that is wrong; an application may run all the same."""


class OutOfModel(SettingError, OutOfRange):
    """A block that a model does not know."""


class NoGraph(SettingError):
    """An application that is too large for the graph of its messages, which was asked for."""
