"""Errors of learning."""


class CannotContinue(Exception):
    """Refusal: what was recorded follows no rule, or a rule says something impossible at the wanted number of ranks.

    Attributes:
        reason: What follows no rule.
        call: The call, by its kind and its path; empty where it concerns the whole program.
        explained: Number of calls that were explained before.
    """

    def __init__(self, reason: str, call: str = "", explained: int = 0):
        super().__init__(f"{call}: {reason}" if call else reason)
        self.reason, self.call, self.explained = reason, call, explained


class TooMany(CannotContinue):
    """Refusal: the program that is expected has more events than there is memory for."""
