"""Script that runs in Extra-P's own environment: reads series of measurements and writes their models.

Input, one JSON object per line: ``ranks`` and ``values`` of equal length, ``negative_exponents``, and ``at``, a number
of ranks.  Output, one JSON object per line: first {"version"}, then for each series {"function", "terms", "smape_pct",
"warnings"} or {"error"}.  ``function`` is the model in Extra-P's notation; ``terms`` holds [text, value] of each term
at ``at``, and the sum of the values is the model's value there; ``smape_pct`` is Extra-P's measure of the distance
between the measurements and the model.
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
    """Return the answer to one series."""
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
        "warnings": [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)],
    }


def main() -> None:
    """Answer every line of standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr  # other output goes to standard error, not between the answers
    print(json.dumps({"version": extrap.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = model(json.loads(line))
        except Exception as err:  # Extra-P may raise anything; the caller gets the error
            answer = {"error": f"{type(err).__name__}: {err}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
