"""The graph predictors against simulated runs, and the evidence that they may use."""

from dataclasses import replace

import pytest

from apps.probes.network.measure import measure
from apps.probes.plan import Measurement
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import named_grid
from platforms.model.placement import block, configured, cyclic
from platforms.read.read import materialise
from platforms.terminal.quantities import percent
from predictor.answers.answers import fit, predict
from predictor.base import EvidenceRequest
from predictor.dpgraph.bottleneck import link_loads_s
from predictor.dpgraph.predictors import DPGRAPH, DPGRAPH_KNOWN
from predictor.dpgraph.program import Sections
from predictor.evidence.broker import Broker

APPS = ("cg", "mg", "lu", "is", "ft", "ep")


def target(app, grid, *, preset="S", mapping=block):
    platform = materialise(grid)
    return Target(problem(app, preset), platform, mapping(platform, len(platform.hosts)))


@pytest.fixture(scope="module")
def runner():
    """A store, so that a simulation, recording or measurement of one test serves the others."""
    with Runner(jobs=2) as made:
        yield made


def errors_pct(runner, targets, model):
    """The errors against the targets' simulations, which are used for nothing else."""
    settings = Settings()
    runner.start(settings.spec(one) for one in targets)
    answers = predict(model, targets, Broker.of(settings, targets, runner))
    return [
        100 * (answer.prediction.time_s / runner.record(settings.spec(one)).time_s - 1)
        for one, answer in zip(targets, answers, strict=True)
    ]


@pytest.mark.parametrize("mapping", [block, cyclic])
@pytest.mark.parametrize("network", ["gigabit", "infiniband"])
def test_known_constants_give_the_simulated_time(network, mapping, runner):
    targets = [target(app, named_grid("grid4x2", network), mapping=mapping) for app in APPS]
    assert errors_pct(runner, targets, DPGRAPH_KNOWN) == pytest.approx([0] * len(APPS), abs=0.05)


