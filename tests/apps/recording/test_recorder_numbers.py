"""The numbers that the recorder writes are those that recordings are read with."""

import re
from pathlib import Path

import pytest

from apps.recording.events import Elapse, Kind, Mark, Mode, Op, Reduction, Tag

HEADER = (Path(__file__).parents[3] / "apps" / "recording" / "recorder" / "recorder.h").read_text("utf-8")


def numbers(text):
    """The constants of an enum of C, by name."""
    found, following = {}, 0
    for name, given in re.findall(r"(\w+)(?:\s*=\s*(-?\d+))?\s*(?:,|$)", text.strip()):
        found[name] = int(given) if given else following
        following = found[name] + 1
    return found


ENUMS = [numbers(text) for text in re.findall(r"enum \{(.*?)\};", re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S), re.S)]


@pytest.mark.parametrize(
    ("kinds", "before", "after", "more"),
    [
        (Kind, "", "", {"DELETED": 255}),
        (Elapse, "", "", {}),
        (Mode, "", "", {}),
        (Reduction, "", "", {}),
        (Op, "", "", {"OPS": len(Op)}),
        (Tag, "", "_TAG", {}),
        (Mark, "MARK_", "", {"MARKS": len(Mark)}),
    ],
)
def test_the_numbers_of_the_recorder_are_those_of_recordings(kinds, before, after, more):
    assert {**{f"{before}{one.name}{after}": one.value for one in kinds}, **more} in ENUMS
