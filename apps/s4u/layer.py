"""Identity of the layer that runs kernels and programs on S4U."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from apps.errors import check_still

_HERE = Path(__file__).parent
_DECLARATIONS = _HERE.parent / "traffic"


@cache
def layer_hash(*, declared: bool = False) -> str:
    """Return a hash of this package, with ``declared`` also of the declarations that it plays (apps/traffic).

    The files count as they are when it is first asked for.
    """
    return _hash_now(declared)


def check_layer(*, declared: bool) -> None:
    """Check that the files are still those of ``layer_hash``.

    Raises:
        KernelError: They were changed.
    """
    check_still("the engine s4u", layer_hash(declared=declared), _hash_now(declared))


def _hash_now(declared: bool) -> str:
    digest = hashlib.sha256()
    for folder in (_HERE, _DECLARATIONS) if declared else (_HERE,):
        for source in sorted(folder.glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()
