"""The fit of measured times: known segments, thresholds and parts are found again."""

import numpy as np
import pytest

from apps.calibrate.model import NEVER, model_of
from apps.calibrate.points import Points, fitted_and_held_out, held_out_sizes
from apps.probes.segments import Curve, Segment, fitted

SIZES = np.unique(np.geomspace(1, 2e8, 160).round())


def noisy(times_s, share, seed=1):
    return times_s * np.exp(np.random.default_rng(seed).normal(0, share, len(times_s)))


def largest_error(curve, truth, sizes):
    return np.max(np.abs(curve.at(sizes) / truth.at(sizes) - 1))


def test_a_single_line_is_found_exactly():
    truth = Curve((Segment(0, 2e-6, 1e-9),))
    found = fitted(SIZES, truth.at(SIZES))
    assert len(found.segments) == 1
    assert largest_error(found, truth, SIZES) < 1e-6


def test_a_jump_is_found_between_the_two_points_around_it():
    truth = Curve((Segment(0, 1e-6, 2e-10), Segment(65536, 2e-5, 8e-10)))
    found = fitted(SIZES, truth.at(SIZES))
    below, above = SIZES[SIZES < 65536][-1], SIZES[SIZES >= 65536][0]
    ((place, factor),) = found.jumps()
    assert below < place <= above
    # By hand: 2e-5 + 65536 x 8e-10 = 7.24e-5 against 1e-6 + 65536 x 2e-10 = 1.41e-5.
    assert factor == pytest.approx(5.13, rel=0.02)


def test_noise_of_ten_percent_makes_no_segments_and_leaves_errors_of_a_few_percent():
    truth = Curve((Segment(0, 5e-6, 0.0), Segment(4096, 1.5e-5, 1e-9)))
    found = fitted(SIZES, noisy(truth.at(SIZES), 0.1))
    assert len(found.segments) <= 4
    assert np.median(np.abs(found.at(SIZES) / truth.at(SIZES) - 1)) < 0.05


def test_outliers_do_not_move_a_line():
    truth = Curve((Segment(0, 3e-6, 1e-9),))
    times_s = truth.at(SIZES)
    times_s[::9] *= 20
    assert largest_error(fitted(SIZES, times_s), truth, SIZES) < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_segments_of_any_points_are_positive_and_do_not_fall(seed):
    times_s = np.random.default_rng(seed).lognormal(-12, 1.5, len(SIZES))
    found = fitted(SIZES, times_s)
    assert all(segment.base_s >= 0 and segment.per_byte_s >= 0 for segment in found.segments)
    assert np.all(found.at(SIZES) > 0)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_few_points_give_one_segment(count):
    found = fitted(SIZES[:count], np.full(count, 1e-6))
    assert len(found.segments) == 1
    assert found.at(SIZES[:count]) == pytest.approx(1e-6)


def machine(*, async_bytes, detached_bytes, noise=0.0):
    """The measured times of a machine with known parts: SMPI's equations, as its code and the model's docstring say."""
    send, receive, isend = 4e-7 + 1e-10 * SIZES, 8e-7 + 2e-10 * SIZES, 6e-7 + 5e-11 * SIZES
    transfer = np.where(async_bytes > SIZES, 3e-6, 9e-6) + SIZES / 1e9
    eager, detached = async_bytes > SIZES, detached_bytes > SIZES
    half = np.where(detached, send, 0) + transfer + np.where(eager, receive, 0)
    times = {
        "send": np.where(detached, send, transfer),
        "isend": isend,
        "recv": np.where(eager, receive, transfer),
        "pingpong": 2 * half,
    }
    return {call: Points(SIZES, noisy(times_s, noise, seed)) for seed, (call, times_s) in enumerate(times.items())}


def neighbours(size):
    return SIZES[size > SIZES][-1], SIZES[size <= SIZES][0]


