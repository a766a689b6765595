"""Changes of an application of blocks: the operations that its list of steps offers."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from platforms.errors import UserError
from platforms.files.toml_places import Path
from validation.workbench.editing.reading import read_places
from validation.workbench.editing.steps import EXAMPLES
from validation.workbench.editing.toml_edit import TextEdit

EXAMPLE_FILES = ("master-slave", "divide-and-conquer", "stencil", "checkpoints")
EMPTY = """\
[labels.process]
count = 4
program = [
    { compute = "1e9" },
    { allreduce = 8 },
]
"""
_AFTER = re.compile(r"[ \t]*(,?)[ \t]*(#[^\n]*)?(\n|\Z)")


def example(name: str) -> str:
    """Return the text of an example, or of a short application if the name is empty.

    Raises:
        UserError: There is no such example.
    """
    if not name:
        return EMPTY
    if name not in EXAMPLE_FILES:
        raise UserError(f"example {name!r}", "there is none of this name", f"Known: {', '.join(EXAMPLE_FILES)}")
    return (files("validation.workbench.editing") / "examples" / f"{name}.toml").read_text("utf-8")


class ApplicationEdit(TextEdit):
    """An application file that is being changed; steps are changed where they are written as values of lists."""

    _where = "step"

    def step_text(self, path: Path) -> str:
        """Return the text of a step."""
        begin, end = self._span(path)
        return self.text[begin:end]

    def replace(self, path: Path, text: str) -> Path:
        """Write another step at a place, and return its path.

        Raises:
            UserError: The text is not one step.
        """
        step = step_of(text)
        begin, end = self._span(path)
        self.text = self.text[:begin] + text.strip() + self.text[end:]
        steps, number = self._list_of(path)
        steps[number] = step
        return path

    def add(self, path: Path, kind: str) -> Path:
        """Add an example of a kind of steps at the end of a list of steps, or directly after a step."""
        if kind not in EXAMPLES:
            raise UserError(f"step {kind!r}", "there is no such kind", f"Known: {', '.join(EXAMPLES)}")
        labels = self.values.get("labels")
        label = next(iter(labels), "process") if isinstance(labels, dict) else "process"
        text = EXAMPLES[kind].replace("LABEL", label)
        if isinstance(path[-1], int):
            return self._add_after(path, text)
        steps = self._value(path)
        if not isinstance(steps, list):
            raise UserError("steps", "there is no list of them here", "Change the text")
        if steps:
            return self._add_after((*path, len(steps) - 1), text)
        begin, _ = self._span(path)
        self.text = f"{self.text[: begin + 1]}{text}{self.text[begin + 1 :]}"
        steps.append(step_of(text))
        return (*path, 0)

    def copy(self, path: Path) -> Path:
        """Add a copy of a step directly after it, and return its path."""
        return self._add_after(path, self.step_text(path))

    def remove(self, path: Path) -> Path:
        """Remove a step, and return the path of the list that it was in."""
        begin, end = self._span(path)
        lines = self._lines(path)
        steps, number = self._list_of(path)
        if lines is not None:
            self.text = self.text[: lines[0]] + self.text[lines[1] :]
        elif number + 1 < len(steps):
            self.text = self.text[:begin] + self.text[self._span((*path[:-1], number + 1))[0] :]
        elif number:
            before = self._span((*path[:-1], number - 1))[1]
            self.text = self.text[:before] + self.text[end:]
        else:
            comma = re.match(r"[ \t]*,", self.text[end:])
            self.text = self.text[:begin] + self.text[end + (comma.end() if comma else 0) :]
        del steps[number]
        return path[:-1]

    def shift(self, path: Path, *, up: bool) -> Path:
        """Exchange a step with the one before or after it, and return its new path; at the end nothing happens."""
        steps, number = self._list_of(path)
        there = number + (-1 if up else 1)
        if not 0 <= there < len(steps):
            return path
        first, second = ((*path[:-1], min(number, there)), (*path[:-1], max(number, there)))
        self._end_with_comma(second)
        place: Callable[[Path], tuple[int, int] | None] = self._lines
        if self._lines(first) is None or self._lines(second) is None:
            place = self._span
        (a, b), (c, d) = place(first) or (0, 0), place(second) or (0, 0)
        text = self.text
        self.text = f"{text[:a]}{text[c:d]}{text[b:c]}{text[a:b]}{text[d:]}"
        steps[number], steps[there] = steps[there], steps[number]
        return (*path[:-1], there)

    def _add_after(self, path: Path, text: str) -> Path:
        begin, _ = self._span(path)
        lines = self._lines(path)
        steps, number = self._list_of(path)
        if lines is None:
            end = self._span(path)[1]
            self.text = f"{self.text[:end]}, {text}{self.text[end:]}"
        else:
            self._end_with_comma(path)
            begin, _ = self._span(path)
            first, last = self._lines(path) or lines
            newline = "" if self.text[:last].endswith("\n") else "\n"
            self.text = f"{self.text[:last]}{newline}{self.text[first:begin]}{text},\n{self.text[last:]}"
        steps.insert(number + 1, copy.deepcopy(step_of(text)))
        return (*path[:-1], number + 1)

    def _end_with_comma(self, path: Path) -> None:
        """Write a comma after a step that has lines of its own, unless there is one."""
        end = self._span(path)[1]
        after = _AFTER.match(self.text, end)
        if self._lines(path) is not None and after is not None and not after[1]:
            self.text = f"{self.text[:end]},{self.text[end:]}"

    def _lines(self, path: Path) -> tuple[int, int] | None:
        """Return where the lines of a step begin and end; None: it shares them with others."""
        begin, end = self._span(path)
        first = self.text.rfind("\n", 0, begin) + 1
        after = _AFTER.match(self.text, end)
        if self.text[first:begin].strip() or after is None:
            return None
        return first, after.end()

    def _span(self, path: Path) -> tuple[int, int]:
        span = read_places(self.text).values.get(path)
        if span is None:
            raise UserError("step", "it is not written as a value of a list", "Change the text")
        return span

    def _value(self, path: Path) -> Any:
        value: Any = self.values
        try:
            for step in path:
                value = value[step]
        except (KeyError, IndexError, TypeError):
            raise UserError("step", "there is no such step", "Choose one from the list") from None
        return value

    def _list_of(self, path: Path) -> tuple[list[Any], int]:
        steps, number = self._value(path[:-1]), path[-1]
        if not isinstance(steps, list) or not isinstance(number, int) or not 0 <= number < len(steps):
            raise UserError("step", "there is no such step", "Choose one from the list")
        return steps, number


def step_of(text: str) -> Any:
    """Return the value of a step's text.

    Raises:
        UserError: It is not one value of TOML.
    """
    try:
        table = tomllib.loads(f"step = [{text}\n]")
    except (tomllib.TOMLDecodeError, RecursionError) as err:
        raise UserError("step", f"not TOML: {err}", 'Write for example { compute = "n" }') from None
    if set(table) != {"step"} or len(table["step"]) != 1:
        raise UserError("step", "not one step", 'Write for example { compute = "n" }')
    return table["step"][0]


def path_of(text: str) -> Path:
    """Return the path that a page names, such as ``labels.master.program.0``."""
    return tuple(
        int(step) if step.isascii() and step.isdecimal() and len(step) < 9 else step for step in text.split(".")
    )
