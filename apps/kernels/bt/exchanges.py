"""Exchanges of nodes in BT."""

from functools import partial

from apps.kernels.bt.traffic import METHOD
from apps.kernels.flow import exchanges
from apps.kernels.flow.exchanges import messages, rank_messages

__all__ = ["exchanged_bytes", "messages", "operations", "rank_messages"]

operations = partial(exchanges.operations, METHOD)
exchanged_bytes = partial(exchanges.exchanged_bytes, METHOD)
