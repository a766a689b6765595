"""Times of DP*Graphs on platforms: by hand, against the whole prediction, and against simulations."""

import json
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest

from apps.probes.network.measure import measure
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.recording.events import EVENT, Kind, Mode, Recording
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.grid import Wire
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from platforms.read.read import materialise
from platforms.read.routes import routes_between
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.known import known_network
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Sections
from predictor.graph.cli import main
from predictor.graph.dates import dates_of
from predictor.graph.faster import DeclaredNetwork
from predictor.graph.graph import Element, owned_graph
from predictor.graph.graphml import read_graphml
from predictor.graph.li_predictor import communication, message_plan, recorded_work, send_models
from predictor.graph.li_times import li_times
from predictor.graph.places import places_of
from predictor.graph.timed import timed
from predictor.graph.what_if import Setting, what_if
from predictor.network.value import DirectedPath, Protocol, Timing

JACOBI = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"
LATENCY_S, BANDWIDTH_BPS = 0.5, 100.0  # of every message by hand, without an envelope
SPEED_FLOPS = 1e9


def network(ranks, **protocol):
    """A network of lone links: a message of n bytes takes LATENCY_S + n / BANDWIDTH_BPS."""
    hosts = [f"h{rank}" for rank in range(ranks)]
    ways = {(a, b): DirectedPath(0, BANDWIDTH_BPS, 1.0, {}) for a in hosts for b in hosts}
    timing = Timing(np.array([-1.0]), np.array([[LATENCY_S]]), np.array([[1.0]]))
    return NetworkModel(ways, {}, timing, Protocol(envelope_bytes=0, **protocol))


def target(ranks):
    cluster = Cluster("c", tuple(Host(f"h{rank}", SPEED_FLOPS, 1) for rank in range(ranks)))
    platform = Platform("by hand", "/nowhere.xml", str(ranks), (cluster,))
    return Target(problem("cg", "S"), platform, tuple(host.name for host in cluster.hosts))


def compute(seconds):
    return [(Kind.COMPUTE, 0, 0, 0, -1, 0, 0, 0, seconds * SPEED_FLOPS, 0, 0)]


def send(peer, size_bytes, request=0, mode=Mode.STANDARD):
    wait = (Kind.WAIT, 0, 0, 0, -1, 0, request, 0, 0, 0, 0)
    return [(Kind.SEND, mode, 0, 0, peer, 0, request, size_bytes, 0, 0, 0), wait]


def receive(peer, size_bytes, request=0):
    wait = (Kind.WAIT, 0, 0, 0, -1, 0, request, 0, 0, 0, 0)
    return [(Kind.RECV, 0, 0, 0, peer, 0, request, size_bytes, 0, 0, 0), wait]


def by_hand(*ranks, **protocol):
    """The timed graph of processes that are given by the lists above."""
    events = tuple(np.array([event for part in parts for event in part], EVENT) for parts in ranks)
    recording = Recording(events, tuple(np.empty(0, np.int64) for _ in ranks), (tuple(range(len(ranks))),))
    return timed(owned_graph(recording), target(len(ranks)), network(len(ranks), **protocol))


def times(found, rank):
    return [found.elements.get((at, rank)) for at in found.graph.processes[rank][1:-1]]


def test_an_early_receiver_waits_for_its_sender_and_for_the_message():
    # Sender: 2 s, a message of 100 bytes (0.5 + 1 s), 1 s.  Receiver: 1 s, waits until 3.5 s, then 4 s: ends at 7.5.
    found = by_hand([compute(2), send(1, 100), compute(1)], [compute(1), receive(0, 100), compute(4)])
    assert found.time_s == pytest.approx(7.5)
    first, wait, last = times(found, 1)
    assert (wait.begin_s, wait.end_s, wait.time_s) == pytest.approx((1, 3.5, 2.5))
    assert wait.late_s == pytest.approx(1)  # the sender begins at 2
    assert (first.slack_s, last.slack_s) == pytest.approx((1, 0))
    sent, _, after = times(found, 0)
    assert sent.slack_s == pytest.approx(0) and sent.end_s == pytest.approx(2)  # buffered: continues at once
    assert after.slack_s == pytest.approx(7.5 - 3)
    assert [(step.begin_s, step.end_s) for step in found.dates.critical] == [
        pytest.approx(pair) for pair in ((0, 2), (2, 3.5), (3.5, 7.5))
    ]
    process = found.processes[1]
    assert (process.compute_s, process.late_s, process.message_s, process.ended_s) == pytest.approx((5, 1, 1.5, 0))


