"""Messages between cohorts: matching of sends and receives, and the times at which both sides go on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from platforms.errors import UserError
from predictor.blocks.application import Receive, Send
from predictor.blocks.evaluation.cohort import Cohort, Note, whole_bytes
from predictor.blocks.evaluation.profile import AT_ONCE, Profile
from predictor.blocks.evaluation.program import Instruction
from predictor.blocks.evaluation.serving import Client, serve_row
from predictor.blocks.expressions import Expression, Value
from predictor.blocks.machines.machine import Group, Machine, MessageLoad
from predictor.blocks.machines.traffic import relations
from predictor.blocks.parts import SENDING, WAITING
from predictor.blocks.processes.pairs import Pairs, common, rest
from predictor.blocks.processes.progression import Part, Progression

Channel = tuple[str, str]  # labels of sender and receiver
_Owner = TypeVar("_Owner")


@dataclass(eq=False)
class Offer:
    """Messages that are ready to be received, in the order of their pairs."""

    pairs: Pairs
    times: Profile  # when each message is ready, s
    size_bytes: int
    group: Group  # of the senders
    sender: Cohort | None  # the cohort that waits until they are received; None: the messages are buffered
    traffic: MessageLoad  # caused by each sender alone
    order: int  # number of the offer, in the order in which they were made
    where: str

    @property
    def ordered(self) -> bool:
        """True if a single process sends the messages one after the other."""
        return self.sender is not None and self.sender.ordered

    @property
    def held(self) -> Cohort:
        """The waiting sender; a ValueError is raised if the messages are buffered."""
        if self.sender is None:
            raise ValueError("no sender waits for a buffered message")
        return self.sender


class Exchange:
    """The messages of an evaluation."""

    def __init__(
        self,
        machine: Machine,
        *,
        counts: Mapping[str, int],
        code: Mapping[str, Sequence[Instruction]],
        add: Callable[[Cohort], None],
        note: Note,
    ):
        """Create an exchange without messages.

        Args:
            machine: The machine, for the times of messages.
            counts: Number of processes of each label.
            code: Flat program of each label.
            add: Called with every cohort that goes on to its next step.
            note: Called with the parts of the time of every message.
        """
        self._machine, self._counts, self._code, self._add, self._note = machine, counts, code, add, note
        self._offers: dict[Channel, list[Offer]] = defaultdict(list)
        self._receivers: dict[Channel, list[Cohort]] = defaultdict(list)
        self._new: dict[Channel, None] = {}  # channels with a new send or receive since the last matching
        self._order = 0

    def begin(self, cohort: Cohort, step: Send | Receive, where: str) -> bool:
        """Let a cohort begin a send or receive; return True if it has finished the step without waiting."""
        if step.at is not None:
            at = Expression.of(step.at)
            others = at.value(cohort.scope, where)
            row = others.integers if isinstance(others, Progression) else None
            if row is None:
                others = at.whole(cohort.scope, where)
                row = others, 0
            partner = step.to if isinstance(step, Send) else step.sender
            self._check_partners(others, partner, cohort, where=f"{where}, expression {at.text!r}")
            first, step_of = row
            index_step = cohort.stride if cohort.count > 1 else 0
            pairs = Pairs(cohort.first, index_step, first, step_of, cohort.count)
            if not self._meet(cohort, step, where, pairs=pairs):
                return False
            cohort.pc += 1
            return True
        cohort.partners = self._all_partners(cohort, step.to if isinstance(step, Send) else step.sender)
        return self._next_partners(cohort, step, where)

    def _check_partners(self, others: Value, partner: str, cohort: Cohort, *, where: str) -> None:
        if others < 0 or others >= self._counts[partner]:
            one = others.first if isinstance(others, Progression) else others
            problem = f"no process {one} of {partner}, which has {self._counts[partner]}"
            raise UserError(where, problem, "Count from 0")
        if partner == cohort.label and others == cohort.scope["index"]:
            raise UserError(where, f"process {cohort.first} of {partner} names itself", "Name another process")

    def _all_partners(self, cohort: Cohort, partner: str) -> tuple[tuple[int, int], ...]:
        """Return rows (first, count) of all members of the label except the process itself."""
        count = self._counts[partner]
        if partner != cohort.label:
            return ((0, count),) if count else ()
        if cohort.count > 1:
            raise Progression(cohort.first, cohort.stride, cohort.count).split_all()
        rows = ((0, cohort.first), (cohort.first + 1, count - cohort.first - 1))
        return tuple(row for row in rows if row[1])

    def _next_partners(self, cohort: Cohort, step: Send | Receive, where: str) -> bool:
        """Go on with the remaining partners of this step; return True when none remains."""
        while cohort.partners:
            (first, count), *others = cohort.partners
            if cohort.count == 1:
                pairs = Pairs(cohort.first, 0, first, 1 if count > 1 else 0, count)
            else:  # the whole cohort meets one partner after the other
                pairs = Pairs(cohort.first, cohort.stride, first, 0, cohort.count)
                others = [(first + 1, count - 1), *others] if count > 1 else others
            cohort.partners = tuple(others)
            if not self._meet(cohort, step, where, pairs=pairs):
                return False
        cohort.pc += 1
        return True

    def _meet(self, cohort: Cohort, step: Send | Receive, where: str, *, pairs: Pairs) -> bool:
        """Begin messages with these pairs, whose sources are the cohort's members; return False if the cohort waits."""
        if isinstance(step, Receive):
            cohort.pairs = Pairs(pairs.target, pairs.target_step, pairs.source, pairs.source_step, pairs.count)
            channel = step.sender, cohort.label
            self._receivers[channel].append(cohort)
            self._new[channel] = None
            return False
        buffered = bool(Expression.of(step.buffered).value(cohort.scope, where))
        size_bytes = whole_bytes(step.bytes, cohort, where)
        times = cohort.clock
        if buffered and cohort.count == 1:
            times = Profile.constant(pairs.count, cohort.clock.first)
        cohort.pairs = None if buffered else pairs
        burst = 1 if step.at is not None or not buffered else self._counts[step.to] - (step.to == cohort.label)
        traffic = MessageLoad(out=burst, together=burst, burst=burst)
        channel = cohort.label, step.to
        self._order += 1
        self._new[channel] = None
        self._offers[channel].append(
            Offer(
                pairs=pairs,
                times=times,
                size_bytes=size_bytes,
                group=cohort.group,
                sender=None if buffered else cohort,
                traffic=traffic,
                order=self._order,
                where=where,
            )
        )
        return buffered

    def _go_on(self, cohort: Cohort) -> None:
        """Let a cohort go on after its message."""
        cohort.pairs = None
        instruction = self._code[cohort.label][cohort.pc]
        step = instruction.step
        if isinstance(step, Send | Receive) and step.at is None:
            going_on = self._next_partners(cohort, step, instruction.where)
        else:
            cohort.pc += 1
            going_on = True
        if going_on:
            self._add(cohort)

    def match(self) -> bool:
        """Match sends and receives; return False if none could be matched.

        Servers are matched last, when as many clients as possible wait for them, because they serve whole rows.
        """
        if any(self._match_rows(channel) for channel in list(self._new)):
            return True
        for channel in list(self._new):
            if self._match_servers(channel):
                return True
            del self._new[channel]
        return False

    def waiting(self) -> Iterator[tuple[tuple[Hashable, ...], Cohort]]:
        """Yield every cohort that waits in a receive or send, after a key of the place where it waits."""
        for channel, receivers in self._receivers.items():
            for receiver in sorted(receivers, key=lambda one: (one.first, one.awaited.source)):
                yield ("receives", *channel), receiver
        for channel, offers in self._offers.items():
            for offer in offers:
                if offer.sender is not None:
                    yield ("sends", *channel), offer.sender

    def offered(self) -> Iterator[tuple[tuple[Hashable, ...], Offer]]:
        """Yield all messages that are not yet received, after a key with their rank in the order of the channel."""
        for channel, offers in self._offers.items():
            ranks = {order: rank for rank, order in enumerate(sorted(offer.order for offer in offers))}
            for offer in offers:
                yield (*channel, ranks[offer.order], offer.sender is not None), offer

    def check_done(self) -> None:
        """Check that nothing is left.

        Raises:
            UserError: If a cohort still waits, or a message has not been received.
        """
        for channel, receivers in self._receivers.items():
            for receiver in receivers:
                where = self._code[receiver.label][receiver.pc].where
                problem = f"process {receiver.first} of {receiver.label} waits for a message of process "
                problem += f"{receiver.awaited.source} of {channel[0]} that is never sent"
                raise UserError(where, problem, "Send it, or look for processes that wait for each other in a circle")
        for channel, offers in self._offers.items():
            for offer in offers:
                problem = f"process {offer.pairs.source} of {channel[0]} sends a message that process "
                problem += f"{offer.pairs.target} of {channel[1]} never receives"
                sending = self._sending(channel[1], offer.pairs.target)
                if sending is not None:
                    problem += f", which waits until its own message, sent at {sending.where}, is received"
                    raise UserError(offer.where, problem, "Let one of them receive first, or make its send buffered")
                raise UserError(offer.where, problem, "Add the receive")

    def _sending(self, label: str, member: int) -> Offer | None:
        """Return the offer that a process waits for to be received, or None."""
        for (source, _), offers in self._offers.items():
            for offer in offers:
                ahead = member - offer.pairs.source
                at, off = divmod(ahead, offer.pairs.source_step) if offer.pairs.source_step else (0, ahead)
                if source == label and offer.sender is not None and not off and 0 <= at < offer.pairs.count:
                    return offer
        return None

    def _match_rows(self, channel: Channel) -> bool:
        """Match senders and receivers one to one; return whether any were matched."""
        offers, receivers = self._offers[channel], self._receivers[channel]
        waiting, kept = list(receivers), []
        receivers.clear()  # cohorts that reach another receive of this channel are added again meanwhile
        progress = False
        while waiting:
            receiver = waiting.pop()
            left = None if receiver.ordered else self._receive(receiver, offers)
            if left is None:
                kept.append(receiver)
            else:
                progress = True
                waiting += left
        receivers += kept
        return progress

    def _receive(self, receiver: Cohort, offers: list[Offer]) -> list[Cohort] | None:
        """Match a receiver with the first offer that fits; return the unmatched parts of it, or None if none fits."""
        awaited = receiver.awaited
        for at, offer in enumerate(offers):
            if offer.ordered:
                continue
            found = common(awaited, offer.pairs)
            if found is None:
                continue
            mine, theirs = found
            left = [receiver.part(one) for one in rest(awaited.count, mine)]
            offers[at : at + 1] = self._left(offer, theirs)
            start = receiver.clock.part(mine.first, mine.stride, mine.count)
            start = start.later(offer.times.part(theirs.first, theirs.stride, theirs.count))
            alone = start.most() - start.least() > AT_ONCE * start.most()  # no contention at different moments
            for one in relations(offer.group, receiver.group, awaited.part(mine)):
                traffic = offer.traffic if alone or offer.traffic.burst > 1 else one.traffic
                took_s = self._message_s(offer, receiver.group, same_node=one.same_node, traffic=traffic)
                end = start.part(one.part.first, one.part.stride, one.part.count).plus(took_s)
                sent_s, taken = took_s * one.part.count, mine.within(one.part)
                self._noted(receiver, receiver.clock.part(taken.first, taken.stride, taken.count), end, sent_s)
                if offer.sender is not None:
                    taken = theirs.within(one.part)
                    self._noted(offer.sender, offer.times.part(taken.first, taken.stride, taken.count), end, sent_s)
                self._go_on(receiver.part(mine.within(one.part), end))
                self._release(offer, theirs.within(one.part), end)
            return left
        return None

    @staticmethod
    def _left(offer: Offer, taken: Part) -> list[Offer]:
        """Return the parts of an offer that remain."""
        left = []
        for one in rest(offer.pairs.count, taken if taken.stride > 0 else taken.turned()):
            times = offer.times.part(one.first, one.stride, one.count)
            sender = None if offer.sender is None else offer.sender.part(one)
            left.append(replace(offer, pairs=offer.pairs.part(one), times=times, sender=sender))
        return left

    def _release(self, offer: Offer, part: Part, end: Profile) -> None:
        """Let the senders of a part of an offer go on at its end, if they have waited."""
        if offer.sender is None:
            return
        if part.stride < 0:
            part, end = part.turned(), end.part(part.count - 1, -1, part.count)
        self._go_on(offer.sender.part(part, end))

    def _noted(self, cohort: Cohort, begin: Profile, end: Profile, sent_s: float) -> None:
        """Note the parts of messages from ``begin`` to ``end``, which were on their way for ``sent_s`` together."""
        self._note(cohort, SENDING, sent_s)
        self._note(cohort, WAITING, end.total() - begin.total() - sent_s)

    def _message_s(self, offer: Offer, target: Group, *, same_node: bool, traffic: MessageLoad) -> float:
        return self._machine.message_s(offer.group, target, offer.size_bytes, same_node=same_node, traffic=traffic)

    # --- servers ---

    def _match_servers(self, channel: Channel) -> bool:
        """Match a process that receives from many or sends to many, one after the other; return whether it was."""
        offers, receivers = self._offers[channel], self._receivers[channel]
        for receiver in [one for one in receivers if one.ordered]:
            received = self._serve(receiver, list(self._senders_for(receiver, offers)))
            for sending, ends in received:
                self._received(sending, ends, offers)
            if received:
                receivers.remove(receiver)
                self._after_serving(receiver, receivers)
                return True
        for offer in [one for one in offers if one.ordered]:
            sent = self._serve(offer.held, list(self._receivers_for(offer, receivers)))
            for receiving, ends in sent:
                self._sent(receiving, ends, receivers)
            if sent:
                self._advance_offer(offer, offers)
                return True
        return False

    def _senders_for(self, receiver: Cohort, offers: Sequence[Offer]) -> Iterable[Client[Offer]]:
        awaited = receiver.awaited
        node, first = receiver.group.node(receiver.first), awaited.source
        for offer in offers:
            pairs = offer.pairs.part(Part(0, 1, 1)) if offer.ordered else offer.pairs
            found = common(awaited, pairs)
            if found is not None:
                in_row, in_owner = found
                near = offer.group.on_node(node)
                service_s, near_s = self._services_s(offer, receiver.group, any_near=bool(near))
                yield Client(
                    owner=offer,
                    in_row=in_row,
                    in_owner=in_owner,
                    times=offer.times.part(in_owner.first, in_owner.stride, in_owner.count),
                    order=offer.order,
                    service_s=service_s,
                    near_s=near_s,
                    near=tuple(member - first for member in near),
                )

    def _receivers_for(self, offer: Offer, receivers: Sequence[Cohort]) -> Iterable[Client[Cohort]]:
        node, first = offer.group.node(offer.held.first), offer.pairs.target
        for order, one in enumerate(receivers):
            found = None if one.ordered else common(offer.pairs, one.awaited)  # _senders_for has matched ordered ones
            if found is not None:
                in_row, in_owner = found
                near = one.group.on_node(node)
                service_s, near_s = self._services_s(offer, one.group, any_near=bool(near))
                yield Client(
                    owner=one,
                    in_row=in_row,
                    in_owner=in_owner,
                    times=one.clock.part(in_owner.first, in_owner.stride, in_owner.count),
                    order=order,
                    service_s=service_s,
                    near_s=near_s,
                    near=tuple(member - first for member in near),
                )

    def _services_s(self, offer: Offer, target: Group, *, any_near: bool) -> tuple[float, float]:
        """Return the times of a message to another node and within the node, s; the latter is 0 without near ones."""
        service_s = self._message_s(offer, target, same_node=False, traffic=offer.traffic)
        near_s = self._message_s(offer, target, same_node=True, traffic=offer.traffic) if any_near else 0.0
        return service_s, near_s

    def _serve(self, server: Cohort, clients: list[Client[_Owner]]) -> list[tuple[Client[_Owner], Profile]]:
        """Serve the clients that wait at the head of the server's row; return them with the ends of their services."""
        row = server.awaited
        served, clock_s, done = serve_row(server.clock.first, row.count, clients)
        begin, server.clock = server.clock, Profile.constant(1, clock_s)
        sent_s = [sum(count * service_s for count, service_s in client.services()) for client, _ in done]
        self._noted(server, begin, server.clock, sum(sent_s))
        for (client, ends), own_s in zip(done, sent_s, strict=True):
            owner = client.owner.sender if isinstance(client.owner, Offer) else client.owner
            if isinstance(owner, Cohort):  # it waits for its message
                self._noted(owner, client.times, ends, own_s)
        server.pairs = row.part(Part(served, 1, row.count - served))
        return done

    def _after_serving(self, receiver: Cohort, receivers: list[Cohort]) -> None:
        """Let a receiver go on, or wait for the clients that it has not served."""
        if receiver.awaited.count:
            receivers.append(receiver)
        else:
            self._go_on(receiver)

    def _advance_offer(self, offer: Offer, offers: list[Offer]) -> None:
        """Let a process that sends in order go on, or wait for the rest of its messages to be received."""
        offer.pairs, offer.times = offer.held.awaited, offer.held.clock
        if not offer.pairs.count:
            offers.remove(offer)
            self._go_on(offer.held)

    def _received(self, client: Client[Offer], ends: Profile, offers: list[Offer]) -> None:
        offer = client.owner
        if offer.ordered:
            offer.held.clock = ends
            offer.held.pairs = offer.pairs.part(Part(1, 1, offer.pairs.count - 1))
            self._advance_offer(offer, offers)
        else:
            at = offers.index(offer)
            offers[at : at + 1] = self._left(offer, client.in_owner)
            self._release(offer, client.in_owner, ends)

    def _sent(self, client: Client[Cohort], ends: Profile, receivers: list[Cohort]) -> None:
        receiver, part = client.owner, client.in_owner
        receivers.remove(receiver)
        if part.stride < 0:
            part, ends = part.turned(), ends.part(part.count - 1, -1, part.count)
        receivers += [receiver.part(one) for one in rest(receiver.awaited.count, part)]
        self._go_on(receiver.part(part, ends))
