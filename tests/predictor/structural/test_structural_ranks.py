"""The predictor ``structural`` on nodes that several ranks share, on one node, and on a platform file."""

import pytest

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import read_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform
from predictor.answers.answers import fit
from predictor.base import OutOfRange
from predictor.evidence.broker import Broker
from predictor.structural.predictor import STRUCTURAL

TWO = """
[[clusters]]
nodes = 2
cores = 2
speed_gflops = 40
[[clusters]]
nodes = 2
cores = 2
speed_gflops = 70
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory):
    """A platform file with two clusters of two nodes of two cores."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "two.toml").write_text(TWO)
    (folder / "two.xml").write_bytes(materialise(read_grid(folder / "two.toml", "infiniband")).path.read_bytes())
    return read_platform(folder / "two.xml")


def test_ranks_of_a_node_add_up_and_one_alone_only_computes(platform):
    settings = Settings()
    targets = [
        Target(problem("ep", "S"), platform, block(platform, 8, 2)),
        Target(problem("ep", "S"), platform, block(platform, 1)),
    ]
    with Runner(jobs=1) as runner:
        model, _ = fit(STRUCTURAL, targets, Broker.of(settings, targets, runner))
    shared, alone = (model.predict(target) for target in targets)
    for target, made in zip(targets, (shared, alone), strict=True):
        assert made.time_s == pytest.approx(simulate(settings.spec(target)).time_s, rel=1e-3)
    # By hand: 256 batches of 2^17 random numbers, 32 for each rank; the reference share of 40 Gflop/s is 0.0017.
    batch_s = 2**17 / (40e9 * 0.0017)
    assert alone.time_s == pytest.approx(256 * batch_s, rel=1e-6)
    load = shared.loads["c1-0"]
    assert load.core_s == pytest.approx(2 * 32 * batch_s, rel=1e-6)
    assert load.busy_low_s >= 32 * batch_s * (1 - 1e-9) and load.busy_high_s <= shared.time_s


@pytest.mark.parametrize("app", ["lu", "cg"])  # planes of sweeps, and exchanges, that nobody receives
def test_one_rank_takes_what_its_run_takes(platform, app):
    settings, targets = Settings(), [Target(problem(app, "S"), platform, block(platform, 1))]
    with Runner(jobs=1) as runner:
        model, _ = fit(STRUCTURAL, targets, Broker.of(settings, targets, runner))
    assert model.predict(targets[0]).time_s == pytest.approx(simulate(settings.spec(targets[0])).time_s, rel=1e-3)


def test_what_cannot_be_laid_out_is_refused(platform):
    for ranks, app, reason in (
        (block(platform, 7, 2), "lu", "7 ranks"),
        (block(platform, 1) * 2, "ep", "all ranks are on c1-0. Use at least two hosts"),
    ):
        target = Target(problem(app, "S"), platform, ranks)
        assert STRUCTURAL.requests([target]) == []
        with pytest.raises(OutOfRange, match=reason):
            STRUCTURAL.fit([]).predict(target)
