"""The dimensionless parameters of the paper, for an answer: a, a*, x, r and v."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.terminal.quantities import significant


@dataclass(frozen=True)
class Parameters:
    """The paper's parameters of a program on an allocation; None: not defined, because a part is 0 or not known."""

    operations: float  # #op
    memory_bytes: float  # #b
    exchanged_bytes: float  # #x, on this allocation
    a_star: float  # l_c / b_m, flop/byte; 0: memory never limits
    v: float | None  # b_cl / b_m

    @property
    def a(self) -> float | None:
        """#op / #b, flop/byte."""
        return self.operations / self.memory_bytes if self.memory_bytes else None

    @property
    def x(self) -> float | None:
        """The operational intensity relative to the machine's, a / a*."""
        return self.a / self.a_star if self.a is not None and self.a_star else None

    @property
    def r(self) -> float | None:
        """#b / #x."""
        return self.memory_bytes / self.exchanged_bytes if self.memory_bytes and self.exchanged_bytes else None

    def line(self) -> str:
        """Return the parameters as a line of text."""
        values = (("a", self.a), ("a*", self.a_star or None), ("x", self.x), ("r", self.r), ("v", self.v))
        shown = ", ".join(f"{name} {'-' if value is None else significant(value)}" for name, value in values)
        amounts = (("#op", self.operations), ("#b", self.memory_bytes), ("#x", self.exchanged_bytes))
        return f"{', '.join(f'{name} {significant(value)}' for name, value in amounts)}; {shown} (a, a* in flop/byte)"

    def to_json(self) -> dict[str, float | None]:
        """Return the parameters as JSON values."""
        return {
            "operations": self.operations,
            "memory_bytes": self.memory_bytes,
            "exchanged_bytes": self.exchanged_bytes,
            "a_flop_per_byte": self.a,
            "a_star_flop_per_byte": self.a_star or None,
            "x": self.x,
            "r": self.r,
            "v": self.v,
        }
