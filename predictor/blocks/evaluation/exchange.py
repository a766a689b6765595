"""Messages between cohorts: who waits for whom, and how long it takes once both are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from platforms.errors import UserError
from predictor.blocks.application import Receive, Send
from predictor.blocks.evaluation.cohort import Cohort, whole_bytes
from predictor.blocks.evaluation.pairs import Pairs, common, rest
from predictor.blocks.evaluation.profile import AT_ONCE, Profile
from predictor.blocks.evaluation.program import Instruction
from predictor.blocks.evaluation.progression import Part, Progression
from predictor.blocks.evaluation.serving import Client, serve_row
from predictor.blocks.expressions import Expression, Value
from predictor.blocks.machines.machine import Group, Machine, Traffic
from predictor.blocks.machines.traffic import relations

Channel = tuple[str, str]  # labels of sender and receiver
_Owner = TypeVar("_Owner")


@dataclass(eq=False)
class Offer:
    """Messages that are ready to go, in the order of their pairs."""

    pairs: Pairs
    times: Profile
    size_bytes: int
    group: Group
    sender: Cohort | None  # that waits until they have come; None: buffered
    traffic: Traffic  # that each sender makes by itself
    order: int
    where: str

    @property
    def ordered(self) -> bool:
        return self.sender is not None and self.sender.ordered

    @property
    def held(self) -> Cohort:
        """``sender``, where it waits."""
        if self.sender is None:
            raise ValueError("a buffered message holds nobody")
        return self.sender


class Exchange:
    """All messages of an evaluation."""

    def __init__(
        self,
        machine: Machine,
        counts: Mapping[str, int],
        code: Mapping[str, Sequence[Instruction]],
        add: Callable[[Cohort], None],
    ):
        """``add`` is given every cohort that can go on, past the step that it has waited in."""
        self._machine, self._counts, self._code, self._add = machine, counts, code, add
        self._offers: dict[Channel, list[Offer]] = defaultdict(list)
        self._receivers: dict[Channel, list[Cohort]] = defaultdict(list)
        self._new: dict[Channel, None] = {}  # where somebody has come since all was matched
        self._order = 0

    def begin(self, cohort: Cohort, step: Send | Receive, where: str) -> bool:
        """A cohort comes to a send or receive; True where it need not wait, and is past it."""
        if step.at is not None:
            at = Expression.of(step.at)
            others = at.value(cohort.scope, where)
            row = others.integers if isinstance(others, Progression) else None
            if row is None:
                others = at.whole(cohort.scope, where)
                row = others, 0
            partner = step.to if isinstance(step, Send) else step.sender
            self._check_partners(others, partner, cohort, f"{where}, expression {at.text!r}")
            first, step_of = row
            index_step = cohort.stride if cohort.count > 1 else 0
            pairs = Pairs(cohort.first, index_step, first, step_of, cohort.count)
            if not self._meet(cohort, step, where, pairs):
                return False
            cohort.pc += 1
            return True
        cohort.partners = self._all_partners(cohort, step.to if isinstance(step, Send) else step.sender)
        return self._next_partners(cohort, step, where)

    def _check_partners(self, others: Value, partner: str, cohort: Cohort, where: str) -> None:
        if others < 0 or others >= self._counts[partner]:
            one = others.first if isinstance(others, Progression) else others
            problem = f"no process {one} of {partner}, which has {self._counts[partner]}"
            raise UserError(where, problem, "Count from 0")
        if partner == cohort.label and others == cohort.scope["index"]:
            raise UserError(where, f"process {cohort.first} of {partner} with itself", "Name another one")

    def _all_partners(self, cohort: Cohort, partner: str) -> tuple[tuple[int, int], ...]:
        """Each member of the label but oneself, as rows of them."""
        count = self._counts[partner]
        if partner != cohort.label:
            return ((0, count),) if count else ()
        if cohort.count > 1:
            raise Progression(cohort.first, cohort.stride, cohort.count).split_all()
        rows = ((0, cohort.first), (cohort.first + 1, count - cohort.first - 1))
        return tuple(row for row in rows if row[1])

    def _next_partners(self, cohort: Cohort, step: Send | Receive, where: str) -> bool:
        """Goes on to those of this step that are left; True once there are none."""
        while cohort.partners:
            (first, count), *others = cohort.partners
            if cohort.count == 1:
                pairs = Pairs(cohort.first, 0, first, 1 if count > 1 else 0, count)
            else:  # all of the cohort with one after the other
                pairs = Pairs(cohort.first, cohort.stride, first, 0, cohort.count)
                others = [(first + 1, count - 1), *others] if count > 1 else others
            cohort.partners = tuple(others)
            if not self._meet(cohort, step, where, pairs):
                return False
        cohort.pc += 1
        return True

    def _meet(self, cohort: Cohort, step: Send | Receive, where: str, pairs: Pairs) -> bool:
        """``pairs``: with this cohort's members as sources.  False where it waits."""
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
        traffic = Traffic(out=burst, together=burst, burst=burst)
        channel = cohort.label, step.to
        self._order += 1
        self._new[channel] = None
        self._offers[channel].append(
            Offer(
                pairs, times, size_bytes, cohort.group, None if buffered else cohort, traffic, self._order, where
            )
        )  # fmt: skip
        return buffered

    def _go_on(self, cohort: Cohort) -> None:
        """Its message has come."""
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
        """Lets those meet who can; False where nobody could.

        Servers last, when as many as can be wait for them: they are dealt with in rows.
        """
        if any(self._match_rows(channel) for channel in list(self._new)):
            return True
        for channel in list(self._new):
            if self._match_servers(channel):
                return True
            del self._new[channel]
        return False

    def waiting(self) -> Iterator[tuple[tuple[Hashable, ...], Cohort]]:
        """Everybody who waits for a message, or for one to be received, and where."""
        for channel, receivers in self._receivers.items():
            for receiver in sorted(receivers, key=lambda one: (one.first, one.awaited.source)):
                yield ("receives", *channel), receiver
        for channel, offers in self._offers.items():
            for offer in offers:
                if offer.sender is not None:
                    yield ("sends", *channel), offer.sender

    def offered(self) -> Iterator[tuple[tuple[Hashable, ...], Offer]]:
        """All messages that nobody has received yet, with their places in the order of each channel."""
        for channel, offers in self._offers.items():
            ranks = {order: rank for rank, order in enumerate(sorted(offer.order for offer in offers))}
            for offer in offers:
                yield (*channel, ranks[offer.order], offer.sender is not None), offer

    def check_done(self) -> None:
        """Raises UserError where somebody still waits, or a message has not been received."""
        for channel, receivers in self._receivers.items():
            for receiver in receivers:
                where = self._code[receiver.label][receiver.pc].where
                problem = f"process {receiver.first} of {receiver.label} waits for a message of process "
                problem += f"{receiver.awaited.source} of {channel[0]} that never comes"
                raise UserError(where, problem, "Let that one send it, or look for processes that wait in a circle")
        for channel, offers in self._offers.items():
            for offer in offers:
                problem = f"process {offer.pairs.source} of {channel[0]} sends a message that process "
                problem += f"{offer.pairs.target} of {channel[1]} never receives"
                sending = self._sending(channel[1], offer.pairs.target)
                if sending is not None:
                    problem += f", which waits itself for what it sends at {sending.where} to be received"
                    raise UserError(offer.where, problem, "Let one of them receive first, or buffer what it sends")
                raise UserError(offer.where, problem, "Let that one receive it")

    def _sending(self, label: str, member: int) -> Offer | None:
        """What a process waits to be received."""
        for (source, _), offers in self._offers.items():
            for offer in offers:
                ahead = member - offer.pairs.source
                at, off = divmod(ahead, offer.pairs.source_step) if offer.pairs.source_step else (0, ahead)
                if source == label and offer.sender is not None and not off and 0 <= at < offer.pairs.count:
                    return offer
        return None

    def _match_rows(self, channel: Channel) -> bool:
        """Senders and receivers that meet one to one."""
        offers, receivers = self._offers[channel], self._receivers[channel]
        waiting, kept = list(receivers), []
        receivers.clear()  # those that come to another receive of this channel are added again meanwhile
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
        """Lets the first offer that fits meet the receiver; those of the receiver that are left, or None."""
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
            alone = start.most() - start.least() > AT_ONCE * start.most()  # then as if nobody were in the way
            for one in relations(offer.group, receiver.group, awaited.part(mine)):
                traffic = offer.traffic if alone or offer.traffic.burst > 1 else one.traffic
                took_s = self._message_s(offer, receiver.group, one.same_node, traffic)
                end = start.part(one.part.first, one.part.stride, one.part.count).plus(took_s)
                self._go_on(receiver.part(mine.within(one.part), end))
                self._release(offer, theirs.within(one.part), end)
            return left
        return None

    @staticmethod
    def _left(offer: Offer, taken: Part) -> list[Offer]:
        """What is left of an offer."""
        left = []
        for one in rest(offer.pairs.count, taken if taken.stride > 0 else taken.turned()):
            times = offer.times.part(one.first, one.stride, one.count)
            sender = None if offer.sender is None else offer.sender.part(one)
            left.append(replace(offer, pairs=offer.pairs.part(one), times=times, sender=sender))
        return left

    def _release(self, offer: Offer, part: Part, end: Profile) -> None:
        """The senders of that part of an offer go on at its end, if they have waited."""
        if offer.sender is None:
            return
        if part.stride < 0:
            part, end = part.turned(), end.part(part.count - 1, -1, part.count)
        self._go_on(offer.sender.part(part, end))

    def _message_s(self, offer: Offer, target: Group, same_node: bool, traffic: Traffic) -> float:
        return self._machine.message_s(offer.group, target, offer.size_bytes, same_node=same_node, traffic=traffic)

    # --- servers ---

    def _match_servers(self, channel: Channel) -> bool:
        """A process that receives from many, or sends to many, one after the other."""
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
                times = offer.times.part(found[1].first, found[1].stride, found[1].count)
                near = offer.group.on_node(node)
                yield self._client(offer, found, times, offer.order, offer, receiver.group, near, first)

    def _receivers_for(self, offer: Offer, receivers: Sequence[Cohort]) -> Iterable[Client[Cohort]]:
        node, first = offer.group.node(offer.held.first), offer.pairs.target
        for order, one in enumerate(receivers):
            found = None if one.ordered else common(offer.pairs, one.awaited)  # ordered: matched by _senders_for
            if found is not None:
                times = one.clock.part(found[1].first, found[1].stride, found[1].count)
                yield self._client(one, found, times, order, offer, one.group, one.group.on_node(node), first)

    def _client(
        self, owner: _Owner, found: tuple[Part, Part], times: Profile, order: int,
        offer: Offer, target: Group, near: range, first: int,
    ) -> Client[_Owner]:  # fmt: skip
        """``near``: members on the server's node; ``first``: the member at place 0 of the server's row."""
        far_s = self._message_s(offer, target, False, offer.traffic)
        near_s = self._message_s(offer, target, True, offer.traffic) if near else 0.0
        return Client(owner, *found, times, order, far_s, near_s, tuple(member - first for member in near))

    @staticmethod
    def _serve(server: Cohort, clients: list[Client[_Owner]]) -> list[tuple[Client[_Owner], Profile]]:
        """Serves those who wait at the head of its row; who they are, and when each was done."""
        row = server.awaited
        served, clock_s, done = serve_row(server.clock.first, row.count, clients)
        server.clock = Profile.constant(1, clock_s)
        server.pairs = row.part(Part(served, 1, row.count - served))
        return done

    def _after_serving(self, receiver: Cohort, receivers: list[Cohort]) -> None:
        """It goes on, or still waits for those that it has not served."""
        if receiver.awaited.count:
            receivers.append(receiver)
        else:
            self._go_on(receiver)

    def _advance_offer(self, offer: Offer, offers: list[Offer]) -> None:
        """The same of one that sends in order, after some of its messages have come."""
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
