"""HPL followed from its declared structure, compared with formulas and with SMPI."""

from dataclasses import replace

import numpy as np
import pytest

from apps.programs.problem import sized_problem
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import block
from platforms.read.read import read_platform
from predictor.factorisation.evaluate import BROADCASTS, SWAPS, Problem, evaluate
from predictor.factorisation.machine import Curves, Machine

FLOPS, LATENCY_S, RATE_BPS, EAGER = 1e9, 1e-5, 1e9, 4096
SENDER_S, RECEIVER_S = 1e-6, 2e-6
# SMPI sends a header of 16 bytes with each message, and a route has two links.
WIRE = ((0.0, 2 * LATENCY_S + 16 / RATE_BPS, 1 / RATE_BPS),)
PLATFORM = f"""<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config>
    <prop id="network/model" value="SMPI"/>
    <prop id="network/weight-S" value="0"/>
    <prop id="network/crosstraffic" value="0"/>
    <prop id="network/TCP-gamma" value="0"/>
    <prop id="smpi/async-small-thresh" value="{EAGER}"/>
    <prop id="smpi/send-is-detached-thresh" value="{EAGER}"/>
    <prop id="smpi/lat-factor" value="0:1"/>
    <prop id="smpi/bw-factor" value="0:1"/>
    <prop id="smpi/os" value="0:{SENDER_S}:0"/>
    <prop id="smpi/or" value="0:{RECEIVER_S}:0"/>
    <prop id="smpi/iprobe" value="0"/>
  </config>
  <zone id="zone" routing="Full">
    <cluster id="one" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="1e9Bps" lat="{LATENCY_S}s"/>
  </zone>
</platform>
"""


def operations(n):
    """Return the published operations of HPL over those that the kernel counts (docs/kernels/index.md)."""
    return (2 / 3 * n**3 + 2 * n**2) / (2 / 3 * n**3 + 3 / 2 * n**2 - 7 / 6 * n)


def machine(ranks, **changes):
    curves = Curves(WIRE, WIRE, ((0.0, SENDER_S, 0.0),), ((0.0, RECEIVER_S, 0.0),), EAGER)
    given = {"node_Bps": RATE_BPS, **changes}
    return Machine(np.arange(ranks), np.full(ranks, 2 / FLOPS), curves, **given)


def test_one_rank_takes_the_published_operations():
    found = evaluate(Problem(500, 32, 1, 1, operation=operations(500)), machine(1))
    assert found.time_s == pytest.approx((2 / 3 * 500**3 + 2 * 500**2) / FLOPS, rel=1e-12)
    assert found.busy_s[0] == pytest.approx(found.time_s, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "nb", "rows", "columns", "broadcast", "depth", "within"),
    [
        (600, 32, 4, 4, "ring", 0, 2e-3),
        (600, 32, 1, 7, "2-ring-modified", 0, 2e-3),
        (500, 16, 3, 5, "binomial", 0, 2e-3),
        (600, 32, 2, 6, "long-modified", 0, 1e-2),
        (600, 32, 4, 4, "2-ring", 1, 2e-3),
        (600, 32, 2, 8, "ring-modified", 1, 2e-3),
        (1200, 32, 2, 4, "ring", 1, 2e-3),
    ],
)
def test_it_has_the_time_of_the_kernel_in_smpi(tmp_path, n, nb, rows, columns, broadcast, depth, within):
    (tmp_path / "p.xml").write_text(PLATFORM)
    platform = read_platform(tmp_path / "p.xml")
    ranks = rows * columns
    problem = sized_problem("hpl", n, nb=nb, grid_rows=rows, broadcast=broadcast, depth=depth)
    record = run_iterations(RunSpec(Target(problem, platform, block(platform, ranks)), efficiency=1.0), 1)
    # The kernel's exchanges move 2 nb rows.
    same = Problem(n, nb, rows, columns, broadcast, depth, exchanged=2.0, operation=operations(n))
    found = evaluate(same, machine(ranks, seen_early=True))
    assert found.time_s == pytest.approx(record.time_s, rel=within)
    assert found.busy_s == pytest.approx(record.compute_s, rel=1e-6)


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("broadcast", BROADCASTS)
def test_no_choice_of_algorithms_makes_ranks_wait_for_one_another(broadcast, swap):
    slowest = evaluate(Problem(900, 16, 3, 5, broadcast, 1, swap), machine(15)).time_s
    faster = evaluate(Problem(900, 16, 3, 5, broadcast, 1, swap), machine(15, node_Bps=2 * RATE_BPS)).time_s
    assert 0 < faster <= slowest * 1.001


