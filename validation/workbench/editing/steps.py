"""The steps of an application's programs as a list for a page, also while the application is not sound yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from platforms.files.toml_places import Path, Places

_INNER = ("do", "then", "else")
_MOST_STEPS = 3000
_COLLECTIVES = {
    "broadcast": "broadcast {} bytes", "scatter": "scatter {} bytes", "gather": "gather {} bytes",
    "reduce": "reduce vectors of {} bytes", "allreduce": "reduce vectors of {} bytes, for all",
    "allgather": "gather {} bytes, for all", "alltoall": "send {} bytes from each to each",
}  # fmt: skip
# Examples of steps that can be added; LABEL stands for the name of a label.
EXAMPLES: Mapping[str, str] = {
    "compute": '{ compute = "1e9" }',
    "send": '{ send_to = "LABEL", bytes = 1024 }',
    "receive": '{ receive_from = "LABEL" }',
    "receive from any": '{ receive_from_any = "LABEL" }',
    "reply": "{ reply = 1024 }",
    "wait": "{ wait = true }",
    "broadcast": "{ broadcast = 1024 }",
    "scatter": "{ scatter = 1024 }",
    "gather": "{ gather = 1024 }",
    "reduce": "{ reduce = 1024 }",
    "allreduce": "{ allreduce = 8 }",
    "allgather": "{ allgather = 1024 }",
    "alltoall": "{ alltoall = 1024 }",
    "barrier": "{ barrier = true }",
    "read from disk": "{ read_disk = 1e6 }",
    "write to disk": "{ write_disk = 1e6 }",
    "repeat": '{ repeat = 10, do = [{ compute = "1e9" }] }',
    "while": '{ while = "k < 10", as = "k", at_most = 100, do = [{ compute = "1e9" }] }',
    "repeat until": '{ repeat_until = "done >= 10", at_most = 100, do = [{ set = "done += 1" }] }',
    "set": '{ set = "done = 0" }',
    "if": '{ if = "index == 0", then = [{ compute = "1e9" }] }',
}


@dataclass
class Step:
    """One step, with the steps inside it."""

    path: Path
    place: str  # as errors name it, such as 1.2
    words: str
    line: int | None
    lists: list[tuple[str, Path, list[Step]]] = field(default_factory=list)  # (title, path, steps) of each list in it
    error: str = ""
    cost: str = ""  # its time on a system, in words

    @property
    def id(self) -> str:
        """The path as one word, for pages."""
        return ".".join(map(str, self.path))


@dataclass
class Program:
    """The program of a label, or named steps."""

    kind: str  # "label" or "steps"
    name: str
    path: Path  # of the list of steps
    about: str  # the number of processes, or the parameters
    line: int | None
    steps: list[Step]
    error: str = ""

    @property
    def id(self) -> str:
        """The path as one word, for pages."""
        return ".".join(map(str, self.path))

    def all_steps(self) -> Iterator[Step]:
        """Yield all steps, also those inside others."""
        waiting = list(self.steps)
        while waiting:
            current = waiting.pop(0)
            yield current
            waiting += [step for _, _, steps in current.lists for step in steps]


def programs_of(values: Mapping[str, Any], places: Places) -> list[Program]:
    """Return the programs of an application's values: those of its labels, then its named steps."""
    reading, programs = _Reading(places), []
    for kind, table, key in (("label", "labels", "program"), ("steps", "steps", "do")):
        tables = values.get(table)
        for name, entry in tables.items() if isinstance(tables, Mapping) else ():
            if not isinstance(entry, Mapping):
                continue
            path: Path = (table, name, key)
            about = _about_label(entry) if kind == "label" else _about_steps(entry)
            steps = reading.steps(entry.get(key), path, "")
            programs.append(Program(kind, name, path, about, places.line_of(path[:2]), steps))
    return programs


def mark_error(programs: list[Program], keys: Path, text: str) -> int | None:
    """Put an error at the step or the program that has its keys, and return the number of its line."""
    for program in programs:
        if keys[:2] == program.path[:2]:
            within = [step for step in program.all_steps() if keys[: len(step.path)] == step.path]
            part = max(within, key=lambda step: len(step.path), default=program)
            part.error = f"{part.error} {text}".strip()
            return part.line
    return None


