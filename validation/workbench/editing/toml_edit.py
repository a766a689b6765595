"""Changes of a TOML text that keep every other line, its comment and its place.

Each change is made twice, in the text and in the values that it stands for; the text has to give these values in the
end.  Keys of a table are changed by tomlkit, whole tables by moving their lines.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
import tomlkit.exceptions

from platforms.errors import UserError
from platforms.files.toml_places import Path, Places, Section, places_of
from validation.workbench.editing.reading import copied, read_places, read_values, values_after_change

_HEADER = re.compile(r"([ \t]*\[\[?)[^\n#]*?(\]\]?[ \t]*(?:#[^\n]*)?\r?\n?)", re.DOTALL)


class TextEdit:
    """A TOML text that is being changed, and its values."""

    _where, _unchangeable = "file", "it is written in a way that cannot be changed here"

    def __init__(self, text: str):
        """Begin with a text that is sound TOML."""
        self.text = text
        self.values: dict[str, Any] = copied(read_values(text))

    def result(self) -> str:
        """Return the changed text.

        Raises:
            UserError: The text does not have the changed values, so that the change has to be made by hand.
        """
        try:
            same = values_after_change(self.text) == self.values
        except UserError:
            same = False
        if not same:
            raise UserError(self._where, self._unchangeable, "Change the text")
        return self.text


class TomlEdit(TextEdit):
    """A text whose tables and keys are being changed."""

    _unchangeable = "its tables are written in a way that cannot be changed here"

    def table(self, path: Path) -> dict[str, Any]:
        """Return the values of a table."""
        values: Any = self.values
        for step in path:
            values = values[step]
        assert isinstance(values, dict)
        return values

    def set_key(self, path: Path, key: str, value: object) -> None:
        """Give a key of a table a value; None removes the key.

        Raises:
            UserError: The table is written within a value.
        """
        places = self._places()
        if value is None and key not in self.table(path):
            return
        if places.section((*path, key)) is not None:  # a table of its own, which becomes a value
            self._cut(places.under((*path, key)))
            places = self._places()
        self._in_section(places, path, key, value)
        if value is None:
            self.table(path).pop(key, None)
        else:
            self.table(path)[key] = value

    def set_keys(self, changes: Sequence[tuple[Path, str, object]]) -> None:
        """Give keys of different tables values, as ``set_key`` does for each; the tables have headers of their own.

        Raises:
            UserError: A table is written within a value.
        """
        places = self._places()
        ordered = [(places.section(path), path, key, value) for path, key, value in changes]
        tables_as_values = any(places.section((*path, key)) is not None for path, key, _ in changes)
        if (
            tables_as_values
            or any(section is None for section, *_ in ordered)
            or len({c[0] for c in changes}) < len(changes)
        ):
            for path, key, value in changes:
                self.set_key(path, key, value)
            return
        # From the end of the text, so that the places of what is still to be changed stay right.
        for _, path, key, value in sorted(ordered, key=lambda change: change[0].body if change[0] else 0, reverse=True):
            if value is None and key not in self.table(path):
                continue
            self._in_section(places, path, key, value)
            if value is None:
                self.table(path).pop(key, None)
            else:
                self.table(path)[key] = value

    def add_table(self, path: Path, key: str, values: Mapping[str, object]) -> Path:
        """Add a table at the end of a list of tables, and return its path."""
        self._check_written(path, key)
        places = self._places()
        at = max((section.end for section in places.under(path)), default=len(self.text))
        header = ".".join([str(step) for step in path if isinstance(step, str)] + [key])
        self._insert(at, f"[[{header}]]\n{tomlkit.dumps(values)}")
        tables = self.table(path).setdefault(key, [])
        tables.append(copy.deepcopy(dict(values)))
        return (*path, key, len(tables) - 1)

    def copy_table(self, path: Path) -> Path:
        """Add a copy of a table directly after it, and return its path."""
        first, last = self._extent(path)
        self._insert(last.end, self.text[first.header : last.end])
        tables, number = self._list_of(path)
        tables.insert(number + 1, copy.deepcopy(tables[number]))
        return (*path[:-1], number + 1)

    def remove_table(self, path: Path) -> None:
        """Remove a table of a list, with the tables in it and the comments directly before them."""
        self.remove_tables([path])

    def remove_tables(self, paths: Sequence[Path]) -> None:
        """Remove several tables of lists, none of them within another one, as ``remove_table`` does for each."""
        for path in paths:
            self._extent(path)
        places = self._places()
        cut = {section.start: section for path in paths for section in places.under(path)}
        self._cut([cut[start] for start in sorted(cut)])
        in_order = sorted(paths, key=lambda path: [f"{step:9}" for step in path])
        for path in reversed(in_order):
            tables, number = self._list_of(path)
            del tables[number]
            if not tables:
                del self.table(path[:-2])[str(path[-2])]

    def swap_with_next(self, path: Path) -> None:
        """Exchange a table of a list with the next one."""
        tables, number = self._list_of(path)
        first, last = self._extent(path)
        next_first, next_last = self._extent((*path[:-1], number + 1))
        block, other = self.text[first.start : last.end], self.text[next_first.start : next_last.end]
        between = self.text[last.end : next_first.start]
        other = other if other.endswith("\n") else f"{other}\n"
        self.text = f"{self.text[: first.start]}{other}{between}{block}{self.text[next_last.end :]}"
        tables[number], tables[number + 1] = tables[number + 1], tables[number]

    def move_table(self, path: Path, above: Path, key: str) -> Path:
        """Move a table of a list to the end of another list, and return its new path.

        Args:
            path: The table.
            above: The table that gets it; it is not within the moved one.
            key: The list in that table.
        """
        self._check_written(above, key)
        first, last = self._extent(path)
        keys = [step for step in (*above, key) if isinstance(step, str)]
        moved = self._renamed(self.text[first.start : last.end], sum(isinstance(s, str) for s in path), keys)
        self._cut(self._places().under(path))
        tables, number = self._list_of(path)
        values = tables.pop(number)
        if not tables:
            del self.table(path[:-2])[str(path[-2])]
        above = _after_removal(above, path)
        at = max((section.end for section in self._places().under(above)), default=len(self.text))
        self._insert(at, moved)
        there = self.table(above).setdefault(key, [])
        there.append(values)
        return (*above, key, len(there) - 1)

    def wrap_table(self, key: str, above: str, values: Mapping[str, object]) -> None:
        """Put the table ``[key]`` of the top level into a list of a new table: ``[[above.key]]``."""
        first, last = self._extent((key,))
        moved = self._renamed(self.text[first.header : last.end], 1, [above, key])
        opening = f"[{above}]\n{tomlkit.dumps(values)}\n"
        moved = re.sub(r"\A([ \t]*)\[([^\[\]]*)\]", r"\1[[\2]]", moved)
        self.text = f"{self.text[: first.header]}{opening}{moved}{self.text[last.end :]}"
        # The new table is at the place of the old one among the values too.
        inner = self.values.pop(key)
        self.values[above] = {**values, key: [inner]}

    def _places(self) -> Places:
        return read_places(self.text)

    def _list_of(self, path: Path) -> tuple[list[Any], int]:
        number = path[-1]
        tables = self.table(path[:-2])[str(path[-2])]
        assert isinstance(number, int)
        return tables, number

    def _extent(self, path: Path) -> tuple[Section, Section]:
        """Return the first and the last section of a table, which are one after the other in the text."""
        places = self._places()
        sections = places.under(path)
        if not sections or sections[0].path != path:
            raise UserError(_shown(path), "it is written within a value", "Change the text")
        first = places.sections.index(sections[0])
        if places.sections[first : first + len(sections)] != sections:
            raise UserError(_shown(path), "its tables are in several places of the file", "Change the text")
        return sections[0], sections[-1]

    def _check_written(self, path: Path, key: str) -> None:
        """Refuse a list of tables that is written as a value, and a table that has no header."""
        places = self._places()
        is_list = isinstance(self.table(path).get(key, []), list)
        if (*path, key) in places.values or not places.under(path) or not is_list:
            raise UserError(_shown((*path, key)), "it is written within a value", "Change the text")

    def _in_section(self, places: Places, path: Path, key: str, value: object) -> None:
        section = places.section(path)
        if section is None:
            raise UserError(_shown(path), "it is written within a value", "Change the text")
        body, end = section.body, section.end
        if path == () and end == 0 and len(places.sections) > 1:  # no keys yet: they go after the first comments
            body = end = places.sections[1].header
        inner = self.text[body:end]
        inner = inner if not inner or inner.endswith("\n") else f"{inner}\n"
        try:
            document = tomlkit.parse(inner)
            if value is None:
                document.pop(key)
            else:
                document[key] = _written(value)
            changed = tomlkit.dumps(document)
        except (tomlkit.exceptions.TOMLKitError, KeyError):
            raise UserError(_shown((*path, key)), "it is written in several parts", "Change the text") from None
        if body == end and path == () and changed:
            changed += "\n"
        before = self.text[:body]
        if changed and before and not before.endswith("\n"):
            before += "\n"
        self.text = f"{before}{changed}{self.text[end:]}"

    def _insert(self, at: int, block: str) -> None:
        """Insert lines with an empty line before them."""
        before = self.text[:at]
        if before and not before.endswith("\n"):
            before += "\n"
        gap = "\n" if before else ""
        self.text = f"{before}{gap}{block if block.endswith(chr(10)) else block + chr(10)}{self.text[at:]}"

    def _cut(self, sections: list[Section]) -> None:
        """Remove sections, and one of the empty lines around each."""
        for section in reversed(sections):
            rest = self.text[section.end :]
            rest = re.sub(r"\A\r?\n", "", rest) if rest.strip() else rest
            self.text = self.text[: section.start] + rest

    @staticmethod
    def _renamed(block: str, replaced: int, keys: list[str]) -> str:
        """Return the lines of sections with other keys at the beginning of each header.

        Args:
            block: The lines.
            replaced: Number of keys that are replaced.
            keys: The new ones.
        """
        parts, at = [], 0
        for section in places_of(block).sections[1:]:
            header = _HEADER.match(block, section.header)
            assert header is not None
            rest = [step for step in section.path if isinstance(step, str)][replaced:]
            parts += [block[at : section.header], header[1], ".".join([*keys, *map(_key, rest)]), header[2]]
            at = section.body
        return "".join([*parts, block[at:]])


def is_within(path: Path, above: Path) -> bool:
    """Return whether a path is that of a table or of something in it."""
    return path[: len(above)] == above


def _after_removal(path: Path, removed: Path) -> Path:
    """Return what a path becomes when an element of a list is removed."""
    size = len(removed)
    number, gone = path[size - 1 : size], removed[-1]
    if path[: size - 1] == removed[:-1] and number and isinstance(gone, int):
        (here,) = number
        if isinstance(here, int) and here > gone:
            return (*path[: size - 1], here - 1, *path[size:])
    return path


def _written(value: object) -> object:
    """Return a value for tomlkit; tables are written in one line."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    return value


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else tomlkit.key(text).as_string()


def _shown(path: Path) -> str:
    return " ".join(str(step + 1 if isinstance(step, int) else step) for step in path) or "file"
