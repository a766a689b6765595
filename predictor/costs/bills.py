"""The bill of a prediction: its cost by the predicted time, and its emissions by the predicted energy of each host."""

from apps.spec.target import Target
from platforms.prices.bill import Bill, bill
from platforms.prices.options import CostQuestion
from predictor.answers.energy import busy_throughout, host_energy
from predictor.base import HostLoad, Prediction

_IDLE = HostLoad(0.0, 0.0, 0.0)


def host_energies(prediction: Prediction, target: Target) -> dict[str, float] | None:
    """Return the predicted energy of each host in use, J; None: it is not known.

    Their sum is the energy of the prediction (predictor/answers/energy.py): where the model predicts no loads, an upper
    bound.
    """
    if prediction.energy_j is None:
        return None
    known = prediction.loads is not None
    span_s = prediction.energy_span_s if known else prediction.time_s
    loads = prediction.loads if prediction.loads is not None else busy_throughout(target, prediction.time_s)
    energies_j = {}
    for name in dict.fromkeys(target.placement):
        host = target.platform.host(name)
        if host.power is None:
            return None
        energy = host_energy(host.power, host.cores, span_s, loads.get(name, _IDLE))
        energies_j[name] = energy.middle_j if known else energy.high_j
    return energies_j


def predicted_bill(question: CostQuestion, prediction: Prediction, target: Target) -> Bill:
    """Return the bill of a prediction.

    Raises:
        UserError: A series of emissions has no values for the time of the run.
    """
    return bill(
        question,
        target.platform,
        target.placement,
        time_s=prediction.time_s,
        energies_j=host_energies(prediction, target),
        no_energy=prediction.energy_basis,
    )
