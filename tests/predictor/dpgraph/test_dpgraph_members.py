"""Collectives of all members at once, beside those of one member after the other."""

import pytest

from apps.recording.events import Op
from apps.traffic.collectives import Call
from predictor.dpgraph.expanding import _alone
from predictor.dpgraph.members import is_covered, of_members


@pytest.mark.parametrize("op", [Op.BARRIER, Op.BCAST, Op.REDUCE, Op.ALLREDUCE, Op.GATHER, Op.CREATE])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8, 12])
def test_the_messages_of_each_member_are_those_of_its_own_call(op, ranks):
    assert is_covered(op, 0)
    for root in (0, ranks // 2) if op in (Op.BCAST, Op.REDUCE, Op.GATHER) else (-1,):
        members = of_members(op, ranks, root, 24)
        for member in range(ranks):
            rows = members.rows[members.first[member] : members.first[member + 1]]
            alone = _alone(Call(op=op, rank=member, ranks=ranks, root=root, size_bytes=24, counts=())).rows
            assert rows.tolist() == alone.tolist()
