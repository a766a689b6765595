"""Words and operators of a shell script, cut apart without running anything (POSIX.1-2017, Shell Command Language, 2).

What a shell would have to run or look up, such as ``$(date)``, becomes a piece of its own, which nothing expands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TEXT, VARIABLE, ARITHMETIC, UNKNOWN = "text", "variable", "arithmetic", "unknown"
_OPERATORS = (";;&", "<<<", "&>>", ";;", ";&", "&&", "||", "|&", "<<", ">>", "<&", ">&", "&>", "<>", ">|",
              ";", "&", "|", "<", ">", "(", ")")  # fmt: skip
REDIRECTIONS = ("<<<", "&>>", ">>", "<&", ">&", "&>", "<>", ">|", "<", ">")
NEWLINE, HEREDOC = "\n", "<<"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)(?::?-([^${}`\\\"']*))?\}", re.ASCII)
_PLAIN = re.compile(r"[^\s'\"\\$`;&|<>()#]+")
_MOST_WORDS = 200_000  # of a script


@dataclass(frozen=True)
class Piece:
    """A part of a word."""

    kind: str  # TEXT, VARIABLE, ARITHMETIC or UNKNOWN
    value: str  # the text, the variable's name, the arithmetic expression, or what cannot be known
    quoted: bool
    default: str | None = None  # of a variable: ${NAME:-default}


@dataclass(frozen=True)
class Word:
    """A word, or an operator that is one of NEWLINE, HEREDOC and the shell's own."""

    line: int  # its number, from 1
    pieces: tuple[Piece, ...] = ()
    operator: str = ""

    @property
    def plain(self) -> str:
        """Text of a word without quotes and expansions, such as a reserved word; otherwise empty."""
        only = self.pieces[0] if len(self.pieces) == 1 else None
        return only.value if only is not None and only.kind == TEXT and not only.quoted else ""

    @property
    def shown(self) -> str:
        """The word for people."""
        return "".join(f"${{{piece.value}}}" if piece.kind == VARIABLE else piece.value for piece in self.pieces)


class Unclosed(Exception):
    """A quotation, a substitution or a here-document without an end; the argument is the line where it begins."""


def words_of(text: str) -> Iterator[Word]:
    """Yield words and operators of a script.

    Raises:
        Unclosed: A quotation or a substitution has no end, or the script has too many words.
    """
    lexer = _Lexer(text)
    for count, word in enumerate(lexer.words()):
        if count > _MOST_WORDS:
            raise Unclosed(word.line)
        yield word


