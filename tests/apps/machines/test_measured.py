"""Repeats: their median, and the marks of those that are far off."""

import json
from dataclasses import replace

import pytest

from apps.machines.launch import Launched
from apps.measuring.engine import _cautions, _Repeat
from apps.results.record import Measured, far_repeats, median_repeat
from apps.runs.cautions import _of_measured
from apps.store.codec import as_fields, from_fields


def measured(times_s):
    count = len(times_s)
    return Measured(
        "m", times_s, far_repeats(times_s), median_repeat(times_s), (0.0,) * count, (0.0,) * count, (-1,) * count,
        (0.0, 0.5), 9, "MPI", ("mpirun",), "2026-01-01T00:00:00+00:00",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("times_s", "middle"), [((1.0,), 0), ((3.0, 1.0, 2.0), 2), ((4.0, 1.0, 3.0, 2.0), 3), ((2.0, 2.0, 9.0), 0)]
)
def test_the_representative_repeat_is_the_median_or_the_lower_of_the_middle_two(times_s, middle):
    assert median_repeat(times_s) == middle


@pytest.mark.parametrize(
    ("times_s", "far"),
    [
        ((1.0, 1.0, 1.0), ()),
        ((1.0, 1.0, 1.0, 1.005), ()),  # within 1 % of the median
        ((1.0, 1.0, 1.0, 1.02), (3,)),
        ((10.0, 11.0, 12.0, 13.0, 14.0), ()),  # the median deviation is 1, and 3 * 1.4826 * 1 > 2
        ((10.0, 11.0, 12.0, 13.0, 17.0), (4,)),  # 5 > 3 * 1.4826 * 1
    ],
)
def test_a_repeat_is_far_beyond_three_scaled_median_deviations(times_s, far):
    assert far_repeats(times_s) == far


def test_the_range_is_told_against_the_median():
    one = measured((2.0, 1.9, 2.2))
    assert (one.low_s, one.high_s) == (1.9, 2.2)
    assert one.range_rel == pytest.approx(0.15)


def test_the_store_gives_back_what_it_got():
    one = measured((2.0, 1.9, 2.2))
    assert from_fields(Measured, json.loads(json.dumps(as_fields(one)))) == one


def test_cautions_of_the_launcher_are_those_of_the_record_each_once():
    assert "they computed here" in list(_of_measured(replace(measured((1.0,)), said=("they computed here",)), 8))
    text = "emulated grid: 8 ranks\ncaution: 8 ranks told no operations.\nother words\n"
    launched = Launched(0, "", text, 1.0, False, (), {})
    repeat = _Repeat(None, launched, None)
    assert _cautions([repeat, repeat]) == ("8 ranks told no operations",)


def test_cautions_of_the_launcher_are_kept_and_records_without_them_are_read():
    for said in (None, ("they computed here",)):
        fields = json.loads(json.dumps(as_fields(replace(measured((2.0,)), said=said))))
        assert ("said" in fields) == (said is not None)
        assert from_fields(Measured, fields).said == said
