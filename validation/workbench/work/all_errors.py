"""All errors of a draft: after each one the part that it is about is replaced by a sound one, and the rest is read.

The readers of systems and applications stop at the first error, as commands want it.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Protocol

from platforms.errors import UserError
from platforms.files.toml_places import Path, places_of
from platforms.system.database import UnknownHardware
from platforms.system.model import PartPlace
from predictor.blocks.checks import UnawaitedRequest, UnknownRequest, WrongArguments
from validation.workbench.editing.parts import Part, part_at, part_named, tree_of
from validation.workbench.editing.steps import Program, Step, mark_error, programs_of

MOST_ERRORS = 20
_TRIES = 60
_TIME_S = 1.0  # after it no further errors are looked for
_HARMLESS = {"compute": 1}
_CPU, _NETWORK = "xeon-e5-2670", "gigabit-ethernet"  # entries of the hardware database


class Mender(Protocol):
    """Replaces wrong parts of a file's values."""

    def path_of(self, err: UserError) -> Path:
        """Return the keys of what an error is about; (): the whole file."""

    def mend(self, err: UserError) -> bool:
        """Replace the part of an error by a sound one; return False if it is not known."""

    def follows(self, err: UserError) -> bool:
        """Return whether an error comes from a part that was replaced, and is none of the file."""


def all_errors(first: UserError, read: Callable[[], object], mender: Mender) -> list[list[Any]]:
    """Return the place, problem, remedy and keys of the first error and of further ones, at most MOST_ERRORS.

    Args:
        first: The first error.
        read: Reads the values as the mender has them by now, and raises a UserError if they are not sound.
        mender: Replaces wrong parts.
    """
    places, latest, end_s = {_words(first): mender.path_of(first)}, first, time.monotonic() + _TIME_S
    for _ in range(_TRIES):
        if len(places) == MOST_ERRORS or time.monotonic() > end_s or not mender.mend(latest):
            break
        try:
            read()
        except UserError as err:
            latest = err
            if _words(err) not in places and not mender.follows(err):
                places[_words(err)] = mender.path_of(err)
        else:
            break
    return [[*words, list(path)] for words, path in places.items()]


def _words(err: UserError) -> tuple[str, str, str]:
    return err.where, err.problem, err.remedy


def _inside(values: Any, path: Path) -> Any:
    for step in path:
        values = values[step]
    return values


class ApplicationMender:
    """Replaces wrong parts of an application of blocks.

    Args:
        values: The application's values, which stay as they are; ``values`` has the changed ones.
    """

    def __init__(self, values: Mapping[str, Any]):
        self.values: dict[str, Any] = copy.deepcopy(dict(values))
        self._tries: Counter[Path] = Counter()
        self._requests: set[str] = set()  # of sends and receives that were replaced
        self._steps: set[str] = set()  # named steps that were replaced
        self._no_wait = False  # a step that waits was replaced

    def path_of(self, err: UserError) -> Path:
        """Return the keys of what an error is about."""
        return err.keys

    def follows(self, err: UserError) -> bool:
        """Return whether an error comes from a part that was replaced."""
        if isinstance(err, UnawaitedRequest):
            return self._no_wait
        if isinstance(err, UnknownRequest):
            return err.request in self._requests
        return isinstance(err, WrongArguments) and err.steps in self._steps

    def mend(self, err: UserError) -> bool:
        """Replace the part of an error by a sound one."""
        programs = programs_of(self.values, places_of(""))
        mark_error(programs, err.keys, "wrong")
        for program in programs:
            for step in program.all_steps():
                if step.error:
                    return self._mend_step(step)
            if program.error:
                return self._mend_program(program, err.keys)
        return self._mend_variable(err.keys) or self._mend_key(err.keys)

    def _mend_step(self, step: Step) -> bool:
        self._tries[step.path] += 1
        above, old = _inside(self.values, step.path[:-1]), _inside(self.values, step.path)
        if isinstance(old, Mapping):
            self._requests |= {str(old["request"])} if "request" in old else set()
            self._no_wait |= "wait" in old
        above[step.path[-1]] = _harmless(old) if self._tries[step.path] == 1 else dict(_HARMLESS)
        return self._tries[step.path] <= 2

    def _mend_program(self, program: Program, keys: Path) -> bool:
        path, key = program.path[:-1], str(program.path[-1])
        self._tries[path] += 1
        table = _inside(self.values, path)
        if isinstance(table, MutableMapping) and self._tries[path] <= 3:
            named = keys[len(path)] if len(keys) > len(path) else None
            if named in table and named not in ("count", "grid", key, "parameters"):
                del table[named]
                return True
            if named is None and key == "program" and not {"count", "grid"} & table.keys():
                table["count"] = 1
                return True
        self._steps.add(program.name)
        _inside(self.values, path[:-1])[path[-1]] = {
            key: [dict(_HARMLESS)],
            **({"count": 1} if key == "program" else {}),
        }
        return self._tries[path] <= 5

    def _mend_variable(self, keys: Path) -> bool:
        """Replace a variable, a list or a function by 1, or ones."""
        if len(keys) < 2 or keys[0] not in ("variables", "functions"):
            return False
        table, name = self.values.get(keys[0]), keys[1]
        if not isinstance(table, dict) or name not in table:
            return False
        table[name] = [1] * len(table[name]) if isinstance(table[name], list) else 1
        self._tries[keys[:2]] += 1
        return self._tries[keys[:2]] == 1

    def _mend_key(self, keys: Path) -> bool:
        return len(keys) == 1 and self.values.pop(str(keys[0]), None) is not None