class _Reading:
    def __init__(self, places: Places):
        self._places, self._left = places, _MOST_STEPS

    def steps(self, given: object, path: Path, place: str) -> list[Step]:
        made = []
        for number, entry in enumerate(given if isinstance(given, list) else ()):
            self._left -= 1
            if self._left < 0:
                break
            here: Path = (*path, number)
            step = Step(here, f"{place}{number + 1}", step_words(entry), self._places.line_of(here))
            for key in _INNER if isinstance(entry, Mapping) else ():
                if key in entry:
                    inside = f"{step.place}.else." if key == "else" else f"{step.place}."
                    step.lists.append((key, (*here, key), self.steps(entry[key], (*here, key), inside)))
            made.append(step)
        return made


def step_words(step: object) -> str:
    """Return a step in words."""
    if not isinstance(step, Mapping):
        return str(step)[:80]
    for key, make in _WORDS.items():
        if key in step:
            return make(step)
    for key, words in _COLLECTIVES.items():
        if key in step:
            return words.format(step[key]) + _among(step)
    return ", ".join(map(str, step)) or "an empty step"


def _request(step: Mapping[str, Any]) -> str:
    if "request" in step:
        return f", as request {step['request']}"
    return ", without waiting" if step.get("buffered") else ""


def _whom(step: Mapping[str, Any], key: str) -> str:
    return f"{step[key]} at {step['at']}" if "at" in step else f"each {step[key]}"


def _among(step: Mapping[str, Any]) -> str:
    words = f", from or to {step['root']}" if "root" in step else ""
    among = step.get("among")
    words += f", among {', '.join(map(str, among))}" if isinstance(among, list) else ""
    return words + (f", split by {step['split']}" if "split" in step else "")


def _compute(step: Mapping[str, Any]) -> str:
    return f"compute {step['compute']} operations" + (f", size = {step['size']}" if "size" in step else "")


def _wait(step: Mapping[str, Any]) -> str:
    given = step["wait"]
    if given is True:
        return "wait for all requests"
    return f"wait for {', '.join(map(str, given)) if isinstance(given, list) else given}"


def _barrier(step: Mapping[str, Any]) -> str:
    given = step["barrier"]
    return f"barrier of {', '.join(map(str, given))}" if isinstance(given, list) else "barrier of all"


def _call(step: Mapping[str, Any]) -> str:
    given = ", ".join(f"{key} = {value}" for key, value in step.items() if key != "call")
    return f"call {step['call']}" + (f" with {given}" if given else "")


def _turns(step: Mapping[str, Any]) -> str:
    return f", turn {step['as']}" if "as" in step else ""


def _at_most(step: Mapping[str, Any]) -> str:
    return f", at most {step['at_most']} times" if "at_most" in step else ""


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "call": _call,
    "compute": _compute,
    "send_to": lambda s: f"send {s.get('bytes', '?')} bytes to {_whom(s, 'send_to')}{_request(s)}",
    "receive_from": lambda s: f"receive from {_whom(s, 'receive_from')}{_request(s)}",
    "receive_from_any": lambda s: (
        f"receive from any {'process' if s['receive_from_any'] is True else s['receive_from_any']}"
    ),
    "reply": lambda s: f"reply with {s['reply']} bytes{_request(s)}",
    "wait": _wait,
    "barrier": _barrier,
    "read_disk": lambda s: f"read {s['read_disk']} bytes from disk",
    "write_disk": lambda s: f"write {s['write_disk']} bytes to disk",
    "repeat": lambda s: f"repeat {s['repeat']} times{_turns(s)}",
    "while": lambda s: f"while {s['while']}{_at_most(s)}{_turns(s)}",
    "repeat_until": lambda s: f"repeat until {s['repeat_until']}{_at_most(s)}{_turns(s)}",
    "set": lambda s: f"set {s['set']}",
    "if": lambda s: f"if {s['if']}",
}


def _about_label(values: Mapping[str, Any]) -> str:
    if "grid" in values:
        grid = values["grid"]
        return f"a grid of {' x '.join(map(str, grid)) if isinstance(grid, list) else grid} processes"
    count = values.get("count", "?")
    return f"{count:,} {'process' if count == 1 else 'processes'}" if isinstance(count, int) else f"{count} processes"


def _about_steps(values: Mapping[str, Any]) -> str:
    given = values.get("parameters", [])
    return f"with {', '.join(map(str, given))}" if isinstance(given, list) and given else "without parameters"