@pytest.mark.parametrize("number", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_known_constants_give_the_simulated_time_on_random_platforms(number, runner):
    targets = [target(app, random_grid(41, number), preset="W") for app in APPS]
    assert errors_pct(runner, targets, DPGRAPH_KNOWN) == pytest.approx([0] * len(APPS), abs=0.1)


def test_a_measured_network_gives_the_simulated_time(runner):
    targets = [target(app, named_grid("grid3x3", "metro", [40e9, 60e9, 80e9]), preset="W") for app in APPS]
    assert errors_pct(runner, targets, DPGRAPH) == pytest.approx([0] * len(APPS), abs=1)


def test_measuring_does_not_care_what_the_platform_file_says(runner):
    grid = named_grid("grid4x2", "gigabit")
    wrong = replace(  # node links of twice the bandwidth and half the latency
        grid,
        clusters=tuple(replace(c, node=replace(c.node, bandwidth_Bps=250e6, latency_s=25e-6)) for c in grid.clusters),
    )
    real, believed = target("cg", grid), target("cg", wrong)
    settings = Settings()
    broker = Broker(
        settings, [believed], record=runner.record, recording=runner.recording,
        measure=lambda plan: measure(replace(plan, platform=real.platform)),
    )  # fmt: skip
    truth_s = runner.record(settings.spec(real)).time_s
    measured, known = (predict(model, [believed], broker)[0].prediction.time_s for model in (DPGRAPH, DPGRAPH_KNOWN))
    assert measured == pytest.approx(truth_s, rel=1e-2)
    assert known < 0.98 * truth_s


def test_evidence_is_paid_for(runner):
    one = target("cg", named_grid("grid4x2", "gigabit"))
    settings = Settings()
    broker = Broker.of(settings, [one], runner)
    measured, known = (predict(model, [one], broker)[0] for model in (DPGRAPH, DPGRAPH_KNOWN))
    kinds = [e.request.kind for e in measured.evidence]
    assert kinds[:2] == ["recording", "exchange"]
    assert measured.prediction.cost.node_s == sum(e.cost.node_s for e in measured.evidence)
    # The recording: three iterations of 15, at the efficiency of CG, computed on the target's nodes.
    flops = 3 / 15 * 66.8e6 / Settings().spec(one).efficiency  # NPB's count for class S: 66.8 Mop
    trace = known.evidence[0]
    assert 0.9 * flops / 70e9 < trace.cost.node_s < 1.1 * flops / 40e9  # nodes of 40 to 70 Gflop/s
    assert [e.cost.node_s for e in known.evidence[1:]] == [0.0]
    assert measured.prediction.cost.node_s > known.prediction.cost.node_s


def test_parts_add_up_and_computation_is_that_of_the_slowest_rank(runner):
    one = target("ep", named_grid("grid4x2", "gigabit"))
    settings = Settings()
    broker = Broker.of(settings, [one], runner)
    prediction = predict(DPGRAPH_KNOWN, [one], broker)[0].prediction
    truth = runner.record(settings.spec(one))
    assert prediction.parts["compute_s"] == pytest.approx(max(truth.compute_s), rel=1e-9)
    assert sum(prediction.parts.values()) == pytest.approx(prediction.time_s)


def shared(app, *, clusters, cores=1):
    """Class S on two ranks per host of the first cluster and one on the others."""
    grid = named_grid("grid4x2", "gigabit")
    grid = replace(grid, clusters=tuple(replace(c, cores=cores) for c in grid.clusters))
    platform = materialise(grid)
    return Target(problem(app, "S"), platform, configured(platform, clusters))


@pytest.mark.parametrize(("model", "tolerance_pct"), [(DPGRAPH_KNOWN, 0.05), (DPGRAPH, 1)])
def test_ranks_that_share_a_core_get_their_shares_of_it(model, tolerance_pct, runner):
    everywhere = [shared(app, clusters=[(2, 2), (2, 1), (1, 1), (1, 2)]) for app in APPS]
    # Three ranks on two cores slow each other down only while all three compute.
    many_cores = [shared(app, clusters=[(2, 3), (0, 0), (2, 1), (0, 0)], cores=2) for app in ("cg", "lu")]
    assert errors_pct(runner, everywhere + many_cores, model) == pytest.approx([0] * 8, abs=tolerance_pct)


def test_a_link_is_in_use_for_the_messages_of_all_recorded_iterations(runner):
    # Not extrapolated: the messages of a recording of all 50 iterations, each counted once.
    asked = target("lu", named_grid("grid4x2", "gigabit"))
    model, _ = fit(DPGRAPH_KNOWN, [asked], Broker.of(Settings(), [asked], runner))
    said = model.predict(asked)
    whole = Sections(runner.recording(Settings().spec(asked), asked.iterations)).program()
    network = model.network(asked)
    loads_s = link_loads_s(whole, network, asked.placement, asked.iterations, asked.iterations)
    share = percent(100 * max(loads_s.values()) / said.time_s)
    assert f"is in use for {share} % of it" in said.bottleneck


def test_other_collectives_are_out_of_range_for_the_known_constants(runner):
    one = target("ep", named_grid("grid4x2", "gigabit"))
    settings = Settings(options=(("smpi/coll-selector", "mpich"),))
    broker = Broker.of(settings, [one], runner)
    refused = predict(DPGRAPH_KNOWN, [one], broker)[0]
    assert refused.prediction is None
    assert "coll-selector" in refused.refusal


def test_a_network_whose_messages_make_no_lines_is_out_of_range_for_who_measures(runner):
    one = target("ep", named_grid("grid1x2", "gigabit", [50e9]))

    def irregular(plan):
        times_s = (
            (1.0 + i // 2 % 2,) * (len(e) if isinstance(e, tuple) else 2) for i, e in enumerate(plan.experiments)
        )
        return Measurement(tuple(times_s), 1.0, 1.0)

    settings = Settings()
    broker = Broker(settings, [one], record=runner.record, recording=runner.recording, measure=irregular)
    refused, known = (predict(model, [one], broker)[0] for model in (DPGRAPH, DPGRAPH_KNOWN))
    assert refused.prediction is None
    assert "no three of their times lie on a line" in refused.refusal
    assert "dpgraph:known" in refused.refusal
    assert known.prediction is not None


def test_evidence_of_an_unknown_kind_is_refused_with_the_known_ones():
    one = target("ep", named_grid("grid1x2", "gigabit", [50e9]))
    broker = Broker(Settings(), [], record=None)
    with pytest.raises(UserError, match=r"evidence 'oracle'.*Known: run, simulation, recording, exchange"):
        broker.gather([EvidenceRequest("oracle", one)])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((("surf/precision", "1e-12"),), ["surf/precision:1e-12 is not followed"]),
        ((("surf/precision", "1e-9"),), []),  # SimGrid's default
        ((), []),
    ],
)
def test_another_precision_than_the_default_is_a_caution(options, said, runner):
    one = target("ep", named_grid("grid4x2"))
    settings = Settings(options=options)
    (answer,) = predict(DPGRAPH_KNOWN, [one], Broker.of(settings, [one], runner))
    found = [flag.partition(": events within 1e-09 s")[0] for flag in answer.prediction.flags if "precision" in flag]
    assert found == said


def test_all_iterations_of_a_kernel_are_recorded_where_they_differ():
    asked = DPGRAPH_KNOWN.requests([target(app, named_grid("grid4x2")) for app in ("is", "mg")])
    # Each iteration of IS changes two keys, and with them the sizes of its messages; those of MG are alike.
    recorded = {one.target.problem.name: one.iterations for one in asked if one.kind == "recording"}
    assert recorded == {"is": 10, "mg": 3}
