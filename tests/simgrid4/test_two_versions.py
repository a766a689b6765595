"""What one SimGrid has made is never taken for what another would."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import platforms.compiling
import platforms.repairs
import platforms.simgrid
from apps.blockprobe.measure import BlockPlan
from apps.catalog import problem
from apps.identity import identity_hash
from apps.netprobe.measure import Plan
from apps.record_events import recording_identity
from apps.runner import Runner
from apps.smpi import run_identity
from apps.spec import Settings, Target
from apps.store import Store
from platforms.placement import block
from platforms.platform import Link, Route
from platforms.read import materialise
from platforms.scenario import named_grid
from predictor.dpgraph.known import known_network


@pytest.fixture
def pretended(monkeypatch):
    """``pretended(version)``: from now on this SimGrid is installed, to whoever asks what results are of."""
    return lambda version: monkeypatch.setattr(platforms.repairs, "simgrid_version", lambda: version)


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
        plans = Plan(platform, ()), BlockPlan(platform, ())
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
        monkeypatch.setattr(platforms.compiling, "simgrid_version", lambda version=version: version)
        made.add(platforms.compiling.compile_once("one", [source], compiler=["g++"]))
    assert len(made) == 2


@pytest.mark.parametrize(("version", "factor"), [("3.32", 0.5), ("3.34", 0.25), ("4.1", 0.25)])
def test_the_graph_knows_what_simgrid_calls_the_factors_of_its_network(monkeypatch, version, factor):
    # SimGrid's ChangeLog, 3.34: "Merge parameters network/bandwidth-factor and smpi/bw-factor"; 3.32 has two.
    monkeypatch.setattr(platforms.simgrid, "simgrid_version", lambda: version)
    given = {"smpi/bw-factor": "0:0.5", "smpi/lat-factor": "0:1", "network/bandwidth-factor": "0:0.25"}
    link = Link("l", 1e9, 1e-3, "splitduplex")
    network = known_network([Route("a", "b", 1e-3, (link,)), Route("b", "a", 1e-3, (link,))], given)
    assert network.timing.factor[0, -1] == factor


@pytest.fixture
def versions(monkeypatch):
    """apps/s4u/versions.py beside a module ``simgrid`` that keeps what it is told."""
    told = []
    module = SimpleNamespace(Actor=SimpleNamespace(create=lambda *given: told.append(given)))
    monkeypatch.setitem(sys.modules, "simgrid", module)
    names = runpy.run_path(str(Path(platforms.__file__).parents[1] / "apps" / "s4u" / "versions.py"))
    return SimpleNamespace(told=told, **{name: names[name] for name in ("start_actor", "get_async")})


def test_actors_start_by_either_name(versions):
    old = SimpleNamespace()
    versions.start_actor("rank-0", old, print, 7)
    assert versions.told == [("rank-0", old, print, 7)]
    new = SimpleNamespace(add_actor=lambda *given: versions.told.append(given))
    versions.start_actor("rank-1", new, print, 8)
    assert versions.told[1] == ("rank-1", print, 8)


def test_payloads_come_by_either_way(versions):
    activity = SimpleNamespace(get_payload=lambda: "new")
    found, payload = versions.get_async(SimpleNamespace(get_async=lambda: activity))
    assert (found, payload()) == (activity, "new")
    pair = activity, SimpleNamespace(get=lambda: "old")
    found, payload = versions.get_async(SimpleNamespace(get_async=lambda: pair))
    assert (found, payload()) == (activity, "old")
