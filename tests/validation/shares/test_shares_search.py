"""The search for the best shares: it leaves out nothing that could be the best, and goes on where it was stopped."""

import pytest

from apps.programs.problem import problem, sized_problem
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from validation import shares
from validation.shares import choices, least_s, searched, with_shares

STEPS = 10
SETTINGS = Settings()


def target_of(asked, scenario="grid3x2", speeds=(20e9, 40e9, 70e9), network="infiniband"):
    platform = materialise(named_grid(scenario, network, speeds_flops=speeds))
    return Target(asked, platform, block(platform, len(platform.hosts)))


def shares_of(target):
    names = [cluster.name for cluster in target.platform.clusters]
    return [dict(zip(names, (one / STEPS for one in way), strict=True)) for way in choices(len(names), STEPS)]


@pytest.fixture
def one_at_a_time(monkeypatch):
    """The search looks at the best time after every run, so that it leaves out as much as it ever may."""
    monkeypatch.setattr(shares, "_AT_ONCE", 1)


@pytest.mark.parametrize("case", ["computation", "messages"])
def test_the_best_is_that_of_a_search_that_simulates_all(case, one_at_a_time):
    if case == "computation":
        target = target_of(sized_problem("himeno", 34, grid="slabs"))
    else:
        target = target_of(problem("mg", "S"), network="gigabit")  # most of the time is that of messages
    every = shares_of(target)
    with Runner(jobs=2) as runner:
        specs = [SETTINGS.spec(with_shares(target, shares)) for shares in every]
        times_s = [runner.record(spec).time_s for spec in specs]
        found = searched(target, SETTINGS, runner, steps=STEPS)
    assert all(least_s(spec) <= time_s for spec, time_s in zip(specs, times_s, strict=True))
    assert found.time_s == min(times_s)
    assert times_s[every.index(found.shares)] == found.time_s
    assert found.choices == len(every) == 36  # 9 over 2
    assert found.simulated <= (20 if case == "computation" else 36)


def test_the_least_time_is_that_of_the_longest_computation():
    # By hand: 6 slabs of 4 inner planes, 34 operations a point; 24^2 points a plane; the slowest at 20 Gflop/s.
    target = target_of(sized_problem("himeno", 26, grid="slabs", niter=10))
    spec = Settings(efficiency="0.5").spec(target)
    assert least_s(spec) == pytest.approx(10 * 34 * 4 * 24**2 / (0.5 * 20e9), rel=2e-6)
    assert least_s(Settings(compute="none").spec(target)) == 0
    assert least_s(Settings(options=(("smpi/host-speed", "1f"),)).spec(target)) == 0


def test_a_search_that_was_stopped_goes_on_where_it_was(tmp_path):
    made = []

    def counted(spec, *, stop):
        if len(made) == 5:
            raise KeyboardInterrupt
        made.append(spec)
        return simulate(spec, stop=stop)

    target = target_of(problem("cg", "S"), "grid2x1", (20e9, 60e9))
    with Store(tmp_path) as store:
        with Runner(jobs=1, store=store, simulate=counted) as runner, pytest.raises(KeyboardInterrupt):
            searched(target, SETTINGS, runner, steps=STEPS)
        assert len(made) == 5
        again = []
        with Runner(
            jobs=1, store=store, simulate=lambda spec, stop: again.append(spec) or simulate(spec, stop=stop)
        ) as runner:
            found = searched(target, SETTINGS, runner, steps=STEPS)
    assert len(again) == found.simulated - 5
    assert not set(again) & set(made)