@pytest.mark.parametrize(
    ("async_bytes", "detached_bytes"), [(65536, 65536), (12000, 300_000), (1000, 1000)], ids=["one", "two", "early"]
)
def test_the_thresholds_and_times_of_a_known_machine_are_found(async_bytes, detached_bytes):
    measured = machine(async_bytes=async_bytes, detached_bytes=detached_bytes)
    fit, held_out = fitted_and_held_out(measured, held_out_sizes(measured, 4))
    model = model_of(fit)
    for known, found in (
        (async_bytes, model.thresholds.async_bytes),
        (detached_bytes, model.thresholds.detached_bytes),
    ):
        below, above = (
            fit["send"].sizes[fit["send"].sizes < known][-1],
            fit["send"].sizes[fit["send"].sizes >= known][0],
        )
        assert below < found <= above
    for call, points in held_out.items():
        errors = np.abs(model.predicted(call, points.sizes) / points.times_s - 1)
        assert np.median(errors) < 0.01, call


def test_a_noisy_machine_is_found_within_its_noise():
    measured = machine(async_bytes=65536, detached_bytes=65536, noise=0.05)
    fit, held_out = fitted_and_held_out(measured, held_out_sizes(measured, 4))
    model = model_of(fit)
    assert neighbours(65536)[0] * 0.8 < model.thresholds.async_bytes < neighbours(65536)[1] * 1.25
    for call, points in held_out.items():
        assert np.median(np.abs(model.predicted(call, points.sizes) / points.times_s - 1)) < 0.06, call


def test_a_machine_without_rendezvous_has_no_thresholds():
    model = model_of(machine(async_bytes=NEVER, detached_bytes=NEVER))
    assert (model.thresholds.async_bytes, model.thresholds.detached_bytes) == (NEVER, NEVER)


def test_a_rendezvous_without_a_jump_is_found_by_its_times():
    # MPI_Recv takes or = 1 us + 1 ns per byte below 65,536 bytes and T = 1 us + 1 ns per byte from there on.
    eager, line = SIZES < 65536, 1e-6 + 1e-9 * SIZES
    send = np.where(eager, 5e-7, line)
    times = {"send": send, "recv": line, "pingpong": 2 * np.where(eager, send + 2 * line, line)}
    thresholds = model_of({call: Points(SIZES, times_s) for call, times_s in times.items()}).thresholds
    assert neighbours(65536)[0] < thresholds.async_bytes <= neighbours(65536)[1]
    assert thresholds.async_bytes == thresholds.detached_bytes


def test_thresholds_of_zero_make_every_message_wait():
    model = model_of(machine(async_bytes=65536, detached_bytes=65536), async_bytes=0, detached_bytes=0)
    assert model.predicted("send", SIZES) == pytest.approx(model.predicted("recv", SIZES))
    assert model.predicted("pingpong", SIZES) == pytest.approx(2 * model.predicted("send", SIZES))


def test_a_ping_pong_alone_gives_latency_and_bandwidth_and_says_that_thresholds_are_assumed():
    model = model_of({"pingpong": Points(SIZES, 2 * (5e-6 + SIZES / 1e9))})
    assert model.latency_s == pytest.approx(5e-6, rel=0.01)
    assert model.bandwidth_Bps == pytest.approx(1e9, rel=0.01)
    assert model.thresholds.async_reason.startswith("assumed")
    assert (model.send, model.receive, model.isend) == (None, None, None)


def test_known_thresholds_are_kept():
    model = model_of(machine(async_bytes=65536, detached_bytes=65536), async_bytes=5000, detached_bytes=70000)
    assert (model.thresholds.async_bytes, model.thresholds.detached_bytes) == (5000, 70000)


def test_times_that_contradict_each_other_share_the_error():
    # By hand: MPI_Send 4 us and MPI_Recv 2 us, but half a ping-pong of 3 us, with next to no time on the wire.  With
    # the same relative error e, (1 - e) 6 = (1 + e) 3, so e = 1/3: 2.67, 1.33 and 4 us.
    flat = np.ones(len(SIZES))
    times = {"send": 4e-6 * flat, "recv": 2e-6 * flat, "pingpong": 6e-6 + 2e-12 * SIZES}
    measured = {call: Points(SIZES, times_s) for call, times_s in times.items()}
    model = model_of(measured, async_bytes=NEVER, detached_bytes=NEVER)
    small = SIZES[SIZES < 1e4]
    assert model.predicted("send", small) == pytest.approx(4e-6 * 2 / 3, rel=0.04)
    assert model.predicted("recv", small) == pytest.approx(2e-6 * 2 / 3, rel=0.04)
    assert model.predicted("pingpong", small) == pytest.approx(6e-6 * 4 / 3, rel=0.04)
