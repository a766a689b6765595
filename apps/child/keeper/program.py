"""The keeper, compiled on first use."""

from __future__ import annotations

from pathlib import Path

from platforms.simgrid.compiling import compile_once

_SOURCE = Path(__file__).with_name("keeper.cpp")


def keeper_program() -> Path:
    """Return the path of the compiled program (described in keeper.cpp).

    Raises:
        UserError: It cannot be compiled.
    """
    return compile_once("keeper", [_SOURCE], compiler=["g++"], flags=["-O1", "-std=gnu++17"])
