"""The command ``gridval predict`` with --price and --carbon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from apps.options.exit_status import exit_status
from apps.options.machines import machine_from_request, machines_platform
from platforms.command.command import Command
from platforms.options import platform_from_request
from platforms.prices.bill import Bill
from platforms.prices.options import CostOptions, costs_from_request
from platforms.terminal.prose import prose_lines
from predictor import predict
from predictor.answers.text import answer_lines
from predictor.costs.bills import predicted_bill
from predictor.predict import Predictions, PredictRequest, say_cautions


@dataclass(frozen=True, kw_only=True)
class CostedPredictRequest(PredictRequest, CostOptions):
    """Targets to predict, with prices and emissions."""


@dataclass(frozen=True)
class CostedPredictions(Predictions):
    """Answers with their bills; an answer without a prediction has None."""

    bills: Sequence[Bill | None] = ()

    def text(self) -> str:
        """Return the answers, each with its bill, and the places of the ranks as lines of text."""
        lines = []
        for best, made in zip(self.answers, self.bills, strict=True):
            lines += answer_lines(best.answer, why=None if self.chosen else best.why())
            most = best.answer.prediction is not None and best.answer.prediction.loads is None
            for said in () if made is None else made.lines(most=most):
                lines += prose_lines(said, indent="    ")
        return "\n".join([*lines, *prose_lines(self._places())])

    def to_json(self) -> dict[str, Any]:
        """Return the answers with their bills, and the cautions as JSON values."""
        made = super().to_json()
        for entry, of_answer in zip(made["predictions"], self.bills, strict=True):
            entry["bill"] = None if of_answer is None else of_answer.to_json()
        return made


def answer(request: CostedPredictRequest) -> Predictions | int:
    """Predict what a request asks for, with the bills that it asks for; --dry-run returns the exit status."""
    question = costs_from_request(request)
    if question.asked:  # names that the platform does not have are refused before anything runs
        machine = machine_from_request(request)
        question.check(platform_from_request(request) if machine is None else machines_platform(request, machine))
    made = predict.answer(request)
    if isinstance(made, int) or not question.asked:
        return made
    answers = [best.answer for best in made.answers]
    bills = [
        None if answer.prediction is None else predicted_bill(question, answer.prediction, answer.target)
        for answer in answers
    ]
    values = {field.name: getattr(made, field.name) for field in fields(made)}
    return CostedPredictions(**values, bills=bills)


COMMAND = Command(
    "predict", CostedPredictRequest, answer, (predict.__doc__ or "").partition("\n")[0], after=say_cautions,
    status=exit_status,
)  # fmt: skip
main = COMMAND.main
