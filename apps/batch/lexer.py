"""Words and operators of a shell script, cut apart and expanded without running anything (POSIX.1-2017, Shell, 2).

What a shell would have to run or look up, such as ``$(date)``, becomes a piece of its own, which nothing expands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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


_MOST_CHARACTERS = 100_000  # of a variable, or of an expanded word
_TOKEN = re.compile(r"\s*(?:(\d{1,15})|\$?\{?([A-Za-z_]\w*)\}?|(\*\*|[-+*/%()]))", re.ASCII)
_GLOB = re.compile(r"[*?\[]")
_MOST_DEPTH = 50


class Unknown(Exception):
    """A value that a script alone does not decide; the argument names it."""


Variables = Mapping[str, str | Unknown]


def fields(word: Word, variables: Variables) -> list[str]:
    """Return the words that a word expands to: none for an empty variable, several where its value has spaces.

    Raises:
        Unknown: The word has a command substitution, a variable that is not known, or a pattern of file names.
    """
    made: list[str] = []
    current: str | None = None
    for piece in word.pieces:
        value = _value(piece, variables)
        if piece.kind == TEXT or piece.quoted:
            current = (current or "") + value
        else:
            if value[:1].isspace() and current is not None:
                made.append(current)
                current = None
            for number, part in enumerate(value.split()):
                if number:
                    made.append(current or "")
                    current = None
                current = (current or "") + part
            if value[-1:].isspace() and current is not None:
                made.append(current)
                current = None
        if current is not None and len(current) > _MOST_CHARACTERS:
            raise Unknown("a word that is too long")
    return made if current is None else [*made, current]


def joined(word: Word, variables: Variables) -> str:
    """Return what a word expands to in an assignment, where it is not split into several.

    Raises:
        Unknown: As ``fields``.
    """
    value = "".join(_value(piece, variables, pattern=False) for piece in word.pieces)
    if len(value) > _MOST_CHARACTERS:
        raise Unknown("a value that is too long")
    return value


def variable(name: str, variables: Variables) -> str:
    """Return the value of a variable.

    Raises:
        Unknown: It is not known.
    """
    value = variables.get(name)
    if isinstance(value, Unknown):
        raise Unknown(f"${name}, which is {value}")
    if value is None:
        raise Unknown(f"${name}, which the script does not assign")
    return value


def _value(piece: Piece, variables: Variables, *, pattern: bool = True) -> str:
    if piece.kind == TEXT:
        if pattern and not piece.quoted and _GLOB.search(piece.value):
            raise Unknown(f"the file names that match {piece.value}")
        return piece.value
    if piece.kind == ARITHMETIC:
        return str(arithmetic(piece.value, variables))
    if piece.kind != VARIABLE:
        raise Unknown(f"the result of {piece.value}")
    if piece.default is not None and variables.get(piece.value, "") == "":
        return piece.default
    return variable(piece.value, variables)


def arithmetic(text: str, variables: Variables) -> int:
    """Return the value of ``$((text))``: whole numbers, variables, + - * / % and parentheses.

    Raises:
        Unknown: The text has anything else, or a variable that is not known.

    >>> arithmetic("2 * (SLURM_NNODES + 1) - 7 / 2", {"SLURM_NNODES": "4"})
    7
    """
    tokens: list[re.Match[str]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None or len(tokens) > 200:
            raise Unknown(f"the result of $(({text}))")
        tokens.append(match)
        at = match.end()
    try:
        value, rest = _sum(tokens, variables, 0)
    except (ZeroDivisionError, IndexError, ValueError) as err:
        raise Unknown(f"the result of $(({text}))") from err
    if rest or abs(value) > 10**15:
        raise Unknown(f"the result of $(({text}))")
    return value


def _sum(tokens: list[re.Match[str]], variables: Variables, depth: int) -> tuple[int, list[re.Match[str]]]:
    value, rest = _product(tokens, variables, depth)
    while rest and rest[0][3] in ("+", "-"):
        other, after = _product(rest[1:], variables, depth)
        value, rest = (value + other if rest[0][3] == "+" else value - other), after
    return value, rest


def _product(tokens: list[re.Match[str]], variables: Variables, depth: int) -> tuple[int, list[re.Match[str]]]:
    value, rest = _factor(tokens, variables, depth)
    while rest and rest[0][3] in ("*", "/", "%"):
        sign = rest[0][3]
        other, rest = _factor(rest[1:], variables, depth)
        towards_zero = abs(value) // abs(other) * (1 if value * other >= 0 else -1) if sign != "*" else 0
        value = value * other if sign == "*" else towards_zero if sign == "/" else value - other * towards_zero
        if abs(value) > 10**15:
            raise ValueError(value)
    return value, rest


def _factor(tokens: list[re.Match[str]], variables: Variables, depth: int) -> tuple[int, list[re.Match[str]]]:
    first, rest = tokens[0], tokens[1:]
    if depth > _MOST_DEPTH:
        raise ValueError(depth)
    if first[1] is not None:
        return int(first[1]), rest
    if first[2] is not None:
        return int(variable(first[2], variables)), rest
    if first[3] == "(":
        value, rest = _sum(rest, variables, depth + 1)
        if rest[0][3] != ")":
            raise ValueError(first[0])
        return value, rest[1:]
    if first[3] in ("-", "+"):
        value, rest = _factor(rest, variables, depth + 1)
        return -value if first[3] == "-" else value, rest
    raise ValueError(first[0])
