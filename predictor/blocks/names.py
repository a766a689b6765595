"""Names of blocks, of power laws, of evaluators, of models that use a system's own data; errors of evaluations."""

from platforms.errors import UserError, nearest
from predictor.base import OutOfRange

COMMUNICATION = ("p2p", "bcast", "scatter", "gather", "alltoall", "barrier", "disk_read", "disk_write")
COLLECTIVES = ("bcast", "scatter", "gather", "alltoall", "barrier")  # blocks that any number of processes take part in
MADE_OF = {"reduce": ("gather",), "allreduce": ("gather", "bcast"), "allgather": ("alltoall",)}
REDUCTIONS = tuple(MADE_OF)  # collectives that no block model has, made of others (machines/collectives.py)
HARDWARE, SIMGRID = "hardware", "simgrid"  # models based on the system's own data; all others are block models
POWER_LAWS = ("monotone", "printed")
POWER_RULES = ("idle-waiting", "active-waiting", "paper")  # of predictor.blocks.machines.power
GRAPH, COHORTS = EVALUATORS = ("graph", "cohorts")  # of predictor.blocks.evaluation.choice
P_COUNTS = ("nodes", "processes")  # readings of P in Table 1
ERRORS = ("mpe", "mse")  # that fits minimise: mean percentage error, mean squared error


class SettingError(UserError):
    """An option, a model or a calibration that is wrong; an application may run all the same."""


class OutOfModel(SettingError, OutOfRange):
    """A block that a model does not know."""


class NoGraph(SettingError):
    """An application that is too large for the graph of its messages, which was asked for."""


def check_rule(rule: str) -> None:
    """Check the name of a power rule.

    Raises:
        UserError: The name is not in POWER_RULES.
    """
    if rule not in POWER_RULES:
        raise SettingError(f"--power {rule}", "no such rule", nearest(rule, POWER_RULES))
