"""The store of finished runs, which need not be repeated: ``Store``; ``gridval store`` manages it.

Public faces: ``Store``, ``codec.as_fields``, ``identity.identity_hash``, ``cli.COMMAND_LIST``.
"""

from apps.store.database import StoreError
from apps.store.entries import KINDS, Entry
from apps.store.store import Store, is_exact

__all__ = ["KINDS", "Entry", "Store", "StoreError", "is_exact"]
