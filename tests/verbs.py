"""Verbs of ``gridval`` as functions that take words and return the exit status."""

from __future__ import annotations

from collections.abc import Sequence

from validation.entrance.main import main


def blocks(words: Sequence[str]) -> int:
    """Run ``gridval blocks``."""
    return main(["blocks", *words])


def store(words: Sequence[str]) -> int:
    """Run ``gridval store``."""
    return main(["store", *words])
