"""Entries of the store: their kinds, and how they are found in its database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The kinds of entries, and what they are.
KINDS = {
    "record": "simulated run",
    "measurement": "run with times of a real machine",
    "probe": "simulated experiments with messages, blocks or disks",
    "recording": "events of a run",
    "computation": "measured computation of a program",
    "fingerprints": "hashes of the iterations of a program",
    "surroundings": "on which parts of its surroundings the course of a program depends",
    "timer": "which readings of a clock bound the time that a program prints",
    "evaluation": "evaluation of an application in blocks",
    "prediction": "prediction of a target, by gridval scale",
    "comparison": "predictions of a target compared with its run",
    "workload": "jobs simulated together",
}
# Earlier versions stored recordings under the kind "trace", and probes under "measurement".  Only the identity of a
# probe names its experiments.
KIND_COLUMN = """CASE WHEN kind = 'measurement' AND identity LIKE '%experiments": "%' THEN 'probe'
    WHEN kind = 'trace' THEN 'recording' ELSE kind END"""
# Selects the row of a kind and key.  The first condition is there for the index.
IS_ENTRY = f"""kind IN (:kind, CASE :kind WHEN 'probe' THEN 'measurement' WHEN 'recording' THEN 'trace' END)
    AND key = :key AND {KIND_COLUMN} = :kind"""


@dataclass(frozen=True)
class Entry:
    """Description of a stored payload, known without reading the payload."""

    kind: str
    key: str
    identity: dict[str, Any]
    summary: str  # a few words for lists
    created_s: float  # seconds since 1970, UTC
    size_bytes: int  # size of the stored payload
