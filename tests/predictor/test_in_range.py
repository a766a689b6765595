"""Who is asked about what: targets out of range ask for nothing, others for each request once."""

import pytest

from apps.catalog import problem
from apps.spec import Target
from platforms.platform import Cluster, Host, Platform
from predictor.base import EvidenceRequest, OutOfRange
from predictor.in_range import in_range, requests_in_range

PLATFORM = Platform("p", "/p.xml", "hash", (Cluster("c", tuple(Host(f"c-{i}", 1e9, 1) for i in range(8))),))


def request(ranks):
    return EvidenceRequest("run", Target(problem("ep", "S"), PLATFORM, tuple(f"c-{i}" for i in range(ranks))))


def halves(ranks):
    """Those of ranks that can be halved: of 8, runs on 4 and 2 of them; of 4, on 2; of 2 and odd numbers none."""
    if ranks % 2:
        raise OutOfRange(f"{ranks} ranks", "they cannot be halved", "Take an even number")
    return [request(n) for n in (4, 2) if n < ranks]


def test_what_is_out_of_range_is_left_out_and_the_others_come_with_their_answers():
    assert list(in_range(halves, [3, 4, 5, 2])) == [(4, [request(2)]), (2, [])]


def test_every_request_is_made_once_in_the_order_of_the_first_who_asks():
    assert requests_in_range(halves, [1, 4, 8, 7, 8]) == [request(2), request(4)]
    assert requests_in_range(halves, [8, 4]) == [request(4), request(2)]
    assert requests_in_range(halves, [1, 2]) == []


def test_other_errors_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        requests_in_range(lambda ranks: [request(8 // ranks)], [0])
