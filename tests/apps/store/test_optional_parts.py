"""Messages about optional libraries that are needed but not installed."""

import sys

import pytest

from apps.runs.dask_cluster import Cluster
from apps.store import Store
from apps.store.export import export
from platforms.errors import UserError


def test_dask_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match="--scheduler: Dask is not installed"):
        Cluster("tcp://127.0.0.1:1")


def test_pyarrow_that_is_not_installed_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with Store(tmp_path / "store") as store:
        store.put("record", "k", {"app": "cg"}, {"time_s": 1.0})
        with pytest.raises(UserError, match="export to Parquet: pyarrow is not installed"):
            export(store, store.entries(), tmp_path / "runs.parquet")
