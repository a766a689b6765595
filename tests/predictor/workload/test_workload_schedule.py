"""Schedules by hand: first come first served, EASY backfilling, placement, failures; figures; logs."""

import math

import pytest

from platforms.errors import UserError
from predictor.workload.figures import Span, figures
from predictor.workload.file import read_log
from predictor.workload.schedule import Asked, Policy, scheduled

# Four nodes: the first job takes three of them for 10 s; the second needs all four; the third one node for 5 s.
JOBS = [Asked("wide", 0, 3, 10), Asked("all", 1, 4, 10), Asked("short", 2, 1, 5)]
RUN_S = {"wide": 10, "all": 10, "short": 5}


def starts(order, jobs=JOBS, run_s=RUN_S, failures=None):
    def ends_s(placed):
        return {one.name: one.start_s + run_s[one.job] for one in placed}

    placed = scheduled(jobs, [["a", "b"], ["c", "d"]], Policy(order), ends_s, failures=failures)
    return {one.name: one.start_s for one in placed}


def test_first_come_first_served_lets_no_job_overtake():
    assert starts("fcfs") == {"wide": 0, "all": 10, "short": 20}


def test_backfilling_starts_a_short_job_that_delays_no_earlier_one():
    assert starts("backfill") == {"wide": 0, "all": 10, "short": 2}


def test_backfilling_refuses_a_job_that_would_delay_the_first_one():
    jobs = [*JOBS[:2], Asked("short", 2, 1, 9)]  # until 11 s by its request
    assert starts("backfill", jobs) == {"wide": 0, "all": 10, "short": 20}


def test_a_failure_ends_the_job_of_its_host_and_the_host_is_not_used_again():
    jobs, run_s = [Asked("one", 0, 2)], {"one": 10}
    assert starts("fcfs", jobs, run_s, {"a": 4}) == {"one": 0, "one~1": 4}
    with pytest.raises(ValueError, match="needs 2 hosts, and fewer are left"):
        starts("fcfs", jobs, run_s, {"a": 4, "c": 4, "d": 4})


def test_packed_takes_the_fullest_cluster_that_holds_the_job_and_spread_takes_them_in_turn():
    free = [["a", "b", "c"], ["d", "e"]]
    assert Policy(placement="packed").hosts(2, free) == ["d", "e"]
    assert Policy(placement="packed").hosts(4, free) == ["a", "b", "c", "d"]
    assert Policy(placement="spread").hosts(3, free) == ["a", "d", "b"]


def test_figures_of_a_schedule_by_hand():
    # Waits of 0 and 20 s; turnarounds of 20 and 25 s; slowdowns of 1 and 25 / 10; (20 * 2 + 5 * 1) of 2 * 25 node-s.
    shown = figures([Span(0, 0, 20, 2), Span(0, 20, 25, 1)], nodes=2)
    assert (shown.wait_s, shown.turnaround_s, shown.bounded_slowdown) == (10, 22.5, 1.75)
    assert (shown.utilisation, shown.makespan_s) == (45 / 50, 25)


def test_a_log_in_swf_is_read(tmp_path):
    log = tmp_path / "log.swf"
    log.write_text(
        "; MaxNodes: 4\n; a comment\n"
        "1 100 5 60 2 -1 -1 2 120 -1 1 1 1 7 1 1 -1 -1\n"
        "2 130 -1 -1 2 -1 -1 2 120 -1 5 1 1 7 1 1 -1 -1\n"  # cancelled
    )
    read = read_log(log)
    job = read.jobs[0]
    assert (read.nodes, read.left_out, len(read.jobs)) == (4, 1, 1)
    assert (job.arrival_s, job.nodes, job.run_s, job.wait_s, job.walltime_s, job.kind) == (0, 2, 60, 5, 120, "7")


def test_the_output_of_sacct_is_read(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text(
        "JobID|JobName|Submit|Start|Elapsed|Timelimit|NNodes\n"
        "11|solver|2026-01-01T00:00:00|2026-01-01T00:01:00|1-00:00:01|2-00:00:00|8\n"
        "11.batch|batch|2026-01-01T00:00:00|2026-01-01T00:01:00|1-00:00:01||1\n"
        "12|other|2026-01-01T00:00:30|2026-01-01T00:01:00|00:00:05|UNLIMITED|1\n"
        "13|never|2026-01-01T00:00:30|Unknown|00:00:00|UNLIMITED|1\n"
    )
    read = read_log(log)
    assert [(job.name, job.arrival_s, job.nodes, job.run_s, job.wait_s, job.walltime_s) for job in read.jobs] == [
        ("11", 0, 8, 86401, 60, 172800),
        ("12", 30, 1, 5, 30, math.inf),
    ]
    assert read.left_out == 1


@pytest.mark.parametrize("text", ["1 2 three\n", "JobID|Submit\n1|2\n", "; nothing\n"])
def test_a_wrong_log_is_refused(tmp_path, text):
    (tmp_path / "log").write_text(text)
    with pytest.raises(UserError):
        read_log(tmp_path / "log")