def _harmless(step: object) -> dict[str, Any]:
    """Return a sound step that has the same steps in it and defines the same variable as a wrong one."""
    if not isinstance(step, Mapping):
        return dict(_HARMLESS)
    if "if" in step:
        return {"if": True, "then": step.get("then", [dict(_HARMLESS)]), **_kept(step, "else")}
    if "repeat" in step or "while" in step:
        return {"repeat": 1, "do": step.get("do", [dict(_HARMLESS)]), **_kept(step, "as")}
    return dict(_HARMLESS)


def _kept(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: table[key] for key in keys if key in table}


class SystemMender:
    """Replaces wrong parts of a system of levels.

    Args:
        values: The system's values, which stay as they are; ``values`` has the changed ones.
    """

    def __init__(self, values: Mapping[str, Any]):
        self.values: dict[str, Any] = copy.deepcopy(dict(values))
        self._tries: Counter[Path] = Counter()

    def path_of(self, err: UserError) -> Path:
        """Return the keys of what an error is about, or of the part that has the names of its place."""
        if isinstance(err.where, PartPlace):
            return part_named(tree_of(self.values), [str(key) for key in err.keys]).path
        return err.keys

    def follows(self, err: UserError) -> bool:
        """Return False: no part of a system refers to one that is replaced, but for links, which go with it."""
        return False

    def mend(self, err: UserError) -> bool:
        """Replace the part of an error by a sound one."""
        keys = self.path_of(err)
        part = part_at(tree_of(self.values), keys)
        path = part.path[:-2] if part.kind in ("link", "disk") else part.path
        self._tries[path] += 1
        table = _inside(self.values, path)
        if not isinstance(table, MutableMapping):
            return False
        if part.kind in ("link", "disk"):
            return table.pop(part.path[-2], None) is not None
        if self._tries[path] <= 8:
            if isinstance(err, UnknownHardware) and _mend_hardware(table, err.name):
                return True
            key = keys[len(path)] if len(keys) > len(path) else None
            if key in table and key not in ("wan", "lan", "node", "unit", "links"):
                del table[key]
                return True
        return self._replace(part, table) and self._tries[path] <= 10

    def _replace(self, part: Part, table: MutableMapping[str, Any]) -> bool:
        """Replace all values of a part but its name, and in the end that too."""
        tries = self._tries[part.path]
        name = _kept(table, "name") if tries == 1 else {"name": "-".join(["mended", *map(str, part.path)])[:60]}
        within = _kept(table, *(key for key in ("wan", "lan", "node") if key in table))
        if part.kind in ("node", "unit"):
            within = {"cpu": _CPU}
        elif part.kind == "lan":
            within = {"network": _NETWORK, **(within if tries <= 2 and within else {"node": [{"cpu": _CPU}]})}
        elif part.kind == "wan":
            within = {"network": _NETWORK, **within}
        else:
            return False
        table.clear()
        table.update(name | within)
        return True


def _mend_hardware(table: MutableMapping[str, Any], name: str) -> bool:
    """Replace an entry of the hardware database that there is not; return False if the table does not name it."""
    for key, value in table.items():
        if value == name and key in ("cpu", "gpu", "network", "bus", "memory"):
            del table[key]
            if key in ("cpu", "gpu", "network"):
                table["network" if key == "network" else "cpu"] = _NETWORK if key == "network" else _CPU
            return True
        if key == "disks" and isinstance(value, list) and name in value:
            table[key] = [entry for entry in value if entry != name]
            return True
    return False
