"""The equations of the Li paper for one message and for a program of several processes.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments", sections 3.2 and 3.3 and Figure 4.  Sizes are bytes here, integers of 4 bytes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.recording import Mode
from predictor.dpgraph.send_model import SendModel, Side


@dataclass(frozen=True)
class MessageComponents:
    """Figure 4: a message is copied, crosses the network and is copied again, one after the other.

    A megabyte at 1 + 8 + 1 ns a byte, and 100 us of latency:

    >>> message = MessageComponents(c1_s_per_byte=1e-9, k_b_s_per_byte=8e-9, c2_s_per_byte=1e-9, k_l_s=1e-4)
    >>> round(message.time_s(1e6), 12)
    0.0101
    """

    c1_s_per_byte: float  # sender: from memory to the network buffer
    k_b_s_per_byte: float  # network; called bandwidth in the paper, but it is the inverse of one
    c2_s_per_byte: float  # receiver: from the network buffer
    k_l_s: float  # latency of the network

    def copy_time_s(self, size_bytes: float) -> float:
        """t_c(n) = n c1."""
        return size_bytes * self.c1_s_per_byte

    def transfer_time_s(self, size_bytes: float) -> float:
        """t_t(n) = k_b n + k_l."""
        return self.k_b_s_per_byte * size_bytes + self.k_l_s

    def receive_time_s(self, size_bytes: float) -> float:
        """t_r(n) = n c2."""
        return size_bytes * self.c2_s_per_byte

    @property
    def c_s_per_byte(self) -> float:
        """c = c1 + k_b + c2."""
        return self.c1_s_per_byte + self.k_b_s_per_byte + self.c2_s_per_byte

    def time_s(self, size_bytes: float) -> float:
        """c n + k_l, the sum of the three."""
        return self.c_s_per_byte * size_bytes + self.k_l_s


def identify_components(model: SendModel, mode: Mode = Mode.STANDARD) -> MessageComponents:
    """The four components from the lines of sender and receiver, if copies and transfer do not overlap.

    c1: slope of the buffered sender, which only copies.  c2: slope of the receiver less that of the sender in ``mode``,
    whose send ends with the transfer.  k_b: slope of that sender less c1.  k_l: intercept of that receiver.
    Without the buffered sender only c1 + k_b is known.  Whether they overlap says hidden_copy_share.
    Raises OutOfRange where one of the three lines is missing.
    """
    sender, receiver = model.line(mode, Side.SENDER), model.line(mode, Side.RECEIVER)
    c1 = model.line(Mode.BUFFERED, Side.SENDER).c_s_per_byte
    return MessageComponents(
        c1_s_per_byte=c1,
        k_b_s_per_byte=sender.c_s_per_byte - c1,
        c2_s_per_byte=receiver.c_s_per_byte - sender.c_s_per_byte,
        k_l_s=receiver.k_s,
    )


def hidden_copy_share(model: SendModel, mode: Mode = Mode.STANDARD) -> float:
    """How much of the sender's copy c1 goes on during the transfer in ``mode``: 0 none of it, 1 all of it.

    A buffered message is copied whole before it goes.  What its receiver waits longer per byte than that of ``mode`` is
    the copy that ``mode`` hides, as a share of c1.  With 1, the k_b of identify_components is too small by c1.
    Raises OutOfRange where one of the three lines is missing.
    """
    buffered, other = (model.line(one, Side.RECEIVER).c_s_per_byte for one in (Mode.BUFFERED, mode))
    return (buffered - other) / model.line(Mode.BUFFERED, Side.SENDER).c_s_per_byte


def execution_time_s(partial_times_s: Sequence[Sequence[float]]) -> float:
    """T_exec of section 3.2: the largest over the processes of the sum of a process's partial times, s.

    >>> execution_time_s([[1.0, 2.0], [4.0, 0.5]])
    4.5
    """
    return max(sum(times) for times in partial_times_s)


def percentage_error(predicted: float, measured: float) -> float:
    """100 (predicted - measured) / measured: the sign convention of Table 4, which the paper does not state.

    >>> percentage_error(predicted=9.0, measured=10.0)
    -10.0
    """
    return 100 * (predicted - measured) / measured
