"""In a checkout, ``gridval.predictor`` and the like name the packages that lie beside one another in the repository.

Whoever writes ``from gridval.predictor.base import Prediction`` gets the very module ``predictor.base``.  The wheel has
the packages under ``gridval`` and does not contain this module (packaging/layout.py).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_TOP = "gridval"
_PACKAGES = frozenset({"platforms", "apps", "predictor", "validation"})


class _Beside(MetaPathFinder, Loader):
    """Finds gridval.X as the module X."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, name = fullname.partition(".")
        if top != _TOP or name.partition(".")[0] not in _PACKAGES:
            return None
        found = importlib.util.find_spec(name)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, self, origin=found.origin, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the spec of the other name in the place of the module's own.
        if module.__spec__ is not None and module.__spec__.loader is self:
            module.__spec__ = module.__spec__.loader_state


def join_packages() -> None:
    """Make the four packages importable under ``gridval``, once."""
    if not any(type(finder).__qualname__ == _Beside.__qualname__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Beside())
