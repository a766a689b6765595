"""Predictors from outside the project: named as ``FILE.py:NAME`` or ``MODULE:NAME``, or provided by installed packages.

A package announces its predictors as entry points of the group ``gridval.predictors``, each under the
predictor's own name.  docs/tutorials/own-predictor.md shows how to write a predictor.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import cast

from platforms.errors import UserError
from predictor.base import Predictor

GROUP = "gridval.predictors"
FORM = "FILE.py:NAME or MODULE:NAME"  # form of the name of a predictor that is not installed
_METHODS = ("requests", "further", "fit")
_SEPARATORS = ",:"  # "," separates names in an option; ":" separates file and name


def is_own(name: str) -> bool:
    """Return whether a name gives the location of a predictor from outside the project."""
    return ":" in name


def within(folder: Path, name: str) -> str:
    """Return the predictor's name with its file taken relative to ``folder``, as in campaign files."""
    return str(folder / name) if is_own(name) and name.rpartition(":")[0].endswith(".py") else name


def own_predictor(reference: str) -> Predictor:
    """Return the predictor that ``FILE.py:NAME`` or ``MODULE:NAME`` names; a class is called without arguments.

    Modules are found on Python's usual path.  A file is run once per process, even if it is named several times.

    Raises:
        UserError: The predictor cannot be loaded, or the named object is not a predictor.
    """
    where, _, name = reference.rpartition(":")
    if not where or not name:
        raise UserError(f"predictor {reference!r}", "incomplete", f"Write {FORM}")
    module = _of_file(reference, Path(where)) if where.endswith(".py") else _of_module(reference, where)
    return _checked(reference, _attribute(reference, module, name))


def installed() -> dict[str, str]:
    """Return the location of each predictor that installed packages announce, by name.

    Raises:
        UserError: Two packages announce different predictors under one name.
    """
    # Imported here because it is slow to import.
    from importlib.metadata import entry_points

    locations: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        if locations.setdefault(entry.name, entry.value) != entry.value:
            problem = f"two installed packages have a predictor of this name: {locations[entry.name]} and {entry.value}"
            raise UserError(f"predictor {entry.name!r}", problem, "Uninstall one of them")
    return locations


def installed_predictor(name: str, reference: str) -> Predictor:
    """Return the predictor that a package announces under ``name`` at ``reference``.

    Raises:
        UserError: The predictor cannot be loaded, is not a predictor, or has another name.
    """
    made = own_predictor(reference)
    if made.name != name:
        problem = f"the package announces it as {name!r}, but its name is {made.name!r}"
        raise UserError(f"predictor {reference!r}", problem, "Give both the same name")
    return made


def check_free(made: Predictor, taken: Collection[str]) -> None:
    """Refuse a predictor from outside that has the name of another predictor.

    Raises:
        UserError: The name is taken.
    """
    if made.name in taken:
        problem = "there is another predictor of that name, and tables identify predictors by their names"
        raise UserError(f"predictor {made.name!r}", problem, "Give yours another name")


def _of_file(reference: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"predictor {reference!r}", f"there is no file {path}", f"Write {FORM}")
    return _run_file(reference, path.resolve())


def _run_file(reference: str, path: Path) -> ModuleType:
    """Load the file as a module with a unique name; it stays in sys.modules, where dataclasses look up their module."""
    name = f"_own_predictor_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # the name ends with .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as err:
        del sys.modules[name]
        raise _broken(reference, err) from err
    return module


def _of_module(reference: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as err:
        if err.name is not None and (name == err.name or name.startswith(f"{err.name}.")):
            raise UserError(f"predictor {reference!r}", f"there is no module {err.name}", f"Write {FORM}") from err
        raise _broken(reference, err) from err
    except (Exception, SystemExit) as err:
        raise _broken(reference, err) from err


def _broken(reference: str, err: BaseException) -> UserError:
    """Return a UserError for an error in the user's code, naming the line that raised it."""
    said = " ".join(f"{type(err).__name__}: {err}".split())
    if isinstance(err, SyntaxError):
        place = f"{err.filename}:{err.lineno}"
    else:
        frames = [frame for frame in traceback.extract_tb(err.__traceback__) if "importlib" not in frame.filename]
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "its file"
    return UserError(f"predictor {reference!r}", f"{place} cannot be run, {said}", "Correct the file")


def _attribute(reference: str, module: ModuleType, name: str) -> object:
    try:
        return functools.reduce(getattr, name.split("."), cast(object, module))
    except AttributeError:
        fitting = [
            attribute
            for attribute, value in vars(module).items()
            if not attribute.startswith("_") and not _missing(value)
        ]
        known = f"It has {', '.join(fitting)}" if fitting else "Define it there"
        raise UserError(f"predictor {reference!r}", f"there is no {name} in it", known) from None


def _missing(value: object) -> list[str]:
    """Return the names of the attributes that an object, or the objects of a class, lack to be a predictor."""
    methods = [name for name in _METHODS if not callable(getattr(value, name, None))]
    return methods if isinstance(value, type) or isinstance(getattr(value, "name", None), str) else ["name", *methods]


def _checked(reference: str, value: object) -> Predictor:
    if isinstance(value, type):
        try:
            value = value()
        except Exception as err:
            said = " ".join(f"{type(err).__name__}: {err}".split())
            problem = f"a class that cannot be called without arguments, {said}"
            raise UserError(f"predictor {reference!r}", problem, "Name an object made of it") from err
    missing = _missing(value)
    if missing:
        problem = f"not a predictor, because it has no {', '.join(missing)}"
        raise UserError(f"predictor {reference!r}", problem, "predictor/base.py shows the methods of a predictor")
    made = cast(Predictor, value)
    if not made.name.isprintable() or not made.name.strip() or any(separator in made.name for separator in _SEPARATORS):
        problem = f"its name {made.name!r} cannot be used"
        raise UserError(f"predictor {reference!r}", problem, "Give it printable characters without commas and colons")
    return made
