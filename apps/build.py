"""From C sources to a program that SMPI can run."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from apps.catalog import App
from platforms.compiling import compile_once

FLAGS = ("-O2", "-std=gnu11", "-pthread")


def kernel_program(app: App) -> Path:
    """The compiled kernel, made on first use and kept in the cache folder."""
    return compile_once(
        app.name, app.sources, compiler=["smpicc"], flags=FLAGS, libraries=["-lm", "-ldl"], headers=app.headers
    )


@cache
def kernel_hash(app: App) -> str:
    """Identity of a kernel: its sources and how they are compiled."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in (*app.sources, *app.headers, *app.reference_sources):
        digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
