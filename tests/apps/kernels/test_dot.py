"""The scalar product of two vectors."""

import pytest

from apps.errors import KernelError
from apps.kernels.dot import reference

CASES = [(1, 1), (1, 4), (3, 5), (1000, 7), (100_003, 12)]


@pytest.mark.parametrize(("size", "ranks"), CASES)
def test_the_product_is_numpys(sized, size, ranks):
    record = sized("dot", size, ranks, mode="verify")
    assert record.verified is True
    computed, expected = record.checks["product"]
    assert computed == pytest.approx(expected, rel=1e-11)


def test_the_reference_is_that_of_the_benchmarks_random_numbers():
    # Number k of the generator, NAS report RNR-94-007, 2.3: 5^(13 k) times the seed mod 2^46, here minus 1/2.
    numbers = [314159265 * pow(5**13, k, 2**46) % 2**46 / 2**46 - 0.5 for k in range(1, 9)]
    by_hand = sum(x * y for x, y in zip(numbers[:4], numbers[4:], strict=True))
    assert reference.references({"n": 4}, 2)["product"] == pytest.approx(by_hand, rel=1e-12)


def test_a_wrong_reference_fails_the_verification(sized, monkeypatch):
    monkeypatch.setattr(reference, "references", lambda params, nranks: {"product": 1.0})
    assert sized.__wrapped__("dot", 40, 2, mode="verify").verified is False


@pytest.mark.parametrize(("size", "ranks"), CASES)
def test_operations_are_those_of_the_paper_and_a_skeleton_does_the_rest(sized, size, ranks):
    how = {"compute": "injected", "efficiency": 1e-6}
    skeleton, verify = (sized("dot", size, ranks, mode=mode, **how) for mode in ("skeleton", "verify"))
    assert skeleton.flops == 2 * size - 1  # Kredel, Kruse, Richling 2015, table of applications
    own = [size // ranks + (rank < size % ranks) for rank in range(ranks)]
    assert skeleton.rank_flops == tuple(2 * count - (rank == 0) for rank, count in enumerate(own))
    assert skeleton.time_s == pytest.approx(verify.time_s, rel=1e-9)
    assert skeleton.collectives == verify.collectives == {"allreduce": {"calls": 1, "bytes": [8] * ranks}}
    assert sum(skeleton.messages) == 0


def test_sizes_beyond_the_generator_and_beyond_memory_are_refused(sized):
    with pytest.raises(KernelError, match="too large for dot"):
        sized("dot", 2**40 + 1, 2)
    with pytest.raises(KernelError, match="too large to be verified"):
        sized("dot", 2**28, 2, mode="verify")
