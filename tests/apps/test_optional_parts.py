"""Libraries that not everyone has: what is said where one is asked for and not installed."""

import sys

import pytest

from apps.cluster import Cluster
from apps.store import export
from platforms.errors import UserError


def test_dask_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match="--scheduler: Dask is not installed"):
        Cluster("tcp://127.0.0.1:1")


def test_pyarrow_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match="export to Parquet: pyarrow is not installed"):
        export._parquet({"a": [1]})