def test_a_late_receiver_delays_the_sender_of_a_long_message():
    # Rendezvous: the message begins at 3 s with the receive, and both end with it at 4.5 s; the sender adds 2 s.
    found = by_hand(
        [compute(1), send(1, 100), compute(2)], [compute(3), receive(0, 100)], detached_below_bytes=0
    )  # fmt: skip
    assert found.time_s == pytest.approx(6.5)
    _, sent, _ = times(found, 0)
    assert (sent.time_s, sent.late_s, sent.slack_s) == pytest.approx((3.5, 2, 0))
    first, got = times(found, 1)
    assert first.slack_s == pytest.approx(0)  # the path begins at the receiver
    assert got.slack_s == pytest.approx(0)  # as its beginning; its end could come 2 s later
    assert [found.graph.nodes[at].element for at in found.critical_nodes] == [
        Element.SEGMENT, Element.RECEIVE, Element.SEND, Element.SEGMENT
    ]  # fmt: skip


def made(app, preset, scenario, ranks, iterations=3):
    platform = materialise(named_grid(scenario))
    asked = Target(problem(app, preset), platform, block(platform, ranks))
    recording = record_events(Settings().spec(asked), iterations)
    pairs = {(asked.placement[a], asked.placement[b]) for a, b in Sections(recording).partners}
    routes = tuple(routes_between(platform, sorted(pairs | {pair[::-1] for pair in pairs})))
    return asked, recording, routes


def declared(asked, routes):
    return DeclaredNetwork(routes, dict(asked.platform.options))


@pytest.fixture(scope="module")
def integer_sort():
    return made("is", "S", "grid4x2", 8, iterations=10)


@pytest.mark.parametrize("expand", [False, True])
def test_sums_of_processes_and_the_critical_path_are_the_time_of_the_program(integer_sort, expand):
    asked, recording, routes = integer_sort
    options = dict(asked.platform.options)
    found = timed(owned_graph(recording, expand=expand), asked, known_network(routes, options))
    sums_s = np.zeros(asked.nranks)
    for (_, rank), one in found.elements.items():
        sums_s[rank] += one.time_s
        assert 0 <= one.late_s <= one.time_s + 1e-12
    assert sums_s.max() == pytest.approx(found.time_s, rel=1e-9)
    steps = found.dates.critical
    assert steps[0].begin_s == 0 and steps[-1].end_s == found.time_s
    assert all(a.end_s == pytest.approx(b.begin_s, abs=1e-12) for a, b in pairwise(steps))
    assert found.dates.slack_s[[step.instruction for step in steps]] == pytest.approx(0, abs=2e-9)
    shares = [(one.compute_share + one.idle_share) for one in found.cluster_times()]
    assert shares == pytest.approx([1.0] * len(shares))
    assert sum(one.critical_share for one in found.cluster_times()) == pytest.approx(1.0)
    # What happens before the timed section decides by how little the processes begin it apart.
    hosts = [asked.platform.host(host) for host in asked.placement]
    whole = estimate(
        Sections(recording), 10, known_network(routes, options), asked.placement, [1 / h.speed_flops for h in hosts]
    )
    assert found.time_s == pytest.approx(whole.time_s, rel=0.03)


def test_slack_is_what_a_computation_can_take_longer(integer_sort):
    # Without shared links, a computation that takes as much longer as its slack changes nothing; more of it does.
    asked, recording, routes = integer_sort
    free = known_network(routes, dict(asked.platform.options)).without_contention()
    owned = owned_graph(recording)
    found = timed(owned, asked, free)
    rank = np.repeat(np.arange(asked.nranks), np.diff(owned.program.first))
    speed = np.array([asked.platform.host(host).speed_flops for host in asked.placement])
    slack_s = np.where(owned.program.value > 0, found.dates.slack_s, 0)
    at = int(slack_s.argmax())
    assert slack_s[at] > 1e-6
    for share, longer in ((0.99, False), (1.5, True)):
        value = owned.program.value.copy()
        value[at] += share * slack_s[at] * speed[rank[at]]
        later = dates_of(replace(owned.program, value=value), free, asked.placement, 1 / speed)
        assert (later.time_s > found.time_s + 1e-8) is longer


def test_places_are_the_lines_of_the_kernel_not_of_the_harness(integer_sort):
    asked, recording, _ = integer_sort
    places = places_of(asked.problem, recording.paths)
    source = (Path(__file__).parents[3] / "apps" / "kernels" / "is" / "is.c").read_text().splitlines()
    named = {place for place in places if place is not None}
    assert all(place.startswith("is.c:") for place in named)
    lines = {int(place.split()[0].partition(":")[2]) for place in named if place.startswith("is.c")}
    assert any("run_all_to_all_v" in source[line - 1] for line in lines)
    calls = {node.place for node in owned_graph(recording, places=places).graph.nodes if node.op is not None}
    assert calls and calls <= named


