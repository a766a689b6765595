"""Numbers of ranks as users write them."""

import pytest

from platforms.errors import UserError
from predictor.series.grid import counts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4:1024", (4, 8, 16, 32, 64, 128, 256, 512, 1024)),
        ("3:20", (3, 4, 8, 16, 20)),
        ("4:64:20", (4, 24, 44, 64)),
        ("4:14:4", (4, 8, 12, 14)),
        ("12, 4,8", (4, 8, 12)),
        ("5:5", (5,)),
        ("1:4,4:6:1", (1, 2, 4, 5, 6)),
    ],
)
def test_a_range_holds_its_ends_and_the_powers_or_steps_between(text, expected):
    assert counts("--ranks", text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is neither a number nor a range"),
        ("4:x", "'4:x' is neither a number nor a range"),
        ("8:4", "8:4 holds no number of ranks"),
        ("0:4", "0:4 holds no number of ranks"),
        ("0", "not all between 1 and 1000000"),
        ("1:9:0", "steps of 0 give no end"),
        ("1:9999:1", "or more than 1000 numbers"),
    ],
)
def test_other_texts_are_refused(text, said):
    with pytest.raises(UserError) as err:
        counts("--ranks", text)
    assert said in str(err.value)
