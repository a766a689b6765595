"""Gates of validity, and the reports that they judge."""

import json

import pytest

from apps.emulate.report import gates, read_report, summary
from apps.emulate.running import missing_rights, overload_text

RANK = {
    "host": "c1-0", "wall_s": 10.0, "cpu_s": 1.0, "queued_s": 0.5, "held_s": 4.0, "short_s": 0.05, "lost_s": 0.0,
    "holds": 7, "operations_told": 7,
}  # fmt: skip
ROUTER = {
    "wall_s": 12.0, "cpu_s": 1.0, "delivered": 10000, "lost": 0, "very_late": 50, "mean_late_s": 2e-5,
    "most_late_s": 1e-3, "most_waiting_bytes": 9000,
}  # fmt: skip


def report(router=(), *ranks):
    lines = [{"router": {**ROUTER, **dict(router)}}, *({"rank": {**RANK, **rank}} for rank in ranks), {"status": 3}]
    return read_report(map(json.dumps, lines))


def failed(found):
    return [gate.name for gate in found if not gate.passed]


def test_a_good_run_passes_every_gate():
    found = gates(report({}, {}, {}), "counted")
    assert [gate.name for gate in found] == ["short", "untold", "late", "lost"]
    assert failed(found) == []
    assert found[0].value == pytest.approx(0.005)  # 0.05 of 10 s
    assert found[2].value == pytest.approx(0.005)  # 50 of 10,000 packets


def test_each_gate_fails_by_itself():
    assert failed(gates(report({}, {}, {"short_s": 0.11}), "counted")) == ["short"]
    assert failed(gates(report({}, {}, {"operations_told": 0}), "counted")) == ["untold"]
    assert failed(gates(report({}, {"operations_told": 0}), "free")) == []
    assert failed(gates(report({"very_late": 101}, {}), "counted")) == ["late"]
    assert failed(gates(report({"lost": 1}, {}), "counted")) == ["lost"]


def test_a_few_late_packets_are_allowed_in_a_short_run():
    assert failed(gates(report({"delivered": 100, "very_late": 20}), "counted")) == []
    assert failed(gates(report({"delivered": 100, "very_late": 21}), "counted")) == ["late"]


def test_only_ranks_that_told_nothing_are_no_reason_to_refuse_a_run():
    assert {gate.name for gate in gates(report({}, {}), "counted") if not gate.decides} == {"untold"}


def test_a_command_without_ranks_and_packets_is_told_in_few_words():
    quiet = report({"delivered": 0})
    assert (failed(gates(quiet, "counted")), summary(quiet), quiet.status) == ([], "emulated grid: 0 packets", 3)


def test_the_first_error_of_a_report_is_its_cause():
    found = read_report(['{"error": "no device"}', '{"error": "the router: gone"}'])
    assert (found.error, found.status) == ("no device", None)


def test_rights_are_read_from_the_status_of_the_process():
    assert missing_rights("Name:\tpython3\nCapEff:\t000001ffffffffff\n") == []
    assert missing_rights("CapEff:\t0000000000000000\n")[0] == "CAP_NET_ADMIN"
    # The default of containers (Docker) has neither of these rights.
    assert missing_rights("CapEff:\t00000000a80425fb\n") == [
        *("CAP_NET_ADMIN", "CAP_IPC_LOCK", "CAP_SYS_ADMIN", "CAP_SYS_NICE"),
    ]


def test_a_rank_that_fell_behind_says_how_much_slower_the_grid_has_to_be():
    # By hand: a rank that needs 1 / (1 - 0.2) of its node's time, and a tenth more.
    short = gates(report({}, {"short_s": 2.0}), "counted")[0]
    assert short.caution.endswith("(gate 1 %). Take a --slowdown that is 1.4 times as large")


def test_a_grid_that_is_too_fast_for_its_processor_says_so_with_the_slowdown_to_take():
    # By hand: 440 over 63 is 6.98, and 21.9 over 20 is 1.095; both are rounded up to two digits.
    assert overload_text(8, 440e9, 1, 63e9) == (
        "if all 8 cores of the grid compute at once they need 440 Gflop/s, but processor 1 provides 63: they would "
        "fall behind. Take --slowdown 7 or more"
    )
    assert overload_text(8, 21.9e9, 1, 20e9).endswith("Take --slowdown 1.1 or more")
