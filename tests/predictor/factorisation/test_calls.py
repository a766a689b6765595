"""Times of MPI's calls, measured apart from the way of messages."""

import pytest

from apps.probes.network.measure import NetworkPlan, Return, measure
from apps.probes.plan import Measurement
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from predictor.factorisation.calls import Calls, call_plan, merged
from predictor.network.layout import layout
from predictor.network.survey import Survey, next_plan

BANDWIDTH_BPS, LATENCY_S, EAGER = 125e6, 1e-4, 20000  # of a route of two node links, and of SMPI's messages
OPTIONS = {
    "network/crosstraffic": "no",
    "network/weight-S": "0",
    "network/TCP-gamma": "0",
    "smpi/lat-factor": "0:1",
    "smpi/bw-factor": "0:1",
    "smpi/async-small-thresh": str(EAGER),
    "smpi/send-is-detached-thresh": str(EAGER),
    "smpi/os": "0:2e-6:1e-10",
    "smpi/ois": "0:7e-6:0",
    "smpi/or": "0:3e-6:0;5000:9e-6:0",
}


def measured(options):
    """Return what is measured between two nodes of a grid whose backbone is not on their way."""
    platform = materialise(named_grid("grid4x2", "gigabit"))
    hosts = tuple(host.name for host in platform.clusters[0].hosts[:2])
    results = []
    while (plan := next_plan(platform, hosts, results)) is not None:
        results.append(measure(NetworkPlan(platform, plan.experiments, tuple(options.items()))))
    survey = Survey(layout(platform, hosts), results)
    plan = call_plan(platform, hosts, survey)
    return survey, measure(NetworkPlan(platform, plan.experiments, tuple(options.items())))


def test_calls_have_the_times_that_the_options_give_them():
    survey, measurement = measured(OPTIONS)
    calls = Calls(survey, measurement)
    assert calls.eager_bytes == pytest.approx(EAGER, abs=1)
    assert calls.sender == (pytest.approx((0, 2e-6, 1e-10), rel=1e-3),)
    assert [start for _, start, _ in calls.receiver] == pytest.approx([3e-6, 9e-6], rel=1e-3)
    assert calls.receiver[1][0] == pytest.approx(5000, abs=1)
    # The latency of links and of the backbone is in the way, and 16 bytes of header; smpi/ois is not.
    way = calls.wire[0]
    assert way[2] == pytest.approx(1 / BANDWIDTH_BPS, rel=1e-3)
    assert way[1] == pytest.approx(1.5 * LATENCY_S + 16 / BANDWIDTH_BPS, rel=1e-3)


def test_calls_that_take_no_time_have_no_curves():
    free = {key: value for key, value in OPTIONS.items() if key not in ("smpi/os", "smpi/ois", "smpi/or")}
    survey, measurement = measured(free)
    calls = Calls(survey, measurement)
    assert (calls.sender, calls.receiver) == ((), ())
    # An answer that is sent ahead shares its way with the signal that its sender is ready for the next message.
    assert calls.wire[0][1] == pytest.approx(survey.lines[0][0].start_s, abs=16 / BANDWIDTH_BPS)


def test_a_message_and_its_answer_have_two_times():
    platform = materialise(named_grid("grid4x2", "gigabit"))
    a, b = (host.name for host in platform.clusters[0].hosts[:2])
    plan = NetworkPlan(platform, (Return(a, b, 1000),), tuple(OPTIONS.items()))
    found = measure(plan)
    plan.check(found)
    ((send_s, both_s),) = found.times_s
    assert send_s == pytest.approx(2e-6 + 1000 * 1e-10, rel=1e-6)
    assert both_s == pytest.approx(2 * (send_s + 1.5 * LATENCY_S + 1016 / BANDWIDTH_BPS + 3e-6), rel=1e-3)
    with pytest.raises(ValueError, match="not 2 of 1"):
        plan.check(Measurement(((send_s,),), 0.0, 0.0))


def test_the_sum_of_curves_changes_where_one_of_them_does():
    found = merged([(1.0, ((0, 5.0, 1.0),)), (-1.0, ((0, 2.0, 0.5), (100, 9.0, 0.5))), (1.0, ())])
    assert found == ((0, 3.0, 0.5), (100, 0.0, 0.5))