@pytest.mark.parametrize(
    ("build", "named"), [((), "pair.c:6 exchange"), (("-s",), "main")], ids=["debug information", "stripped"]
)
def test_the_places_of_an_own_program(tmp_path, build, named):
    source = tmp_path / "pair.c"
    source.write_text(
        "#include <mpi.h>\n"
        "#include <smpi/smpi.h>\n"
        "__attribute__((noinline)) static void exchange(int rank)\n"
        "{\n"
        "  char data[8] = {0};\n"
        "  if (rank == 0) MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);\n"
        "  else MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n"
        "}\n"
        "int main(int argc, char **argv)\n"
        "{\n"
        "  int rank;\n"
        "  MPI_Init(&argc, &argv);\n"
        "  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "  smpi_execute_flops(1e6);\n"
        "  exchange(rank);\n"
        "  MPI_Finalize();\n"
        "  return 0;\n"
        "}\n"
    )
    program = source
    if build:
        program = tmp_path / "pair"
        subprocess.run(["smpicc", "-O2", *build, str(source), "-o", str(program)], check=True, cwd=tmp_path)
    platform = materialise(named_grid("grid4x2"))
    asked = Target(own_problem(read_program(str(program), "")), platform, block(platform, 2))
    recording = record_events(Settings().spec(asked), 1)
    graph = owned_graph(recording, places=places_of(asked.problem, recording.paths)).graph
    (sent,) = [node for node in graph.nodes if node.element is Element.SEND]
    assert sent.place.startswith(named)


def test_what_if_says_what_a_simulation_with_faster_nodes_gains():
    # The first cluster twice as fast: predicted from the recording, simulated on a grid with that speed.
    asked, recording, routes = made("is", "A", "grid4x2", 8, iterations=10)
    places = places_of(asked.problem, recording.paths)
    setting = Setting(owned_graph(recording).program, asked, declared(asked, routes), places)
    found = what_if(setting, 2.0)
    (cluster,) = [one for one in found.answers if (one.kind, one.name) == ("cluster", "c1")]
    grid = named_grid("grid4x2")
    first, *others = grid.clusters
    changed = materialise(replace(grid, clusters=(replace(first, speed_flops=2 * first.speed_flops), *others)))
    before_s, after_s = (
        simulate(Settings(iterations="full").spec(Target(asked.problem, platform, asked.placement))).time_s
        for platform in (asked.platform, changed)
    )
    assert cluster.saved_s == pytest.approx(before_s - after_s, rel=0.01)
    assert [one.saved_s for one in found.answers] == sorted((one.saved_s for one in found.answers), reverse=True)
    assert {"network", "link", "node", "cluster", "call", "computation"} == {one.kind for one in found.answers}


def test_what_is_saved_is_that_of_the_whole_run_and_of_bandwidth_and_latency_apart():
    # Three of 20 iterations are recorded.  Simulated are platforms whose links have twice the bandwidth, half of the
    # latency, or both.
    grid = named_grid("grid2x2", None, [40e9, 60e9])
    jacobi = own_problem(read_program(str(JACOBI), "200 {iterations} charged", 20))
    asked = Target(jacobi, materialise(grid), block(materialise(grid), 4))
    recording = record_events(Settings().spec(asked), 3)
    routes = routes_between(asked.platform, [(a, b) for a in asked.placement for b in asked.placement if a != b])
    places = places_of(asked.problem, recording.paths)
    sections = Sections(recording)
    found = what_if(Setting(owned_graph(recording).program, asked, declared(asked, routes), places, sections), 2.0)
    assert found.iterations == 20
    (network,) = [answer for answer in found.answers if answer.kind == "network"]

    def run_s(platform):
        return simulate(Settings(iterations="full").spec(replace(asked, platform=platform))).time_s

    def changed(bandwidth, latency):
        def wire(known):
            return Wire(known.bandwidth_Bps * bandwidth, known.latency_s / latency)

        clusters = tuple(replace(c, node=wire(c.node), backbone=wire(c.backbone)) for c in grid.clusters)
        links = tuple(replace(link, wire=wire(link.wire)) for link in grid.wan_links)
        return materialise(replace(grid, clusters=clusters, wan_links=links))

    now_s = run_s(asked.platform)
    assert found.time_s == pytest.approx(now_s, rel=1e-3)
    for saved_s, platform in (
        (network.saved_s, changed(2, 2)),
        (network.bandwidth_saved_s, changed(2, 1)),
        (network.latency_saved_s, changed(1, 2)),
    ):
        assert saved_s == pytest.approx(now_s - run_s(platform), rel=0.01, abs=1e-3 * now_s)
    (work,) = [answer for answer in found.answers if answer.kind == "computation"][:1]
    # By hand: half of 6 operations for each of 100 x 100 points in each of 20 iterations, on a slow or a fast node.
    saved_flops = 20 * 6 * 100 * 100 / 2
    assert 0.95 * saved_flops / 60e9 < work.saved_s < 1.05 * saved_flops / 40e9