def test_without_arithmetic_a_panel_and_the_right_hand_side_take_their_bytes():
    curves = Curves(((0.0, 0.0, 1 / RATE_BPS),), ((0.0, 0.0, 0.0),), eager_bytes=0)
    nodes = Machine(np.array([0, 1]), np.zeros(2), curves, node_Bps=RATE_BPS)
    # By hand: the panel has n (1 + n) numbers; column n + 1 is rank 1's and goes back to rank 0.
    found = evaluate(Problem(4096, 4096, 1, 2), nodes)
    assert found.time_s == pytest.approx((4096 * 4097 + 4096) * 8 / RATE_BPS, rel=1e-9)


def nodes(count):
    """Return nodes that compute nothing, whose large messages take only their bytes."""
    curves = Curves(((0.0, 0.0, 1 / RATE_BPS),), ((0.0, 0.0, 0.0),), eager_bytes=0)
    return Machine(np.arange(count), np.zeros(count), curves, node_Bps=RATE_BPS)


def rows_s(n, nb, numbers_per_row):
    """Return the time of messages that follow one another, in rows of U, when each panel leaves n - nb columns."""
    left = [n + 1 - nb * (k + 1) for k in range(n // nb)]
    return sum(8 * nb * columns * numbers_per_row / RATE_BPS for columns in left)


@pytest.mark.parametrize(("places", "messages"), [(2, 1), (4, 2), (8, 3), (3, 3), (6, 4)])
def test_the_binary_exchange_sends_the_rows_of_u_as_often_as_hpl(places, messages):
    # HPL_pdlaswp00T: U goes down a tree; beyond a power of two it is sent before the tree and after it as well.
    n, nb = 1024, 64
    exchange = evaluate(Problem(n, nb, places, 1), nodes(places)).time_s
    rest = evaluate(Problem(n, nb, places, 1, exchanged=1e-9), nodes(places)).time_s  # nothing but pivots and solution
    assert exchange - rest == pytest.approx(rows_s(n, nb, messages), rel=0.02)


def test_a_long_broadcast_is_waited_for_before_the_update():
    # HPL 2.3 does not poll for a long broadcast, so that its look-ahead gains next to nothing; a ring's does.
    gain = {}
    for broadcast in ("long", "2-ring"):
        late, ahead = (evaluate(Problem(3000, 60, 2, 8, broadcast, depth), machine(16)).time_s for depth in (0, 1))
        gain[broadcast] = late / ahead - 1
    assert gain["long"] < gain["2-ring"] / 2


def test_a_message_that_waits_for_its_receive_takes_at_least_as_long():
    late = Machine(np.arange(8), np.full(8, 2 / FLOPS), Curves(WIRE, WIRE, eager_bytes=0, detached_bytes=10**9))
    early = Machine(np.arange(8), np.full(8, 2 / FLOPS), Curves(WIRE, WIRE, eager_bytes=10**9))
    run = Problem(600, 32, 2, 4)
    assert evaluate(run, early).time_s < evaluate(run, late).time_s


def test_what_goes_back_takes_its_share_of_a_link():
    free, loaded = (evaluate(Problem(1024, 64, 2, 1, exchanged=2.0), with_back(share)).time_s for share in (0.0, 0.25))
    alone = evaluate(Problem(1024, 64, 2, 1, exchanged=1e-9), with_back(0.0)).time_s
    assert (loaded - alone) / (free - alone) == pytest.approx(1.25, rel=1e-3)  # both ranks send at the same time


def with_back(share):
    return replace(nodes(2), back=share)


def test_bad_input_is_one_line():
    with pytest.raises(UserError, match="Known: ring, ring-modified"):
        Problem(100, 10, 1, 1, broadcast="star")
    with pytest.raises(UserError, match="depth of 0 or 1"):
        Problem(100, 10, 1, 1, depth=2)
    with pytest.raises(UserError, match="Describe every rank"):
        evaluate(Problem(100, 10, 2, 2), machine(3))
    with pytest.raises(UserError, match="node_Bps"):
        machine(2, node_Bps=0.0)
