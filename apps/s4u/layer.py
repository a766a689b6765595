"""Identity of the layer that runs kernels and programs on S4U."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from apps.errors import check_still
from apps.programs.kernel import Kernel

_HERE = Path(__file__).parent
_LANGUAGE = _HERE.parent / "traffic"


@cache
def layer_hash(kernel: Kernel | None = None) -> str:
    """Return a hash of this package and of the declaration that it plays, if it plays a kernel's.

    The hash is that of the files at the first call.
    """
    return _hash_now(kernel)


def check_layer(kernel: Kernel | None) -> None:
    """Check that the files are still those of ``layer_hash``.

    Raises:
        KernelError: They were changed.
    """
    check_still("the engine s4u", layer_hash(kernel), _hash_now(kernel))


def _hash_now(kernel: Kernel | None) -> str:
    declaration = () if kernel is None else (*sorted(_LANGUAGE.glob("*.py")), *kernel.declarations)
    digest = hashlib.sha256()
    for source in (*sorted(_HERE.glob("*.py")), *declaration):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()