class _Lexer:
    """Position in a script."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 1
        self.ends: list[tuple[str, bool]] = []  # of here-documents that begin behind this line: word, tabs left out

    def words(self) -> Iterator[Word]:
        """Yield all words and operators."""
        text, size = self.text, len(self.text)
        while self.at < size:
            char = text[self.at]
            if char == "\n":
                yield Word(self.line, operator=NEWLINE)
                self._next_line()
            elif text.startswith("\\\n", self.at):
                self.at, self.line = self.at + 2, self.line + 1
            elif char.isspace():
                self.at += 1
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = size if end < 0 else end
            elif char in ";&|<>()":
                operator = next(known for known in _OPERATORS if text.startswith(known, self.at))
                self.at += len(operator)
                if operator == HEREDOC:
                    self._heredoc()
                yield Word(self.line, operator=operator)
            else:
                yield self._word()

    def _next_line(self) -> None:
        """Go to the next line, behind the here-documents that this one begins."""
        self.at, self.line = self.at + 1, self.line + 1
        for end_word, tabs in self.ends:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at, self.line = end + 1, self.line + 1
                if (line.lstrip("\t") if tabs else line) == end_word:
                    break
            else:
                raise Unclosed(self.line)
        self.ends = []

    def _heredoc(self) -> None:
        tabs = self.text.startswith("-", self.at)
        self.at += tabs
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        word = self._word()
        self.ends.append(("".join(piece.value for piece in word.pieces), tabs))

    def _word(self) -> Word:
        line, pieces = self.line, []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                if self.text.startswith("\\\n", self.at):
                    self.at, self.line = self.at + 2, self.line + 1
                    continue
                pieces.append(Piece(TEXT, self.text[self.at + 1 : self.at + 2], True))
                self.at += 2
            elif char == "'":
                pieces.append(Piece(TEXT, self._until("'", self.at + 1), True))
            elif char == '"':
                pieces += self._double_quoted()
            elif char in "$`":
                pieces.append(self._expansion(quoted=False))
            elif char == "#" and pieces:
                pieces.append(Piece(TEXT, "#", False))
                self.at += 1
            else:
                match = _PLAIN.match(self.text, self.at)
                if match is None:
                    break
                pieces.append(Piece(TEXT, match[0], False))
                self.at = match.end()
        return Word(line, tuple(_joined(pieces)))

    def _until(self, end: str, begin: int) -> str:
        """Return the text from ``begin`` to the next ``end``, and go behind it."""
        found = self.text.find(end, begin)
        if found < 0:
            raise Unclosed(self.line)
        inner = self.text[begin:found]
        self.at, self.line = found + 1, self.line + inner.count("\n")
        return inner

    def _double_quoted(self) -> list[Piece]:
        begun, pieces, text = self.line, [Piece(TEXT, "", True)], self.text
        self.at += 1
        while self.at < len(text):
            char = text[self.at]
            if char == '"':
                self.at += 1
                return pieces
            if char in "$`":
                pieces.append(self._expansion(quoted=True))
            elif char == "\\" and text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                if text[self.at + 1] == "\n":
                    self.line += 1
                else:
                    pieces.append(Piece(TEXT, text[self.at + 1], True))
                self.at += 2
            else:
                end = self.at + 1
                while end < len(text) and text[end] not in '"$`\\':
                    end += 1
                inner = text[self.at : end]
                pieces.append(Piece(TEXT, inner, True))
                self.at, self.line = end, self.line + inner.count("\n")
        raise Unclosed(begun)

    def _expansion(self, *, quoted: bool) -> Piece:
        text, at = self.text, self.at
        if text[at] == "`":
            return Piece(UNKNOWN, f"`{self._until('`', at + 1)}`", quoted)
        if text.startswith("$((", at):
            inner = self._balanced(at + 1)
            if inner.startswith("((") and inner.endswith("))"):
                return Piece(ARITHMETIC, inner[2:-2], quoted)
            return Piece(UNKNOWN, f"${inner}", quoted)
        if text.startswith("$(", at):
            return Piece(UNKNOWN, f"${self._balanced(at + 1)}", quoted)
        match = _BRACED.match(text, at)
        if match is not None:
            self.at = match.end()
            return Piece(VARIABLE, match[1], quoted, match[2])
        if text.startswith("${", at):
            return Piece(UNKNOWN, f"${{{self._until('}', at + 2)}}}", quoted)
        match = _NAME.match(text, at + 1)
        if match is not None:
            self.at = match.end()
            return Piece(VARIABLE, match[0], quoted)
        if text[at + 1 : at + 2] in tuple("@*#?$!0123456789-"):
            self.at += 2
            return Piece(UNKNOWN, text[at : at + 2], quoted)
        self.at += 1
        return Piece(TEXT, "$", quoted)

    def _balanced(self, begin: int) -> str:
        """Return the text from a parenthesis to the one that closes it, and go behind it; quotations count as text."""
        depth, at, text = 0, begin, self.text
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 1
            elif char in "'\"":
                at = text.find(char, at + 1)
                if at < 0:
                    break
            elif char in "()":
                depth += 1 if char == "(" else -1
                if depth == 0:
                    inner = text[begin : at + 1]
                    self.at, self.line = at + 1, self.line + inner.count("\n")
                    return inner
            at += 1
        raise Unclosed(self.line)


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """Yield the pieces, neighbouring texts joined where both or neither are quoted."""
    texts: list[str] = []
    for piece, after in zip(pieces, [*pieces[1:], None], strict=False):
        if piece.kind != TEXT:
            yield piece
            continue
        texts.append(piece.value)
        if after is None or after.kind != TEXT or after.quoted != piece.quoted:
            yield Piece(TEXT, "".join(texts), piece.quoted)
            texts = []
