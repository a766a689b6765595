"""The timeline of a graph: what each process does when, as the activities that apps.timelines writes."""

import numpy as np

from apps.recording.events import Op
from apps.timelines import activities
from apps.timelines.activities import COMPUTATION, DISK, RECEIVE, SEND, WAITING
from platforms.system import System
from predictor.blocks.graph.evaluate import GraphRun, NetworkMachine, run_graph
from predictor.blocks.graph.parts import Dated, kinds_of
from predictor.blocks.parts import COMPUTING
from predictor.blocks.parts import DISK as ON_DISK
from predictor.blocks.stream.instructions import Collective, Stream, executed
from predictor.dpgraph import instructions


def activities_of(stream: Stream, machine: NetworkMachine) -> activities.Activities:
    """Return the activities of all processes in the turns that are evaluated.

    Args:
        stream: The instructions.
        machine: The machine, with the placement of the processes.

    Raises:
        UserError: As ``run_graph``.
        OutOfRange: As ``run_graph``.
    """
    run = run_graph(stream, machine, dated=True)
    assert run.dated is not None
    begin_s, end_s, activity, process = _spans(run.dated, _collectives(stream, run))
    none = np.empty(0)
    ranks = []
    for rank in range(len(run.ended_s)):
        of_rank = np.flatnonzero(process == rank)
        ranks.append(activities.RankActivities(begin_s[of_rank], end_s[of_rank], activity[of_rank], none))
    placement, system = machine.schedule.placement(), machine.system
    turns = run.turns or 1
    return activities.Activities(
        what=f"{stream.application.name} on {system.name}",
        hosts=placement,
        clusters=tuple(_cluster(system, host) for host in placement),
        iterations=turns,
        simulated=min(run.evaluated, turns) if run.turns else turns,
        ranks=tuple(ranks),
        messages=_messages(run.dated),
        made="evaluated",
    )


def _cluster(system: System, host: str) -> str:
    return system.find(host)[0].lan.name


def _collectives(stream: Stream, run: GraphRun) -> np.ndarray:
    """Return the activity of the collective at each site; -1: there is none."""
    collectives = {
        gathering.where: activities.FIRST_COLLECTIVE + Op[gathering.block.upper()]
        for program in stream.programs
        for gathering, _ in executed(program)
        if isinstance(gathering, Collective)
    }
    return np.array([-1, *(collectives.get(place, -1) for place in run.places)])


def _spans(dated: Dated, collectives: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return begin, end, activity and process of all that takes time, in the order of each process's time."""
    moments, program = dated.moments, dated.moments.program
    assert program.site is not None
    kind, code = kinds_of(moments), program.code
    activity = np.where(np.isin(code, (instructions.SEND, instructions.WAIT_SENT)), SEND, RECEIVE)
    of_site = collectives[program.site]
    activity = np.where(of_site >= 0, of_site, activity)
    activity = np.where(kind == COMPUTING, COMPUTATION, np.where(kind == ON_DISK, DISK, activity))
    begun_s = moments.begin_s + moments.late_s
    # The wait for another process comes before the message itself.
    begin_s = np.stack((moments.begin_s, begun_s), axis=1).ravel()
    end_s = np.stack((begun_s, moments.end_s), axis=1).ravel()
    both = np.stack((np.full(len(activity), WAITING), activity), axis=1).ravel()
    takes = end_s > begin_s
    return begin_s[takes], end_s[takes], both[takes], np.repeat(dated.process, 2)[takes]


def _messages(dated: Dated) -> activities.Messages:
    moments, program = dated.moments, dated.moments.program
    sent_s, received_s = (np.full(program.nmessages, np.nan) for _ in range(2))
    for code, dates_s in ((instructions.SEND, sent_s), (instructions.WAIT_RECEIVED, received_s)):
        at = np.flatnonzero(program.code == code)
        dates_s[program.argument[at]] = moments.end_s[at]
    known = np.flatnonzero(~np.isnan(sent_s) & ~np.isnan(received_s))
    order = known[np.argsort(sent_s[known], kind="stable")]
    return activities.Messages(
        source=program.source[order].astype(np.int64),
        target=program.destination[order].astype(np.int64),
        tag=np.zeros(len(order), np.int64),
        size_bytes=program.size_bytes[order],
        sent_s=sent_s[order],
        received_s=received_s[order],
    )
