"""Times at which links pass on packets, by hand."""

import ctypes
from pathlib import Path

import pytest

import apps.emulate
from platforms.simgrid.compiling import compile_once

GRID = Path(apps.emulate.__file__).with_name("grid")
PACKET = 9000  # bytes: 0.72 ms at 100 Mbit/s
ROOM = 1 << 16  # bytes: more than the state of a link's turns


class Link(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 160), ("rate", ctypes.c_double), ("delay", ctypes.c_double),
        ("free_at", ctypes.c_double), ("most_waiting", ctypes.c_double), ("packets", ctypes.c_long),
        ("dropped", ctypes.c_long), ("turns", ctypes.c_void_p),
    )  # fmt: skip


class Span(ctypes.Structure):
    _fields_ = (("first", ctypes.c_double), ("last", ctypes.c_double))


@pytest.fixture(scope="module")
def carry():
    built = compile_once("fifo", [GRID / "turns.c"], compiler=["gcc"], flags=["-O2", "-std=gnu11", "-shared", "-fPIC"])
    function = ctypes.CDLL(str(built)).fifo_carry
    function.restype = ctypes.c_bool
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_double]

    def over(links, sent_s, size=PACKET, queue=1e9):
        """Send a packet over links; return when its last bit arrives, None if it was dropped."""
        span = Span(sent_s, sent_s)
        arrived = all(function(ctypes.byref(link), ctypes.byref(span), size, queue) for link in links)
        return span.last if arrived else None

    return over


def link(rate=100e6, delay=0.001):
    return Link(rate=rate, delay=delay)


def test_one_link_takes_its_delay_and_the_packet_by_its_rate(carry):
    assert carry([link()], 5.0) == pytest.approx(5.0 + 0.72e-3 + 1e-3)


def test_links_of_one_rate_pass_a_packet_on_while_it_comes(carry):
    # Cut-through: the packet's own time counts once, the delays add up.
    assert carry([link(), link(), link(delay=0.004)], 0.0) == pytest.approx(0.72e-3 + 6e-3)


def test_the_slowest_link_decides_and_faster_ones_add_nothing(carry):
    assert carry([link(), link(rate=10e9, delay=0), link(rate=50e6), link(rate=10e9, delay=0)], 0.0) == pytest.approx(
        1.44e-3 + 2e-3
    )


def test_packets_queue_in_the_order_of_their_arrival(carry):
    one = link()
    assert [carry([one], 0.0) for _ in range(3)] == pytest.approx([1.72e-3, 2.44e-3, 3.16e-3])
    assert carry([one], 1.0) == pytest.approx(1.00172)  # it has been idle since


def test_two_flows_share_a_link_by_halves(carry):
    both, first, second = link(), link(), link()
    ends = [carry([own, both], 0.0) for _ in range(100) for own in (first, second)]
    # 200 packets of 0.72 ms over the link that both cross, and two delays.
    assert ends[-1] == pytest.approx(200 * 0.72e-3 + 2e-3)
    assert ends[-2] == pytest.approx(199 * 0.72e-3 + 2e-3)


def test_a_backbone_of_three_halves_carries_two_flows_at_three_quarters_of_their_rates(carry):
    backbone, first, second = link(rate=150e6, delay=0), link(delay=0), link(delay=0)
    ends = [carry([own, backbone], 0.0) for _ in range(100) for own in (first, second)]
    assert ends[-1] == pytest.approx(200 * 0.48e-3)


def test_a_packet_behind_a_full_queue_is_dropped(carry):
    one = link()
    # Behind the packet that is being sent there is room for two more.
    assert [carry([one], 0.0, queue=2.5 * PACKET) is None for _ in range(4)] == [False, False, False, True]
    assert (one.packets, one.dropped) == (3, 1)
    assert one.most_waiting == pytest.approx(3 * PACKET)


# --- links that serve flows in turn ---


@pytest.fixture(scope="module")
def library():
    built = compile_once("turns", [GRID / "turns.c"], compiler=["gcc"], flags=["-O2", "-std=gnu11", "-shared", "-fPIC"])
    found = ctypes.CDLL(str(built))
    found.turns_join.restype = ctypes.c_bool
    found.turns_join.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_double, ctypes.c_void_p]
    found.turns_next.restype = ctypes.c_void_p
    found.turns_next.argtypes = [ctypes.c_void_p]
    return found


def served(library, packets, queue=1e9):
    """Let packets (flow, bytes) join the queue of a link; return whether each could, and the order of their turns."""
    state = ctypes.create_string_buffer(ROOM)
    link = Link(rate=100e6, delay=0.0, turns=ctypes.addressof(state))
    joined = [
        library.turns_join(ctypes.byref(link), flow, size, queue, number)
        for number, (flow, size) in enumerate(packets, 1)
    ]
    order = []
    while number := library.turns_next(ctypes.byref(link)):
        order.append(number)
    return joined, order


def test_flows_take_turns(library):
    # Three packets of a flow wait when three of another come.
    assert served(library, [(0, PACKET)] * 3 + [(1, PACKET)] * 3)[1] == [1, 4, 2, 5, 3, 6]


def test_turns_count_bytes(library):
    # By hand: the packets are due at bytes 0 and 9000 of their flow, the halves at 0, 4500, 9000 and 13500.
    assert served(library, [(0, PACKET)] * 2 + [(1, PACKET // 2)] * 4)[1] == [1, 3, 4, 2, 5, 6]


def test_a_flow_that_sends_little_does_not_wait_behind_the_others(library):
    assert served(library, [(0, PACKET)] * 50 + [(7, 60)])[1][:3] == [1, 51, 2]


def test_a_packet_that_finds_the_queue_full_is_dropped(library):
    assert served(library, [(0, PACKET)] * 3, queue=2.5 * PACKET) == ([True, True, False], [1, 2])
