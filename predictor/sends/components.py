"""The equations of the Li paper for one message and for a program of several processes.

K.-C. Li, H.-H. Wang and J.-L. Gaudiot, "A Strategy for Point-to-point Node Communication Performance Prediction in
Cluster Environments", sections 3.2 and 3.3 and Figure 4.  This module counts sizes in bytes, the paper in integers of
4 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.recording.events import Mode
from predictor.sends.send_model import SendModel, Side


@dataclass(frozen=True)
class MessageComponents:
    """The parts of a message's time (Figure 4): a copy, the way through the network, and another copy, in sequence.

    A megabyte at 1 + 8 + 1 ns per byte, and 100 us of latency:

    >>> message = MessageComponents(c1_s_per_byte=1e-9, k_b_s_per_byte=8e-9, c2_s_per_byte=1e-9, k_l_s=1e-4)
    >>> round(message.time_s(1e6), 12)
    0.0101
    """

    c1_s_per_byte: float  # sender: copy from memory to the network buffer
    k_b_s_per_byte: float  # network; the paper calls it bandwidth, but it is the inverse of a bandwidth
    c2_s_per_byte: float  # receiver: copy from the network buffer
    k_l_s: float  # latency of the network

    def copy_time_s(self, size_bytes: float) -> float:
        """Return the sender's copy time t_c(n) = n c1."""
        return size_bytes * self.c1_s_per_byte

    def transfer_time_s(self, size_bytes: float) -> float:
        """Return the transfer time t_t(n) = k_b n + k_l."""
        return self.k_b_s_per_byte * size_bytes + self.k_l_s

    def receive_time_s(self, size_bytes: float) -> float:
        """Return the receiver's copy time t_r(n) = n c2."""
        return size_bytes * self.c2_s_per_byte

    @property
    def c_s_per_byte(self) -> float:
        """Time per byte of all three parts, c = c1 + k_b + c2."""
        return self.c1_s_per_byte + self.k_b_s_per_byte + self.c2_s_per_byte

    def time_s(self, size_bytes: float) -> float:
        """Return c n + k_l, the sum of the three parts."""
        return self.c_s_per_byte * size_bytes + self.k_l_s


def identify_components(model: SendModel, mode: Mode = Mode.STANDARD) -> MessageComponents:
    """Return the four components from the lines of sender and receiver, if copies and transfer do not overlap.

    c1 is the slope of the buffered sender, which only copies.  c2 is the slope of the receiver minus the slope of the
    sender in ``mode``, whose send ends with the transfer.  k_b is the slope of that sender minus c1.  k_l is the
    intercept of that receiver.  Without the buffered sender only c1 + k_b is known.  ``hidden_copy_share`` tells
    whether copies and transfer overlap.

    Raises:
        OutOfRange: One of the three lines is missing.
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
    """Return the share of the sender's copy c1 that overlaps the transfer in ``mode``, from 0 (none) to 1 (all).

    A buffered message is copied whole before its transfer.  The time per byte that its receiver waits longer than the
    receiver in ``mode`` is therefore the copy that ``mode`` hides; the result is that time over c1.  If it is 1, the
    k_b of ``identify_components`` is too small by c1.

    Raises:
        OutOfRange: One of the three lines is missing.
    """
    buffered, other = (model.line(send_mode, Side.RECEIVER).c_s_per_byte for send_mode in (Mode.BUFFERED, mode))
    return (buffered - other) / model.line(Mode.BUFFERED, Side.SENDER).c_s_per_byte


def execution_time_s(partial_times_s: Sequence[Sequence[float]]) -> float:
    """Return T_exec (section 3.2), s: the maximum over the processes of the sum of a process's partial times.

    >>> execution_time_s([[1.0, 2.0], [4.0, 0.5]])
    4.5
    """
    return max(sum(times) for times in partial_times_s)


def percentage_error(predicted: float, measured: float) -> float:
    """Return 100 (predicted - measured) / measured, the sign convention of Table 4, which the paper does not state.

    >>> percentage_error(predicted=9.0, measured=10.0)
    -10.0
    """
    return 100 * (predicted - measured) / measured
