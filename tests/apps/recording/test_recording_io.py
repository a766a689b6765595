"""Stored recordings: reading them back, and refusing content that is no recording."""

import io
import zipfile

import numpy as np
import pytest

from apps.recording.events import EVENT, Recording
from apps.recording.files import Incomplete, from_bytes, read_events, to_bytes


def rows(count):
    return np.zeros(count, EVENT)


# Two ranks with 2 events and 1 event, counts of the second rank only, and the two halves of MPI_COMM_WORLD.
KEPT = to_bytes(Recording((rows(2), rows(1)), (np.zeros(0, np.int64), np.array([8])), ((0, 1), (0,), (1,)), True))


def changed(**arrays):
    """Return the archive with replaced arrays; None removes an array."""
    with np.load(io.BytesIO(KEPT)) as file:
        everything = {**{name: file[name] for name in file.files}, **arrays}
    content = io.BytesIO()
    np.savez(content, **{name: array for name, array in everything.items() if array is not None})
    return content.getvalue()


def test_ranks_and_communicators_come_back_apart():
    again = from_bytes(changed())
    assert [len(events) for events in again.events] == [2, 1]
    assert [counts.tolist() for counts in again.counts] == [[], [8]]
    assert again.communicators == ((0, 1), (0,), (1,))
    assert again.measured


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"ends": np.array([2, 1])}, "parts"),
        ({"ends": np.array([2, 4])}, "parts"),
        ({"ends": np.array([2])}, "parts"),  # only one rank, and events without a rank
        ({"counts_ends": np.array([-1, 1])}, "parts"),
        ({"members_ends": np.zeros(0, np.int64)}, "parts"),
        ({"event_tag": np.zeros(1, np.int32)}, "columns of 1 to 3 events"),  # one tag for several events
        ({"event_kind": np.zeros(3)}, "event_kind is 1-dimensional, of float64"),
        ({"members": np.zeros((2, 2), np.int32)}, "members is 2-dimensional"),
        ({"measured": np.array([True, False])}, "measured is 1-dimensional"),
        ({"counts": None}, "counts"),
        ({"ends": np.array([None])}, "pickle"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_other_arrays_are_no_recording(arrays, words):
    with pytest.raises(ValueError, match=f"not a recording: .*{words}"):
        from_bytes(changed(**arrays))


@pytest.mark.parametrize("content", [b"", b"PK", KEPT[:-30], KEPT[: len(KEPT) // 2], np.zeros(3).tobytes()])
def test_what_is_cut_off_is_no_recording(content):
    with pytest.raises(ValueError, match="not a recording"):
        from_bytes(content)


def promising(shape, version=(1, 0)):
    """Return the archive with an array of counts whose header promises another shape than its data have."""
    header = io.BytesIO()
    write = {(1, 0): np.lib.format.write_array_header_1_0, (2, 0): np.lib.format.write_array_header_2_0}[version]
    write(header, {"descr": "<i8", "fortran_order": False, "shape": shape})
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(KEPT)) as kept, zipfile.ZipFile(content, "w") as other:
        for name in kept.namelist():
            other.writestr(name, header.getvalue() + bytes(8) if name == "counts.npy" else kept.read(name))
    return content.getvalue()


def test_an_array_longer_than_its_file_is_no_recording_and_takes_no_memory():
    assert from_bytes(promising((1,))).counts[1].tolist() == [0]
    with pytest.raises(ValueError, match="not a recording: counts: its header promises"):
        from_bytes(promising((1 << 50,)))  # 8 PiB
    with pytest.raises(ValueError, match="not a recording: counts: not NumPy's format"):
        from_bytes(promising((1,), (2, 0)))


def test_too_little_memory_does_not_make_a_recording_a_broken_one(monkeypatch):
    def load(*args, **options):
        raise MemoryError

    monkeypatch.setattr(np, "load", load)
    with pytest.raises(MemoryError):
        from_bytes(KEPT)


def test_a_recording_that_lacks_ranks_is_not_complete(tmp_path):
    (tmp_path / "1.events").write_bytes(b"")
    with pytest.raises(Incomplete, match="2 of 3 ranks did not reach MPI_Finalize, for example rank 0"):
        read_events(tmp_path, 3, measured=False)
