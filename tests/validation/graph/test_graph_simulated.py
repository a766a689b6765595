"""The graph beside its simulation: the simulated critical path by hand, and what the command says."""

import json

import numpy as np
import pytest

from apps.recording.events import EVENT, Kind, Mark, Op, Recording
from validation.entrance.main import main as gridval
from validation.graph.cli import main
from validation.graph.simulated import COMPUTATION, MPI, simulated_elements

PLACES = ("work", "message", "collective")


def event(kind, clock_s, *, peer=-1, request=0, op=0, site=0):
    return (kind, 0, op, 0, peer, 0, request, 0, 0.0, clock_s, site)


def recorded(*ranks):
    """A recording of processes that begin at 0; each ends with its last date."""
    whole = []
    for events, stop_s in ranks:
        marks = event(Kind.MARK, 0.0, op=Mark.START), event(Kind.MARK, stop_s, op=Mark.STOP)
        whole.append(np.array([marks[0], *events, marks[1]], EVENT))
    return Recording(tuple(whole), tuple(np.empty(0, np.int64) for _ in ranks), (tuple(range(len(ranks))),))


def work(clock_s):
    return event(Kind.COMPUTE, clock_s, site=1)


def test_the_path_goes_from_a_late_message_to_its_sender():
    # Sender: computes for 2 s, sends, computes for 1 s.  Receiver: 1 s, waits until 3.5 s, computes for 4 s.
    sender = [work(0), event(Kind.SEND, 2, peer=1, site=2), event(Kind.WAIT, 2, site=2), work(2)], 3
    receiver = [work(0), event(Kind.RECV, 1, peer=0, site=2), event(Kind.WAIT, 1, site=2), work(3.5)], 7.5
    found = simulated_elements(recorded(sender, receiver), PLACES)
    assert found.time_s == 7.5
    assert found.compute_s.tolist() == [3, 5] and found.ended_s.tolist() == [4.5, 0]
    assert found.spent_s == pytest.approx({(COMPUTATION, "work"): 8, (MPI, "message"): 2.5, (MPI, None): 0})
    assert found.path_s == pytest.approx({(COMPUTATION, "work"): 6, (MPI, "message"): 1.5})
    assert found.path_by_rank_s.tolist() == pytest.approx([2, 5.5])


def test_the_path_of_a_late_receiver_stays_with_it():
    # Rendezvous: the sender waits from 1 to 4.5 s for a receive that is posted at 3 s, and adds 2 s.
    sender = [work(0), event(Kind.SEND, 1, peer=1, site=3), event(Kind.WAIT, 1, site=2), work(4.5)], 6.5
    receiver = [work(0), event(Kind.RECV, 3, peer=0, site=2), event(Kind.WAIT, 3, site=2)], 4.5
    found = simulated_elements(recorded(sender, receiver), PLACES)
    # The message stands at the place of its send, whichever of its ends is waited for.
    assert found.path_s == pytest.approx({(COMPUTATION, "work"): 5, (MPI, "collective"): 1.5})
    assert found.path_by_rank_s.tolist() == pytest.approx([3.5, 3])


def test_the_path_leaves_a_collective_with_the_member_that_entered_it_last():
    def member(enters_s, stop_s):
        return [work(0), event(Kind.COLLECTIVE, enters_s, op=Op.ALLREDUCE, site=3), work(6)], stop_s

    found = simulated_elements(recorded(member(1, 8), member(5, 7), member(2, 7)), PLACES)
    assert found.path_s == pytest.approx({(COMPUTATION, "work"): 7, (MPI, "collective"): 1})
    assert found.path_by_rank_s.tolist() == pytest.approx([3, 5, 0])


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The options, IS on a network that messages measure, and a picture."""
    picture = tmp_path_factory.mktemp("graph") / "timeline.svg"
    words = "--scenario grid2x2 --speeds 40,60 --app is --class W --what-if 2 --times measured --rows 4 --json"
    return words.split(), picture


def test_predicted_elements_path_and_gains_are_the_simulated_ones(compared, capsys):
    words, picture = compared
    assert gridval(["graph", "--simulate", *words, "--timeline", str(picture)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["t_exec_s"] == pytest.approx(said["simulated_t_exec_s"], rel=2e-3)
    assert said["whole_s"] == pytest.approx(said["whole_simulated_s"], rel=2e-3)
    for one in said["elements"]:
        assert one["predicted_s"] == pytest.approx(one["simulated_s"], rel=0.03, abs=0.01 * said["t_exec_s"])
        assert one["predicted_path_s"] == pytest.approx(one["simulated_path_s"], rel=0.03, abs=0.01 * said["t_exec_s"])
    assert sum(one["simulated_path_s"] for one in said["elements"]) == pytest.approx(said["t_exec_s"], rel=0.01)
    computing = (said["processes"][name]["compute_s"] for name in ("predicted", "simulated"))
    assert next(computing) == pytest.approx(next(computing), rel=1e-6)
    # Where a link's latency is not known, the simulated gain lies between those with the largest and the least one.
    assert len(said["gains"]) == 4 and any(one["kind"] == "link" for one in said["gains"])
    for one in said["gains"]:
        other_s = one["saved_s"] if one["otherwise_saved_s"] is None else one["otherwise_saved_s"]
        near_s = 5e-3 * said["t_exec_s"]
        low_s, high_s = sorted((one["saved_s"], other_s))
        assert low_s - near_s <= one["simulated_saved_s"] <= high_s + near_s
    assert picture.stat().st_size > 0


def test_a_dry_run_says_what_would_be_simulated(compared, capsys):
    assert main([*compared[0], "--dry-run", "--no-store"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 run (1 of targets)" in said and "1 recording" in said and "1 measurement of messages" in said
    assert "1 run with dates and 4 runs on changed platforms" in said


def test_a_dry_run_of_a_program_without_iterations_is_one_too(capsys):
    assert main(["--scenario", "grid4x2", "--app", "ep", "--class", "S", "--dry-run", "--no-store"]) == 0
    assert "1 run with dates" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "--simulate: it needs a platform"),
        (["--scenario", "grid4x2", "--times", "li"], "--times li: these times have no dates"),
        (["--scenario", "grid4x2", "--rows", "2"], "--rows 2: there is no table without --what-if"),
        (["--scenario", "grid4x2", "--what-if", "2", "--rows", "-1"], "--rows -1: less than 0"),
        (["--scenario", "grid4x2", "--recording", "x.otf2"], "a trace cannot be simulated"),
    ],
)
def test_options_that_do_not_fit_are_refused(more, said, capsys):
    assert main(["--app", "is", "--class", "S", *more]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