def test_parts_that_are_not_tried_are_counted(integer_sort):
    asked, recording, routes = integer_sort
    setting = Setting(owned_graph(recording).program, asked, declared(asked, routes), ())
    found = what_if(setting, 2.0, most=3)
    assert found.untried["node"] == asked.nranks - 3
    assert {one.name for one in found.answers if one.kind in ("call", "computation")} == {"place not known"}


def test_several_processes_find_the_same_savings_as_one(integer_sort, monkeypatch):
    asked, recording, routes = integer_sort
    setting = Setting(owned_graph(recording).program, asked, declared(asked, routes), ())
    alone = what_if(setting, 2.0, most=3)
    monkeypatch.setattr("predictor.series.pool.ALONE_S", 0.0)
    assert what_if(setting, 2.0, most=3) == alone


def test_the_command_writes_times_into_graphml_and_pictures(tmp_path, capsys):
    graphml, picture, timeline = (tmp_path / name for name in ("g.graphml", "g.png", "t.svg"))
    command = ["--scenario", "grid4x2", "--app", "is", "--class", "S", "--what-if", "2", "--json", "--iterations", "1"]
    files = ["--graphml", str(graphml), "--draw", str(picture), "--timeline", str(timeline), "--elements", "4"]
    assert main([*command, *files]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["per_process"]) == 8 and found["what_if"]["factor"] == 2
    assert picture.stat().st_size > 0 and "critical path" in timeline.read_text()
    read = networkx.read_graphml(graphml)
    timed_nodes = [data for _, data in read.nodes(data=True) if "time_s" in data]
    assert timed_nodes and any(data["critical"] for data in timed_nodes)
    assert max(data["end_s"] for data in timed_nodes) <= found["t_exec_s"] + 1e-12
    assert read_graphml(graphml).nranks == 8


def test_the_papers_times_are_those_that_its_predictor_adds_up():
    asked, recording, _ = made("is", "S", "li-1", 4, iterations=10)
    found = li_times(asked, recording, (None,) * len(recording.paths), measure)
    (model,) = send_models(asked, measure(message_plan(asked))).values()
    speed_flops = asked.platform.hosts[0].speed_flops
    sums_s = [
        process.flops / speed_flops + communication(process, model, duplex=False).time_s
        for process in recorded_work(recording, 10).processes
    ]
    assert found.process_s == pytest.approx(sums_s, rel=1e-9)
    assert found.t_exec_s == pytest.approx(max(sums_s))
    # SMPI copies in no time, so that the chain has computation and messages in flight alone, and they overlap.
    assert max(Sections(recording).flops(10)) / speed_flops < found.path.time_s < found.t_exec_s
    assert sum(one.time_s for one in found.path_parts()) == pytest.approx(found.path.time_s)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--what-if", "2"], "--what-if: it needs a platform"),
        (["--timeline", "x.png"], "--timeline: it needs a platform"),
        (["--scenario", "grid4x2", "--what-if", "0"], "--what-if 0: not a positive number"),
        (["--scenario", "grid4x2", "--what-if", "nan"], "--what-if nan: not a positive number"),
        (["--scenario", "grid4x2", "--times", "lee"], "--times lee: no such choice"),
        (["--scenario", "grid4x2", "--times", "li", "--what-if", "2"], "these times have no shared links"),
        (["--scenario", "grid4x2", "--iterations", "99"], "not between 1 and the 10 iterations"),
    ],
)
def test_options_that_do_not_fit_are_refused(more, said, capsys):
    assert main(["--app", "is", "--class", "S", *more]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_places_of_a_program_in_fortran():
    source = Path(__file__).parents[2] / "apps" / "data" / "halo.f90"
    platform = materialise(named_grid("grid4x2"))
    asked = Target(own_problem(read_program(str(source), "")), platform, block(platform, 2))
    recording = record_events(Settings().spec(asked), 1)
    named = {place for place in places_of(asked.problem, recording.paths) if place is not None}
    lines = {int(place.split()[0].removeprefix("halo.f90:")) for place in named}
    called = [at for at, line in enumerate(source.read_text().splitlines(), 1) if "call MPI_" in line]
    assert lines & set(called)
