"""Places of values and tables in the text of a TOML file, so that a change of one leaves all other characters alone."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]  # keys, and numbers of elements of lists

_BLANK = " \t"
_ENDS = ",]}#\r\n"  # characters after a number, a date or a truth value
_PLAIN = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?=[ \t]*[=\]])")  # a key without quotes
_PLAIN_LINE = re.compile(  # nothing, a comment, or a value without escapes, lists and tables
    r'[ \t]*(?:([A-Za-z0-9_-]+)[ \t]*=[ \t]*("[^"\\\n]*"(?!")|[A-Za-z0-9_.+-]+))?[ \t]*(#[^\n]*)?(?:\r?\n|\Z)'
)
# A text of several lines may end with quotes of its own.
_TEXT = re.compile(r"""\"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'""", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A table of a file with its header, or the keys before the first header."""

    path: Path  # () for the keys before the first header
    start: int  # position of the comment lines directly before the header
    header: int  # position of the line of the header
    body: int  # position after that line
    end: int  # position after the last line with a key: before blank lines and comments


@dataclass
class Places:
    """The places of everything in a text, as positions of characters."""

    text: str
    sections: list[Section] = field(default_factory=list)  # in the order of the text
    values: dict[Path, tuple[int, int]] = field(default_factory=dict)  # first position and the one after the last

    def under(self, path: Path) -> list[Section]:
        """Return the sections of a table and of all tables in it."""
        return [section for section in self.sections if section.path[: len(path)] == path]

    def section(self, path: Path) -> Section | None:
        """Return the section of a table; None: the table is written within a value, or missing."""
        return next((section for section in self.sections if section.path == path), None)

    def line_of(self, path: Path) -> int | None:
        """Return the number of the line, from 1, of a value or table, or of the nearest one that contains it."""
        for size in range(len(path), 0, -1):
            position = self._begin(path[:size])
            if position is not None:
                return self.text.count("\n", 0, position) + 1
        return None

    def _begin(self, path: Path) -> int | None:
        """Return the position of a value or table; for a table without a header, that of its first key or table."""
        section = self.section(path)
        if section is not None:
            return section.header
        if path in self.values:
            return self.values[path][0]
        inside = [entry.header for entry in self.under(path)]
        inside += [start for other, (start, _) in self.values.items() if other[: len(path)] == path]
        return min(inside, default=None)


def places_of(text: str) -> Places:
    """Return the places in a text, which has to be sound TOML."""
    return _Scanner(text).scan()


class _Scanner:
    """Reads a text once from its beginning to its end; it relies on the text being sound."""

    def __init__(self, text: str):
        self._text = text
        self._at = 0
        self._found = Places(text)
        self._lists: dict[Path, int] = {}  # lists of tables with headers -> their number of tables

    def scan(self) -> Places:
        """Return the places of everything."""
        path: Path = ()
        start = header = body = end = 0
        comments = 0  # position of the comment lines directly before this line
        while self._at < len(self._text):
            if plain := _PLAIN_LINE.match(self._text, self._at):  # fast path for most lines
                self._at = plain.end()
                if plain[1]:
                    self._found.values[(*path, plain[1])] = plain.span(2)
                    end = comments = self._at
                elif not plain[3]:
                    comments = self._at
                continue
            line = self._at
            self._skip(_BLANK)
            char = self._char()
            if char == "[":
                self._found.sections.append(Section(path, start, header, body, end))
                path = self._read_header()
                start, header, body, end = comments, line, self._at, self._at
                comments = self._at
            else:
                self._read_key_and_value(path)
                self._to_next_line()
                end = comments = self._at
        self._found.sections.append(Section(path, start, header, body, end))
        return self._found

    def _char(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, characters: str) -> None:
        while self._char() and self._char() in characters:
            self._at += 1

    def _to_next_line(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end + 1

    def _read_header(self) -> Path:
        is_list = self._text.startswith("[[", self._at)
        self._at += 2 if is_list else 1
        keys = self._keys("]")
        self._to_next_line()
        path: Path = ()
        for number, key in enumerate(keys):
            path = (*path, key)
            if is_list and number == len(keys) - 1:
                self._lists[path] = self._lists.get(path, 0) + 1
            if path in self._lists:
                path = (*path, self._lists[path] - 1)
        return path

    def _keys(self, ending: str) -> list[str]:
        """Return the keys of a dotted key, up to an ending that is left out."""
        if plain := _PLAIN.match(self._text, self._at):
            self._at = self._text.index(ending, plain.end())
            return plain[0].split(".")
        begin = self._at
        while self._char() != ending:
            if self._char() in "\"'":
                self._skip_text()
            else:
                self._at += 1
        table = tomllib.loads(f"{self._text[begin : self._at].strip()} = 0")
        keys = []
        while isinstance(table, dict):
            ((key, table),) = table.items()
            keys.append(key)
        return keys

    def _read_key_and_value(self, path: Path) -> None:
        path = (*path, *self._keys("="))
        self._at += 1
        self._skip(_BLANK)
        self._read_value(path)

    def _read_value(self, path: Path) -> None:
        begin, char = self._at, self._char()
        if char in "\"'":
            self._skip_text()
        elif char == "[":
            self._read_list(path)
        elif char == "{":
            self._read_table(path)
        else:
            while self._char() and self._char() not in _ENDS:
                self._at += 1
            self._at = begin + len(self._text[begin : self._at].rstrip())
        self._found.values[path] = (begin, self._at)

    def _read_list(self, path: Path) -> None:
        self._at += 1
        number = 0
        while True:
            self._skip_between()
            if self._char() == "]":
                break
            self._read_value((*path, number))
            number += 1
        self._at += 1

    def _read_table(self, path: Path) -> None:
        self._at += 1
        while True:
            self._skip_between()
            if self._char() == "}":
                break
            self._read_key_and_value(path)
        self._at += 1

    def _skip_between(self) -> None:
        """Skip blanks, commas and comments between the elements of a list or table."""
        while self._char() in (" ", "\t", "\r", "\n", ",", "#"):
            if self._char() == "#":
                self._to_next_line()
            else:
                self._at += 1

    def _skip_text(self) -> None:
        text = _TEXT.match(self._text, self._at)
        assert text is not None, "the text is sound"
        self._at = text.end()
