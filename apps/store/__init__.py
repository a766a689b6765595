"""What has been run, so that it is not run again: ``Store``; ``python -m apps.store`` looks after it."""

from apps.store.database import StoreError
from apps.store.store import KINDS, Entry, Store, is_exact

__all__ = ["KINDS", "Entry", "Store", "StoreError", "is_exact"]
