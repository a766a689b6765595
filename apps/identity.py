"""The short name of anything that is known by what decides it: a run, a trace, a calibration, a fit."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(identity: dict[str, Any]) -> str:
    """The one JSON text of an identity: ASCII, keys sorted, floats to the last bit."""
    return json.dumps(identity, sort_keys=True)


def identity_hash(identity: dict[str, Any]) -> str:
    """16 hexadecimal digits.  Two identities may share them, if only once in 1e9 stores of 100,000 records: who must
    be sure compares the identities too."""
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:16]
