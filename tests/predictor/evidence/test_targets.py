"""Targets on one platform are united; targets out of range ask for nothing, others for each request once."""

import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform
from predictor.base import EvidenceRequest, OutOfRange
from predictor.evidence.targets import in_range, one_per_platform, requests_in_range


def platform(name):
    return Platform(name, f"/{name}.xml", name, (Cluster("c", tuple(Host(f"c-{i}", 1e9, 1) for i in range(8))),))


def request(ranks):
    return EvidenceRequest("run", Target(problem("ep", "S"), platform("p"), tuple(f"c-{i}" for i in range(ranks))))


def halves(ranks):
    """Return requests for runs on 4 and 2 ranks, if these are fewer than ``ranks``; odd numbers are out of range."""
    if ranks % 2:
        raise OutOfRange(f"{ranks} ranks", "they cannot be halved", "Take an even number")
    return [request(n) for n in (4, 2) if n < ranks]


def test_targets_on_one_platform_are_one_on_the_hosts_of_all_in_its_order():
    a, b, ep, cg = platform("a"), platform("b"), problem("ep", "S"), problem("cg", "S")
    targets = [Target(ep, a, ("c-3", "c-0", "c-3")), Target(cg, b, ("c-1",)), Target(cg, a, ("c-1", "c-0"))]
    assert one_per_platform(targets) == [Target(ep, a, ("c-0", "c-1", "c-3")), Target(cg, b, ("c-1",))]
    assert one_per_platform([]) == []


def test_what_is_out_of_range_is_left_out_and_the_others_come_with_their_answers():
    assert list(in_range(halves, [3, 4, 5, 2])) == [(4, [request(2)]), (2, [])]


def test_every_request_is_made_once_in_the_order_of_the_first_who_asks():
    assert requests_in_range(halves, [1, 4, 8, 7, 8]) == [request(2), request(4)]
    assert requests_in_range(halves, [8, 4]) == [request(4), request(2)]
    assert requests_in_range(halves, [1, 2]) == []


def test_other_errors_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        requests_in_range(lambda ranks: [request(8 // ranks)], [0])
