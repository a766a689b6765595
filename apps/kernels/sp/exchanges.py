"""Exchanges of nodes in SP."""

from functools import partial

from apps.kernels.flow import exchanges
from apps.kernels.flow.exchanges import messages, rank_messages
from apps.kernels.sp.traffic import METHOD

__all__ = ["exchanged_bytes", "messages", "operations", "rank_messages"]

operations = partial(exchanges.operations, METHOD)
exchanged_bytes = partial(exchanges.exchanged_bytes, METHOD)
