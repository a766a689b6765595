"""Several jobs on one platform: simulated and predicted times against runs alone and against values by hand."""

import json
from pathlib import Path

import pytest

from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from validation.workload.cli import main
from validation.workload.event_command import main as event_main

SHARED = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config>
    <prop id="smpi/bw-factor" value="0:1"/><prop id="smpi/lat-factor" value="0:1"/>
    <prop id="network/crosstraffic" value="0"/><prop id="network/TCP-gamma" value="0"/>
  </config>
  <zone id="z" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/><host id="d" speed="1Gf"/>
    <link id="wan" bandwidth="1e6Bps" latency="1e-6s"/>
    <route src="a" dst="b"><link_ctn id="wan"/></route>
    <route src="c" dst="d"><link_ctn id="wan"/></route>
    <route src="a" dst="c"><link_ctn id="wan"/></route>
    <route src="a" dst="d"><link_ctn id="wan"/></route>
    <route src="b" dst="c"><link_ctn id="wan"/></route>
    <route src="b" dst="d"><link_ctn id="wan"/></route>
  </zone>
</platform>
"""
SEND = """
#include <mpi.h>
#include <stdlib.h>
void smpi_execute_flops_benched(double flops);
int main(int argc, char **argv)
{
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *buffer = calloc(1, 10000000);
  smpi_execute_flops_benched(1e9);
  if (rank == 0)
    MPI_Send(buffer, 10000000, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(buffer, 10000000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(buffer);
  MPI_Finalize();
}
"""
JOB = '[[jobs]]\nfile = "send.c"\nranks = 2\n'
KERNEL = '[[jobs]]\napp = "{}"\nclass = "S"\nranks = {}\narrival_s = {}\n'


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Return a function from the text of a workload to the JSON values of the answer, and its jobs by name."""
    monkeypatch.chdir(tmp_path)
    Path("shared.xml").write_text(SHARED)
    Path("send.c").write_text(SEND)

    def asked(text, *words):
        Path("w.toml").write_text(text)
        assert main(["w.toml", "--json", "--predictor", "dpgraph:known", "--no-store", *words]) == 0
        answer = json.loads(capsys.readouterr().out)
        return answer, {job["job"]: job for job in answer["jobs"]}

    return asked


def test_two_messages_over_one_link_take_twice_the_transfer_each(ask):
    # By hand: 1 s of computation; 10 MB at 1 MB/s take 10 s alone, and 20 s where two share the link.
    _, jobs = ask(f'platform = "shared.xml"\n{JOB}{JOB}')
    for job in jobs.values():
        assert job["simulated"]["alone_s"] == pytest.approx(11, abs=1e-3)
        for side in ("simulated", "predicted"):
            assert job[side]["time_s"] == pytest.approx(21, abs=1e-3)


def test_events_change_a_link_and_a_host_from_their_dates_on(ask):
    # By hand: hosts at half speed from 0.5 s on compute until 0.5 + 0.5 / 0.5 = 1.5 s; by 6.5 s, 5 MB have come, and
    # the other 5 MB take 10 s at half the bandwidth.
    events = ["t=0.5 host a speed=0.5", "t=0.5 host b speed=0.5", "t=6.5 link wan bandwidth=0.5"]
    options = [word for event in events for word in ("--event", event)]
    answer, jobs = ask(f'platform = "shared.xml"\n{JOB}', *options)
    for side in ("simulated", "predicted"):
        assert jobs["send-1"][side]["time_s"] == pytest.approx(16.5, abs=1e-3)
        assert answer[f"{side}_without_events"]["makespan_s"] == pytest.approx(11, abs=1e-3)


@pytest.mark.parametrize("event", ["t=0.3 link wan_c1_c2 bandwidth=0.01", "t=0.3 host c1-0 speed=0.01"])
def test_a_run_with_an_event_is_predicted_as_it_is_simulated(capsys, event):
    words = "--app cg --class S --ranks 4 --scenario grid4x2 --predictor dpgraph:known --no-store --json --event"
    assert event_main([*words.split(), event]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["simulated_s"] > 1.2 * answer["simulated_without_events_s"]
    assert answer["predicted_s"] == pytest.approx(answer["simulated_s"], rel=0.001)


def test_a_failing_host_kills_its_job_which_starts_again_on_other_hosts(ask):
    # By hand: killed at 6 s after 12 node-seconds; from then on the hosts b and c, or others, take 11 s once more.
    answer, jobs = ask(f'platform = "shared.xml"\n{JOB}', "--event", "t=6 host a fails")
    for side in ("simulated", "predicted"):
        run = jobs["send-1"][side]
        assert (run["start_s"], run["attempts"]) == (6, 2) and "a" not in run["host"]
        assert run["end_s"] == pytest.approx(17, abs=1e-3)
        assert answer[side]["lost_node_s"] == 12


def test_a_job_alone_takes_the_time_of_its_own_run_and_jobs_without_common_links_do_not_disturb_each_other(ask):
    text = 'scenario = "grid4x2"\n' + KERNEL.format("cg", 2, 0) + KERNEL.format("mg", 2, 0)
    _, jobs = ask(text, "--no-predict")
    platform = materialise(named_grid("grid4x2"))
    for job in jobs.values():  # each has a cluster for itself
        target = Target(problem(job["job"][:2], "S"), platform, tuple(job["simulated"]["host"]))
        assert job["simulated"]["time_s"] == simulate(Settings(iterations="full").spec(target)).time_s
        assert job["simulated"]["time_s"] == job["simulated"]["alone_s"]


def test_a_job_that_waits_starts_when_its_nodes_are_free(ask):
    text = 'scenario = "grid4x2"\n' + KERNEL.format("mg", 8, 0) + KERNEL.format("is", 8, 0.01)
    _, jobs = ask(text)
    for side in ("simulated", "predicted"):
        assert jobs["is-1"][side]["start_s"] == jobs["mg-1"][side]["end_s"]
    assert abs(jobs["is-1"]["error_pct"]) < 1


ONE = 'scenario = "grid4x2"\n[[jobs]]\napp = "cg"\nclass = "S"\n'


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ('scenario = "grid4x2"\n', [], "'jobs' or 'log' is needed"),
        (f'policy = "fast"\n{ONE}', [], "no policy 'fast'"),
        (f"{ONE}ranks = 900\n", [], "it needs 900 hosts"),
        (f"{ONE}arrival_s = -1\n", [], "arrival_s is -1"),
        (ONE, ["--event", "t=1 link x fails"], "links do not fail"),
        (ONE, ["--event", "t=1 host x fails"], "no such host"),
        (ONE, ["--predictor", "hcf"], "cannot follow several jobs"),
    ],
)
def test_wrong_input_is_refused_in_one_line(tmp_path, capsys, text, words, said):
    (tmp_path / "w.toml").write_text(text)
    assert main([str(tmp_path / "w.toml"), "--no-store", *words]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.strip().splitlines()) == 1


def test_a_log_is_replayed_under_a_policy(tmp_path, capsys):
    # By hand: two jobs of both nodes, 60 s each, arrive together: waits of 0 and 60 s.
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 2\n" + "".join(f"{n} 0 0 60 2 -1 -1 2 90\n".replace("90", "90 -1 1") for n in (1, 2)))
    assert main([str(log), "--json"]) == 0
    replayed = json.loads(capsys.readouterr().out)["replayed"]
    assert (replayed["wait_s"], replayed["makespan_s"], replayed["utilisation"]) == (30, 120, 1)
