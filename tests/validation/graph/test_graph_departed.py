"""A simulation beside the graph, of a program that differs from the run in which its computation was timed."""

from dataclasses import dataclass

from apps.errors import Departed
from validation.graph.compare import simulation


@dataclass(frozen=True)
class Spec:
    target: str
    work: str | None


def test_a_run_that_departs_from_what_was_timed_is_made_without_it(monkeypatch):
    asked = []

    def recorded(spec, iterations, **_):
        asked.append(spec)
        if spec.work is not None:
            raise Departed("another call", "")
        return "the recording"

    monkeypatch.setattr("validation.graph.compare.run_recorded", recorded)
    assert simulation(Spec("first", "timed"), 3, time_limit_s=None)("other") == "the recording"
    assert asked == [Spec("other", "timed"), Spec("other", None)]
