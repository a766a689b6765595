"""Runs inside Extra-P's own environment, as a script: a series of measurements on each line, its model on each answer.

In, one JSON object per line: ``ranks`` and ``values`` of equal length, ``negative_exponents``, and ``at``, a number of
ranks.  Out, one per line: first {"version"}, then for each series {"function", "terms", "smape_pct", "warnings"}, or
{"error"}.  ``function`` is the model as Extra-P writes it; ``terms`` are [text, value] of its terms at ``at``, whose
sum is what the model says there; ``smape_pct`` is Extra-P's measure of how far the measurements are from the model.
"""

import json
import sys
import warnings
from typing import Any

import extrap
from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.modelers.single_parameter.basic import SingleParameterModeler

CONSTANT = "constant"


def model(series: dict[str, Any]) -> dict[str, Any]:
    """The answer to one line."""
    modeler = SingleParameterModeler()
    modeler.allow_negative_exponents = series["negative_exponents"]
    measurements = [
        Measurement(Coordinate(float(ranks)), Callpath("run"), Metric("time"), [value])
        for ranks, value in zip(series["ranks"], series["values"], strict=True)
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hypothesis = modeler.create_model(measurements).hypothesis
    function, at = hypothesis.function, float(series["at"])
    terms = [[CONSTANT, function.constant_coefficient]] if function.constant_coefficient else []
    for term in function.compound_terms:
        text = " ".join(factor.to_string("P") for factor in term.simple_terms)
        terms.append([text, term.evaluate(at)])
    return {
        "function": function.to_string("P"),
        "terms": [[text, float(value)] for text, value in terms],
        "smape_pct": float(hypothesis.SMAPE),
        "warnings": [str(one.message) for one in caught if issubclass(one.category, UserWarning)],
    }


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever else prints does not get between the answers
    print(json.dumps({"version": extrap.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = model(json.loads(line))
        except Exception as err:  # of a foreign program: whoever asked is to hear of it
            answer = {"error": f"{type(err).__name__}: {err}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
