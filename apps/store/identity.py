"""A stable hash of the inputs that determine a result: a run, a recording, a probe."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(identity: dict[str, Any]) -> str:
    """Return the canonical JSON text of an identity: ASCII, sorted keys, floats without loss."""
    return json.dumps(identity, sort_keys=True)


def identity_hash(identity: dict[str, Any]) -> str:
    """Return a hash of 16 hexadecimal digits.

    Two identities may share a hash, in about one of 1e9 stores of 100,000 records; callers that must be sure compare
    the identities as well.
    """
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:16]


INPUTS = "inputs"  # the field of a stored identity that holds what the run has read (apps/results/inputs.py)


def is_users(identity: dict[str, Any]) -> bool:
    """Return whether the result is that of a user's own program, which may read files and the environment."""
    return "arguments" in identity


def without_inputs(identity: dict[str, Any]) -> dict[str, Any]:
    """Return what was known before the run: the identity under which a result is looked up."""
    return {name: value for name, value in identity.items() if name != INPUTS}
