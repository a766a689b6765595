"""The first lines of results: one for each target, by hand."""

from validation.presentation.tables import MOST_TARGETS, answers_lines


def row(app="cg", predictor="hcf", low_s=8.0, high_s=12.5, **more):
    of_target = {"scenario": "site", "network": None, "class": "S", "ranks": 4, "mapping": "block", "efficiency": 1.0}
    simulated = {"simulated_s": 10.0, "compute_share": 0.25, "truth": "simulation"}
    ends = {"interval_low_s": low_s, "interval_high_s": high_s}
    return {**of_target, **simulated, **ends, "app": app, "predictor": predictor, **more}


def test_a_target_has_its_time_the_narrowest_interval_and_a_bar():
    # A quarter of the time is computation: 6 of 24 characters.
    lines = answers_lines([row(), row(predictor="structural", low_s=9.9, high_s=10.1)])
    assert [line.split(maxsplit=6) for line in lines] == [
        ["program", "time", "90", "%", "interval", "computation", "#, rest .        %  by"],
        ["cg", "S", "10.0", "s", "9.90", "to", "10.10 s  ######..................  25.0  structural"],
    ]


def test_a_target_without_an_interval_has_a_dash():
    (_, line) = answers_lines([row(low_s=None, high_s=None)])
    assert line.split() == ["cg", "S", "10.0", "s", "-", "######..................", "25.0"]


def test_platforms_are_named_where_there_are_several():
    lines = answers_lines([row(), row(scenario="other")])
    assert lines[0].split()[:2] == ["program", "platform"] and " other " in lines[2]


def test_results_without_such_lines():
    assert answers_lines([]) == []
    assert answers_lines([row(compute_share=None)]) == []
    assert answers_lines([row(truth="measurement")]) == []
    assert answers_lines([row(network="gigabit"), row(network="metro")]) == []  # one line could not tell them apart
    assert answers_lines([row(app=f"app{number}") for number in range(MOST_TARGETS + 1)]) == []
