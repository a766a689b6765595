"""Results of one version of SimGrid are never used for another version."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import platforms.simgrid.compiling
import platforms.simgrid.installed
import platforms.simgrid.repairs
from apps.probes.blocks.measure import BlockPlan
from apps.probes.network.measure import NetworkPlan
from apps.programs.problem import problem
from apps.runs.engines import run_identity
from apps.runs.neutral import recording_identity
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.model.platform import Link, Route
from platforms.read.read import materialise
from predictor.dpgraph.known import known_network


@pytest.fixture
def pretended(monkeypatch):
    """``pretended(version)``: from now on, identities of results name this version of SimGrid."""
    return lambda version: monkeypatch.setattr(platforms.simgrid.repairs, "simgrid_version", lambda: version)


@pytest.fixture
def spec():
    platform = materialise(named_grid("grid4x2"))
    return Settings().spec(Target(problem("mg", "S"), platform, block(platform, 8)))


def test_a_stored_run_of_another_simgrid_is_no_answer(spec, pretended, record_of, tmp_path):
    made = []

    def simulate(spec, *, stop):
        made.append(len(made) + 1.0)
        return record_of(spec.target, made[-1], 1.0)

    def time_s(version):
        pretended(version)
        with Store(tmp_path) as store, Runner(jobs=1, store=store, simulate=simulate) as runner:
            return runner.record(spec).time_s

    assert [time_s("3.32"), time_s("4.1"), time_s("3.32"), time_s("4.1")] == [1.0, 2.0, 1.0, 2.0]


def test_everything_that_is_stored_has_simgrids_version_in_its_identity(spec, pretended):
    platform = spec.target.platform

    def keys():
        plans = NetworkPlan(platform, ()), BlockPlan(platform, ())
        return [identity_hash(one) for one in (run_identity(spec), recording_identity(spec, 3))] + [
            identity_hash(plan.identity()) for plan in plans
        ]

    pretended("3.32")
    first = keys()
    assert keys() == first
    pretended("4.1")
    assert not set(keys()) & set(first)


def test_what_is_compiled_and_read_is_kept_by_version(monkeypatch, tmp_path):
    source = tmp_path / "one.cpp"
    source.write_text("int main() { return 0; }\n")
    made = set()
    for version in ("3.32", "4.1"):
        monkeypatch.setattr(platforms.simgrid.compiling, "simgrid_version", lambda version=version: version)
        made.add(platforms.simgrid.compiling.compile_once("one", [source], compiler=["g++"]))
    assert len(made) == 2


@pytest.mark.parametrize(("version", "factor"), [("3.32", 0.5), ("3.34", 0.25), ("4.1", 0.25)])
def test_the_graph_knows_what_simgrid_calls_the_factors_of_its_network(monkeypatch, version, factor):
    # SimGrid's ChangeLog, 3.34: "Merge parameters network/bandwidth-factor and smpi/bw-factor"; in 3.32 they differ.
    monkeypatch.setattr(platforms.simgrid.installed, "simgrid_version", lambda: version)
    given = {"smpi/bw-factor": "0:0.5", "smpi/lat-factor": "0:1", "network/bandwidth-factor": "0:0.25"}
    link = Link("l", 1e9, 1e-3, "splitduplex")
    network = known_network([Route("a", "b", 1e-3, (link,)), Route("b", "a", 1e-3, (link,))], given)
    assert network.timing.factor[0, -1] == factor


@pytest.fixture
def versions(monkeypatch):
    """apps/s4u/versions.py with a module ``simgrid`` that keeps the arguments of its calls."""
    shown = []
    module = SimpleNamespace(Actor=SimpleNamespace(create=lambda *given: shown.append(given)))
    monkeypatch.setitem(sys.modules, "simgrid", module)
    names = runpy.run_path(str(Path(platforms.__file__).parents[1] / "apps" / "s4u" / "versions.py"))
    return SimpleNamespace(shown=shown, **{name: names[name] for name in ("start_actor", "get_async")})


def test_actors_start_by_either_name(versions):
    old = SimpleNamespace()
    versions.start_actor("rank-0", old, print, 7)
    assert versions.shown == [("rank-0", old, print, 7)]
    new = SimpleNamespace(add_actor=lambda *given: versions.shown.append(given))
    versions.start_actor("rank-1", new, print, 8)
    assert versions.shown[1] == ("rank-1", print, 8)


def test_payloads_come_by_either_way(versions):
    activity = SimpleNamespace(get_payload=lambda: "new")
    found, payload = versions.get_async(SimpleNamespace(get_async=lambda: activity))
    assert (found, payload()) == (activity, "new")
    pair = activity, SimpleNamespace(get=lambda: "old")
    found, payload = versions.get_async(SimpleNamespace(get_async=lambda: pair))
    assert (found, payload()) == (activity, "old")
