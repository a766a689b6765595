"""Messages between cohorts: matching of sends and receives, and the times at which both sides go on."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from platforms.errors import UserError
from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.line import Client, Line, later, moments, serve_row
from predictor.blocks.machines.machine import ALONE, Group, Machine, MessageLoad, relations
from predictor.blocks.parts import SENDING, WAITING, Ledger
from predictor.blocks.progression import Pairs, Part, common, rest, united
from predictor.blocks.stream.instructions import Receive, Send

Channel = tuple[str, str]  # labels of sender and receiver


@dataclass(eq=False)
class Side:
    """Messages that are ready to be sent, or to be received, in the order of their pairs."""

    pairs: Pairs
    group: Group  # of the processes on this side
    one: Send | Receive
    order: int  # number of the side, in the order in which they were made
    cohort: Cohort | None  # the cohort that waits for the messages; None: they are buffered
    sent: Line  # when each buffered message was sent, s

    @property
    def clock(self) -> Line:
        """When each message is ready on this side, s; if it is ordered, the first."""
        return self.sent if self.cohort is None else self.cohort.clock

    @property
    def ordered(self) -> bool:
        """True if a single process has the messages one after the other."""
        return self.cohort is not None and self.cohort.count == 1 and self.pairs.count > 1

    @property
    def held(self) -> Cohort:
        """The waiting cohort; a ValueError is raised if the messages are buffered."""
        if self.cohort is None:
            raise ValueError("no sender waits for a buffered message")
        return self.cohort

    def part(self, part: Part) -> Side:
        """Return the messages at these places, as a side of their own."""
        cohort = None if self.cohort is None else self.cohort.cut(part)
        return Side(self.pairs.part(part), self.group, self.one, self.order, cohort, self.sent.part(part))

    def left(self, taken: Part) -> list[Side]:
        """Return the parts of the side that remain without the messages at these places."""
        taken = taken if taken.stride > 0 else taken.turned()
        return [self.part(part) for part in rest(self.pairs.count, taken)]


@dataclass
class _Sides:
    """The messages of a channel."""

    sends: list[Side]
    receives: list[Side]


@dataclass(frozen=True, eq=False)
class _Match:
    """Messages that both sides have reached."""

    receive: Side
    mine: Part  # their places in the receive
    send: Side
    theirs: Part  # their places in the send
    start: Line

    @property
    def pairs(self) -> Pairs:
        """Their senders and receivers."""
        return self.receive.pairs.part(self.mine)


def _loads(matches: Sequence[_Match]) -> Iterator[tuple[_Match, Mapping[bool, MessageLoad]]]:
    """Yield each match with the messages that share the links within nodes (True) and between them (False).

    These are the messages of one step between two groups that begin at the same moment; messages of a row that begin
    one after the other share nothing.
    """
    steps: dict[Hashable, list[_Match]] = defaultdict(list)
    for match in matches:
        steps[match.send.one.where, match.send.group, match.receive.group].append(match)
    for alike in (bunch for step in steps.values() for bunch in moments(step, lambda match: match.start)):
        first = alike[0]
        loads: dict[bool, MessageLoad] = {}
        for row in united(match.pairs for match in alike) if first.start.at_once else ():
            for part in relations(first.send.group, first.receive.group, row):
                loads[part.same_node] = part.traffic.most(loads.get(part.same_node, ALONE))
        yield from ((match, loads) for match in alike)


class Exchange:
    """The messages of an evaluation."""

    def __init__(self, machine: Machine, first: Mapping[str, int], go_on: Callable[[Cohort], None], spent: Ledger):
        """Create an exchange without messages.

        Args:
            machine: The machine, for the times of messages.
            first: Number of process 0 of each label.
            go_on: Called with every cohort whose instruction is done.
            spent: Ledger of the processes' times.
        """
        self._machine, self._go_on, self._spent = machine, go_on, spent
        self._labels, self._starts = list(first), list(first.values())
        self._channels: dict[Channel, _Sides] = defaultdict(lambda: _Sides([], []))
        self._new: dict[Channel, None] = {}  # channels with a new send or receive since the last matching
        self._order = 0

    def begin(self, cohort: Cohort, send: Send | Receive) -> bool:
        """Begin the messages with the remaining partners; return True if the cohort goes on without waiting."""
        while cohort.met < send.count:
            number, step = (int(value) for value in cohort.row(send.first))
            partner = bisect_right(self._starts, number + cohort.met) - 1
            first, others = number + cohort.met - self._starts[partner], 1
            if cohort.count == 1:
                others = send.count - cohort.met
                step = int(others > 1)
            cohort.met += others  # several processes meet one partner after the other
            count = max(cohort.count, others)
            line, other = (cohort.first, cohort.stride), (first, step)
            waits = isinstance(send, Receive) or send.waits
            sent = cohort.clock if others == 1 else Line(count, cohort.clock.first)
            ends = (*other, *line) if isinstance(send, Receive) else (*line, *other)
            self._order += 1
            side = Side(Pairs(*ends, count), cohort.group, send, self._order, cohort if waits else None, sent)
            mine, theirs = cohort.group.label, self._labels[partner]
            channel = (theirs, mine) if isinstance(send, Receive) else (mine, theirs)
            sides = self._channels[channel]
            (sides.receives if isinstance(send, Receive) else sides.sends).append(side)
            self._new[channel] = None
            if waits:
                return False
        cohort.met = 0
        cohort.pc += 1
        return True

    def match(self) -> bool:
        """Match sends and receives; return False if none could be matched.

        Servers are matched last, when as many clients as possible wait for them, because they serve whole rows.
        """
        if any(self._match_rows(self._channels[channel]) for channel in list(self._new)):
            return True
        for channel in list(self._new):
            if self._match_servers(self._channels[channel]):
                return True
            del self._new[channel]
        return False

    def standing(self) -> Iterator[tuple[Hashable, Cohort | Side]]:
        """Yield every waiting cohort, and every side of buffered messages, after what it waits for."""
        for channel, sides in self._channels.items():
            yield from ((side.pairs, side.held) for side in sides.receives)
            for rank, side in enumerate(sorted(sides.sends, key=lambda side: side.order)):
                yield (channel, rank, side.pairs, id(side.one)), side if side.cohort is None else side.cohort

    def check_done(self) -> None:
        """Check that nothing is left.

        Raises:
            UserError: If a cohort still waits, or a message has not been received.
        """
        for (source, target), sides in self._channels.items():
            for side in sides.receives:
                problem = f"process {side.pairs.target} of {target} waits for a message of process "
                problem += f"{side.pairs.source} of {source} that is never sent"
                remedy = "Send it, or look for processes that wait for each other in a circle"
                raise UserError(side.one.where, problem, remedy)
        for (source, target), sides in self._channels.items():
            for side in sides.sends:
                problem = f"process {side.pairs.source} of {source} sends a message that process "
                problem += f"{side.pairs.target} of {target} never receives"
                sending = self._sending(target, side.pairs.target)
                if sending is not None:
                    problem += f", which waits until its own message, sent at {sending.one.where}, is received"
                    raise UserError(side.one.where, problem, "Let one of them receive first, or make its send buffered")
                raise UserError(side.one.where, problem, "Add the receive")

    def _sending(self, label: str, member: int) -> Side | None:
        """Return the messages that a process waits for to be received, or None."""
        for (source, _), sides in self._channels.items():
            for side in sides.sends if source == label else ():
                ahead, step = member - side.pairs.source, side.pairs.source_step
                at, off = divmod(ahead, step) if step else (0, ahead)
                if side.cohort is not None and not off and 0 <= at < side.pairs.count:
                    return side
        return None

    # --- one to one ---

    def _match_rows(self, sides: _Sides) -> bool:
        """Match senders and receivers one to one; return whether any were matched.

        Long rows are matched first, because what remains of them then is in few parts.  Buffered messages keep their
        order, and precede the message that their sender waits for.
        """
        servers = [[side for side in some if side.ordered] for some in (sides.receives, sides.sends)]
        waiting = sorted(
            (receive for receive in sides.receives if not receive.ordered), key=lambda side: side.pairs.count
        )
        sends = [send for send in sides.sends if not send.ordered]
        sends.sort(key=lambda side: (side.cohort is not None, -side.pairs.count if side.cohort else side.order))
        kept: list[Side] = []
        matches: list[_Match] = []
        while waiting:
            receive = waiting.pop()
            left = self._receive(receive, sends, matches)
            if left is None:
                kept.append(receive)
            else:
                waiting += left
        sides.receives[:], sides.sends[:] = [*servers[0], *kept], [*servers[1], *sends]
        for match, loads in _loads(matches):
            self._move(match, loads)
        return bool(matches)

    @staticmethod
    def _receive(receive: Side, sends: list[Side], matches: list[_Match]) -> list[Side] | None:
        """Match a receive with the first send that fits; return the unmatched parts of it, or None if none fits."""
        for at, send in enumerate(sends):
            both = common(receive.pairs, send.pairs)
            if both is not None:
                mine, theirs = both
                sends[at : at + 1] = send.left(theirs)
                for part, start in later(receive.clock.part(mine), send.clock.part(theirs)):
                    matches.append(_Match(receive, mine.within(part), send, theirs.within(part), start))
                return receive.left(mine)
        return None

    def _move(self, match: _Match, loads: Mapping[bool, MessageLoad]) -> None:
        """Let matched messages arrive; ``loads``: of their links, within a node and between nodes."""
        for row in relations(match.send.group, match.receive.group, match.pairs):
            took_s = self._message_s(
                match.send, match.receive, same_node=row.same_node, traffic=loads.get(row.same_node)
            )
            end = match.start.part(row.part).plus(took_s)
            self._end(match.receive, match.mine.within(row.part), end, took_s * row.part.count)
            self._end(match.send, match.theirs.within(row.part), end, took_s * row.part.count)

    def _end(self, side: Side, part: Part, end: Line, sent_s: float) -> None:
        """Let the processes of a part of a side go on at its end, if they have waited.

        Their messages were on their way for ``sent_s`` together.
        """
        if side.cohort is None:
            return
        self._note(side, side.clock.part(part), end, sent_s)
        if part.stride < 0:
            part, end = part.turned(), end.part(Part(part.count - 1, -1, part.count))
        self._resume(side.cohort.cut(part, end))

    def _resume(self, cohort: Cohort) -> None:
        """Let a cohort go on with the remaining partners of its instruction, or to the next one."""
        instruction = cohort.instruction
        if isinstance(instruction, Send | Receive) and self.begin(cohort, instruction):
            self._go_on(cohort)

    def _note(self, side: Side, begin: Line, end: Line, sent_s: float) -> None:
        label, where = side.group.label, side.one.where
        self._spent.note(label, where, SENDING, sent_s)
        self._spent.note(label, where, WAITING, end.total - begin.total - sent_s)

    def _message_s(self, send: Side, receive: Side, *, same_node: bool, traffic: MessageLoad | None = None) -> float:
        """Return the time of a message; without traffic, or in a burst, only its sender's messages count."""
        if not isinstance(send.one, Send):
            raise ValueError("a receive sends nothing")
        burst, size_bytes = send.one.burst, send.one.size_bytes
        if traffic is None or burst > 1:
            traffic = MessageLoad(out=burst, together=burst, burst=burst)
        return self._machine.message_s(send.group, receive.group, size_bytes, same_node=same_node, traffic=traffic)

    # --- servers ---

    def _match_servers(self, sides: _Sides) -> bool:
        """Match a process that receives from many or sends to many, one after the other; return whether it was."""
        for servers, others in ((sides.receives, sides.sends), (sides.sends, sides.receives)):
            for server in [server for server in servers if server.ordered]:
                done, clock_s, served = serve_row(server.clock.first, list(self._clients(server, others)))
                for match in served:
                    owner = match.client.owner
                    if owner.ordered:
                        self._advance(owner, others, 1, match.ends[0], match.sent_s)
                        continue
                    at = others.index(owner)
                    others[at : at + 1] = owner.left(match.in_owner)
                    member = 0
                    for ends in match.ends:
                        share_s = match.sent_s * ends.count / match.count  # the sum over the lines is what counts
                        self._end(owner, match.in_owner.within(Part(member, 1, ends.count)), ends, share_s)
                        member += ends.count
                if served:
                    all_s = sum(match.sent_s for match in served)
                    self._advance(server, servers, done, Line(1, clock_s), all_s)
                    return True
        return False

    def _advance(self, side: Side, sides: list[Side], done: int, clock: Line, sent_s: float) -> None:
        """Let an ordered side go on after its first messages, or wait for the rest of them."""
        self._note(side, side.clock, clock, sent_s)
        side.held.clock = clock
        side.pairs = side.pairs.part(Part(done, 1, side.pairs.count - done))
        if not side.pairs.count:
            sides.remove(side)
            self._resume(side.held)

    def _clients(self, server: Side, others: list[Side]) -> Iterator[Client[Side]]:
        node, receives = server.group.node(server.held.first), isinstance(server.one, Receive)
        first = server.pairs.source if receives else server.pairs.target
        for other in others:
            if other.ordered and not receives:
                continue  # it has been matched as a server
            clients = common(server.pairs, other.pairs.part(Part(0, 1, 1)) if other.ordered else other.pairs)
            if clients is None:
                continue
            in_row, in_owner = clients
            ends = (other, server) if receives else (server, other)
            near = other.group.on_node(int(node))
            yield Client(
                owner=other,
                in_row=in_row,
                in_owner=in_owner,
                times=other.clock.part(in_owner),
                order=other.order,
                service_s=self._message_s(*ends, same_node=False),
                near_s=self._message_s(*ends, same_node=True) if near else 0.0,
                near=range(near.start - first, near.stop - first, near.step),
            )
